// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about servers that show the option, or have it shown by what is between the hosts, and are
// plain TCP. connect() has to give their clients what TCP would.
#include "cases.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/wire/clc.hpp"
#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/tcp.h"
#include "kernel/abi/tcp_peer.h"
#include "plot.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "shell/control/namespace.hpp"
#include "shell/control/policy.hpp"
#include "shell/transport/rdma/places.hpp"
#include "trace.hpp"
#include "verbs.hpp"

namespace sim {
namespace {

constexpr int kBacklog = 128;
constexpr u64 kSecond_us = 1'000'000;
// What a client knows at once, and what it has to wait for.
constexpr u64 kAtOnce_us = kSecond_us / 10;
constexpr u64 kSilence_us = 5 * kSecond_us / 2;
constexpr u64 kPatience_us = 13 * kSecond_us / 2;
const std::string kGreeting = "220 welcome\r\n";

enum class Manner {
	kEchoes,
	kGreets, // before it has read anything
	kIsSilent,
	kResets,      // when something has come
	kEnds,        // the same by a FIN
	kStopsMidway, // sends the first byte of a CLC message
	kIsGone,      // the same by a reset, and nobody listens any more
	kFounds,      // answers a Proposal as if it had a queue pair for a new group, and is silent
};

template <class Field>
void copy(const std::string &from, Field &to)
{
	std::copy(from.begin(), from.end(), to.bytes.begin());
}

// By which @qpn begins a group; or nothing, for another message than a Proposal.
std::string false_accept(const std::string &message, u32 qpn)
{
	const auto proposal = smc::wire::decode_proposal(std::as_bytes(std::span(message)));
	std::array<std::byte, smc::wire::kClcEncodedSizeMax> bytes;
	smc::wire::SmcrEndpoint end;
	smc::wire::Accept accept;

	if (!proposal)
		return {};
	copy(wire_mac(&server(), 0), end.mac);
	copy(wire_gid(&server(), 0, 2), end.gid);
	copy(wire_mac(&server(), 0) + "\1\1", end.peer_id);
	end.qpn = smc::wire::Qpn{qpn};
	end.rmb_rkey = smc::wire::Rkey{1};
	end.token = smc::wire::Token{1};
	end.mtu = smc::wire::QpMtu{3};
	accept.first_contact = true;
	accept.first_contact_extension.v2_direct = true;
	accept.first_contact_extension.release = 1;
	accept.first_contact_extension.max_conns = 255;
	accept.first_contact_extension.max_links = 1;
	accept.eid = proposal->v2.eids.span()[0];
	accept.endpoint = end;
	const std::size_t size = smc::wire::encode(accept, bytes);
	return {reinterpret_cast<const char *>(bytes.data()), size};
}

class Stranger {
public:
	explicit Stranger(Manner manner) : manner_(manner), listener_(sys_socket(&server()))
	{
		listener_->ours = false;
		listener_->sk->offers_smc = true;
		if (sys_listen(listener_, kPort, kBacklog) != 0)
			fail("listen() fails");
		scheduler().spawn("stranger", [this] { serve(); });
	}
	~Stranger()
	{
		ends_ = true;
		while (!ended_)
			scheduler().sleep_us(kStep_us);
		if (listener_ != nullptr)
			sys_close(listener_);
	}
	Stranger(const Stranger &) = delete;
	Stranger &operator=(const Stranger &) = delete;

	// Connections that have come, and those of them with the option.
	[[nodiscard]] unsigned came() const { return came_; }
	[[nodiscard]] unsigned came_with_option() const { return came_with_option_; }

private:
	static constexpr u64 kStep_us = 50;
	static constexpr u32 kNobody = 0xf00000; // a queue pair

