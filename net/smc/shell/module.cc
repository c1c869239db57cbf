// SPDX-License-Identifier: GPL-2.0-only
//
// Init and exit of the C++ half, and the Directory for the control plane.
#include <cerrno>

#include "kernel/abi/callbacks/module.h"
#include "kernel/abi/control.h"
#include "kernel/abi/lock.h"
#include "kernel/abi/mem.h"
#include "kernel/abi/pernet.h"
#include "shell/control/directory.hpp"
#include "shell/socket/orphans.hpp"
#include "shell/socket/rendezvous.hpp"
#include "shell/socket/smc_socket.hpp"
#include "shell/socket/socket_list.hpp"
#include "shell/transport/departed.hpp"
#include "shell/transport/loopback/device.hpp"
#include "shell/transport/rdma_choice.hpp"
#include "shell/transport/transports.hpp"

namespace smc::shell {
namespace {

std::optional<u64> next_smcd_group(net *net, u64 after, smc_smcd_lgr_info &out)
{
	const transport::loopback::Device &device = transport::loopback::device();

	if (after >= device.group_id() || !device.snapshot_group(net, out))
		return std::nullopt;
	return device.group_id();
}

void leave_namespace(net *net)
{
	orphans().end(net);
	for (transport::Transport *transport : transport::transports())
		transport->leave(net);
}

void begin_to_leave_namespace(net *net)
{
	for (transport::Transport *transport : transport::transports())
		transport->begin_to_leave(net);
}

constexpr control::Directory kDirectory{
	.next_group = transport::next_link_group,
	.next_smcd_group = next_smcd_group,
	.next_socket = SmcSocket::next,
	.namespace_leaves = begin_to_leave_namespace,
	.namespace_exit = leave_namespace,
};

} // namespace
} // namespace smc::shell

using namespace smc::shell;

extern "C" int smc_shell_setup(void)
{
	if (!set_up_socket_list() || !set_up_rendezvous() || !set_up_orphans() ||
	    !smc::transport::set_up_departed() || !smc::transport::set_up_transports()) {
		smc::transport::tear_down_departed();
		tear_down_orphans();
		tear_down_rendezvous();
		tear_down_socket_list();
		return -ENOMEM;
	}
	smc::control::set_directory(&kDirectory);
	return 0;
}

extern "C" void smc_shell_teardown(void)
{
	// An ending namespace would call the directory, and wait for memory that is freed below.
	smc_pernet_hold_exits();
	orphans().end(nullptr);
	// All sockets are closed and all devices gone; only work that completes the closing is
	// left.
	smc_work_flush_all();
	// Twice: an endpoint that is freed may give back the last reference on its group.
	smc_rcu_barrier();
	smc_rcu_barrier();
	smc::control::set_directory(nullptr);
	smc::transport::tear_down_transports();
	smc::transport::tear_down_departed();
	tear_down_orphans();
	tear_down_rendezvous();
	tear_down_socket_list();
	smc_pernet_resume_exits();
}
