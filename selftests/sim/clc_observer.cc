// SPDX-License-Identifier: GPL-2.0-only
//
// A second decoder of CLC (RFC 7609 appendix A.1, SMC version 2), which shares nothing with
// core/wire: every field of every message is compared with the sending host's real state.
#include "clc_observer.hpp"

#include <algorithm>

#include "bytes.hpp"
#include "kernel/abi/control.h"
#include "rdma_observer.hpp"
#include "trace.hpp"
#include "verbs.hpp"

namespace sim {
namespace {

const std::string kEyecatcher("\xe2\xd4\xc3\xd9", 4);
const std::string kEyecatcherD("\xe2\xd4\xc3\xc4", 4);
constexpr std::size_t kHeader = 8;

constexpr u16 kIwarp = 4;
constexpr u16 kEndByReset = 8;

// What a host can do beyond the protocol.
u16 capabilities_of(const net &host)
{
	return static_cast<u16>(
		(host.compact ? kCompactMessages : 0) | (host.growing ? kGrowingRings : 0) |
		(world().knobs.iwarp ? kIwarp : 0) | (host.end_by_reset ? kEndByReset : 0));
}

enum Type : u8 {
	kProposal = 1,
	kAccept = 2,
	kConfirm = 3,
	kDecline = 4,
};

// The common part of Accept and Confirm.
struct Side {
	Announced rmb;
	bool smcd = false;
	u64 dmb_token = 0;
	u8 version = 0;
	bool first_contact = false;
	u8 mtu = 0;
	u32 psn = 0;
	std::string eid;
	u8 release = 0;
	u8 max_conns = 0;
	u8 max_links = 0;
	u16 capabilities = 0;
	bool direct = false;
};

class Exchange final : public ClcObserver {
public:
	Exchange(u64 connection, net *client, net *server)
		: connection_(connection), hosts_{client, server}
	{
	}

	void sent(unsigned side, const std::string &bytes) override
	{
		std::string &stream = streams_[side];

		spoken_[side] = true;
		if (plain_[side])
			return;
		stream += bytes;
		while (!stream.empty() && !plain_[side]) {
			const std::size_t n = std::min(stream.size(), kEyecatcher.size());
			if (stream.compare(0, n, kEyecatcher, 0, n) != 0 &&
			    stream.compare(0, n, kEyecatcherD, 0, n) != 0) {
				user_data(side);
				return;
			}
			if (stream.size() < kHeader)
				return;
			const std::size_t length = Reader(stream).number(5, 2);
			if (stream.size() < length)
				return;
			const std::string message = stream.substr(0, length);
			stream.erase(0, length);
			read(side, message);
		}
	}

	[[nodiscard]] bool has_spoken(unsigned side) const override { return spoken_[side]; }

	void taken(unsigned side) override
	{
		if (side == 1)
			observe_answer(connection_);
	}

private:
	[[noreturn]] void wrong(const char *what) const
	{
		fail("tcp-%llu, CLC: %s", connection_, what);
	}
	void expect(bool right, const char *what) const
	{
		if (!right)
			wrong(what);
	}

	// Bytes that are no CLC belong to the user, which needs a reason.
	void user_data(unsigned side)
	{
		const bool impatient = world().knobs.any_fault();

		expect(proposals_ == 0 || declined_ || impatient,
		       "data in the midst of the exchange");
		expect(!confirmed_, "data over TCP although the exchange was completed");
		plain_[side] = true;
	}

	void read(unsigned side, const std::string &message)
	{
		const Reader in(message);
		const u8 type = in.byte(4);

		expect(message.size() >= kHeader + 4, "too short");
		expect(message.substr(message.size() - 4) == message.substr(0, 4), "trailer");
		switch (type) {
		case kProposal:
			expect(side == 0 && proposals_++ == 0, "a Proposal out of place");
			read_proposal(in);
			break;
		case kAccept:
			expect(side == 1 && proposals_ == 1 && accepts_++ == 0,
			       "an Accept out of place");
			accept_ = read_side(in, 1, kAccept);
			if (!accept_.smcd && !accept_.first_contact)
				observe_accept(connection_, accept_.rmb);
			break;
		case kConfirm:
			expect(side == 0 && accepts_ == 1 && confirms_++ == 0 && !declined_,
			       "a Confirm out of place");
			confirm_ = read_side(in, 0, kConfirm);
			agree();
			break;
		case kDecline: read_decline(side, in); break;
		default: wrong("no such type");
		}
		note("tcp-%llu: %s", connection_,
		     type == kProposal ? "Proposal"
		     : type == kAccept
			     ? (accept_.first_contact ? "Accept, first contact" : "Accept")
		     : type == kConfirm ? "Confirm"
					: "Decline");
	}

