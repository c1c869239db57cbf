// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for RMBs and send buffers.
 */
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kernel/verbs.h"

#define SMC_IB_BUFFER_MIN_BYTES (16 * 1024)

/* Not worth any trouble: the second best is nearly as good. */
static bool smc_ib_buffer_try_contiguous(struct smc_ib_buffer *buffer)
{
	buffer->order = get_order(buffer->size_bytes);
	buffer->pages = alloc_pages(GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_NORETRY |
				    __GFP_COMP | __GFP_ZERO, buffer->order);
	if (!buffer->pages)
		return false;
	buffer->data = page_address(buffer->pages);
	return true;
}

int smc_ib_buffer_create(enum smc_ib_buffer_kind kind, size_t size_bytes, bool contiguous,
			 struct smc_ib_buffer **out)
{
	struct smc_ib_buffer *buffer;

	if (WARN_ON_ONCE(!is_power_of_2(size_bytes) || size_bytes < SMC_IB_BUFFER_MIN_BYTES ||
			 !PAGE_ALIGNED(size_bytes)))
		return -EINVAL;
	buffer = kzalloc(sizeof(*buffer), GFP_KERNEL_ACCOUNT);
	if (!buffer)
		return -ENOMEM;
	buffer->kind = kind;
	buffer->size_bytes = size_bytes;
	if (!contiguous || !smc_ib_buffer_try_contiguous(buffer)) {
		/* A smaller buffer, or TCP, is better than a program that the OOM killer picks. */
		buffer->data = __vmalloc(size_bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN |
					 __GFP_RETRY_MAYFAIL | __GFP_ZERO);
		if (!buffer->data) {
			kfree(buffer);
			return -ENOMEM;
		}
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
	kfree(buffer);
}

void *smc_ib_buffer_data(const struct smc_ib_buffer *buffer)
{
	return buffer->data;
}

int smc_ib_buffer_table(const struct smc_ib_buffer *buffer, size_t segment_bytes,
			struct sg_table *sgt)
{
	unsigned int count = buffer->size_bytes >> PAGE_SHIFT;
	struct page **pages;
	unsigned int i;
	int rc;

	pages = kvmalloc_array(count, sizeof(*pages), GFP_KERNEL | __GFP_NOWARN);
	if (!pages)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		pages[i] = buffer->pages ? nth_page(buffer->pages, i) :
			   vmalloc_to_page(buffer->data + ((size_t)i << PAGE_SHIFT));
	rc = sg_alloc_table_from_pages_segment(sgt, pages, count, 0, buffer->size_bytes,
					       segment_bytes, GFP_KERNEL);
	kvfree(pages);
	return rc;
}
