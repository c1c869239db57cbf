/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the verbs_*.c files: the structures behind the handles of abi/verbs.h. */
#ifndef SMC_KERNEL_VERBS_H
#define SMC_KERNEL_VERBS_H

#include <linux/completion.h>
#include <linux/dim.h>
#include <linux/in.h>
#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/rwsem.h>
#include <linux/scatterlist.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "kernel/abi/verbs.h"

/* Work requests in flight on a link, and the least that is worth using. */
#define SMC_IB_SEND_QUEUE 512
#define SMC_IB_SEND_QUEUE_MIN 64
/* Work requests that only registrations and SMC_IB_POST_CONTROL may take ... */
#define SMC_IB_SEND_RESERVE 32
/* ... of them those that registrations leave to SMC_IB_POST_CONTROL ... */
#define SMC_IB_CONTROL_RESERVE 16
/* ... and the one that SMC_IB_POST_CONTROL leaves to SMC_IB_POST_LAST. */
#define SMC_IB_LAST_RESERVE 1
static_assert(SMC_IB_SEND_RESERVE - SMC_IB_CONTROL_RESERVE >= SMC_IB_REGISTRATIONS);
/* Long messages in flight at a time. */
#define SMC_IB_LONG_MESSAGES 2
/* Receives are handed back to the hardware in chains of this length. */
#define SMC_IB_REPOST_BATCH 8
/* Inline bytes asked for: a CDC or LLC message, or a short write. */
#define SMC_IB_INLINE_BYTES 64
/* What a device may take to flush the receives of a QP that is stopped. */
#define SMC_IB_DRAIN_MS 500

static_assert(SMC_IB_MESSAGE_MAX_BYTES - SMC_IB_MESSAGE_HEAD_BYTES <= PAGE_SIZE);
/* A full queue always holds a signalled request, so room becomes known again. */
static_assert(SMC_IB_SEND_QUEUE_MIN - SMC_IB_SEND_RESERVE - (SMC_IB_WRITES_MAX + 1) >
	      SMC_IB_SEND_QUEUE_MIN / 4 + SMC_IB_WRITES_MAX + 1);

struct smc_ib_port {
	bool active;
	u8 mtu_code;
};

struct smc_ib_device {
	struct kref kref;
	struct list_head list; /* in the registry, ascending by id */
	u64 id;

	/*
	 * Readers may use the hardware. Taken for writing to end that: ibdev is
	 * NULL from then on.
	 */
	struct rw_semaphore lock;
	struct ib_device *ibdev;

	/* Fixed, except for the name, which changes under lock. */
	char name[SMC_IB_NAME_SIZE];
	char parent_name[SMC_IB_NAME_SIZE];
	bool iwarp;
	u32 driver; /* enum rdma_driver_id */
	bool pci;
	u16 pci_vendor;
	u16 pci_device;
	u64 node_guid;
	u64 buffer_max_bytes;
	u8 ports_count;

	struct smc_ib_port ports[SMC_IB_PORTS_MAX];

	struct ib_event_handler event_handler;
	struct work_struct event_work;
	unsigned long events; /* bit n: port n + 1; SMC_IB_EVENT_FATAL */

	atomic_t links;
	atomic_t memory_regions;
	/* Protection domains alive; removal waits for the last one. */
	atomic_t domains;
	wait_queue_head_t idle;
};

#define SMC_IB_EVENT_FATAL SMC_IB_PORTS_MAX

/* A PD, shared by one link and its regions. */
struct smc_ib_domain {
	struct kref kref;
	struct smc_ib_device *dev;
	/* Stays valid while the domain lives: removal waits for it. */
	struct ib_device *ibdev;
	struct ib_pd *pd;
	bool link_alive;
};

struct smc_ib_send_slot {
	struct ib_cqe cqe;
	u32 wr_end; /* wr_head after this post */
	u64 seq;
};

struct smc_ib_receive_slot {
	struct ib_cqe cqe;
	struct ib_recv_wr wr;
	struct ib_sge sge[2]; /* the head's, then the tail's; or one for both */
	void *head;
	void *tail;
	void *data; /* holds the tail, and with one SGE the head in front of it */
	u32 length; /* of the message in it */
};

/* Completions taken at a time. */
#define SMC_IB_COMPLETION_BATCH 16