	void read_proposal(const Reader &in)
	{
		const u8 modes = in.byte(7);
		const u8 v1 = modes & 3;
		const u8 v2 = modes >> 2 & 3;
		// What is said as SMC-D without a device.
		const bool iwarp = world().knobs.iwarp;
		const bool v2r = iwarp ? v2 == 1 : v2 == 0 || v2 == 3;
		const bool v2d = !iwarp && (v2 == 1 || v2 == 3);
		const net *host = hosts_[0];
		// Then it seems so, until a connection has shown that it is not.
		const bool claimed = hosts_[1]->claimed;
		const bool near = claimed || world().may_meet(hosts_[0], hosts_[1]);
		std::size_t size = 40 + 40 + 4;

		expect(modes >> 4 == 2, "Proposal: version");
		expect((v1 == 0 || v1 == 2) && (v1 == 0 || v2r || v2d), "Proposal: modes");
		// A port may go between two messages.
		expect((v1 == 0) <= world().knobs.smcr_v1 && v2r <= world().knobs.smcr_v2 &&
			       v2d <= near &&
			       (world().knobs.any_fault() ||
				((v1 == 0) == world().knobs.smcr_v1 &&
				 v2r == world().knobs.smcr_v2 && (v2d == near || claimed))),
		       "Proposal: not what this host can do");
		if (v1 == 0 || v2r) {
			expect(!in.is_zero(8, 8), "Proposal: no peer ID");
			expect(rail_of_mac(host, in.text(32, 6)).has_value(), "Proposal: MAC");
		} else {
			expect(in.is_zero(8, 8) && in.is_zero(32, 6), "Proposal: a peer ID");
		}
		// A host offers one port, unless that goes between two looks.
		const u32 rail = rail_of_mac(host, in.text(32, 6)).value_or(0);
		if (v1 == 0)
			expect(in.text(16, 16) == wire_gid(host, rail, 1), "Proposal: GID");
		else
			expect(in.is_zero(16, 16), "Proposal: a GID without version 1");
		const u64 prefix_offset = in.number(38, 2);
		const u64 v2_offset = in.number(50, 2);
		expect(prefix_offset == (v1 == 0 ? 40U : 0U), "Proposal: offset of the prefixes");
		expect(in.is_zero(40, 10) && in.is_zero(60, 20), "Proposal: SMC-D");
		if (const u32 offered = capabilities_of(*host); v2r && offered != 0)
			expect(in.number(52, 4) == 0x02534d01 && in.number(56, 4) == offered << 16,
			       "Proposal: vendor options");
		else
			expect(in.is_zero(52, 8), "Proposal: vendor options");
		if (v1 == 0) {
			expect(in.number(80, 3) ==
					       (u64{host->address[0]} << 16 |
						u64{host->address[1]} << 8 | host->address[2]) &&
				       in.byte(83) == 0 && in.byte(84) == 24,
			       "Proposal: prefix");
			expect(in.is_zero(85, 3), "Proposal: prefixes of version 6");
			size += 8;
		}
		if (v2r || v2d) {
			const std::size_t at = v1 == 0 ? 88 : 80;

			expect(v2_offset == at - 52, "Proposal: offset of version 2");
			const u8 eids = in.byte(at);
			const u8 own_eids = world().knobs.eid_changes ? 2 : 1;
			expect(eids == (v2r ? own_eids : 0) && in.byte(at + 1) == (v2d ? 2 : 0),
			       "Proposal: counts");
			expect(in.number(at + 4, 2) == 0, "Proposal: reserved");
			expect(in.byte(at + 3) == 0x10, "Proposal: release");
			const std::string gid = in.text(at + 8, 16);
			expect(v2r ? gid == wire_gid(host, rail, 2) ||
					       (world().knobs.any_fault() &&
						gid == wire_gid(host, 1 - rail, 2))
				   : in.is_zero(at + 8, 16),
			       "Proposal: GID of version 2");
			expect(in.number(at + 6, 2) == (v2d || iwarp ? 32U + 32U * eids : 0U),
			       "Proposal: offset of SMC-D");
			expect(in.byte(at + 24) == host->max_conns, "Proposal: max_conns");
			max_links_ = in.byte(at + 25);
			check_max_links(host, v2r);
			expect(in.number(at + 26, 2) == (v2d ? 1U : 0U), "Proposal: features");
			expect(in.is_zero(at + 28, 12), "Proposal: reserved");
			if (v2r)
				expect(in.text(at + 40, 32) == eid_of_hosts(world().eid_number),
				       "Proposal: EID");
			size += 40 + 32U * eids + (iwarp ? 48U : 0U);
			if (v2d) {
				const std::size_t devices = at + 40 + 32U * eids + 48;

				expect(in.is_zero(devices - 48, 48), "Proposal: system EID");
				check_gid(in, devices, devices + 10);
				expect(in.number(devices + 8, 2) == 0xffff &&
					       in.number(devices + 18, 2) == 0xffff,
				       "Proposal: CHID");
				size += 48 + 20;
			}
		}
		expect(in.size() == size, "Proposal: length");
	}

