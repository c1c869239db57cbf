/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SELFTEST_NETDEV_H
#define SELFTEST_NETDEV_H

/*
 * Takes the interface down and up again, which ends all link groups over it. Returns when the RDMA
 * port on it is active again. 0 or -errno.
 */
int netdev_bounce(const char *netdev);

#endif
