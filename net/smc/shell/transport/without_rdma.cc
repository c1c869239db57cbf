// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/abi/callbacks/verbs.h"
#include "shell/transport/rdma_choice.hpp"

namespace smc::transport {

Transport *rdma_transport()
{
	return nullptr;
}

std::optional<u64> next_link_group(net * /*net*/, u64 /*after*/, smc_lgr_info & /*out*/)
{
	return std::nullopt;
}

} // namespace smc::transport

extern "C" void smc_ib_pnet_ids_changed() {}