	// Ports with a PNET ID may be several, now or later.
	void check_max_links(const net *host, bool v2r) const
	{
		const bool named = v2r && world().knobs.second_ports != 0;

		expect(max_links_ == (named ? host->max_links : 1U), "Proposal: max_links");
	}

	// One device has one identity in all messages of all hosts.
	void check_gid(const Reader &in, std::size_t at, std::size_t extension_at) const
	{
		static std::string known;
		const std::string gid = in.text(at, 8) + in.text(extension_at, 8);

		if (known.empty())
			known = gid;
		expect(gid == known && !in.is_zero(at, 8) && !in.is_zero(extension_at, 8),
		       "GID of the loopback device");
	}

	Side read_dmb(const Reader &in)
	{
		const u8 flags = in.byte(7);
		Side out;

		out.smcd = true;
		out.version = flags >> 4;
		out.first_contact = true;
		expect(flags == 0x29, "SMC-D: version, first contact, kind");
		check_gid(in, 8, 66);
		out.dmb_token = in.number(16, 8);
		expect(out.dmb_token != 0 && in.byte(24) == 0, "SMC-D: token, index");
		expect(in.byte(25) >> 4 <= 10 && (in.byte(25) & 15) == 0, "SMC-D: size");
		expect(in.is_zero(26, 2) && in.number(28, 4) == 1, "SMC-D: group");
		expect(in.number(32, 2) == 0xffff, "SMC-D: CHID");
		expect(in.is_zero(34, 32), "SMC-D: an EID");
		expect(in.byte(74) == 0 && in.byte(75) == 0x21, "SMC-D: OS, release");
		expect(in.is_zero(76, 2) && in.text(78, 9) == "SIMULATED", "SMC-D: host name");
		expect(in.is_zero(110, 2) && in.number(112, 2) == 1 && in.is_zero(114, 12),
		       "SMC-D: features");
		expect(in.size() == 130, "SMC-D: length");
		return out;
	}

	Side read_side(const Reader &in, unsigned side, u8 type)
	{
		const net *host = hosts_[side];
		const u8 flags = in.byte(7);
		Side out;

		if (in.text(0, 4) == kEyecatcherD) {
			expect(world().may_meet(hosts_[0], hosts_[1]), "SMC-D with a stranger");
			return read_dmb(in);
		}

		out.version = flags >> 4;
		out.first_contact = (flags & 8) != 0;
		expect(out.version == 1 || out.version == 2, "version");
		expect((flags & 7) == 0, "not SMC-R");
		expect(!in.is_zero(8, 8), "no peer ID");
		const auto rail = rail_named(host, {.mac = in.text(32, 6),
						    .gid = in.text(16, 16),
						    .version = out.version,
						    .of_server = side == 1});
		expect(rail.has_value(), "MAC, GID");
		out.rmb.qpn = static_cast<u32>(in.number(38, 3)) - qpn_bias();
		out.rmb.rkey = static_cast<u32>(in.number(41, 4));
		expect(in.byte(45) >= 1 && in.byte(45) <= world().knobs.rmb_elements, "RMBE index");
		out.rmb.element = in.byte(45) - 1U;
		out.rmb.token = static_cast<u32>(in.number(46, 4));
		out.rmb.size_bytes = 16384U << (in.byte(50) >> 4);
		out.mtu = in.byte(50) & 15;
		out.rmb.address = in.number(52, 8);
		out.psn = static_cast<u32>(in.number(61, 3));
		expect(in.byte(51) == 0 && in.byte(60) == 0, "reserved");
		expect(out.rmb.token != 0, "token 0");
		check_rmb(out.rmb, host);
		if (out.version == 1) {
			out.max_links = 2;
			expect(in.size() == 68, "length");
			return out;
		}
		out.eid = in.text(64, 32);
		const bool second = !out.first_contact && world().knobs.eid_changes;
		expect(out.eid == eid_of_hosts(second ? 1 : world().eid_number), "EID");
		expect(in.is_zero(96, 8), "reserved");
		if (!out.first_contact) {
			expect(in.size() == 108, "length");
			return out;
		}
		out.direct = in.byte(104) == 0x80;
		expect(in.byte(104) == (world().knobs.way_is_direct() ? 0x80 : 0), "v2_direct");
		expect(in.byte(105) >> 4 == 2, "OS");
		out.release = in.byte(105) & 15;
		expect(in.is_zero(106, 2), "reserved");
		expect(in.text(108, 9) == "SIMULATED", "host name");
		out.max_conns = in.byte(140);
		out.max_links = in.byte(141);
		expect(out.release == 1 && out.max_links >= 1 && out.max_links <= max_links_,
		       "release, max_links");
		expect(out.max_conns >= 16 && out.max_conns <= hosts_[0]->max_conns &&
			       out.max_conns <= hosts_[1]->max_conns,
		       "max_conns");
		out.capabilities = capabilities_of(*hosts_[0]) & capabilities_of(*hosts_[1]);
		if (world().knobs.iwarp)
			out.capabilities &= static_cast<u16>(~kCompactMessages);
		expect(in.number(144, 4) ==
			       (out.capabilities != 0 ? 0x80000000 | out.capabilities : 0),
		       "vendor options");
		expect(in.is_zero(142, 2) && in.is_zero(148, 8), "mask, reserved");
		if (type == kAccept) {
			expect(in.size() == 160, "length");
			return out;
		}
		expect(in.size() == 180, "length");
		expect(in.byte(156) == 1 && in.is_zero(157, 3), "GID list");
		expect(in.text(160, 16) == wire_gid(host, *rail, 2), "GID list");
		return out;
	}

