// The connection to the HNS server: 127.0.0.1, at the port that HNS_PORT names.
#include <winsock2.h>
#include <ws2tcpip.h>

#include "wire.h"

#include <objbase.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// No HNS server is at that port: the error of an RPC client for a stopped service.
#define NOT_SERVED HRESULT_FROM_WIN32(RPC_S_SERVER_UNAVAILABLE)

struct buffer {
    char *bytes;
    size_t length, room;
};

static SRWLOCK lock = SRWLOCK_INIT;
static SOCKET connection = INVALID_SOCKET;

static void append(struct buffer *to, const char *bytes, size_t length) {
    if (to->length + length + 1 > to->room) {
        to->room = (to->length + length + 1) * 2;
        to->bytes = realloc(to->bytes, to->room);
    }
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
    to->bytes[to->length] = 0;
}

static void print(struct buffer *to, const char *format, ...) {
    char text[128];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    append(to, text, length);
}

// A JSON string is UTF-16 with escapes, as a WCHAR string is.
static void quote(struct buffer *to, const WCHAR *text) {
    append(to, "\"", 1);
    for (; *text; text++) {
        char c = (char)*text;
        if (*text < 0x20 || *text > 0x7e || c == '"' || c == '\\')
            print(to, "\\u%04x", *text);
        else
            append(to, &c, 1);
    }
    append(to, "\"", 1);
}

static void write_call(struct buffer *to, const struct call *call) {
    print(to, "{\"call\":\"%s\",\"handle\":%llu", call->name, (unsigned long long)call->handle);
    if (call->id) {
        const GUID *g = call->id;
        print(to, ",\"id\":\"%08lx-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x\"", g->Data1, g->Data2,
              g->Data3, g->Data4[0], g->Data4[1], g->Data4[2], g->Data4[3], g->Data4[4], g->Data4[5],
              g->Data4[6], g->Data4[7]);
    }
    append(to, ",\"texts\":[", 10);
    for (int n = 0; n < 3 && call->texts[n]; n++) {
        if (n) append(to, ",", 1);
        quote(to, call->texts[n]);
    }
    append(to, "]}\n", 3);
}

static BOOL connected(void) {
    if (connection != INVALID_SOCKET) return TRUE;
    WSADATA data;
    char port[16];
    if (WSAStartup(MAKEWORD(2, 2), &data)) return FALSE;
    if (!GetEnvironmentVariableA("HNS_PORT", port, sizeof port)) return FALSE;
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((u_short)atoi(port))};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connection = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
    if (connection == INVALID_SOCKET) return FALSE;
    if (connect(connection, (struct sockaddr *)&server, sizeof server)) {
        closesocket(connection);
        connection = INVALID_SOCKET;
        return FALSE;
    }
    BOOL at_once = TRUE;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, (const char *)&at_once, sizeof at_once);
    return TRUE;
}

static BOOL exchange(const struct buffer *call, struct buffer *line) {
    if (!connected()) return FALSE;
    for (size_t sent = 0; sent < call->length;) {
        int n = send(connection, call->bytes + sent, (int)(call->length - sent), 0);
        if (n <= 0) return FALSE;
        sent += n;
    }
    char part[65536];
    do {
        int n = recv(connection, part, sizeof part, 0);
        if (n <= 0) return FALSE;
        append(line, part, n);
    } while (line->bytes[line->length - 1] != '\n');
    return TRUE;
}

static WCHAR *text_of(const char *hex) {
    if (!hex || *hex == '-') return NULL;
    size_t length = strlen(hex) / 4;
    WCHAR *text = CoTaskMemAlloc((length + 1) * sizeof *text);
    for (size_t n = 0; n < length; n++) {
        char unit[5] = {hex[n * 4], hex[n * 4 + 1], hex[n * 4 + 2], hex[n * 4 + 3], 0};
        text[n] = (WCHAR)strtoul(unit, NULL, 16);
    }
    text[length] = 0;
    return text;
}

static struct answer read_answer(char *line) {
    char *result = strtok(line, " \n"), *handle = strtok(NULL, " \n");
    char *value = strtok(NULL, " \n"), *error = strtok(NULL, " \n");
    struct answer answer = {NOT_SERVED, 0, NULL, NULL};
    if (!error) return answer;
    answer.result = (HRESULT)strtoul(result, NULL, 16);
    answer.handle = strtoull(handle, NULL, 10);
    answer.value = text_of(value);
    answer.error = text_of(error);
    return answer;
}

struct answer wire_call(const struct call *call) {
    struct buffer asked = {0}, line = {0};
    struct answer answer = {NOT_SERVED, 0, NULL, NULL};
    write_call(&asked, call);
    // The lock keeps lines in order, because Go calls from many threads.
    AcquireSRWLockExclusive(&lock);
    if (exchange(&asked, &line)) {
        answer = read_answer(line.bytes);
    } else if (connection != INVALID_SOCKET) {
        closesocket(connection);
        connection = INVALID_SOCKET;
    }
    ReleaseSRWLockExclusive(&lock);
    free(asked.bytes);
    free(line.bytes);
    return answer;
}
