// powershell.exe, as far as Calico's programs call it: which Windows this is (install.exe), and forwarding on an
// interface (startup with BGP). Anything else fails.
#include <stdio.h>
#include <string.h>

int main(int count, char **words) {
    const char *command = count > 1 ? words[count - 1] : "";
    if (strstr(command, "Get-ComputerInfo")) {
        // Windows Server 2022, in the table of `select`.
        printf("\nWindowsVersion OsBuildNumber OsHardwareAbstractionLayer\n"
               "-------------- ------------- --------------------------\n"
               "2009           20348         10.0.20348.2849\n\n");
        return 0;
    }
    if (strstr(command, "Set-NetIPInterface") || strstr(command, "NetFirewallRule")) return 0;
    fprintf(stderr, "powershell.exe here does not know: %s\n", command);
    return 1;
}
