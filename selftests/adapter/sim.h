/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * simrnic: an RDMA adapter that is played, for tests. Each device sits on a
 * network device; all of them are in one kernel, in whatever namespaces, and
 * what one posts the module moves into the memory of another one's queue pair.
 * With the parameter "wire" they may also be in several kernels (wire.c).
 *
 * It treats memory as hardware does: it knows DMA addresses only, which it
 * translates at each access, and moves nothing that is not registered there and
 * then. So a bounce buffer is what it writes into, and an address that was
 * unmapped is an error (with an IOMMU that is strict).
 *
 * Locks, outermost first: sim_fabric (bottom halves off; held while a work
 * request is executed, so that who takes something away under it knows that
 * nobody uses it any more), a queue pair's lock, a completion queue's lock.
 */
#ifndef SELFTESTS_ADAPTER_SIM_H
#define SELFTESTS_ADAPTER_SIM_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/moduleparam.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

/*
 * The number of a driver that the kernel has dropped: programs that look by number find all devices
 * with it, and "unknown" all there are.
 */
#define SIM_DRIVER RDMA_DRIVER_NES
#define SIM_INLINE_MAX 256
#define SIM_SGES_MAX 8
/* The longest send that goes to another kernel. */
#define SIM_WIRE_SEND_MAX 8192
/* The key of no region: opens everything that is mapped for the device. */
#define SIM_LOCAL_DMA_KEY 0x100
/* The owner of a key may choose its low byte. */
#define SIM_KEY_SHIFT 8
/* How many queue pairs, and regions, are found without a search. */
#define SIM_FOUND 256

enum sim_counter {
	SIM_DOORBELLS,     /* calls of post_send() */
	SIM_REQUESTS,      /* work requests in them */
	SIM_SIGNALED,      /* that asked for a completion */
	SIM_SENDS,
	SIM_WRITES,
	SIM_WRITE_BYTES,   /* that have arrived here */
	SIM_REGISTRATIONS,
	SIM_COMPLETIONS,
	SIM_UPCALLS,
	SIM_POLLS,
	SIM_ARMS,
	SIM_NOT_READY,     /* messages that found no receive posted */
	SIM_ACCESS_ERRORS, /* the key, its bounds or its rights did not allow the access */
	SIM_DMA_FAULTS,    /* nothing is mapped at the address */
	SIM_TIMEOUTS,
	SIM_FAULTS_SEEN,
	SIM_COUNTERS
};

enum sim_fault {
	/* The call fails. */
	SIM_FAULT_ALLOC_PD,
	SIM_FAULT_CREATE_CQ,
	SIM_FAULT_CREATE_QP,
	SIM_FAULT_MODIFY_QP,
	SIM_FAULT_ALLOC_MR,
	SIM_FAULT_MAP_MR,
	SIM_FAULT_CONNECT, /* of iWARP's connection manager, and accept */
	SIM_FAULT_ACCEPT,
	SIM_FAULT_POST_SEND, /* at its last work request */
	SIM_FAULT_POST_RECEIVE,
	/* The work request fails, and with it the queue pair. */
	SIM_FAULT_REGISTER,
	SIM_FAULT_ACCESS,  /* a write: the peer's key does not open the memory */
	SIM_FAULT_RETRIES, /* a send or write: the peer does not answer */
	/* A send finds no receive, and is tried again. */
	SIM_FAULT_NOT_READY,
	/* A completion of the send queue does not come, or comes twice. */
	SIM_FAULT_LOSE,
	SIM_FAULT_DOUBLE,
	SIM_FAULTS
};

struct sim_parent {
	struct device *device;
	struct iommu_domain *domain; /* NULL: no IOMMU */
	struct list_head list; /* of PCI functions */
	bool taken;
	struct platform_device *platform; /* NULL: PCI */
};

struct sim_device {
	struct ib_device ibdev; /* first: ib_alloc_device() */
	struct net_device *netdev;
	struct sim_parent *parent;
	struct ib_device_attr attrs; /* the core drops its own before it asks */
	struct dentry *debugfs;
	atomic64_t counters[SIM_COUNTERS];
	atomic_t faults[SIM_FAULTS]; /* calls until it happens; 0: it does not */
};

struct sim_pd {
	struct ib_pd ibpd;
};

struct sim_cq {
	struct ib_cq ibcq;
	spinlock_t lock;
	struct ib_wc *ring;
	u32 size; /* a power of two */
	u32 head;
	u32 tail;
	u32 armed; /* enum ib_cq_notify_flags; 0: not */
	bool overrun;
	struct hrtimer upcall; /* moderates */
};

enum sim_region_state {
	SIM_REGION_INVALID, /* allocated, or invalidated */
	SIM_REGION_VALID,
};

struct sim_region {
	struct ib_mr ibmr;
	u32 index;
	u32 key;
	int access;
	enum sim_region_state state; /* this and the next: guarded by sim_fabric */
	u64 iova;
	u64 length;
	bool all; /* no pages: any DMA address */
	u64 *pages; /* DMA addresses */
	u32 pages_count;
	u32 pages_max;
};

