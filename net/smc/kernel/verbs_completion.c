// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion queues. Each has a NAPI of its own, which is polled in softirq after an interrupt, or
 * by a program that busy-polls a socket (SO_BUSY_POLL, epoll), by one of them at a time.
 */
#include <linux/bottom_half.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/slab.h>

#include "kernel/stages.h"
#include "kernel/verbs.h"
#include "kernel/verbs_compat.h"

/* NAPIs belong to a network device. This one is never registered. */
static struct net_device *smc_ib_napi_dev;
/* Its list of NAPIs. */
static DEFINE_MUTEX(smc_ib_napi_mutex);
/* Queues are spread over the device's vectors, as ib_alloc_cq_any() does it. */
static atomic_t smc_ib_cq_count = ATOMIC_INIT(-1);

/* As the RDMA core moderates its own queues. */
static const struct {
	u16 period_us;
	u16 completions;
} smc_ib_moderation[RDMA_DIM_PARAMS_NUM_PROFILES] = {
	{ 1, 1 },  { 1, 4 },   { 2, 4 },   { 2, 8 },   { 4, 8 },
	{ 16, 8 }, { 16, 16 }, { 32, 16 }, { 32, 32 },
};

static void smc_ib_completions_moderate(struct work_struct *work)
{
	struct dim *dim = container_of(work, struct dim, work);
	struct ib_cq *cq = dim->priv;

	dim->state = DIM_START_MEASURE;
	cq->device->ops.modify_cq(cq, smc_ib_moderation[dim->profile_ix].completions,
				  smc_ib_moderation[dim->profile_ix].period_us);
}

