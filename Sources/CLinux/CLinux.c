#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

int64_t linux_copy_file_range(int source, int64_t source_offset, int target, int64_t target_offset, uint64_t length) {
    off64_t from = source_offset, to = target_offset;
    return copy_file_range(source, &from, target, &to, length, 0);
}

int linux_start_writing(int descriptor, int64_t offset, int64_t length) {
    return sync_file_range(descriptor, offset, length, SYNC_FILE_RANGE_WRITE);
}

int linux_reflink(int source, int target) { return ioctl(target, FICLONE, source); }

int linux_rename_noreplace(const char *from, const char *to) {
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

static struct flock one_byte(int64_t offset) {
    struct flock lock;
    memset(&lock, 0, sizeof lock);
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = offset;
    lock.l_len = 1;
    return lock;
}

int linux_lock_byte(int descriptor, int64_t offset) {
    struct flock lock = one_byte(offset);
    return fcntl(descriptor, F_OFD_SETLK, &lock);
}

int linux_share_bytes(int descriptor, int64_t offset, int64_t length) {
    struct flock lock = one_byte(offset);
    lock.l_type = F_RDLCK;
    lock.l_len = length;
    return fcntl(descriptor, F_OFD_SETLK, &lock);
}

int linux_byte_is_locked(int descriptor, int64_t offset) {
    struct flock lock = one_byte(offset);
    if (fcntl(descriptor, F_OFD_GETLK, &lock) != 0) return -1;
    return lock.l_type == F_UNLCK ? 0 : 1;
}

int linux_has_writer(int descriptor) {
    // A lease that is broken while we hold it raises SIGIO, whose default action kills the process.
    sigset_t sigio, before;
    sigemptyset(&sigio);
    sigaddset(&sigio, SIGIO);
    pthread_sigmask(SIG_BLOCK, &sigio, &before);
    int result, saved = 0;
    if (fcntl(descriptor, F_SETLEASE, F_RDLCK) == 0) {
        fcntl(descriptor, F_SETLEASE, F_UNLCK);
        result = 0;
    } else {
        saved = errno;
        result = saved == EAGAIN ? 1 : -1;
    }
    struct timespec none = {0, 0};
    while (sigtimedwait(&sigio, NULL, &none) == SIGIO) {}
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return result;
}

int64_t linux_file_system_type(int descriptor) {
    struct statfs status;
    if (fstatfs(descriptor, &status) != 0) return -1;
    return (int64_t)status.f_type;
}

int linux_open_network_watch(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0) return -1;
    struct sockaddr_nl address;
    memset(&address, 0, sizeof address);
    address.nl_family = AF_NETLINK;
    address.nl_groups =
        RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    int saved = errno;
    close(descriptor);
    errno = saved;
    return -1;
}

int linux_network_came_up(int descriptor) {
    int came_up = 0;
    for (;;) {
        union {
            struct nlmsghdr header;
            char bytes[16384];
        } buffer;
        ssize_t length = recv(descriptor, buffer.bytes, sizeof buffer.bytes, MSG_DONTWAIT);
        if (length < 0 && errno == EINTR) continue;
        // Messages were lost: one of them may have said it.
        if (length < 0 && errno == ENOBUFS) {
            came_up = 1;
            continue;
        }
        if (length <= 0) return came_up;
        for (struct nlmsghdr *message = &buffer.header; NLMSG_OK(message, length);
             message = NLMSG_NEXT(message, length)) {
            if (message->nlmsg_type == RTM_NEWADDR || message->nlmsg_type == RTM_NEWROUTE) came_up = 1;
            if (message->nlmsg_type == RTM_NEWLINK) {
                const struct ifinfomsg *link = NLMSG_DATA(message);
                if (link->ifi_flags & IFF_RUNNING && link->ifi_flags & IFF_UP) came_up = 1;
            }
        }
    }
}

int linux_open_datagram_socket(void) { return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); }

int linux_send_datagram(int socket, const void *name, uint64_t name_length, const void *bytes, uint64_t length) {
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    if (name_length > sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, name, name_length);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name_length);
    ssize_t sent;
    do {
        sent = sendto(socket, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address, size);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -1 : 0;
}

int linux_set_idle_io_priority(void) {
    return (int)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
}

int linux_set_parent_death_signal(int signal) { return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0); }

int linux_spawn(int32_t *pid, const char *program, char *const *arguments, char *const *environment, int standard_input,
                int standard_output, int standard_error) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return error;
    error = posix_spawnattr_init(&attributes);
    if (error != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int sources[3] = {standard_input, standard_output, standard_error};
    for (int target = 0; target < 3 && error == 0; target++)
        error = posix_spawn_file_actions_adddup2(&actions, sources[target], target);
    if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (error == 0) error = posix_spawnattr_setsigmask(&attributes, &none);
    if (error == 0) error = posix_spawnattr_setsigdefault(&attributes, &all);
    if (error == 0) error = posix_spawnattr_setpgroup(&attributes, 0);
    if (error == 0)
        error = posix_spawnattr_setflags(&attributes,
                                         POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (error == 0) error = posix_spawn(pid, program, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int linux_open_event(void) {
    return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

int linux_pipe(int *ends) { return pipe2(ends, O_CLOEXEC); }

int linux_wait_for_end(int32_t pid) {
    siginfo_t information;
    memset(&information, 0, sizeof information);
    if (waitid(P_PID, (id_t)pid, &information, WEXITED | WNOWAIT) != 0) return -1;
    return information.si_code == CLD_EXITED ? information.si_status : 256 + information.si_status;
}

int linux_set_modified(int descriptor, int64_t seconds, int64_t nanoseconds) {
    struct timespec times[2];
    memset(times, 0, sizeof times);
    times[0].tv_nsec = UTIME_OMIT;
    times[1].tv_sec = (time_t)seconds;
    times[1].tv_nsec = (long)nanoseconds;
    return futimens(descriptor, times);
}

int linux_set_tcp_timeouts(int socket, unsigned int user_timeout_milliseconds, int keepalive_seconds) {
    int on = 1, probes = 3;
    int result = setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_milliseconds,
                            sizeof user_timeout_milliseconds);
    result |= setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    result |= setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &keepalive_seconds, sizeof keepalive_seconds);
    result |= setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &keepalive_seconds, sizeof keepalive_seconds);
    result |= setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    return result;
}

int64_t linux_find(const void *bytes, uint64_t length, const void *pattern, uint64_t pattern_length) {
    if (length == 0) return -1;
    const char *found = memmem(bytes, length, pattern, pattern_length);
    return found == NULL ? -1 : found - (const char *)bytes;
}

struct thread_start {
    void (*run)(void *);
    void *context;
};

static void *start_thread(void *argument) {
    struct thread_start start = *(struct thread_start *)argument;
    free(argument);
    start.run(start.context);
    return NULL;
}

void linux_allow_open_files(uint64_t count) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
    limit.rlim_cur = limit.rlim_max < count ? limit.rlim_max : count;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int linux_start_thread(void (*run)(void *), void *context) {
    struct thread_start *start = malloc(sizeof *start);
    if (start == NULL) return ENOMEM;
    start->run = run;
    start->context = context;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error == 0) {
        error = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_t thread;
        if (error == 0) error = pthread_create(&thread, &attributes, start_thread, start);
        pthread_attr_destroy(&attributes);
    }
    if (error != 0) free(start);
    return error;
}
