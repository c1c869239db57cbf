// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "commands.hpp"
#include "finding.hpp"
#include "ports.hpp"

#include <string>
#include <vector>

namespace smc_ctl {

// What the host says about itself. Each throws NetlinkError if the kernel could not be asked.

// Bad if there is none; the others need one.
[[nodiscard]] Finding module_finding();
// EIDs and other settings of the network namespace.
[[nodiscard]] std::vector<Finding> namespace_findings();
// State, GID and MTU of one port.
[[nodiscard]] std::vector<Finding> port_findings(const RdmaPort &port);
// Rules of nftables on this host; firewalls elsewhere cannot be seen.
[[nodiscard]] Finding firewall_finding();

// Prints both; returns the exit status.
int tell(const std::vector<Finding> &findings, Verdict verdict, bool json);

} // namespace smc_ctl
