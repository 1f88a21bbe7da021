// Apart from the rest: the kernel's own header knows more of tcp_info than glibc's, and the two exclude each other.
#include "CLinux.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

int64_t linux_acknowledged_bytes(int socket) {
    struct tcp_info info = {0};
    socklen_t length = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -1;
    if (length < offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked) return -1;
    return (int64_t)info.tcpi_bytes_acked;
}
