// vmcompute.dll, as far as HNS is reached through it: a method, a path and a body, and one string back.
#include "wire.h"

__declspec(dllexport) HRESULT HNSCall(const WCHAR *method, const WCHAR *path, const WCHAR *body, WCHAR **response) {
    struct call call = {"HNSCall", NULL, 0, {method, path, body}};
    struct answer answer = wire_call(&call);
    *response = answer.value;
    return answer.result;
}
