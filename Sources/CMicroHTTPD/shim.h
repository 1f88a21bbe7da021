// libmicrohttpd for Swift: starting a daemon is variadic, and its "unknown size" is a macro.
#ifndef INGEST_CMICROHTTPD_SHIM_H
#define INGEST_CMICROHTTPD_SHIM_H

#include <netinet/in.h>
#include <sys/socket.h>

#include <microhttpd.h>

struct ingest_mhd_settings {
    /// Closes a connection on which nothing moves for so many seconds.
    unsigned int idle_seconds;
    unsigned int most_connections;
    /// Bytes of a connection's own pool: its request head and its read buffer.
    size_t connection_memory;
    size_t thread_stack;
};

/// A daemon with a thread of its own for each connection, listening at `address`; NULL where it cannot.
static inline struct MHD_Daemon *_Nullable
ingest_mhd_start(const struct sockaddr_storage *_Nonnull address, struct ingest_mhd_settings settings,
                 void *_Nonnull context, MHD_AccessHandlerCallback _Nonnull handler,
                 MHD_RequestCompletedCallback _Nonnull completed, MHD_NotifyConnectionCallback _Nonnull connection) {
    unsigned int flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL;
    if (address->ss_family == AF_INET6) flags |= MHD_USE_IPv6;
    return MHD_start_daemon(flags, 0, NULL, NULL, handler, context,
                            MHD_OPTION_SOCK_ADDR, (const struct sockaddr *)address,
                            MHD_OPTION_NOTIFY_COMPLETED, completed, context,
                            MHD_OPTION_NOTIFY_CONNECTION, connection, context,
                            MHD_OPTION_CONNECTION_TIMEOUT, settings.idle_seconds,
                            MHD_OPTION_CONNECTION_LIMIT, settings.most_connections,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, settings.connection_memory,
                            MHD_OPTION_THREAD_STACK_SIZE, settings.thread_stack,
                            MHD_OPTION_END);
}

/// The port the daemon listens at, 0 where it does not say.
static inline uint16_t ingest_mhd_port(struct MHD_Daemon *_Nonnull daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info == NULL ? 0 : info->port;
}

/// The socket of a connection, or -1.
static inline int ingest_mhd_socket(struct MHD_Connection *_Nonnull connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

/// What stands in a connection's socket context (set when the connection began).
static inline void *_Nullable ingest_mhd_socket_context(struct MHD_Connection *_Nonnull connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

#endif