	void check_rmb(const Announced &rmb, const net *host) const
	{
		const smc_ib_link *link = fabric().link(rmb.qpn);
		const smc_ib_region *region = fabric().by_remote_key(rmb.rkey);

		// Between the two messages the host may have lost them.
		if (world().knobs.any_fault() && (link == nullptr || region == nullptr))
			return;
		expect(link != nullptr && link->device->host == host, "no such queue pair");
		expect(region != nullptr && region->qpn == rmb.qpn, "no such RMB");
		expect(region->address == rmb.address &&
			       region->buffer->bytes.size() >=
				       u64{rmb.size_bytes} * (rmb.element + 1),
		       "not where the RMB is");
	}

	void read_decline(unsigned side, const Reader &in)
	{
		const u8 flags = in.byte(7);
		const u64 reason = in.number(16, 4);

		expect(flags >> 4 == 1 || flags >> 4 == 2, "Decline: version");
		expect(in.size() == (flags >> 4 == 1 ? 28U : 44U), "Decline: length");
		expect((flags & 7) == 0, "Decline: reserved");
		expect(((flags & 8) != 0) == (reason == 0x04000000), "Decline: out of sync");
		expect(reason >> 24 >= 1 && reason >> 24 <= 9 && reason != 0x05000000,
		       "Decline: reason");
		expect(declines_[side]++ == 0, "a second Decline");
		declined_ = true;
		if (side == 0 && confirm_.version != 0 &&
		    (confirm_.smcd || !confirm_.first_contact))
			wrong("a Decline behind a Confirm that was the last word");
		note("tcp-%llu: declines for %08llx", connection_,
		     static_cast<unsigned long long>(reason));
	}

	void agree()
	{
		const Side &a = accept_;
		const Side &c = confirm_;

		expect(a.version == c.version && a.first_contact == c.first_contact &&
			       a.smcd == c.smcd,
		       "Confirm: kind");
		if (a.smcd) {
			expect(a.dmb_token != c.dmb_token, "Confirm: the server's own token");
			confirmed_ = true;
			note("tcp-%llu: goes by the loopback device", connection_);
			return;
		}
		expect(a.eid == c.eid && a.release == c.release && a.max_conns == c.max_conns &&
			       a.max_links == c.max_links && a.direct == c.direct,
		       "Confirm: not what the Accept says");
		expect(c.mtu <= a.mtu, "Confirm: MTU");
		confirmed_ = !c.first_contact;
		observe_connection(connection_, c.version, c.first_contact, a.capabilities,
				   a.max_links, a.rmb, c.rmb);
	}

	u64 connection_;
	net *hosts_[2];
	u8 max_links_ = 0; // that the client has proposed
	std::string streams_[2];
	bool plain_[2] = {};
	bool spoken_[2] = {}; // has sent something
	int proposals_ = 0;
	int accepts_ = 0;
	int confirms_ = 0;
	int declines_[2] = {};
	bool declined_ = false;
	bool confirmed_ = false;
	Side accept_;
	Side confirm_;
};

} // namespace

std::shared_ptr<ClcObserver> observe_clc(u64 connection, net *client, net *server)
{
	return std::make_shared<Exchange>(connection, client, server);
}

} // namespace sim