struct sim_send {
	u64 wr_id;
	enum ib_wr_opcode opcode;
	int flags;
	u32 bytes;
	u32 sges;
	struct ib_sge sge[SIM_SGES_MAX];
	u8 data[SIM_INLINE_MAX]; /* IB_SEND_INLINE */
	u64 remote_addr;
	u32 rkey;
	__be32 imm;
	struct sim_region *region; /* IB_WR_REG_MR */
	u32 key;                   /* of it, or the one to invalidate */
	int access;
	ktime_t due; /* SIM_LATE: not done before */
};

struct sim_receive {
	u64 wr_id;
	u32 sges;
	struct ib_sge sge[SIM_SGES_MAX];
};

struct sim_qp {
	struct ib_qp ibqp;
	spinlock_t lock; /* guards state, and the heads of both rings */
	enum ib_qp_state state;
	struct ib_qp_attr attr;
	struct ib_qp_init_attr init;
	union ib_gid own_gid;
	u8 own_mac[ETH_ALEN];		/* of the device that the GID is on */
	enum ib_gid_type gid_type;

	struct sim_send *sends;
	u32 sends_size;
	u32 send_head;
	u32 send_tail; /* guarded by sim_fabric */
	struct sim_receive *receives;
	u32 receives_size;
	u32 receive_head;
	u32 receive_tail; /* guarded by sim_fabric */

	/* What executes the sends, or flushes both rings. */
	struct delayed_work work;
	struct tasklet_struct tasklet;
	struct hrtimer timer;
	bool timed; /* the timer runs; guarded by lock */
	/* Of the oldest send; guarded by sim_fabric. */
	u32 tries;
	bool waiting; /* for the work, which tries again */
	/* wire.c; guarded by sim_fabric. */
	struct sim_end *end; /* manager.c; NULL: it is not joined, or not iWARP's */
	u32 wire_sent;   /* requests that were answered */
	u32 wire_done;   /* requests of the peer that were done */
	u32 wire_offset; /* bytes that have come of the next one */
	u8 wire_data[SIM_WIRE_SEND_MAX];
	refcount_t users; /* the core's connection manager, and the creator */
	struct completion unused;
};

static inline struct sim_device *to_sim_device(struct ib_device *ibdev)
{
	return container_of(ibdev, struct sim_device, ibdev);
}

static inline struct sim_cq *to_sim_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct sim_cq, ibcq);
}

static inline struct sim_region *to_sim_region(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct sim_region, ibmr);
}

static inline struct sim_qp *to_sim_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct sim_qp, ibqp);
}

static inline void sim_count(struct sim_device *dev, enum sim_counter counter, u64 n)
{
	atomic64_add(n, &dev->counters[counter]);
}

/* module.c */
extern spinlock_t sim_fabric;
extern struct workqueue_struct *sim_wq;

/* device.c */
int sim_device_create(const char *name, struct net_device *netdev);
void sim_device_port_changed(struct sim_device *dev);
static inline bool sim_device_port_active(const struct sim_device *dev)
{
	return netif_running(dev->netdev) && netif_carrier_ok(dev->netdev);
}

/* parent.c: whose DMA it is. A PCI function that nobody has yet, else a platform device. */
int sim_parents_init(void);
void sim_parents_exit(void);
struct sim_parent *sim_parent_take(void);
void sim_parent_give_back(struct sim_parent *parent);

/* dma.c */
/* A stretch of memory as the device of @dev reaches it. */
struct sim_stretch {
	struct sim_device *dev;
	const struct sim_region *region;
	u64 addr;
	u32 length;
};
/*
 * Copies min(@to->length, @from->length) bytes and moves both on by so many. False: an address is
 * mapped to nothing, which is counted. sim_fabric is held.
 */
bool sim_dma_copy(struct sim_stretch *to, struct sim_stretch *from);
bool sim_dma_copy_in(struct sim_stretch *to, const void *from, u32 bytes);
bool sim_dma_copy_out(void *to, struct sim_stretch *from, u32 bytes);

/* region.c */
int sim_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int sim_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
struct ib_mr *sim_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *sim_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_sg);
#ifdef HAVE_REG_USER_MR_DMAH
struct ib_mr *sim_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 address, int access,
			      struct ib_dmah *dmah, struct ib_udata *udata);
#else
struct ib_mr *sim_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 address, int access,
			      struct ib_udata *udata);
#endif
int sim_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents, unsigned int *offset);
int sim_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
/*
 * What @key opens of @dev to queue pairs of @pd: @length bytes at @addr, with all rights in @access
 * (0: reading by the device itself). False, and counted: it does not. sim_fabric is held.
 */
bool sim_region_open(struct sim_device *dev, const struct ib_pd *pd, u32 key, u64 addr, u32 length,
		     int access, struct sim_stretch *out);
/* The work requests. False: there is no such region. sim_fabric is held. */
bool sim_region_register(const struct ib_pd *pd, struct sim_region *region, u32 key, int access);
bool sim_region_invalidate(struct sim_device *dev, const struct ib_pd *pd, u32 key);

