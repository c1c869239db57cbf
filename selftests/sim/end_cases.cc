// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about the end of TCP's connection: a RST once both ends have closed, or FINs.
#include "cases.hpp"

#include "call.hpp"
#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"
#include "plot.hpp"
#include "scheduler.hpp"
#include "tcp_connection.hpp"
#include "trace.hpp"
#include "verbs.hpp"

namespace sim {
namespace {

constexpr u64 kSoon_us = 10'000;
constexpr u64 kLong_us = 1'000'000;
constexpr u32 kLinger_ms = 60'000;

// What went by TCP at the end of a connection.
class Farewell {
public:
	explicit Farewell(const Call &call) : tcp_(call.tcp()) {}

	void expect(u32 client_fins, u32 server_fins, const char *when) const
	{
		const u32 client = tcp_->segments(0, Segment::kFin);
		const u32 server = tcp_->segments(1, Segment::kFin);

		if (client != client_fins || server != server_fins)
			fail("script: %s: %u FINs from the client, %u from the server", when,
			     client, server);
	}
	// One, or one of each side that have crossed.
	void expect_reset(bool wanted, const char *when) const
	{
		const u32 client = tcp_->segments(0, Segment::kReset);
		const u32 server = tcp_->segments(1, Segment::kReset);

		if (client > 1 || server > 1 || (client + server != 0) != wanted)
			fail("script: %s: %u RSTs from the client, %u from the server", when,
			     client, server);
	}

private:
	const std::shared_ptr<TcpConnection> tcp_;
};

void close_both(Call &call)
{
	call.close_client();
	scheduler().sleep_us(kSoon_us);
	call.end_is_clean();
	call.close_server();
	scheduler().sleep_us(kLong_us);
}

// The first end waits for the second one, and a RST is all there is.
void ends_by_reset()
{
	Call call(&client(), &server());
	const Farewell farewell(call);

	close_both(call);
	farewell.expect(0, 0, "both closed");
	farewell.expect_reset(true, "both closed");
}

// A peer that stays open gets the FIN, so that TCP says what it would say. Its own close() ends
// TCP's connection at once.
void ends_late()
{
	Call call(&client(), &server());
	const Farewell farewell(call);

	call.close_client();
	scheduler().sleep_us(kSoon_us);
	farewell.expect(0, 0, "just closed");
	scheduler().sleep_us(kLong_us);
	farewell.expect(1, 0, "closed for a second");
	call.tcp_is(SMC_TCP_CLOSE_WAIT);
	call.end_is_clean();
	farewell.expect_reset(false, "closed for a second");
	call.close_server();
	scheduler().sleep_us(kLong_us);
	farewell.expect(1, 0, "both closed");
	farewell.expect_reset(true, "both closed");
}

// Data that a slow reader leaves behind the close() is not lost to the RST.
void ends_behind_data()
{
	Call call(&client(), &server());
	const Farewell farewell(call);
	const size_t bytes = call.fill();

	call.close_client();
	scheduler().sleep_us(kLong_us);
	farewell.expect(0, 0, "unread");
	farewell.expect_reset(false, "unread");
	call.receive(bytes);
	call.end_is_clean();
	call.close_server();
	scheduler().sleep_us(kLong_us);
	farewell.expect_reset(true, "read, both closed");
}

// As TCP: who does not want it, or does not know of it, is not made to.
void ends_by_fin()
{
	Call call(&client(), &server());
	const Farewell farewell(call);

	call.close_client();
	scheduler().sleep_us(kSoon_us);
	farewell.expect(1, 0, "one closed");
	call.end_is_clean();
	call.close_server();
	scheduler().sleep_us(kLong_us);
	farewell.expect(1, 1, "both closed");
	farewell.expect_reset(false, "both closed");
}

void server_ends_by_fin()
{
	server().end_by_reset = false;
	ends_by_fin();
}

void client_ends_by_fin()
{
	client().end_by_reset = false;
	ends_by_fin();
}

// Inside one kernel the end that closes first is gone by then, with its FIN.
void ends_near()
{
	world().knobs.loopback = SMC_LOOPBACK_KERNEL;
	{
		Call call(&client(), &client());
		const Farewell farewell(call);

		call.close_client();
		farewell.expect(1, 0, "one closed");
		scheduler().sleep_us(kSoon_us);
		call.end_is_clean();
		call.close_server();
		scheduler().sleep_us(kLong_us);
		farewell.expect(1, 0, "both closed");
		farewell.expect_reset(true, "both closed");
	}
	client().end_by_reset = false;
	Call call(&client(), &client());
	const Farewell farewell(call);

	close_both(call);
	farewell.expect(1, 1, "without the RST");
	farewell.expect_reset(false, "without the RST");
}

// Between two namespaces of one kernel either administrator may say no.
void ends_near_as_both_want()
{
	world().knobs.loopback = SMC_LOOPBACK_KERNEL;
	for (net *host : {&client(), &server()}) {
		host->end_by_reset = false;
		Call call(&client(), &server());
		const Farewell farewell(call);

		close_both(call);
		farewell.expect(1, 1, "one does not want it");
		farewell.expect_reset(false, "one does not want it");
		host->end_by_reset = true;
	}
}

// The link is lost after the peer has heard of the close(), and while it stays open: it has lost
// nothing.
void ends_without_link()
{
	Call call(&client(), &server());
	const Farewell farewell(call);

	call.close_client();
	scheduler().sleep_us(kSoon_us);
	remove_device(&client());
	scheduler().sleep_us(kLong_us);
	farewell.expect(1, 0, "without a link");
	farewell.expect_reset(false, "without a link");
	call.end_is_clean();
	add_device(&client());
}

// The link is lost while close() lingers over data, at this end alone. The peer, which waits for
// the data, is told by TCP.
void lingers_without_link()
{
	Call call(&client(), &server());
	const Farewell farewell(call);
	bool over = false;

	(void)call.fill();
	call.linger(kLinger_ms);
	scheduler().spawn("device", [&over] {
		scheduler().sleep_us(kSoon_us);
		for (const auto &[qpn, link] : fabric().links)
			link->silent = true;
		remove_device(&client(), 0, Removal::kPulled);
		over = true;
	});
	call.close_client();
	scheduler().sleep_us(kSoon_us);
	farewell.expect_reset(true, "without a link");
	call.is_reset();
	while (!over)
		scheduler().sleep_us(kSoon_us);
	add_device(&client());
}

// TCP is reset meanwhile: nobody waits for the peer any longer.
void lingers_without_tcp()
{
	Call call(&client(), &server());

	(void)call.fill();
	call.linger(kLinger_ms);
	const u64 began_us = scheduler().now_us();

	scheduler().spawn("network", [tcp = call.tcp()] {
		scheduler().sleep_us(kSoon_us);
		tcp->break_off();
	});
	call.close_client();
	if (scheduler().now_us() - began_us > kLong_us)
		fail("script: close() waits for a peer that TCP has lost");
	if (client().stats[SMC_STAT_TCP_DIED] != 1)
		fail("script: nobody has given up");
}

// A reset is the peer's to see, whoever closes afterwards.
void ends_in_disorder()
{
	Call call(&client(), &server());
	const Farewell farewell(call);

	(void)call.send(1);
	scheduler().sleep_us(kSoon_us);
	call.close_server(); // with an unread byte
	scheduler().sleep_us(kSoon_us);
	if ((call.client_events() & SMC_POLL_ERR) == 0)
		fail("script: a reset goes unseen");
	call.close_client();
	scheduler().sleep_us(kLong_us);
}

const Case kCases[] = {
	{"ends-by-reset", [] { scripted(ends_by_reset); }},
	{"ends-late", [] { scripted(ends_late); }},
	{"ends-behind-data", [] { scripted(ends_behind_data); }},
	{"server-ends-by-fin", [] { scripted(server_ends_by_fin); }},
	{"client-ends-by-fin", [] { scripted(client_ends_by_fin); }},
	{.name = "version-1-ends-by-fin", .play = [] { scripted(ends_by_fin); }, .smcr_v1 = true},
	{.name = "iwarp-ends-by-reset", .play = [] { scripted(ends_by_reset); }, .iwarp = true},
	{"ends-near", [] { scripted(ends_near); }},
	{"ends-near-as-both-want", [] { scripted(ends_near_as_both_want); }},
	{.name = "ends-without-link",
	 .play = [] { scripted(ends_without_link); },
	 .loses_links = true},
	{.name = "lingers-without-link",
	 .play = [] { scripted(lingers_without_link); },
	 .loses_links = true},
	{"lingers-without-tcp", [] { scripted(lingers_without_tcp); }},
	{"ends-in-disorder", [] { scripted(ends_in_disorder); }},
};

} // namespace

const std::span<const Case> end_cases{kCases};

} // namespace sim