/* A completion queue of a link, which is its context. */
struct smc_ib_completions {
	struct ib_cq *cq;
	struct napi_struct napi;
	struct dim dim; /* without priv: the device moderates nothing */
#ifdef CONFIG_PREEMPT_RT
	struct irq_work come; /* reports, from without the driver's locks */
#endif
	struct ib_wc batch[SMC_IB_COMPLETION_BATCH]; /* the poller's, as those below */
	bool armed;
	bool missed; /* there is more, which nothing will report */
};

struct smc_ib_long {
	void *data;
	u64 dma;
	u32 wr_end; /* in flight until wr_tail gets there */
};

enum smc_ib_link_flag {
	SMC_IB_LINK_STARTED, /* left RESET: posts and completions happen */
	SMC_IB_LINK_BROKEN,  /* no more posts */
	SMC_IB_LINK_CLOSING, /* no more callbacks */
};

/* How a link of an iWARP device meets its peer; see verbs_iwarp.c. */
struct smc_ib_meeting {
	struct rdma_cm_id *id; /* NULL: there is none yet */
	u8 hello[SMC_IB_HELLO_BYTES];
	/* Server: */
	struct smc_ib_listener *listener;
	struct list_head list; /* in the listener's, under its mutex */
	/* Client: */
	struct net *net;
	struct sockaddr_storage from;
	struct sockaddr_storage to;
	struct task_struct *task;
	bool given_up;
	struct completion step; /* an address or a route is found, or not: */
	int status;
};

struct smc_ib_link {
	/* Written by posts, under the caller's send-queue lock. */
	struct ib_qp *qp;
	u32 wr_head;      /* work requests posted, modulo 2^32 */
	u32 wr_signalled; /* wr_head behind the last signalled one */
	u32 send_queue;   /* a power of two */
	u32 inline_bytes;
	u32 write_flags; /* of writes that are not inline */
	u64 seq;
	struct smc_ib_send_slot *send_slots; /* send_queue of them */
	u8 *send_heads;   /* SMC_IB_MESSAGE_HEAD_BYTES each */
	u64 send_heads_dma;
	u32 local_dma_key;
	struct ib_rdma_wr write_wr[SMC_IB_WRITES_MAX];
	struct ib_sge write_sge[SMC_IB_WRITES_MAX];
	struct ib_send_wr send_wr;
	struct ib_sge send_sge;
	struct ib_cqe write_cqe;
	struct smc_ib_long longs[SMC_IB_LONG_MESSAGES];

	/* Written by completions, one at a time. */
	u32 wr_tail ____cacheline_aligned_in_smp; /* work requests known done */
	u32 repost_count;
	struct smc_ib_receive_slot *repost_first;
	struct smc_ib_receive_slot *repost_last;

	struct smc_ib_completions completions;
	void *context;
	struct smc_ib_receive_slot *receives; /* SMC_IB_RECEIVES of them */
	u32 receive_sges; /* 1 or 2 */
	u8 *receive_heads;
	u64 receive_heads_dma;

	/* Rarely touched. */
	struct smc_ib_domain *domain;
	u8 port;
	unsigned long flags;  /* bits of enum smc_ib_link_flag */
	int status;           /* why it broke */
	struct work_struct failed_work;
	struct completion receives_flushed; /* nothing more comes in, all is delivered */
	atomic_t registrations; /* in the send queue */
	struct smc_ib_meeting meeting;
};

struct smc_ib_buffer {
	enum smc_ib_buffer_kind kind;
	size_t size_bytes;
	void *data;
	struct page *pages; /* contiguous ones, else NULL: vmalloc */
	unsigned int order; /* of pages */
};

enum smc_ib_region_state {
	SMC_IB_REGION_NEW,
	SMC_IB_REGION_POSTED,
	SMC_IB_REGION_READY,
	SMC_IB_REGION_FAILED,
};

struct smc_ib_region {
	/* What posts read. */
	u64 address;
	u32 local_key;
	bool must_sync; /* see smc_ib_region_info */

	struct smc_ib_domain *domain;
	struct smc_ib_link *link; /* only for posting */
	enum dma_data_direction direction;
	struct sg_table sgt;
	u32 remote_key;
	struct ib_mr *mr; /* NULL: the PD's local DMA key serves */
	struct ib_reg_wr wr;
	struct ib_cqe cqe;
	u32 wr_end;
	u64 seq;
	enum smc_ib_region_state state;
};

