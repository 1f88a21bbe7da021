// libcurl for Swift: its set-option and get-info calls are variadic and cannot be called from Swift, so each kind of
// argument has a function of its own here. Nothing else happens in this file.
#ifndef INGEST_CCURL_SHIM_H
#define INGEST_CCURL_SHIM_H

#include <curl/curl.h>

typedef size_t (*ingest_curl_data_callback)(char *_Nonnull bytes, size_t size, size_t count, void *_Nullable context);
typedef int (*ingest_curl_seek_callback)(void *_Nullable context, curl_off_t offset, int origin);
typedef int (*ingest_curl_socket_callback)(void *_Nullable context, curl_socket_t socket, curlsocktype purpose);

static inline CURLcode ingest_curl_set_long(CURL *_Nonnull handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ingest_curl_set_offset(CURL *_Nonnull handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

/// libcurl copies the string.
static inline CURLcode ingest_curl_set_string(CURL *_Nonnull handle, CURLoption option, const char *_Nullable value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ingest_curl_set_pointer(CURL *_Nonnull handle, CURLoption option, void *_Nullable value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ingest_curl_set_list(CURL *_Nonnull handle, CURLoption option, struct curl_slist *_Nullable list) {
    return curl_easy_setopt(handle, option, list);
}

static inline CURLcode ingest_curl_set_data_callback(CURL *_Nonnull handle, CURLoption option,
                                                     ingest_curl_data_callback _Nonnull callback) {
    return curl_easy_setopt(handle, option, callback);
}

static inline CURLcode ingest_curl_set_seek_callback(CURL *_Nonnull handle, ingest_curl_seek_callback _Nonnull callback) {
    return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, callback);
}

static inline CURLcode ingest_curl_set_socket_callback(CURL *_Nonnull handle,
                                                       ingest_curl_socket_callback _Nonnull callback) {
    return curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, callback);
}

static inline CURLcode ingest_curl_get_long(CURL *_Nonnull handle, CURLINFO info, long *_Nonnull value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode ingest_curl_get_offset(CURL *_Nonnull handle, CURLINFO info, curl_off_t *_Nonnull value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode ingest_curl_get_context(CURL *_Nonnull handle, void *_Nullable *_Nonnull value) {
    return curl_easy_getinfo(handle, CURLINFO_PRIVATE, (char **)value);
}

static inline CURLcode ingest_curl_global_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

// The message's union cannot be read safely from Swift.
static inline CURLcode ingest_curl_message_result(const CURLMsg *_Nonnull message) { return message->data.result; }

#endif
