/* SPDX-License-Identifier: GPL-2.0-only */
/* The structures of the control connection in the order of bytes they travel in: little-endian. */
#ifndef XFER_ORDER_H
#define XFER_ORDER_H

#include "plan.h"

/* From this machine's order to the other one, or back. */
void plan_order(struct plan *plan);
void report_order(struct report *report);

#endif