/* verbs_sync.c */
/* The longest piece of memory that one mapping for @ibdev's DMA can cover; whole pages. */
size_t smc_ib_sync_segment_bytes(struct ib_device *ibdev);
/* True if CPU and device need syncs to see the same bytes of @region. */
bool smc_ib_sync_is_needed(const struct smc_ib_region *region);

/* verbs_buffer.c */
/* The page frames of @buffer as a list, in segments of at most @segment_bytes. */
int smc_ib_buffer_table(const struct smc_ib_buffer *buffer, size_t segment_bytes,
			struct sg_table *sgt);

/* verbs_device.c */
/* For events of devices, and links that are lost. Made and ended by verbs_registry.c. */
extern struct workqueue_struct *smc_ib_wq;
/*
 * The RDMA core's device, or NULL if it is going; then nothing is held. To be
 * paired with smc_ib_device_release().
 */
struct ib_device *smc_ib_device_use(struct smc_ib_device *dev);
void smc_ib_device_release(struct smc_ib_device *dev);

/* verbs_domain.c */
struct smc_ib_domain *smc_ib_domain_create(struct smc_ib_device *dev, struct ib_device *ibdev);
void smc_ib_domain_get(struct smc_ib_domain *domain);
void smc_ib_domain_put(struct smc_ib_domain *domain);

/* verbs_port.c */
/* With a reference, or NULL. */
struct net_device *smc_ib_port_netdev(struct ib_device *ibdev, u8 port);
/* Asks the hardware for state and MTU. Sleeps, takes the RTNL in some drivers. */
void smc_ib_port_refresh(struct smc_ib_device *dev, struct ib_device *ibdev, u8 port);

/* verbs_gid.c */
/* The entry that is @gid now, wherever it stands, with a reference, or NULL. */
const struct ib_gid_attr *smc_ib_gid_hold(struct ib_device *ibdev, u8 port,
					  const struct smc_ib_gid *gid);
/* The netdev behind it, with a reference, or NULL. */
struct net_device *smc_ib_gid_netdev(struct ib_device *ibdev, u8 port,
				     const struct smc_ib_gid *gid);

/* verbs_completion.c */
/* Process context. A queue delivers nothing any more when it has been destroyed. */
int smc_ib_completions_create(struct smc_ib_link *link, struct ib_device *ibdev, u32 count);
void smc_ib_completions_destroy(struct smc_ib_completions *queue);

/* verbs_post.c */
void smc_ib_post_prepare(struct smc_ib_link *link);

/* verbs_queue.c */
/*
 * The account of a send queue. Work requests complete in the order they were posted, so the
 * completion of a signalled one retires all before it: wr_head counts what was posted, wr_tail what
 * is known to be done, and the difference is what the queue holds. Only wr_tail crosses from
 * completions to posts.
 */
static inline u32 smc_ib_queue_used(const struct smc_ib_link *link)
{
	/* Pairs with the release in smc_ib_queue_retire(): slots are free to reuse. */
	return READ_ONCE(link->wr_head) - smp_load_acquire(&link->wr_tail);
}

/* Room for @count work requests beside @reserve? */
static inline bool smc_ib_queue_room(const struct smc_ib_link *link, u32 count, u32 reserve)
{
	return smc_ib_queue_used(link) + count + reserve <= link->send_queue;
}

/* A signalled request is done, and so are all before it: @wr_end as in its slot. */
void smc_ib_queue_retire(struct smc_ib_link *link, u32 wr_end, u64 seq);

/* verbs_receive.c */
int smc_ib_receive_create(struct smc_ib_link *link);
void smc_ib_receive_destroy(struct smc_ib_link *link);
int smc_ib_receive_post_all(struct smc_ib_link *link);

/* verbs_iwarp.c */
void smc_ib_meeting_prepare(struct smc_ib_link *link);

/* verbs_failure.c */
void smc_ib_failure_prepare(struct smc_ib_link *link);
/* Marks the link lost, the first time delivers smc_ib_link_failed(). Any context. */
void smc_ib_link_break(struct smc_ib_link *link, int status);

static inline bool smc_ib_link_broken(const struct smc_ib_link *link)
{
	return test_bit(SMC_IB_LINK_BROKEN, &link->flags);
}

#endif
