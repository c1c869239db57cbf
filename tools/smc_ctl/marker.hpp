// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <vector>

#include "cgroup.hpp"

// The BPF program that marks the sockets of cgroups (mark.bpf.c). It and its attachments are pinned
// below /sys/fs/bpf/smc, so that they stay when this process ends. All functions throw
// std::system_error.
namespace smc_ctl::marker {

inline constexpr const char *kProgramPin = "/sys/fs/bpf/smc/mark";

// The program that is pinned; loads and pins one if there is none. Has net.smc.tcp2smc_mark set, if
// it was not.
void prepare();
// Marks the sockets that are made in @cgroup, and in those below it, from now on. False if it does
// so already.
[[nodiscard]] bool attach(const Cgroup &cgroup);
// False if @id was not attached.
[[nodiscard]] bool detach(std::uint64_t id);
// The IDs of cgroups that are attached. Forgets those that are gone.
[[nodiscard]] std::vector<std::uint64_t> attached();
// If no cgroup is attached any more, takes the program away, and sets the sysctl to 0.
void tidy();

} // namespace smc_ctl::marker
