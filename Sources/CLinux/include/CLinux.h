// The few calls that Swift's Glibc module hides: they need _GNU_SOURCE, or are macros, or have no wrapper in glibc.
// Each returns what the call returns and leaves errno as it was set, unless said otherwise.
#ifndef INGEST_CLINUX_H
#define INGEST_CLINUX_H

#include <stdint.h>

/// copy_file_range(2) at explicit offsets: bytes copied, 0 at the end of the source, -1 with errno.
int64_t linux_copy_file_range(int source, int64_t source_offset, int target, int64_t target_offset, uint64_t length);

/// sync_file_range(2) with SYNC_FILE_RANGE_WRITE: begins to write dirty pages to the disk, and does not wait. 0, or -1 with errno.
int linux_start_writing(int descriptor, int64_t offset, int64_t length);

/// ioctl FICLONE (ioctl_ficlone(2)): `target` shares the blocks of `source`. 0, or -1 with errno.
int linux_reflink(int source, int target);

/// renameat2(2) with RENAME_NOREPLACE below the working directory: fails with EEXIST where `to` exists.
int linux_rename_noreplace(const char *_Nonnull from, const char *_Nonnull to);

/// fcntl(2) F_OFD_SETLK: takes an exclusive lock on the byte at `offset` for the open file description.
/// 0; -1 with EAGAIN or EACCES where another description holds it.
int linux_lock_byte(int descriptor, int64_t offset);

/// The same for a shared lock on `length` bytes, which excludes exclusive ones only. 0, or -1 with errno.
int linux_share_bytes(int descriptor, int64_t offset, int64_t length);

/// fcntl(2) F_OFD_GETLK: 1 if another description holds a lock on the byte at `offset`, 0 if none does, -1 with errno.
int linux_byte_is_locked(int descriptor, int64_t offset);

/// Whether somebody has the file open for writing or mapped writable: takes and returns a read lease (fcntl(2),
/// F_SETLEASE). 1 if so, 0 if not, -1 with errno where a lease cannot tell (EACCES: another's file; EINVAL: no
/// regular file, or a file system without leases). Blocks SIGIO in the calling thread meanwhile.
int linux_has_writer(int descriptor);

/// The file system's magic number (statfs(2)) of an open file, or -1 with errno.
int64_t linux_file_system_type(int descriptor);

/// A netlink(7) socket, not blocking, that hears of links, addresses and routes (rtnetlink(7)); -1 with errno.
int linux_open_network_watch(void);

/// Reads what such a socket has heard: 1 if a link came up or an address or a route appeared, else 0.
int linux_network_came_up(int descriptor);

/// The most bytes that the name of a local socket may have (unix(7)).
enum { LINUX_LONGEST_SOCKET_NAME = 107 };

/// A local datagram socket without a name, close-on-exec; -1 with errno.
int linux_open_datagram_socket(void);

/// Sends a datagram to the local socket of this name (a path, or NUL and an abstract name), without waiting. 0, or -1 with
/// errno: EAGAIN where the other side has not read what was sent before.
int linux_send_datagram(int socket, const void *_Nonnull name, uint64_t name_length, const void *_Nonnull bytes,
                        uint64_t length);

/// Sets the calling process's I/O priority to idle (ioprio_set(2)).
int linux_set_idle_io_priority(void);

/// Has the kernel send `signal` to the calling process when the thread that started it ends (prctl(2)).
int linux_set_parent_death_signal(int signal);

/// Starts a program (posix_spawn(3)) in a process group of its own with default signal handling, an empty signal mask,
/// and no descriptor but the three given, which become 0, 1 and 2. Returns 0 and the process's id, or an error number.
int linux_spawn(int32_t *_Nonnull pid, const char *_Nonnull program, char *_Nullable const *_Nonnull arguments,
                char *_Nullable const *_Nonnull environment, int standard_input, int standard_output,
                int standard_error);

/// pipe2(2) with O_CLOEXEC: the reading and the writing end. 0, or -1 with errno.
int linux_pipe(int *_Nonnull ends);

/// eventfd(2), not blocking, close-on-exec; -1 with errno.
int linux_open_event(void);

/// waitid(2) without reaping: waits for the child's end and returns its exit status, 0 … 255, or 256 + the number of the
/// signal that ended it; -1 with errno.
int linux_wait_for_end(int32_t pid);

/// futimens(2): sets the modification time and leaves the access time. 0, or -1 with errno.
int linux_set_modified(int descriptor, int64_t seconds, int64_t nanoseconds);

/// TCP_USER_TIMEOUT and keep-alive probes (tcp(7)): a peer that does not acknowledge for so long is gone.
int linux_set_tcp_timeouts(int socket, unsigned int user_timeout_milliseconds, int keepalive_seconds);

/// How many bytes the other side of a TCP connection has acknowledged (tcp(7), TCP_INFO), or -1.
int64_t linux_acknowledged_bytes(int socket);

enum {
    LINUX_FENCE_LIMITS = 1,
    LINUX_FENCE_FILES = 2,
    LINUX_FENCE_CALLS = 4,
};

/// Takes from the calling process, for good, all that one piece of work does not need: files but for those below `readable`
/// and `writable` (NULL-terminated), the network, other processes; memory beyond `address_space` bytes, files beyond
/// `file_size` bytes. Call it before there are other threads. Returns which parts the kernel would not give, 0 for none.
unsigned int linux_fence(char *_Nullable const *_Nonnull readable, char *_Nullable const *_Nonnull writable,
                         uint64_t address_space, uint64_t file_size);

/// Lets the calling process take `more` bytes of memory beyond what it has now (RLIMIT_DATA, setrlimit(2)); with 0, as much
/// as it ever may. 0, or -1 with errno.
int linux_limit_data(uint64_t more);

/// Raises how many descriptors the calling process may open (RLIMIT_NOFILE) to `count`, or as far as the system lets it.
void linux_allow_open_files(uint64_t count);

/// Runs a function on a new, detached thread (pthread_create(3)): 0, or an error number.
int linux_start_thread(void (*_Nonnull run)(void *_Nonnull), void *_Nonnull context);

/// memmem(3): the offset of the pattern in the bytes, or -1.
int64_t linux_find(const void *_Nullable bytes, uint64_t length, const void *_Nonnull pattern, uint64_t pattern_length);

#endif
