// SPDX-License-Identifier: GPL-2.0-only
#include "stranger.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "calls.hpp"
#include "core/wire/clc.hpp"
#include "kernel/abi/control.h"
#include "process.hpp"
#include "shell/transport/rdma/group_table.hpp"
#include "trace.hpp"
#include "verbs.hpp"

namespace sim {
namespace {

using Bytes = std::array<std::byte, smc::wire::kClcEncodedSizeMax>;

template <class Field>
void copy(const std::string &from, Field &to)
{
	std::copy(from.begin(), from.end(), to.bytes.begin());
}

smc::wire::Proposal proposal_of(net *claimed)
{
	smc::wire::Proposal proposal;
	smc::wire::Eid eid;

	copy("SIM-EID" + std::string(SMC_EID_LEN - 7, ' '), eid);
	proposal.mode_v2 = smc::wire::ClcMode::kR;
	copy(wire_mac(claimed, 0), proposal.mac);
	copy(wire_gid(claimed, 0, 2), proposal.v2.roce_gid);
	proposal.peer_id = smc::transport::rdma::group_table().own_peer_id(claimed, proposal.mac);
	proposal.v2.release = 1;
	proposal.v2.max_conns = 255;
	proposal.v2.max_links = 1;
	if (!proposal.v2.eids.push_back(eid))
		fail("no room for an EID");
	return proposal;
}

template <class Message>
void send(struct socket *sock, const Message &message)
{
	Bytes bytes;
	const size_t size = smc::wire::encode(message, bytes);
	msghdr msg{.from = reinterpret_cast<const u8 *>(bytes.data()), .length_bytes = size};

	if (sys_send(sock, msg) != static_cast<int>(size))
		fail("the stranger cannot send");
}

Answer receive_answer(struct socket *sock)
{
	Bytes bytes;
	size_t have = 0;

	for (;;) {
		msghdr msg{.to = reinterpret_cast<u8 *>(bytes.data()) + have,
			   .length_bytes = bytes.size() - have};
		const int n = sys_receive(sock, msg);

		if (n <= 0)
			fail("the stranger gets no answer: recv() %d", n);
		have += static_cast<size_t>(n);
		const auto message = smc::ByteSpan{bytes}.first(have);
		if (const auto accept = smc::wire::decode_accept(message))
			return accept->first_contact ? Answer::kFounds : Answer::kJoins;
		if (smc::wire::decode_decline(message))
			return Answer::kDeclined;
	}
}

} // namespace

Pretence pretend(net *from, net *server, net *claimed, u16 name)
{
	struct socket *sock = sys_socket(from);
	smc::wire::Proposal proposal = proposal_of(claimed);

	if (name != 0) {
		proposal.peer_id.bytes[0] = static_cast<u8>(name >> 8);
		proposal.peer_id.bytes[1] = static_cast<u8>(name);
	}
	// Its TCP works, but it shows no option.
	sock->ours = false;
	sock->sk->offers_smc = true;
	if (sys_connect(sock, server, kPort) != 0 || !sock->sk->offers_smc)
		fail("the stranger cannot connect");
	// Every field of it is false.
	sock->sk->connection->observer = nullptr;
	send(sock, proposal);
	return {sock, receive_answer(sock)};
}

void reset(const Pretence &pretence)
{
	pretence.sock->sk->linger = true;
	sys_close(pretence.sock);
}

void disown_group(net *from, net *server, net *claimed)
{
	const auto [sock, answer] = pretend(from, server, claimed);

	if (answer != Answer::kJoins)
		fail("the stranger is not taken for host %s", claimed->name.c_str());
	send(sock, smc::wire::Decline{.out_of_sync = true,
				      .peer_id = proposal_of(claimed).peer_id,
				      .reason = smc::wire::DeclineReason::kSyncErr});
	(void)sys_shutdown(sock, 1);
	// The server's program gets nothing and closes.
	u8 byte;
	msghdr msg{.to = &byte, .length_bytes = 1};
	if (sys_receive(sock, msg) != 0)
		fail("the stranger is answered");
	sys_close(sock);
}

} // namespace sim
