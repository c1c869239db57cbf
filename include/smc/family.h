/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How programs ask for SMC sockets: numbers of Linux' user ABI that libc's headers may lack.
 * socket(AF_SMC, SOCK_STREAM, SMCPROTO_SMC[6]) or socket(AF_INET[6], SOCK_STREAM, IPPROTO_SMC).
 */
#ifndef SMC_FAMILY_H
#define SMC_FAMILY_H

#ifndef AF_SMC
#define AF_SMC 43
#endif
#ifndef IPPROTO_SMC
#define IPPROTO_SMC 256
#endif
#define SMCPROTO_SMC 0  /* TCP over IPv4 underneath */
#define SMCPROTO_SMC6 1 /* TCP over IPv6 underneath */

#endif