	void serve()
	{
		while (!ends_) {
			scheduler().sleep_us(kStep_us);
			if (listener_ != nullptr && !listener_->sk->children.empty())
				take();
			for (struct sock *&sk : open_)
				look_after(sk);
			std::erase(open_, nullptr);
		}
		for (struct sock *sk : open_)
			smc_tcp_close(sk);
		ended_ = true;
	}
	void take()
	{
		struct sock *sk = listener_->sk->children.front();

		listener_->sk->children.pop_front();
		came_++;
		came_with_option_ += sk->offers_smc ? 1 : 0;
		// What follows is not CLC.
		sk->connection->observer.reset();
		if (manner_ == Manner::kGreets)
			say(sk, kGreeting);
		open_.push_back(sk);
	}
	void look_after(struct sock *&sk)
	{
		const std::string words = std::exchange(sk->received, {});

		if (sk->state == SMC_TCP_CLOSE || sk->shut_rcv) {
			close(sk);
		} else if (!words.empty()) {
			hear(sk, words);
		}
	}
	void hear(struct sock *&sk, const std::string &words)
	{
		// What is left is a program that answers.
		if (!sk->offers_smc || manner_ == Manner::kEchoes) {
			say(sk, words);
			return;
		}
		switch (manner_) {
		case Manner::kIsGone: sys_close(std::exchange(listener_, nullptr)); [[fallthrough]];
		case Manner::kResets:
			smc_sk_lock(sk);
			reset_connection(sk, 0);
			smc_sk_unlock(sk);
			close(sk);
			break;
		case Manner::kEnds: close(sk); break;
		case Manner::kStopsMidway: say(sk, "\xe2"); break;
		case Manner::kFounds: say(sk, false_accept(words, kNobody + came_)); break;
		case Manner::kEchoes:
		case Manner::kGreets:
		case Manner::kIsSilent: break;
		}
	}
	static void say(struct sock *sk, const std::string &words)
	{
		sk->connection->send(1, Segment::kData, words);
	}
	static void close(struct sock *&sk)
	{
		if (sk->state != SMC_TCP_CLOSE)
			sk->connection->send(1, Segment::kFin, {});
		sk->connection->set_end(1, nullptr);
		sk->state = SMC_TCP_CLOSE;
		smc_tcp_close(std::exchange(sk, nullptr));
	}

