// A process that keeps only what its one piece of work needs: Landlock for files and the network (landlock(7)), a seccomp
// filter for what a codec never does (seccomp(2)), resource limits for the rest (setrlimit(2)).
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// MARK: Landlock. The numbers are the kernel's; older headers do not have them all.

#define FS_EXECUTE (1ULL << 0)
#define FS_WRITE_FILE (1ULL << 1)
#define FS_READ_FILE (1ULL << 2)
#define FS_READ_DIR (1ULL << 3)
#define FS_FIRST_VERSION ((1ULL << 13) - 1)
#define FS_REFER (1ULL << 13)
#define FS_TRUNCATE (1ULL << 14)
#define FS_IOCTL_DEV (1ULL << 15)
#define NET_BIND_AND_CONNECT 3ULL
#define SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS 3ULL
#define RULE_PATH_BENEATH 1

struct ruleset {
    uint64_t handled_fs;
    uint64_t handled_net;
    uint64_t scoped;
};

struct path_rule {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

static int allow(int ruleset, const char *path, uint64_t wanted, uint64_t handled) {
    int file = open(path, O_PATH | O_CLOEXEC);
    // What is not there needs no rule.
    if (file < 0) return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    struct stat status;
    struct path_rule rule = {.allowed = wanted & handled, .parent = file};
    if (fstat(file, &status) == 0 && !S_ISDIR(status.st_mode))
        rule.allowed &= FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV;
    long result = syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0);
    close(file);
    return result == 0 ? 0 : -1;
}

static int restrict_files(char *const *readable, char *const *writable) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
    if (version < 1) return -1;
    struct ruleset attributes = {.handled_fs = FS_FIRST_VERSION};
    size_t size = 8;
    if (version >= 2) attributes.handled_fs |= FS_REFER;
    if (version >= 3) attributes.handled_fs |= FS_TRUNCATE;
    if (version >= 5) attributes.handled_fs |= FS_IOCTL_DEV;
    if (version >= 4) {
        attributes.handled_net = NET_BIND_AND_CONNECT;
        size = 16;
    }
    if (version >= 6) {
        attributes.scoped = SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS;
        size = 24;
    }
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
    if (ruleset < 0) return -1;
    int result = 0;
    for (; *readable && result == 0; readable++)
        result = allow(ruleset, *readable, FS_READ_FILE | FS_READ_DIR, attributes.handled_fs);
    for (; *writable && result == 0; writable++)
        result = allow(ruleset, *writable, FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE, attributes.handled_fs);
    if (result == 0) result = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
    close(ruleset);
    return result;
}

// MARK: Seccomp

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE
#define DENY(number, error)                                 \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),    \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))

static int restrict_calls(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#if defined(__x86_64__)
        // The calls of the x32 interface are the same under other numbers.
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        DENY(SYS_fork, EPERM),
        DENY(SYS_vfork, EPERM),
#endif
        DENY(SYS_execve, EPERM),
        DENY(SYS_execveat, EPERM),
        // What it would make cannot be seen here; the C library then takes clone.
        DENY(SYS_clone3, ENOSYS),
        DENY(SYS_socket, EPERM),
        DENY(SYS_socketpair, EPERM),
        DENY(SYS_connect, EPERM),
        DENY(SYS_bind, EPERM),
        DENY(SYS_listen, EPERM),
        DENY(SYS_ptrace, EPERM),
        DENY(SYS_process_vm_readv, EPERM),
        DENY(SYS_process_vm_writev, EPERM),
        DENY(SYS_pidfd_open, EPERM),
        DENY(SYS_kill, EPERM),
        DENY(SYS_mount, EPERM),
        DENY(SYS_umount2, EPERM),
        DENY(SYS_pivot_root, EPERM),
        DENY(SYS_chroot, EPERM),
        DENY(SYS_setns, EPERM),
        DENY(SYS_unshare, EPERM),
        DENY(SYS_bpf, EPERM),
        DENY(SYS_perf_event_open, EPERM),
        DENY(SYS_userfaultfd, EPERM),
        DENY(SYS_io_uring_setup, EPERM),
        DENY(SYS_keyctl, EPERM),
        DENY(SYS_add_key, EPERM),
        DENY(SYS_request_key, EPERM),
        DENY(SYS_open_by_handle_at, EPERM),
        DENY(SYS_init_module, EPERM),
        DENY(SYS_finit_module, EPERM),
        DENY(SYS_kexec_load, EPERM),
        DENY(SYS_reboot, EPERM),
        // A new thread is a clone that shares its memory and its signal handlers; a new process does not.
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}
#else
static int restrict_calls(void) {
    errno = ENOSYS;
    return -1;
}
#endif

// MARK: Limits

static int limit(int resource, uint64_t most) {
    struct rlimit now;
    if (getrlimit(resource, &now) != 0) return -1;
    if (now.rlim_max < most) most = now.rlim_max;
    struct rlimit wanted = {.rlim_cur = most, .rlim_max = most};
    return setrlimit(resource, &wanted);
}

// The address sanitizer reserves terabytes for its shadow, and more as it goes. A debug build with it does without the
// limits of memory; nothing else of the fence is in its way.
#if defined(DEBUG) && __has_feature(address_sanitizer)
static int limit_addresses(uint64_t most) {
    (void)most;
    return 0;
}

int linux_limit_data(uint64_t more) {
    (void)more;
    return 0;
}
#else
static int limit_addresses(uint64_t most) { return limit(RLIMIT_AS, most); }

int linux_limit_data(uint64_t more) {
    struct rlimit now;
    unsigned long long pages;
    if (getrlimit(RLIMIT_DATA, &now) != 0) return -1;
    now.rlim_cur = now.rlim_max;
    if (more > 0) {
        FILE *file = fopen("/proc/self/statm", "re");
        if (!file) return -1;
        int found = fscanf(file, "%*u %*u %*u %*u %*u %llu", &pages);
        fclose(file);
        if (found != 1) return -1;
        uint64_t most = pages * (uint64_t)sysconf(_SC_PAGESIZE) + more;
        if (most < now.rlim_max) now.rlim_cur = most;
    }
    return setrlimit(RLIMIT_DATA, &now);
}
#endif

unsigned int linux_fence(char *const *readable, char *const *writable, uint64_t address_space, uint64_t file_size) {
    unsigned int missing = 0;
    // A file that grows too long is an error of the write, not the end of the process.
    signal(SIGXFSZ, SIG_IGN);
    if (limit_addresses(address_space) != 0 || limit(RLIMIT_FSIZE, file_size) != 0 || limit(RLIMIT_CORE, 0) != 0 ||
        limit(RLIMIT_NOFILE, 256) != 0)
        missing |= LINUX_FENCE_LIMITS;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return missing | LINUX_FENCE_FILES | LINUX_FENCE_CALLS;
    if (restrict_files(readable, writable) != 0) missing |= LINUX_FENCE_FILES;
    if (restrict_calls() != 0) missing |= LINUX_FENCE_CALLS;
    return missing;
}
