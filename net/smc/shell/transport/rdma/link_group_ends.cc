// SPDX-License-Identifier: GPL-2.0-only
//
// LinkGroup and ends of file that are withheld (Connection::eof_withheld()). A peer that has more
// to send does so as soon as it hears that its ring is empty. A TEST_LINK that follows this message
// on the same link is answered after that: what has not come before the answer does not exist.
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
	if (record.probe_wanted == 0 || record.probe_answered < record.probe_wanted)
		return;
	record.probe_wanted = 0;
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
		LinkRecord &record = records_[end->link];
		auto &probe = endpoint.end_probe_.under(lock_);

		if (!is_usable(end->link))
			return;
		if (probe.number == 0 || probe.of != *end)
			probe = {.of = *end};
		else if (record.probe_answered < probe.number)
			return;
		else
			probe.answers++;
		if (probe.answers < kEndAnswers) {
			control_.step(group::ProbeLink{end->link});
			probe.number = control_.machine().probes();
			record.probe_wanted = probe.number;
			return;
		}
	}
	endpoint.end_here(*end);
}

} // namespace smc::transport::rdma
