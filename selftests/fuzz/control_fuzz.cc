// SPDX-License-Identifier: GPL-2.0-only
//
// What netlink hands to shell/control, for two namespaces: strings of any length and content, EIDs,
// port numbers, memory that runs out. A plain list beside it says what has to come of it. The
// attributes themselves are taken apart by the kernel, by the policies in kernel/netlink*.c; what
// those let through is a part of what comes here.
#include "kernel/abi/callbacks/control.h"
#include "shell/control/eid.cc"
#include "shell/control/namespace.cc"
#include "shell/control/pnet.cc"

#include "doubles/memory.hpp"
#include "doubles/net.hpp"
#include "doubles/spinlock.hpp"
#include "script.hpp"
#include "support.hpp"

#include <optional>
#include <string>
#include <vector>

using doubles::memory;
using smc::fuzz::demand;

namespace {

constexpr int kOpsMax = 200;
constexpr std::size_t kTextMax = 80;

struct net other_net;
struct net *const namespaces[] = {&doubles::initial_net(), &other_net};

} // namespace

namespace smc::control {

void leave_namespace(net *) {}
void end_namespace(net *) {}

namespace {

struct Row {
	std::string id;
	std::string name;
	u8 port; // 0: a network device

	[[nodiscard]] bool names(const Row &other) const
	{
		return name == other.name && port == other.port;
	}
	friend bool operator==(const Row &, const Row &) = default;
};

bool is_blank(char c)
{
	return std::string_view(" \t\n\v\f\r").find(c) != std::string_view::npos;
}

std::string trimmed(std::string text)
{
	while (!text.empty() && is_blank(text.back()))
		text.pop_back();
	while (!text.empty() && is_blank(text.front()))
		text.erase(0, 1);
	return text;
}

// The PNET ID that is meant; empty: none.
std::string id_of(const std::string &text)
{
	std::string id = trimmed(text);

	if (id.size() > 16)
		return "";
	for (char &c : id) {
		if (c >= 'a' && c <= 'z')
			c = static_cast<char>(c - 32);
		if (!(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9'))
			return "";
	}
	return id;
}

bool is_eid(const Eid &eid)
{
	const std::string text = [&] {
		std::string all(eid.begin(), eid.end());
		while (!all.empty() && all.back() == ' ')
			all.pop_back();
		return all;
	}();

	if (text.empty() || text[0] == '.' || text[0] == '-')
		return false;
	return text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") ==
	       std::string::npos;
}

class Control {
public:
	Control()
	{
		for (net *net : namespaces)
			net->control = smc_control_net_create(net);
	}
	~Control()
	{
		for (net *net : namespaces)
			smc_control_net_destroy(net, net->control);
		demand(memory().allocated == 0 && !doubles::locks().held);
	}
	Control(const Control &) = delete;
	Control &operator=(const Control &) = delete;

	void run(fuzz::Script script)
	{
		for (int i = 0; i < kOpsMax && !script.done(); i++)
			act(script);
		for (which_ = 0; which_ < 2; which_++) {
			check(nullptr);
			check_eids();
		}
	}

private:
	void act(fuzz::Script &script)
	{
		const std::uint8_t choice = script.byte();

		which_ = choice >> 7;
		switch (choice % 10) {
		case 0: add(script); break;
		case 1: add_many(script); break;
		case 2: remove(script); break;
		case 3:
			smc_ctl_pnet_flush(here());
			rows().clear();
			break;
		case 4: {
			const std::string id = text(script);
			check(&id);
			break;
		}
		case 5: find(script); break;
		case 6: add_eid(script); break;
		case 7: remove_eid(script); break;
		case 8:
			smc_ctl_ueid_flush(here());
			eids().clear();
			break;
		}
	}

	net *here() const { return namespaces[which_]; }
	std::vector<Row> &rows() { return rows_[which_]; }
	std::vector<Eid> &eids() { return eids_[which_]; }

	// As an attribute holds it: up to the first NUL.
	static std::string text(fuzz::Script &script)
	{
		std::string text;

		for (const std::byte byte : script.take(script.byte() % kTextMax)) {
			if (byte == std::byte{0})
				break;
			text.push_back(static_cast<char>(byte));
		}
		return text;
	}

	static Eid eid(fuzz::Script &script)
	{
		Eid eid;
		std::size_t i = 0;

		eid.fill(' ');
		for (const std::byte byte : script.take(script.byte() % (kEidSize + 1)))
			eid[i++] = std::to_integer<std::uint8_t>(byte);
		return eid;
	}

	// --- PNET table --------------------------------------------------------------------------

	void add(fuzz::Script &script)
	{
		const std::uint8_t choice = script.byte();
		const std::string id = text(script);
		const std::string eth = (choice & 1) != 0 ? text(script) : "";
		const std::string ib = (choice & 2) != 0 ? text(script) : "";

		memory().allocations_left = (choice & 4) != 0 ? choice >> 6 : -1;
		add(id, (choice & 1) != 0 ? &eth : nullptr, (choice & 2) != 0 ? &ib : nullptr,
		    choice >> 3 & 3);
		memory().allocations_left = -1;
	}

	void add(const std::string &id, const std::string *eth, const std::string *ib, u8 port)
	{
		const smc_pnet_request request = {id.c_str(),
						  eth != nullptr ? eth->c_str() : nullptr,
						  ib != nullptr ? ib->c_str() : nullptr, port};
		const int spare = memory().allocations_left;
		std::vector<Row> wanted;

		demand(smc_ctl_pnet_add(here(), &request) == expected(request, wanted, spare));
		for (const Row &row : wanted)
			rows().push_back(row);
	}

	// The answer, and in @wanted what is to be there behind it.
	int expected(const smc_pnet_request &request, std::vector<Row> &wanted, int spare)
	{
		const std::string id = id_of(request.pnetid);
		std::vector<Row> named;

		if (id.empty())
			return -EINVAL;
		if (request.eth_name != nullptr) {
			named.push_back({id, request.eth_name, 0});
			if (named.back().name.empty() || named.back().name.size() > 15)
				return -EINVAL;
		}
		// RDMA devices belong to the first namespace.
		if (request.ib_name != nullptr && which_ == 0) {
			named.push_back({id, trimmed(request.ib_name), request.ib_port});
			if (named.back().name.empty() || named.back().name.size() > 63 ||
			    request.ib_port < 1 || request.ib_port > 2)
				return -EINVAL;
		}
		if (spare >= 0 && static_cast<std::size_t>(spare) < named.size())
			return -ENOMEM;
		for (const Row &row : named) {
			if (!knows(row))
				wanted.push_back(row);
		}
		if (wanted.empty())
			return -EEXIST;
		if (rows().size() + wanted.size() > PnetTable::kCapacity) {
			wanted.clear();
			return -ENOSPC;
		}
		return 0;
	}

	void add_many(fuzz::Script &script)
	{
		// Few, or more than there is room for.
		const std::uint8_t choice = script.byte();
		const bool all = choice == 0xff && !filled_;
		const std::uint32_t count = all ? PnetTable::kCapacity + 1 : choice % 16U;
		const std::string id = text(script);

		filled_ = filled_ || all;
		for (std::uint32_t i = 0; i < count; i++) {
			const std::string name = "e" + std::to_string(i);
			add(id, &name, nullptr, 0);
		}
	}

	bool knows(const Row &wanted)
	{
		return std::any_of(rows().begin(), rows().end(),
				   [&](const Row &row) { return row.names(wanted); });
	}

	void remove(fuzz::Script &script)
	{
		const std::string written = text(script);
		const std::string id = id_of(written);
		const std::size_t gone =
			id.empty() ? 0 : std::erase_if(rows(), [&](const Row &row) {
				return row.id == id;
			});

		demand(smc_ctl_pnet_del(here(), written.c_str()) == (gone != 0 ? 0 : -ENOENT));
	}

	void find(fuzz::Script &script)
	{
		const std::string name = text(script);
		const std::string parent = text(script);
		const u8 port = script.byte() % 4;
		u8 out[SMC_PNETID_LEN];

		const bool found_eth = smc_ctl_pnet_of_eth(here(), name.c_str(), out);
		same(found_eth, out,
		     first([&](const Row &row) { return row.port == 0 && row.name == name; }));
		which_ = 0;
		const auto found_ib = pnet_of_ib(name.c_str(), parent.c_str(), port);
		if (found_ib)
			std::copy(found_ib->begin(), found_ib->end(), out);
		same(found_ib.has_value(), out, first([&](const Row &row) {
			     return port != 0 && row.port == port &&
				    (row.name == name || row.name == parent);
		     }));
	}

	template <class Wanted>
	std::optional<std::string> first(Wanted wanted)
	{
		for (const Row &row : rows()) {
			if (wanted(row))
				return row.id;
		}
		return std::nullopt;
	}

	static void same(bool found, const u8 *out, const std::optional<std::string> &id)
	{
		demand(found == id.has_value());
		if (found)
			demand(trimmed({out, out + SMC_PNETID_LEN}) == *id);
	}

	// A walk shows each row once, in order.
	void check(const std::string *filter)
	{
		const std::string id = filter != nullptr ? id_of(*filter) : "";
		smc_pnet_entry entry;
		u64 cursor = 0;

		for (const Row &row : rows()) {
			if (filter != nullptr && row.id != id)
				continue;
			demand(smc_ctl_pnet_next(here(),
						 filter != nullptr ? filter->c_str() : nullptr,
						 &cursor, &entry) == 1);
			demand(Row{entry.pnetid, entry.dev_name, entry.ib_port} == row);
			demand(entry.is_ib == (row.port != 0));
		}
		demand(smc_ctl_pnet_next(here(), filter != nullptr ? filter->c_str() : nullptr,
					 &cursor, &entry) == 0);
	}

	// --- EID table ---------------------------------------------------------------------------

	void add_eid(fuzz::Script &script)
	{
		const Eid added = eid(script);
		const int expected = !is_eid(added)       ? -EINVAL
				     : eids().size() == 4 ? -ERANGE
				     : knows_eid(added)   ? -EEXIST
							  : 0;

		demand(smc_ctl_ueid_add(here(), added.data()) == expected);
		if (expected == 0)
			eids().push_back(added);
	}

	void remove_eid(fuzz::Script &script)
	{
		const Eid removed = eid(script);
		const std::size_t gone = std::erase(eids(), removed);

		demand(smc_ctl_ueid_del(here(), removed.data()) == (gone != 0 ? 0 : -ENOENT));
	}

	bool knows_eid(const Eid &wanted)
	{
		return std::find(eids().begin(), eids().end(), wanted) != eids().end();
	}

	void check_eids()
	{
		const Eids list = eids_of(here());
		Eid out;
		u64 cursor = 0;

		demand(list.size() == eids().size());
		for (std::size_t i = 0; i < eids().size(); i++) {
			demand(smc_ctl_ueid_next(here(), &cursor, out.data()) == 1);
			demand(out == eids()[i] && out == list[i]);
		}
		demand(smc_ctl_ueid_next(here(), &cursor, out.data()) == 0);
	}

	int which_ = 0;
	bool filled_ = false;
	std::vector<Row> rows_[2];
	std::vector<Eid> eids_[2];
};

} // namespace
} // namespace smc::control

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	smc::control::Control control;

	control.run(smc::fuzz::Script(smc::fuzz::input(data, size)));
	return 0;
}
