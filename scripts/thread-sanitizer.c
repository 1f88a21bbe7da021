// Tells the thread sanitizer of Swift's Mutex. Its quick ways are compiled into the program and seen there; where threads
// have to wait, the runtime library asks the kernel (FUTEX_LOCK_PI), of which the sanitizer sees nothing: every access
// under such a lock would look like a race. To be preloaded; see scripts/fuzz-receiver.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slow(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT void unlock_slow(SELF void *mutex) __asm__(UNLOCK);

static SWIFT void (*runtime_lock)(uint32_t, SELF void *);
static SWIFT void (*runtime_unlock)(SELF void *);

__attribute__((constructor)) static void find(void) {
    *(void **)&runtime_lock = dlsym(RTLD_NEXT, LOCK);
    *(void **)&runtime_unlock = dlsym(RTLD_NEXT, UNLOCK);
}

SWIFT void lock_slow(uint32_t thread, SELF void *mutex) {
    runtime_lock(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slow(SELF void *mutex) {
    if (__tsan_release) __tsan_release(mutex);
    runtime_unlock(mutex);
}