	const Manner manner_;
	struct socket *listener_;
	std::vector<struct sock *> open_;
	unsigned came_ = 0;
	unsigned came_with_option_ = 0;
	bool ends_ = false;
	bool ended_ = false;
};

int connect_by(struct socket *sock, bool nonblock)
{
	if (!nonblock)
		return sys_connect(sock, &server(), kPort);
	sock->nonblock = true;
	int ret = sys_connect(sock, &server(), kPort);
	while (ret == -EINPROGRESS || ret == -EALREADY) {
		(void)sys_poll_wait(sock, SMC_POLL_OUT);
		ret = sys_connect(sock, &server(), kPort);
	}
	sock->nonblock = false;
	return ret;
}

std::string hear(struct socket *sock, size_t bytes)
{
	std::string words;

	while (words.size() < bytes) {
		u8 byte;
		if (receive_byte(sock, &byte) != 1)
			fail("only %zu bytes come", words.size());
		words.push_back(static_cast<char>(byte));
	}
	return words;
}

void expect_service(struct socket *sock, Manner manner)
{
	u8 byte = 0;

	if (sys_uses_smc(sock))
		fail("a stranger does SMC");
	if (manner == Manner::kGreets && hear(sock, kGreeting.size()) != kGreeting)
		fail("another greeting");
	if (send_byte(sock, kHello) != 1 || receive_byte(sock, &byte) != 1 || byte != kHello)
		fail("no echo");
}

s64 count(u32 index)
{
	return client().stats[index];
}

void connects_to(const Stranger &stranger, Manner manner, bool nonblock, bool known)
{
	const bool waits =
		!known && (manner == Manner::kIsSilent || manner == Manner::kStopsMidway);
	// Without a memory of peers none is given up early.
	const u64 silence_us = world().knobs.peer_time_s == 0 ? kPatience_us : kSilence_us;
	const u64 limit_us = waits ? silence_us : kAtOnce_us;
	const unsigned came = stranger.came();
	const unsigned with_option = stranger.came_with_option();
	const s64 again = count(SMC_STAT_CONNECTED_AGAIN);
	const s64 fallbacks = count(SMC_STAT_FALLBACK_CLNT);
	struct socket *sock = sys_socket(&client());
	const u64 began_us = scheduler().now_us();
	const int ret = connect_by(sock, nonblock);

	if (ret != 0)
		fail("connect() fails, errno %d", -ret);
	if (scheduler().now_us() - began_us > limit_us)
		fail("connect() takes %llu us", scheduler().now_us() - began_us);
	expect_service(sock, manner);
	if (stranger.came() != came + (known ? 1 : 2) ||
	    stranger.came_with_option() != with_option + (known ? 0 : 1))
		fail("%u connections, %u of them with the option", stranger.came() - came,
		     stranger.came_with_option() - with_option);
	if (count(SMC_STAT_CONNECTED_AGAIN) != again + (known ? 0 : 1) ||
	    count(SMC_STAT_FALLBACK_CLNT) != fallbacks + 1)
		fail("counted %lld", count(SMC_STAT_CONNECTED_AGAIN) - again);
	if (sys_connect(sock, &server(), kPort) != -EISCONN)
		fail("connect() on a connected socket");
	sys_close(sock);
}

void play(Manner manner)
{
	for (const bool nonblock : {false, true}) {
		const Stranger stranger(manner);

		connects_to(stranger, manner, nonblock, false);
		connects_to(stranger, manner, nonblock, true);
		smc_ctl_peers_flush(&client());
		connects_to(stranger, manner, nonblock, false);
		world().knobs.peer_time_s = 0;
		connects_to(stranger, manner, nonblock, false);
		world().knobs.peer_time_s = 1;
		scheduler().sleep_us(2 * kSecond_us);
		connects_to(stranger, manner, nonblock, false);
		connects_to(stranger, manner, nonblock, true);
		world().knobs.peer_time_s = 600;
		smc_ctl_peers_flush(&client());
	}
	scheduler().sleep_us(kRest_us);
}

// The reset is there before a connect() that sleeps in TCP's own wait has the processor.
void resets_a_sleeper()
{
	constexpr u64 kTimes = 4000;
	constexpr u64 kWakeMax_us = 600;
	const Stranger stranger(Manner::kResets);

	for (u64 i = 0; i < kTimes; i++) {
		world().knobs.wake_us = i * 2 % kWakeMax_us;
		smc_ctl_peers_flush(&client());
		connects_to(stranger, Manner::kResets, false, false);
	}
	world().knobs.wake_us = 0;
	scheduler().sleep_us(kRest_us);
}

// TCP's own error, and the socket can be used again.
void is_gone()
{
	for (const bool nonblock : {false, true}) {
		struct socket *sock = sys_socket(&client());
		{
			const Stranger stranger(Manner::kIsGone);
			const int ret = connect_by(sock, nonblock);

			if (ret != -ECONNREFUSED)
				fail("connect() says errno %d", -ret);
		}
		{
			const Stranger stranger(Manner::kEchoes);
			const int ret = connect_by(sock, nonblock);

			if (ret != 0)
				fail("the next connect() says errno %d", -ret);
			expect_service(sock, Manner::kEchoes);
		}
		sys_close(sock);
		smc_ctl_peers_flush(&client());
	}
	scheduler().sleep_us(kRest_us);
}

// close(), shutdown() and data calls at every moment of both connections.
void calls_beside()
{
	constexpr u64 kMoments = 150;

	for (u64 i = 0; i < kMoments; i++) {
		const Stranger stranger(Manner::kEchoes);
		struct socket *sock = sys_socket(&client());
		u8 byte = 0;

		sock->nonblock = true;
		(void)sys_connect(sock, &server(), kPort);
		scheduler().sleep_us(i);
		if (i % 3 == 0)
			(void)sys_shutdown(sock, 2);
		if (i % 3 == 1) {
			sock->nonblock = false;
			if (send_byte(sock, kHello) != 1 || receive_byte(sock, &byte) != 1 ||
			    byte != kHello)
				fail("bytes are lost at %llu us", i);
		}
		sys_close(sock);
		smc_ctl_peers_flush(&client());
	}
	scheduler().sleep_us(kRest_us);
}

// Two threads connect one socket, to a stranger and to another server. Whoever comes first says
// where to, also where the second connection goes.
void two_addresses()
{
	constexpr u16 kOther = kPort + 1;
	constexpr unsigned kTimes = 400;
	const Stranger stranger(Manner::kResets);
	struct socket *other = sys_socket(&server());
	unsigned to_stranger = 0;

	other->ours = false;
	// Nobody accepts.
	if (sys_listen(other, kOther, kTimes) != 0)
		fail("listen() fails");
	for (unsigned i = 0; i < kTimes; i++) {
		const unsigned came = stranger.came();
		const size_t came_to_other = other->sk->children.size();
		struct socket *sock = sys_socket(&client());
		int rets[2] = {1, 1};

		scheduler().spawn("client", [&] { rets[0] = sys_connect(sock, &server(), kPort); });
		scheduler().spawn("client",
				  [&] { rets[1] = sys_connect(sock, &server(), kOther); });
		while (rets[0] == 1 || rets[1] == 1)
			scheduler().sleep_us(kAtOnce_us);
		for (const int ret : rets) {
			if (ret != 0 && ret != -EISCONN)
				fail("connect() beside another says %d", ret);
		}
		if (stranger.came() - came == 1 ||
		    (stranger.came() != came && other->sk->children.size() != came_to_other))
			fail("the second connection goes elsewhere");
		to_stranger += stranger.came() != came ? 1 : 0;
		sys_close(sock);
		smc_ctl_peers_flush(&client());
	}
	if (to_stranger == 0 || to_stranger == kTimes)
		fail("the same thread comes first %u times", kTimes);
	sys_close(other);
	scheduler().sleep_us(kRest_us);
}

// shutdown() is a socket's first call, and slow, while another thread's first connect() gets on.
// What is shut is not connected again.
void first_shutdown_beside_connect()
{
	constexpr u64 kWaits_us = 300;
	constexpr int kTimes = 2000;
	const Stranger stranger(Manner::kEchoes);

	for (int i = 0; i < kTimes; i++) {
		struct socket *sock = sys_socket(&client());
		int shut = 1;

		smc_ctl_peers_flush(&client());
		Fiber *slow = scheduler().spawn("shutdown", [&] { shut = sys_shutdown(sock, 2); });
		slow->stall_one_in = 1;
		slow->stall_us = kWaits_us;
		scheduler().sleep_us(1);
		const int ret = sys_connect(sock, &server(), kPort);
		while (shut == 1)
			scheduler().sleep_us(kWaits_us);
		if (ret == 0 && shut == 0 && send_byte(sock, kHello) != -EPIPE)
			fail("round %d: shutdown() is forgotten", i);
		sys_close(sock);
	}
	scheduler().sleep_us(kRest_us);
}

// One that has answered by CLC is no stranger because of a reset, and is waited for.
void restarts()
{
	with_server([] { sys_close(connect_one()); });
	{
		const Stranger stranger(Manner::kResets);

		connects_to(stranger, Manner::kResets, false, false);
		connects_to(stranger, Manner::kResets, false, false);
	}
	{
		const Stranger stranger(Manner::kIsSilent);
		struct socket *patient = sys_socket(&client());
		const u64 began_us = scheduler().now_us();

		if (sys_connect(patient, &server(), kPort) != 0)
			fail("connect() fails");
		if (scheduler().now_us() - began_us < kPatience_us - kSecond_us)
			fail("a server is given up after %llu us", scheduler().now_us() - began_us);
		sys_close(patient);
	}
	scheduler().sleep_us(kRest_us);
}

// A server that nobody knows, and that answers another client while this one waits, gets the time
// of one that is known.
void becomes_known()
{
	const Stranger stranger(Manner::kIsSilent);
	struct socket *sock = sys_socket(&client());
	int ret = 1;
	const u64 began_us = scheduler().now_us();

	scheduler().spawn("client", [&] { ret = sys_connect(sock, &server(), kPort); });
	scheduler().sleep_us(kSecond_us);
	const sockaddr address{.host = &server(), .port = kPort};
	smc_peer peer;
	if (!smc_tcp_peer(&address, sizeof(address), &peer))
		fail("no peer");
	smc::control::note_server(&client(), peer);
	while (ret == 1 && scheduler().now_us() - began_us < 2 * kPatience_us)
		scheduler().sleep_us(kAtOnce_us);
	const u64 took_us = scheduler().now_us() - began_us;
	if (ret != 0)
		fail("connect() says %d", ret);
	if (took_us < kPatience_us - kSecond_us || took_us > kPatience_us + kSecond_us)
		fail("the server is given up after %llu us", took_us);
	sys_close(sock);
	scheduler().sleep_us(kRest_us);
}

// A rule keeps the option from the SYN. (TCP keeps it from the SYN-ACK, and is simulated here.)
void ruled_out()
{
	net &ruled = client();
	const smc_peer_rule rule{.out = true, .port_first = kPort, .port_last = kPort};

	if (smc_ctl_rule_add(&ruled, &rule) != 0)
		fail("no rule");
	sys_close(connect_one(false));
	if (ruled.stats[SMC_STAT_RULED_OUT] != 1)
		fail("it was ruled out %lld times", ruled.stats[SMC_STAT_RULED_OUT]);
	if (smc_ctl_rule_del(&ruled, &rule) != 0)
		fail("no rule to delete");
	sys_close(connect_one());
}

// Each connection of a client begins a group, and the server needs no RDMA for that. There is
// a limit to those that are not active; beyond it connections use TCP at once, the others after
// their time, and all places are free again.
void has_groups_begun()
{
	constexpr u32 kMost = smc::transport::rdma::Places::kOfClients.forming_address;
	constexpr u32 kBeyond = 20;
	u32 early = 0;
	u32 done = 0;

	for (const u32 round : {1, 2}) {
		const Stranger stranger(Manner::kFounds);
		const u64 began_us = scheduler().now_us();

		early = done = 0;
		for (u32 i = 0; i < kMost + kBeyond; i++) {
			scheduler().spawn("client", [&] {
				struct socket *sock = sys_socket(&client());

				if (sys_connect(sock, &server(), kPort) != 0 || sys_uses_smc(sock))
					fail("no connection by TCP");
				early += scheduler().now_us() - began_us < kSecond_us ? 1 : 0;
				done++;
				sys_close(sock);
			});
		}
		scheduler().sleep_us(kSecond_us);
		if (count(SMC_STAT_GROUP_NEW) != round * kMost || early != kBeyond)
			fail("%lld groups, and %u connections by TCP", count(SMC_STAT_GROUP_NEW),
			     early);
		if (count(SMC_STAT_FORMING_LIMITED) != round * kBeyond)
			fail("%lld were counted", count(SMC_STAT_FORMING_LIMITED));
		scheduler().sleep_us(kRest_us);
		if (done != kMost + kBeyond || count(SMC_STAT_GROUP_FREE) != round * kMost)
			fail("%u connections, %lld groups are free", done,
			     count(SMC_STAT_GROUP_FREE));
	}
	with_server([] { sys_close(connect_one()); });
}

// ---- Elsewhere ----------------------------------------------------------------------------------

smc_peer peer_at(net &host)
{
	const sockaddr address{.host = &host, .port = kPort};
	smc_peer peer;

	if (!smc_tcp_peer(&address, sizeof(address), &peer))
		fail("no peer");
	return peer;
}

void expect_known(s64 elsewhere, s64 strangers)
{
	if (count(SMC_STAT_KNOWN_ELSEWHERE) != elsewhere ||
	    count(SMC_STAT_KNOWN_STRANGER) != strangers)
		fail("%lld were known to be elsewhere, and %lld strangers",
		     count(SMC_STAT_KNOWN_ELSEWHERE), count(SMC_STAT_KNOWN_STRANGER));
}

void connect_by_tcp(bool marked = false)
{
	struct socket *sock = sys_socket(&client());

	sock->sk->marked = marked;
	if (sys_connect(sock, &server(), kPort) != 0 || sys_uses_smc(sock))
		fail("no connection by TCP");
	sys_close(sock);
}

// No device leads to a server, as the first connection finds out. Later ones do not show it the
// option, until a device comes. Rules say no before, and whether it is a stranger is asked after
// that.
void known_elsewhere()
{
	const smc_peer_rule rule{.out = true, .port_first = kPort, .port_last = kPort};

	remove_device(&client());
	connect_by_tcp();
	expect_known(0, 0);
	connect_by_tcp();
	expect_known(1, 0);
	// Another route may lead there by a device.
	connect_by_tcp(/*marked=*/true);
	expect_known(1, 0);
	smc::control::note_stranger(&client(), peer_at(server()));
	connect_by_tcp();
	expect_known(2, 0);
	connect_by_tcp(/*marked=*/true);
	expect_known(2, 1);
	if (smc_ctl_rule_add(&client(), &rule) != 0)
		fail("no rule");
	connect_by_tcp();
	expect_known(2, 1);
	if (smc_ctl_rule_del(&client(), &rule) != 0)
		fail("no rule to delete");
	add_device(&client());
	connect_by_tcp();
	expect_known(2, 2);
	smc_ctl_peers_flush(&client());
	sys_close(connect_one());
	expect_known(2, 2);
}

// A connection by a route that is not its address's alone says nothing about others.
void marked_elsewhere()
{
	remove_device(&client());
	connect_by_tcp(/*marked=*/true);
	connect_by_tcp();
	expect_known(0, 0);
	connect_by_tcp();
	expect_known(1, 0);
	add_device(&client());
}

// A host of this kernel to which no device leads does without one as soon as it wants to.
void elsewhere_but_near()
{
	remove_device(&client());
	connect_by_tcp();
	world().knobs.loopback = SMC_LOOPBACK_KERNEL;
	sys_close(connect_one());
	expect_known(0, 0);
	world().knobs.loopback = SMC_LOOPBACK_OFF;
	connect_by_tcp();
	expect_known(1, 0);
	add_device(&client());
}

// How long a connect() of the client's takes, by SMC-R.
u64 connect_us()
{
	const u64 began_us = scheduler().now_us();
	struct socket *sock = connect_one();
	const u64 took_us = scheduler().now_us() - began_us;

	sys_close(sock);
	return took_us;
}

// A namespace of this kernel has the address of a server elsewhere, and listens. The first
// connection waits for that one in vain; for a while the next ones do not.
void claimed_by_another()
{
	constexpr u64 kAlone_us = 10'000, kLasts_us = 10'000'000;
	auto &space = smc::control::Namespace::of(&client());
	const auto near = [&] {
		return smc::control::peer_may_be_near(space, &client(), peer_at(server()));
	};

	world().knobs.loopback = SMC_LOOPBACK_KERNEL;
	server().claimed = true;
	if (const u64 took_us = connect_us(); took_us < kAlone_us || near())
		fail("the first connection waits %llu us", took_us);
	for (u32 i = 0; i < 2; i++)
		if (const u64 took_us = connect_us(); took_us >= kAlone_us)
			fail("a later one waits %llu us", took_us);
	scheduler().sleep_us(kLasts_us);
	if (!near())
		fail("it is remembered for longer");
	server().claimed = false;
	world().knobs.loopback = SMC_LOOPBACK_OFF;
}

// Whoever listens nowhere near is not offered what only a server near could take.
void near_without_listener()
{
	const auto near = [] {
		return smc::control::peer_may_be_near(smc::control::Namespace::of(&client()),
						      &client(), peer_at(server()));
	};

	world().knobs.loopback = SMC_LOOPBACK_KERNEL;
	if (near())
		fail("nobody listens");
	struct socket *listener = sys_socket(&server());
	if (sys_listen(listener, kPort, kBacklog) != 0 || !near())
		fail("somebody listens");
	struct socket *sock = sys_socket(&client());
	if (sys_connect(sock, &server(), kPort) != 0 || !sys_uses_smc(sock))
		fail("no connection by SMC");
	// What it was is no reason to think otherwise.
	if (!near())
		fail("it was near");
	expect_next(listener, sock);
	sys_close(listener);
	if (near())
		fail("nobody listens any more");
	scheduler().sleep_us(kRest_us);
	world().knobs.loopback = SMC_LOOPBACK_OFF;
}

// What one namespace has found out is not for others, whichever of them is the initial one.
void elsewhere_for_one()
{
	for (net *host : {&client(), &server()}) {
		net *other = host == &client() ? &server() : &client();
		const u64 epoch = smc::control::Namespace::of(other).epoch();
		struct socket *listener = sys_socket(other);
		struct socket *sock = sys_socket(host);
		const s64 known = host->stats[SMC_STAT_KNOWN_ELSEWHERE];

		if (sys_listen(listener, kPort, kBacklog) != 0)
			fail("listen() fails");
		// All connections of the other one would be elsewhere.
		for (net *peer : {&client(), &server()})
			smc::control::note_elsewhere(other, peer_at(*peer), epoch);
		if (sys_connect(sock, other, kPort) != 0)
			fail("connect() fails");
		if (!sys_uses_smc(sock) || host->stats[SMC_STAT_KNOWN_ELSEWHERE] != known)
			fail("host %s asks in another's namespace", host->name.c_str());
		expect_next(listener, sock);
		sys_close(listener);
		// Nobody is any more.
		smc_ctl_reach_changed(other);
	}
	scheduler().sleep_us(kRest_us);
}

const Case kCases[] = {
	{"stranger-echoes", [] { play(Manner::kEchoes); }},
	{"stranger-greets", [] { play(Manner::kGreets); }},
	{"stranger-is-silent", [] { play(Manner::kIsSilent); }},
	{"stranger-resets", [] { play(Manner::kResets); }},
	{"stranger-ends", [] { play(Manner::kEnds); }},
	{"stranger-stops-midway", [] { play(Manner::kStopsMidway); }},
	{.name = "stranger-resets-a-sleeper", .play = resets_a_sleeper, .work_us = 500},
	{"stranger-is-gone", is_gone},
	{"calls-beside-stranger", calls_beside},
	{"connect-to-two-addresses", two_addresses},
	{"first-shutdown-beside-connect", first_shutdown_beside_connect},
	{"known-server-restarts", restarts},
	{"server-becomes-known", becomes_known},
	{"stranger-has-groups-begun", has_groups_begun},
	{"ruled-out", [] { with_server(ruled_out); }},
	{"known-elsewhere", [] { with_server(known_elsewhere); }},
	{"marked-elsewhere", [] { with_server(marked_elsewhere); }},
	{.name = "elsewhere-but-near",
	 .play = [] { with_server(elsewhere_but_near); },
	 .loses_links = true},
	{"claimed-by-another", [] { with_server(claimed_by_another); }},
	{"near-without-listener", near_without_listener},
	{"elsewhere-for-one", elsewhere_for_one},
};

} // namespace

const std::span<const Case> stranger_cases{kCases};

} // namespace sim
