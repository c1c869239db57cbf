// SPDX-License-Identifier: GPL-2.0-only
//
// LinkGroup and ends of file that are withheld (Connection::eof_withheld()). A peer that has more
// to send does so as soon as it hears that its ring is empty. A TEST_LINK that follows this message
// on the same link is answered after that: what has not come before the answer does not exist.
#include <utility>

#include "shell/transport/rdma/link_group.hpp"

namespace smc::transport::rdma {

void LinkGroup::look_at_ends()
{
	shell::Guard guard(lock_);

	if (state_ >= State::kEnding)
		return;
	ends_due_ = true;
	kick();
}

void LinkGroup::link_answered(const group::LinkAnswered &answered)
{
	LinkRecord &record = records_[answered.link];

	record.probe_answered = std::max<u64>(record.probe_answered, answered.probe);
	if (!std::exchange(record.ends_wait, false))
		return;
	ends_due_ = true;
	kick();
}

void LinkGroup::settle_ends()
{
	visit_connections([this](RdmaEndpoint &endpoint) { settle_end(endpoint); });
}

void LinkGroup::settle_end(RdmaEndpoint &endpoint)
{
	const auto end = endpoint.withheld_end();

	if (!end)
		return;
	{
		shell::Guard guard(lock_);
		const group::GroupMachine &machine = control_.machine();
		LinkRecord &record = records_[end->link];
		auto &probe = endpoint.end_probe_.under(lock_);

		if (!is_usable(end->link))
			return;
		if (probe.of != *end)
			probe = {.of = *end, .after = machine.probes()};
		else if (record.probe_answered > probe.after)
			probe = {.of = *end,
				 .after = machine.probes(),
				 .answers = probe.answers + 1};
		if (probe.answers < kEndAnswers) {
			// One for all that wait. A peer keeps a receive for each, so that with one
			// for each end two peers could run out of them, and neither would hear an
			// answer.
			if (!machine.probe_under_way(end->link))
				control_.step(group::ProbeLink{end->link});
			record.ends_wait = true;
			return;
		}
	}
	endpoint.end_here(*end);
}

} // namespace smc::transport::rdma
