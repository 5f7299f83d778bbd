// The one function Go asks of bcryptprimitives.dll, which Wine 8 does not have: random bytes, of which
// advapi32 exports the same under another name.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(void *bytes, ULONG length);

__declspec(dllexport) BOOL ProcessPrng(BYTE *bytes, SIZE_T length) {
    return SystemFunction036(bytes, (ULONG)length);
}
