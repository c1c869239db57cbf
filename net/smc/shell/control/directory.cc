// SPDX-License-Identifier: GPL-2.0-only
#include "shell/control/directory.hpp"

#include <atomic>

namespace smc::control {
namespace {

// Read on any CPU, written at init and exit only.
constinit std::atomic<const Directory *> installed = nullptr;

} // namespace

const Directory *directory()
{
	return installed.load(std::memory_order_acquire);
}

void set_directory(const Directory *directory)
{
	installed.store(directory, std::memory_order_release);
}

void leave_namespace(net *net)
{
	const Directory *dir = directory();
	if (dir && dir->namespace_leaves)
		dir->namespace_leaves(net);
}

void end_namespace(net *net)
{
	const Directory *dir = directory();
	if (dir && dir->namespace_exit)
		dir->namespace_exit(net);
}

} // namespace smc::control
