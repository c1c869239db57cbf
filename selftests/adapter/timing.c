// SPDX-License-Identifier: GPL-2.0-only
/*
 * When the adapter does what was posted, and when it reports what is done.
 */
#include <linux/module.h>

#include "sim.h"

/* Names of the parameter "execute". */
enum sim_execution {
	SIM_BY_WORK, /* by a work item: some time later, on any processor */
	SIM_AT_ONCE, /* in the call that posts it */
	SIM_SOFTIRQ, /* in a softirq on the same processor */
	SIM_LATE,    /* in a softirq, late_us after it was posted */
};

static const char *const sim_executions[] = {
	[SIM_BY_WORK] = "work",
	[SIM_AT_ONCE] = "at_once",
	[SIM_SOFTIRQ] = "softirq",
	[SIM_LATE] = "late",
};

static struct sim_choice sim_execution = {
	sim_executions, ARRAY_SIZE(sim_executions), SIM_BY_WORK,
};
module_param_cb(execute, &sim_choice_ops, &sim_execution, 0644);
MODULE_PARM_DESC(execute, "when: work, at_once, softirq or late");
static unsigned int late_us = 2;
module_param(late_us, uint, 0644);
MODULE_PARM_DESC(late_us, "from post_send() until it is done, with execute=late");
static unsigned int upcall_us;
module_param(upcall_us, uint, 0644);
MODULE_PARM_DESC(upcall_us, "from a completion until it is reported");
unsigned int sim_copy_bytes;
module_param_named(copy_bytes, sim_copy_bytes, uint, 0644);
MODULE_PARM_DESC(copy_bytes, "that an RDMA write moves at most, for benchmarks; 0: all");

static ktime_t sim_us(unsigned int us)
{
	return ns_to_ktime(us * NSEC_PER_USEC);
}

static void sim_execute_tasklet(struct tasklet_struct *tasklet)
{
	sim_execute_all(container_of(tasklet, struct sim_qp, tasklet));
}

static enum hrtimer_restart sim_execute_timer(struct hrtimer *timer)
{
	struct sim_qp *qp = container_of(timer, struct sim_qp, timer);
	unsigned long flags;
	ktime_t next;
	bool more;

	do {
		if (sim_execute_due(qp, &next)) {
			hrtimer_set_expires(timer, next);
			return HRTIMER_RESTART;
		}
		spin_lock_irqsave(&qp->lock, flags);
		/* A queue pair that waits is looked after by its work. */
		more = !qp->waiting && qp->send_head != qp->send_tail;
		qp->timed = more;
		spin_unlock_irqrestore(&qp->lock, flags);
	} while (more);
	return HRTIMER_NORESTART;
}

#ifndef HAVE_HRTIMER_SETUP
static void hrtimer_setup(struct hrtimer *timer,
			  enum hrtimer_restart (*function)(struct hrtimer *timer), clockid_t clock,
			  enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

void sim_timing_init_qp(struct sim_qp *qp)
{
	INIT_DELAYED_WORK(&qp->work, sim_execute_work);
	tasklet_setup(&qp->tasklet, sim_execute_tasklet);
	hrtimer_setup(&qp->timer, sim_execute_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
}

void sim_timing_exit_qp(struct sim_qp *qp)
{
	/* The work last: the others start it. */
	hrtimer_cancel(&qp->timer);
	tasklet_kill(&qp->tasklet);
	cancel_delayed_work_sync(&qp->work);
}

ktime_t sim_timing_due(void)
{
	return READ_ONCE(sim_execution.value) == SIM_LATE ? ktime_add_us(ktime_get(), late_us) : 0;
}

static void sim_start_timer(struct sim_qp *qp)
{
	unsigned long flags;
	bool start;

	spin_lock_irqsave(&qp->lock, flags);
	start = !qp->timed;
	qp->timed = true;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (start)
		hrtimer_start(&qp->timer, sim_us(late_us), HRTIMER_MODE_REL_SOFT);
}

void sim_timing_doorbell(struct sim_qp *qp)
{
	/* Bottom halves cannot be switched where interrupts are off. */
	switch (irqs_disabled() ? SIM_BY_WORK : READ_ONCE(sim_execution.value)) {
	case SIM_AT_ONCE:
		if (in_softirq()) {
			sim_execute_all(qp);
			break;
		}
		local_bh_disable();
		sim_execute_all(qp);
		local_bh_enable();
		break;
	case SIM_SOFTIRQ:
		tasklet_schedule(&qp->tasklet);
		break;
	case SIM_LATE:
		sim_start_timer(qp);
		break;
	default:
		queue_delayed_work(sim_wq, &qp->work, 0);
		break;
	}
}

static enum hrtimer_restart sim_upcall_timer(struct hrtimer *timer)
{
	sim_cq_upcall(container_of(timer, struct sim_cq, upcall));
	return HRTIMER_NORESTART;
}

void sim_timing_init_cq(struct sim_cq *cq)
{
	hrtimer_setup(&cq->upcall, sim_upcall_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
}

void sim_timing_exit_cq(struct sim_cq *cq)
{
	hrtimer_cancel(&cq->upcall);
}

void sim_timing_upcall(struct sim_cq *cq)
{
	if (!upcall_us)
		sim_cq_upcall(cq);
	else if (!hrtimer_is_queued(&cq->upcall))
		hrtimer_start(&cq->upcall, sim_us(upcall_us), HRTIMER_MODE_REL_SOFT);
}
