// SPDX-License-Identifier: GPL-2.0-only
/*
 * copy_splice_read(): since 6.5, instead of generic_file_splice_read()
 * (c6585011bc1d, "splice: Remove generic_file_splice_read()").
 * exported: copy_splice_read
 */
#include <linux/fs.h>

ssize_t probe(struct file *in, loff_t *pos, struct pipe_inode_info *pipe);
ssize_t probe(struct file *in, loff_t *pos, struct pipe_inode_info *pipe)
{
	return copy_splice_read(in, pos, pipe, 1, 0);
}