static void smc_ib_completions_arm(struct smc_ib_completions *queue)
{
	queue->armed = true;
	queue->missed =
		ib_req_notify_cq(queue->cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

/*
 * What has been sent makes room, and what waited for that is sent at once. An empty queue is armed
 * before: those messages are reported as any others, by an interrupt, and as late. Found by this
 * run already, where the adapter is quick, they would make the next ones leave one by one instead
 * of gathering until the next report. A program that busy-polls wants no interrupts until its last
 * look.
 */
static bool smc_ib_completions_arm_first(const struct smc_ib_completions *queue,
					 const struct ib_wc *wc)
{
	return !queue->armed && !(wc->opcode & IB_WC_RECV) &&
	       !test_bit(NAPI_STATE_IN_BUSY_POLL, &queue->napi.state);
}

static int smc_ib_completions_take(struct smc_ib_completions *queue, int budget)
{
	int taken = 0;

	queue->armed = false;
	while (taken < budget) {
		int wanted = min_t(int, budget - taken, ARRAY_SIZE(queue->batch));
		int got = ib_poll_cq(queue->cq, wanted, queue->batch);
		int i;

		for (i = 0; i < got; i++) {
			struct ib_wc *wc = &queue->batch[i];

			if (got != wanted && smc_ib_completions_arm_first(queue, wc))
				smc_ib_completions_arm(queue);
			wc->wr_cqe->done(queue->cq, wc);
		}
		if (got > 0)
			taken += got;
		if (got != wanted)
			break;
	}
	return taken;
}

static int smc_ib_completions_poll(struct napi_struct *napi, int budget)
{
	struct smc_ib_completions *queue = container_of(napi, struct smc_ib_completions, napi);
	int taken = smc_ib_completions_take(queue, budget);

	if (taken >= budget || !napi_complete_done(napi, taken))
		return taken;
	if (queue->dim.priv)
		rdma_dim(&queue->dim, taken);
	if (!queue->armed)
		smc_ib_completions_arm(queue);
	if (queue->missed)
		napi_schedule(napi);
	return taken;
}

#ifdef CONFIG_PREEMPT_RT

/*
 * Drivers report under locks of theirs, which are mutexes here, and so is what turns softirqs off.
 * The poll holds that, and takes those locks: so a report does not turn softirqs off, but leaves it
 * to an interrupt.
 */
static void smc_ib_completions_have_come(struct irq_work *come)
{
	napi_schedule(&container_of(come, struct smc_ib_completions, come)->napi);
}

static void smc_ib_completions_come(struct ib_cq *cq, void *context)
{
	struct smc_ib_link *link = context;

	irq_work_queue(&link->completions.come);
}

static void smc_ib_completions_init_report(struct smc_ib_completions *queue)
{
	queue->come = IRQ_WORK_INIT_HARD(smc_ib_completions_have_come);
}

static void smc_ib_completions_end_report(struct smc_ib_completions *queue)
{
	irq_work_sync(&queue->come);
}

#else

/* Drivers report from interrupts, softirqs and workers. */
static void smc_ib_completions_come(struct ib_cq *cq, void *context)
{
	struct smc_ib_link *link = context;

	if (in_interrupt() || irqs_disabled()) {
		napi_schedule(&link->completions.napi);
		return;
	}
	/* Nobody would run the softirq soon. */
	local_bh_disable();
	napi_schedule(&link->completions.napi);
	local_bh_enable();
}

static void smc_ib_completions_init_report(struct smc_ib_completions *queue)
{
}

static void smc_ib_completions_end_report(struct smc_ib_completions *queue)
{
}

#endif

int smc_ib_completions_create(struct smc_ib_link *link, struct ib_device *ibdev, u32 count)
{
	struct smc_ib_completions *queue = &link->completions;
	u32 vectors = max(min_t(u32, ibdev->num_comp_vectors, num_online_cpus()), 1U);
	struct ib_cq_init_attr attr = {
		.cqe = count,
		.comp_vector = (u32)atomic_inc_return(&smc_ib_cq_count) % vectors,
	};

	smc_ib_completions_init_report(queue);
	queue->cq = ib_create_cq(ibdev, smc_ib_completions_come, NULL, link, &attr);
	if (IS_ERR(queue->cq))
		return PTR_ERR(queue->cq);
	if (ibdev->ops.modify_cq && ibdev->use_cq_dim) {
		queue->dim.tune_state = DIM_GOING_RIGHT;
		queue->dim.profile_ix = RDMA_DIM_START_PROFILE;
		queue->dim.priv = queue->cq;
		INIT_WORK(&queue->dim.work, smc_ib_completions_moderate);
	}
	mutex_lock(&smc_ib_napi_mutex);
	netif_napi_add(smc_ib_napi_dev, &queue->napi, smc_ib_completions_poll);
	mutex_unlock(&smc_ib_napi_mutex);
	napi_enable(&queue->napi);
	ib_req_notify_cq(queue->cq, IB_CQ_NEXT_COMP);
	return 0;
}

void smc_ib_completions_destroy(struct smc_ib_completions *queue)
{
	napi_disable(&queue->napi);
	/*
	 * Waits for a grace period, and so for a poll that has said that it is complete, for which
	 * napi_disable() does not wait: it still queues the work and arms the queue. Reports that
	 * come later find the NAPI disabled.
	 */
	mutex_lock(&smc_ib_napi_mutex);
	netif_napi_del(&queue->napi);
	mutex_unlock(&smc_ib_napi_mutex);
	if (queue->dim.priv)
		cancel_work_sync(&queue->dim.work);
	ib_destroy_cq(queue->cq);
	smc_ib_completions_end_report(queue);
}

u32 smc_ib_link_napi_id(const struct smc_ib_link *link)
{
	return link->completions.napi.napi_id;
}

#ifdef HAVE_ALLOC_NETDEV_DUMMY
static struct net_device *smc_ib_napi_dev_create(void)
{
	return alloc_netdev_dummy(0);
}

static void smc_ib_napi_dev_free(struct net_device *dev)
{
	free_netdev(dev);
}
#else
static struct net_device *smc_ib_napi_dev_create(void)
{
	struct net_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (dev)
		init_dummy_netdev(dev);
	return dev;
}

static void smc_ib_napi_dev_free(struct net_device *dev)
{
	kfree(dev);
}
#endif

int smc_ib_completions_setup(void)
{
	smc_ib_napi_dev = smc_ib_napi_dev_create();
	return smc_ib_napi_dev ? 0 : -ENOMEM;
}

void smc_ib_completions_teardown(void)
{
	smc_ib_napi_dev_free(smc_ib_napi_dev);
}
