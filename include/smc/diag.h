/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sock_diag of AF_SMC: what this module adds to Linux's <linux/smc_diag.h>, for the module and for
 * user space.
 */
#ifndef SMC_DIAG_H
#define SMC_DIAG_H

#include <linux/types.h>

/*
 * Attributes of our own. Linux numbers its own from 1 on (5 in 6.12) and can ask for no more than
 * 8, so 0x1000 is out of its way. They come unasked: programs that do not know them skip them.
 */
enum {
	SMC_DIAG_TRAFFIC = 0x1000,	/* struct smc_diag_traffic, of a connection by SMC */
};

/*
 * Since the connection began. It grows at its end: readers take what they know of a longer one, and
 * what they get of a shorter one.
 */
struct smc_diag_traffic {
	__aligned_u64 sent_bytes;	/* of the stream: written into the peer's memory */
	__aligned_u64 received_bytes;	/* announced by the peer, read or not */
	__aligned_u64 sent_messages;	/* CDC messages */
	__aligned_u64 stale_messages;	/* that came behind newer ones */
	__aligned_u64 sends_without_room;	/* sends that found the send buffer full */
	__aligned_u64 sends_without_window;	/* of these: the peer's buffer was full as well */
	__aligned_u64 sends_behind_cork;	/* sends whose bytes were left to wait for more */
	__aligned_u64 messages_without_room;	/* tries that found the link's send queue full */
	__aligned_u64 repeated_bytes;	/* once more, after a link was lost; not in sent_bytes */
};

#endif
