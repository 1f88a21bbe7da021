// Preloaded, it makes the calls that write to files whose path holds DISK_FAULT_WRITE, or read from those that hold
// DISK_FAULT_READ, fail with the error DISK_FAULT_CODE once DISK_FAULT_AFTER bytes have passed. For disks with a quota, and
// for disks that are dying: neither can be made by a test otherwise. With CLOCK_SHIFT the clock on the wall, and no other, is so
// many seconds off.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static atomic_long passed;

static int fails(int descriptor, const char *variable, size_t count) {
    const char *wanted = getenv(variable), *code = getenv("DISK_FAULT_CODE"), *after = getenv("DISK_FAULT_AFTER");
    char link[64], path[4096];
    ssize_t length;
    if (!wanted || !code) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (!strstr(path, wanted)) return 0;
    if (atomic_fetch_add(&passed, (long)count) + (long)count <= (after ? atol(after) : 0)) return 0;
    errno = atoi(code);
    return 1;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    ssize_t (*next)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    return fails(descriptor, "DISK_FAULT_WRITE", count) ? -1 : next(descriptor, bytes, count, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    return pwrite64(descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    return fails(descriptor, "DISK_FAULT_WRITE", count) ? -1 : next(descriptor, bytes, count);
}

ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t offset) {
    ssize_t (*next)(int, void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pread64");
    return fails(descriptor, "DISK_FAULT_READ", count) ? -1 : next(descriptor, bytes, count, offset);
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
    return pread64(descriptor, bytes, count, offset);
}

// A dying disk does not copy by itself, and a quota counts shared blocks as well.
ssize_t copy_file_range(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t count, unsigned flags) {
    ssize_t (*next)(int, off64_t *, int, off64_t *, size_t, unsigned) = dlsym(RTLD_NEXT, "copy_file_range");
    if (getenv("DISK_FAULT_CODE")) {
        errno = EXDEV;
        return -1;
    }
    return next(in, in_offset, out, out_offset, count, flags);
}

int ioctl(int descriptor, unsigned long request, ...) {
    int (*next)(int, unsigned long, void *) = dlsym(RTLD_NEXT, "ioctl");
    void *argument;
    __builtin_va_list list;
    __builtin_va_start(list, request);
    argument = __builtin_va_arg(list, void *);
    __builtin_va_end(list);
    if (request == 0x40049409 && getenv("DISK_FAULT_CODE")) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return next(descriptor, request, argument);
}

static time_t shift(void) {
    const char *text = getenv("CLOCK_SHIFT");
    return text ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int (*next)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = next(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += shift();
    return result;
}

int gettimeofday(struct timeval *now, void *zone) {
    int (*next)(struct timeval *, void *) = dlsym(RTLD_NEXT, "gettimeofday");
    int result = next(now, zone);
    if (result == 0) now->tv_sec += shift();
    return result;
}

time_t time(time_t *now) {
    struct timespec present;
    clock_gettime(CLOCK_REALTIME, &present);
    if (now) *now = present.tv_sec;
    return present.tv_sec;
}
