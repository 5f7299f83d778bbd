// One call on the wire: what is asked goes out as one line of JSON, the answer comes back as one line of
// "<HRESULT> <handle> <string or -> <string or ->", the strings as hex of UTF-16, because C reads no JSON.
// Nothing is decided on this side.
#ifndef WIRE_H
#define WIRE_H

#include <stdint.h>
#include <windows.h>

struct call {
    const char *name;
    const GUID *id;
    uint64_t handle;
    // HNSCall has three texts, everything else at most one.
    const WCHAR *texts[3];
};

struct answer {
    HRESULT result;
    uint64_t handle;
    // Of CoTaskMemAlloc, and the caller's to free; NULL where there is none.
    WCHAR *value;
    WCHAR *error;
};

struct answer wire_call(const struct call *call);

#endif