/* completion.c */
int sim_cq_size_max(void);
int sim_create_cq_of(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr);
int sim_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int sim_poll_cq(struct ib_cq *ibcq, int count, struct ib_wc *wc);
int sim_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
/* Calls whoever asked to be called. Bottom halves are off. */
void sim_cq_upcall(struct sim_cq *cq);
/* Adds one, and has it reported. Bottom halves are off. */
void sim_cq_add(struct ib_cq *ibcq, const struct ib_wc *wc, bool solicited);
/* After that no completion of a queue pair being destroyed is reported. */
void sim_cq_forget(struct ib_cq *ibcq, const struct ib_qp *ibqp);

/* queue_pair.c */
int sim_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int sim_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int sim_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
int sim_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int sim_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int sim_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
/* By number, of any device, or NULL. sim_fabric is held, and it stays for as long. */
struct sim_qp *sim_qp_find(u32 qpn);
/* sim_fabric is held. */
void sim_qp_set_state(struct sim_qp *qp, enum ib_qp_state state);
/* To the error state; what is posted is flushed. sim_fabric is held. */
void sim_qp_fail(struct sim_qp *qp);
/* All of the device, each with an event. Process context. */
void sim_qp_fail_all(struct sim_device *dev);

/* execute.c */
/* Does what is posted, until there is nothing left or it has to wait. Bottom halves are off. */
void sim_execute_all(struct sim_qp *qp);
void sim_execute_work(struct work_struct *work);
/* Does what is due. False: nothing more is posted. Bottom halves are off. */
bool sim_execute_due(struct sim_qp *qp, ktime_t *next);

/* Takes the oldest posted receive of @peer. sim_fabric is held. */
bool sim_take_receive(struct sim_qp *peer, struct sim_receive *out);
/* Copies to what it scatters to. The same. */
enum ib_wc_status sim_scatter_bytes(struct sim_qp *qp, const struct sim_receive *receive,
				    const u8 *data, u32 bytes);
/* The oldest send has come to this end; the next one follows. The same. */
void sim_request_is_through(struct sim_qp *qp, enum ib_wc_status status);
/* What came for this queue pair has failed here, and with it the queue pair. The same. */
void sim_responder_fails(struct sim_qp *qp);

/* choice.c: a parameter that is one of several names; for module_param_cb(). */
struct sim_choice {
	const char *const *names;
	size_t names_count;
	unsigned int value; /* index in names; it may change at any time */
};

extern const struct kernel_param_ops sim_choice_ops;

/* wire.c */
void sim_wire_init(void);
void sim_wire_exit(void);
/*
 * Asks a queue pair of another kernel to do it; sim_request_is_through() when it has. False: its
 * own memory cannot be read. sim_fabric is held.
 */
bool sim_wire_request(struct sim_qp *qp, const struct sim_send *send);

/* manager.c */
struct iw_cm_id;
struct iw_cm_conn_param;
int sim_iw_create_listen(struct iw_cm_id *id, int backlog);
int sim_iw_destroy_listen(struct iw_cm_id *id);
int sim_iw_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int sim_iw_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int sim_iw_reject(struct iw_cm_id *id, const void *data, u8 bytes);
struct ib_qp *sim_iw_get_qp(struct ib_device *ibdev, int qpn);
void sim_iw_add_ref(struct ib_qp *ibqp);
void sim_iw_rem_ref(struct ib_qp *ibqp);
/* The queue pair fails or goes: its connection ends. sim_fabric is held. */
void sim_part(struct sim_qp *qp);
/* Its peer by the connection manager, or NULL. sim_fabric is held. */
struct sim_qp *sim_joined_to(struct sim_qp *qp);
/* False: it is a server's, and nothing has come yet. It is taken as said. sim_fabric is held. */
bool sim_may_send(struct sim_qp *qp);

/* timing.c: the parameters that say when the adapter does what. */
extern unsigned int sim_copy_bytes; /* of an RDMA write at most so many are moved; 0: all */
void sim_timing_init_qp(struct sim_qp *qp);
/* After it nothing executes. The queue pair cannot be found any more. */
void sim_timing_exit_qp(struct sim_qp *qp);
/* Of what is posted now. */
ktime_t sim_timing_due(void);
/* Something was posted. */
void sim_timing_doorbell(struct sim_qp *qp);
void sim_timing_init_cq(struct sim_cq *cq);
void sim_timing_exit_cq(struct sim_cq *cq);
/* A completion wants to be reported. */
void sim_timing_upcall(struct sim_cq *cq);

/* fault.c */
bool sim_fault_count_down(struct sim_device *dev, enum sim_fault fault);
static inline bool sim_fault_happens(struct sim_device *dev, enum sim_fault fault)
{
	return unlikely(atomic_read(&dev->faults[fault])) && sim_fault_count_down(dev, fault);
}
void sim_faults_add(struct sim_device *dev);

/* counters.c: and the device's folder in debugfs, which goes with all that is in it. */
void sim_counters_init(void);
void sim_counters_exit(void);
void sim_counters_add(struct sim_device *dev);
void sim_counters_remove(struct sim_device *dev);

#endif
