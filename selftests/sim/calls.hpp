// SPDX-License-Identifier: GPL-2.0-only
//
// What processes do to sockets: the system calls.
#pragma once

#include "message.hpp"
#include "socket.hpp"
#include "tcp_connection.hpp"

namespace sim {

struct socket *sys_socket(net *host);
int sys_connect(struct socket *sock, net *host, u16 port);
// Of two sockets that connect to each other; the first one waits for the other.
int sys_connect_crossed(struct socket *sock, struct socket *other, bool one_sided);
// connect() to AF_UNSPEC; it was connected.
int sys_disconnect(struct socket *sock);
int sys_listen(struct socket *sock, u16 port, int backlog);
int sys_accept(struct socket *sock, struct socket **child);
int sys_send(struct socket *sock, msghdr &msg);
int sys_receive(struct socket *sock, msghdr &msg);
u32 sys_poll(struct socket *sock);
// Sleeps until one of @events is set. False: a signal came.
bool sys_poll_wait(struct socket *sock, u32 events);
int sys_shutdown(struct socket *sock, int how);
// setsockopt(TCP_ULP) for an unknown layer. True: the socket has become TCP's for good.
bool sys_leave(struct socket *sock);
void sys_cork(struct socket *sock, bool on);
void sys_nodelay(struct socket *sock);
void sys_rcvlowat(struct socket *sock, int bytes);
int sys_ioctl(struct socket *sock, unsigned int command, int *value);
void sys_close(struct socket *sock);
[[nodiscard]] bool sys_uses_smc(const struct socket *sock);
[[nodiscard]] u64 connection_id(const struct socket *sock);

} // namespace sim
