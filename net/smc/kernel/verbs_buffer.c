// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for RMBs and send buffers.
 */
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kernel/ring_memory.h"
#include "kernel/verbs.h"
#include "kernel/verbs_compat.h"

/* Without much effort: single pages are nearly as good. */
static bool smc_ib_buffer_try_contiguous(struct smc_ib_buffer *buffer, gfp_t gfp)
{
	buffer->order = get_order(buffer->size_bytes);
	buffer->pages = alloc_pages(gfp | __GFP_NORETRY | __GFP_COMP | __GFP_ZERO, buffer->order);
	if (!buffer->pages)
		return false;
	buffer->data = page_address(buffer->pages);
	return true;
}

static int smc_ib_buffer_alloc(struct smc_ib_buffer *buffer, bool contiguous, gfp_t gfp)
{
	if (contiguous && smc_ib_buffer_try_contiguous(buffer, gfp))
		return 0;
	buffer->data = smc_ring_vmalloc(buffer->size_bytes, gfp);
	return buffer->data ? 0 : -ENOMEM;
}

int smc_ib_buffer_create(struct sock *sk, enum smc_ib_buffer_kind kind, size_t size_bytes,
			 bool contiguous, struct smc_ib_buffer **out)
{
	/*
	 * Those who could free memory by sending must not wait for it. TCP takes a first segment in
	 * any case, too. So there are as many of these as connections, at most.
	 */
	const bool anyway = kind == SMC_IB_BUFFER_SEND && size_bytes == SMC_RING_BYTES_MIN;
	const gfp_t gfp = smc_ring_gfp(sk);
	struct smc_ib_buffer *buffer;
	struct mem_cgroup *old;
	int ret = -ENOMEM;

	if (WARN_ON_ONCE(!is_power_of_2(size_bytes) || size_bytes < SMC_RING_BYTES_MIN))
		return -EINVAL;
	if (!smc_ring_enter(sk, size_bytes, anyway))
		return -ENOMEM;
	old = smc_ring_charge(smc_ring_memcg(sk));
	buffer = kzalloc(sizeof(*buffer), gfp | __GFP_NORETRY);
	if (buffer) {
		buffer->kind = kind;
		buffer->size_bytes = size_bytes;
		ret = smc_ib_buffer_alloc(buffer, contiguous, gfp);
	}
	smc_ring_charge(old);
	if (ret) {
		kfree(buffer);
		smc_ring_leave(size_bytes);
		return ret;
	}
	*out = buffer;
	return 0;
}

void smc_ib_buffer_destroy(struct smc_ib_buffer *buffer)
{
	if (buffer->pages)
		__free_pages(buffer->pages, buffer->order);
	else
		vfree(buffer->data);
	smc_ring_leave(buffer->size_bytes);
	kfree(buffer);
}

void *smc_ib_buffer_data(const struct smc_ib_buffer *buffer)
{
	return buffer->data;
}

int smc_ib_buffer_table(const struct smc_ib_buffer *buffer, size_t segment_bytes,
			struct sg_table *sgt)
{
	unsigned int count = smc_ring_pages(buffer->size_bytes);
	struct page **pages;
	unsigned int i;
	int rc;

	pages = kvmalloc_array(count, sizeof(*pages), GFP_KERNEL | __GFP_NOWARN);
	if (!pages)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		pages[i] = buffer->pages
				   ? buffer->pages + i
				   : vmalloc_to_page(buffer->data + ((size_t)i << PAGE_SHIFT));
	rc = sg_alloc_table_from_pages_segment(sgt, pages, count, 0, buffer->size_bytes,
					       segment_bytes, GFP_KERNEL);
	kvfree(pages);
	return rc;
}
