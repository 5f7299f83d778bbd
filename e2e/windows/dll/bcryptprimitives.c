// The only function of bcryptprimitives.dll that Go uses, which Wine 8 does not have: random bytes. advapi32 exports
// the same function under another name.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(void *bytes, ULONG length);

__declspec(dllexport) BOOL ProcessPrng(BYTE *bytes, SIZE_T length) {
    return SystemFunction036(bytes, (ULONG)length);
}
