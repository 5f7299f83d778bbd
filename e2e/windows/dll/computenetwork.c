// The exports of computenetwork.dll (computenetwork.h of the Windows SDK) for networks, endpoints, load balancers,
// namespaces and routes: each forwards its arguments and returns the answer.
#include "wire.h"

#define EXPORT __declspec(dllexport) HRESULT

static HRESULT give(struct call call, void **handle, WCHAR **value, WCHAR **error) {
    struct answer answer = wire_call(&call);
    if (handle) *handle = (void *)(uintptr_t)answer.handle;
    if (value) *value = answer.value;
    if (error) *error = answer.error;
    return answer.result;
}

#define OF(handle) (uint64_t)(uintptr_t)(handle)

#define KIND(kind, kinds)                                                                             \
    EXPORT HcnEnumerate##kinds(const WCHAR *query, WCHAR **ids, WCHAR **error) {                      \
        return give((struct call){"HcnEnumerate" #kinds, NULL, 0, {query}}, NULL, ids, error);        \
    }                                                                                                 \
    EXPORT HcnOpen##kind(const GUID *id, void **handle, WCHAR **error) {                              \
        return give((struct call){"HcnOpen" #kind, id, 0, {NULL}}, handle, NULL, error);              \
    }                                                                                                 \
    EXPORT HcnModify##kind(void *handle, const WCHAR *settings, WCHAR **error) {                      \
        return give((struct call){"HcnModify" #kind, NULL, OF(handle), {settings}}, NULL, NULL, error); \
    }                                                                                                 \
    EXPORT HcnQuery##kind##Properties(void *handle, const WCHAR *query, WCHAR **value, WCHAR **error) { \
        return give((struct call){"HcnQuery" #kind "Properties", NULL, OF(handle), {query}}, NULL,    \
                    value, error);                                                                    \
    }                                                                                                 \
    EXPORT HcnDelete##kind(const GUID *id, WCHAR **error) {                                           \
        return give((struct call){"HcnDelete" #kind, id, 0, {NULL}}, NULL, NULL, error);              \
    }                                                                                                 \
    EXPORT HcnClose##kind(void *handle) {                                                             \
        return give((struct call){"HcnClose" #kind, NULL, OF(handle), {NULL}}, NULL, NULL, NULL);     \
    }

#define CREATE(kind)                                                                                  \
    EXPORT HcnCreate##kind(const GUID *id, const WCHAR *settings, void **handle, WCHAR **error) {     \
        return give((struct call){"HcnCreate" #kind, id, 0, {settings}}, handle, NULL, error);        \
    }

KIND(Network, Networks)
KIND(Endpoint, Endpoints)
KIND(LoadBalancer, LoadBalancers)
KIND(Namespace, Namespaces)
KIND(SdnRoute, SdnRoutes)
CREATE(Network)
CREATE(LoadBalancer)
CREATE(Namespace)
CREATE(SdnRoute)

// The only object that is created inside of another one.
EXPORT HcnCreateEndpoint(void *network, const GUID *id, const WCHAR *settings, void **handle, WCHAR **error) {
    return give((struct call){"HcnCreateEndpoint", id, OF(network), {settings}}, handle, NULL, error);
}
