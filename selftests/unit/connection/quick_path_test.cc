// SPDX-License-Identifier: GPL-2.0-only
//
// The short ways of Connection for small messages against the general ones. Two pairs of ends get
// the same calls, the same messages and completions at the same times; one pair sends and receives
// by the short ways wherever they are open. Nobody can tell them apart. Then each thing that closes
// a short way, alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "connection/acquainted.hpp"
#include "connection/alike.hpp"
#include "connection/seeds.hpp"
#include "core/wire/compact.hpp"

namespace smc::connection::test {
namespace {

// The plan of the short way is that of the general one.
void expect_equal(const QuickPlan &plan, const TransmitPlan &general)
{
	EXPECT_TRUE(general.compact);
	EXPECT_EQ(general.write_count, 1u);
	EXPECT_EQ(general.writes[0].sndbuf_offset_bytes, plan.write.sndbuf_offset_bytes);
	EXPECT_EQ(general.writes[0].peer_offset_bytes, plan.write.peer_offset_bytes);
	EXPECT_EQ(general.writes[0].length_bytes, plan.write.length_bytes);
	EXPECT_EQ(general.brief.written_bytes, plan.write.length_bytes);
	EXPECT_EQ(general.brief.consumed_bytes, plan.consumed_bytes);
	EXPECT_FALSE(general.brief.wrapped || general.brief.write_blocked);
	EXPECT_EQ(general.marker.sent_bytes, plan.marker.sent_bytes);
	EXPECT_EQ(general.marker.message_number, plan.marker.message_number);
	EXPECT_EQ(general.signal, plan.signal);
}

// As an endpoint does it.
QuickWay send_quickly(End &end, std::string_view data)
{
	const auto bytes = static_cast<std::uint32_t>(data.size());
	Connection general = end.connection;
	QuickPlan plan;
	TransmitPlan expected;
	const QuickWay way = end.connection.plan_quickly(bytes, plan);

	if (way == QuickWay::kNone)
		return way;
	EXPECT_LE(bytes, end.connection.sndbuf_free_bytes());
	EXPECT_EQ(*end.connection.write_segments(bytes).begin(),
		  (ring::Segment{plan.write.sndbuf_offset_bytes, bytes}));
	std::memcpy(end.sndbuf.data() + plan.write.sndbuf_offset_bytes, data.data(), bytes);
	general.produce(bytes);
	EXPECT_EQ(general.plan_transmit(expected), way == QuickWay::kSend);
	if (way == QuickWay::kWait || end.posted.size() >= end.send_queue_limit) {
		end.waits_for_room = end.waits_for_room || way == QuickWay::kSend;
		end.connection.produce(bytes);
		return way;
	}
	expect_equal(plan, expected);
	EXPECT_EQ(expected.message.token, end.connection.peer_token());
	end.connection.commit_quickly(plan);
	general.commit_transmit(expected);
	expect_alike(end.connection, general);
	end.posted.push_back(expected);
	end.last_plan = expected;
	if (plan.signal && end.complete_early)
		end.completions.push_back(plan.marker);
	return way;
}

struct Twins {
	explicit Twins(const Config &config) : general(config), quick(config)
	{
		quick.a.hears_quickly = true;
		quick.b.hears_quickly = true;
	}

	// The same for both.
	template <class F>
	void both(bool at_a, F &&f)
	{
		for (Pair *pair : {&general, &quick})
			f(*pair, at_a ? pair->a : pair->b, at_a ? pair->b : pair->a);
	}

	Pair general;
	Pair quick;
};

class QuickPathTest : public testing::Test {
protected:
	std::uint32_t up_to(std::uint32_t most)
	{
		return static_cast<std::uint32_t>(random_() % (most + 1));
	}
	void send(Twins &twins, bool at_a, std::uint32_t bytes, SendHint hint)
	{
		const std::string data(bytes, static_cast<char>('a' + sends_++ % 26));
		End &quick = at_a ? twins.quick.a : twins.quick.b;

		(at_a ? twins.general.a : twins.general.b).send(data, hint);
		const QuickWay way =
			hint == SendHint::kNormal ? send_quickly(quick, data) : QuickWay::kNone;

		if (way == QuickWay::kNone)
			quick.send(data, hint);
		sends_by_way_[static_cast<std::size_t>(way)]++;
	}
	void receive(Twins &twins, bool at_a, std::uint32_t max_bytes);
	void deliver(Twins &twins, bool at_a);
	void act(Twins &twins, bool at_a, std::uint32_t what);
	void expect_no_difference(const Twins &twins)
	{
		expect_alike(twins.general.a.connection, twins.quick.a.connection);
		expect_alike(twins.general.b.connection, twins.quick.b.connection);
		for (const auto &[general, quick] : {std::pair{&twins.general.a, &twins.quick.a},
						     std::pair{&twins.general.b, &twins.quick.b}}) {
			ASSERT_EQ(general->posted.size(), quick->posted.size());
			ASSERT_EQ(general->completions.size(), quick->completions.size());
			ASSERT_EQ(general->waits_for_room, quick->waits_for_room);
		}
	}

	std::mt19937 random_;
	std::uint32_t sends_ = 0;
	std::array<std::uint32_t, 3> sends_by_way_{};
	std::uint32_t reads_ = 0;
	std::uint32_t quick_reads_ = 0;
	std::uint32_t heard_ = 0;
	std::uint32_t heard_quickly_ = 0;
};

void QuickPathTest::receive(Twins &twins, bool at_a, std::uint32_t max_bytes)
{
	End &general = at_a ? twins.general.a : twins.general.b;
	End &quick = at_a ? twins.quick.a : twins.quick.b;
	const QuickLook look = quick.connection.look_quickly(max_bytes, 1, false);

	reads_++;
	switch (look.found) {
	case QuickLook::Found::kUnusual: quick.receive(max_bytes); break;
	case QuickLook::Found::kNothing:
		EXPECT_EQ(general.connection.readable_bytes(), 0u);
		EXPECT_FALSE(general.connection.at_eof() || general.connection.reset());
		break;
	case QuickLook::Found::kPiece: {
		const ring::Segments segments = general.connection.read_segments(max_bytes);

		EXPECT_EQ(segments.pieces().size(), 1u);
		EXPECT_EQ(*segments.begin(), look.piece);
		EXPECT_EQ(look.leaves_some,
			  general.connection.readable_bytes() > look.piece.length_bytes);
		EXPECT_EQ(quick.text(segments), general.text(segments));
		if (quick.connection.consume_quickly(look.piece.length_bytes))
			quick.transmit();
		quick_reads_++;
		break;
	}
	}
	general.receive(max_bytes);
}

// The oldest message, or completion.
void QuickPathTest::deliver(Twins &twins, bool at_a)
{
	std::uint16_t events[2] = {};
	std::uint32_t i = 0;

	twins.both(at_a, [&](Pair &pair, End &end, End &) {
		Verdict verdict;

		if (!end.arrived.empty()) {
			verdict = pair.wire.deliver(end);
			heard_ += i;
		} else if (!end.completions.empty()) {
			verdict = pair.wire.complete(end);
		}
		events[i++] = verdict.events;
		if (can_transmit(end.connection))
			end.transmit();
	});
	EXPECT_EQ(events[0], events[1]);
}

void QuickPathTest::act(Twins &twins, bool at_a, std::uint32_t what)
{
	const std::uint32_t choice = up_to(7);

	twins.both(at_a, [&](Pair &pair, End &end, End &) {
		switch (what) {
		case 0:
			end.connection.set_corked(choice == 0);
			end.transmit();
			break;
		case 1:
			end.connection.push();
			end.transmit();
			break;
		case 2:
			if (end.connection.set_urgent_inline(choice == 0))
				end.transmit();
			break;
		case 3: end.connection.announce_urgent(choice == 0); break;
		case 4: end.connection.leave_mark(); break;
		case 5:
			end.connection.request_completion();
			end.transmit();
			break;
		case 6:
			if (choice == 0 && end.connection.rmb_size_bytes() < 65536)
				end.offer(end.connection.rmb_size_bytes() * 2);
			break;
		case 7: end.send_queue_limit = choice == 0 ? 1 : SIZE_MAX; break;
		case 8:
			if (choice == 0)
				lose_all(pair);
			break;
		default: break;
		}
	});
}

TEST_F(QuickPathTest, NobodyCanTell)
{
	const Seeds seeds(400);

	for (std::uint32_t seed = seeds.first; seed <= seeds.last; seed++) {
		random_.seed(seed);
		Config config = compact_config();
		config.growing = up_to(1) == 0;
		config.autocorking_size_bytes = up_to(2) == 0 ? 0 : 16384;
		config.sndbuf_size_bytes = up_to(2) == 0 ? 10000 : 16384;
		Twins twins{config};

		for (int step = 0; step < 500; step++) {
			const bool at_a = up_to(1) == 0;
			const std::uint32_t what = up_to(999);
			const End &end = at_a ? twins.general.a : twins.general.b;

			if (what < 250) {
				const std::uint32_t free_bytes = end.connection.sndbuf_free_bytes();
				const SendHint hint = what < 2    ? SendHint::kUrgent
						      : what < 10 ? SendHint::kMore
								  : SendHint::kNormal;

				if (free_bytes != 0 &&
				    end.connection.send_status() == SendStatus::kOpen)
					send(twins, at_a,
					     1 + up_to(std::min(free_bytes - 1, 2999u)), hint);
			} else if (what < 500) {
				twins.both(at_a, [](Pair &pair, End &from, End &) {
					(void)pair.wire.carry(from);
				});
			} else if (what < 750) {
				deliver(twins, at_a);
			} else if (what < 970) {
				receive(twins, at_a, up_to(3) == 0 ? 1 + up_to(999) : UINT32_MAX);
			} else if (what < 996) {
				act(twins, at_a, what % 9);
			} else if (step > 400) {
				twins.both(at_a, [what](Pair &, End &from, End &) {
					if (what < 998)
						from.connection.shutdown_write();
					else if (what < 999)
						from.connection.close();
					else
						from.connection.abort();
					from.transmit();
				});
			}
			expect_no_difference(twins);
			if (HasFailure()) {
				ADD_FAILURE() << "seed " << seed << ", step " << step;
				return;
			}
		}
		heard_quickly_ += twins.quick.a.heard_quickly + twins.quick.b.heard_quickly;
	}
	if (seeds.first == seeds.last)
		return;
	for (const std::uint32_t sends : sends_by_way_)
		EXPECT_GT(sends, sends_ / 10);
	EXPECT_GT(quick_reads_, reads_ / 16);
	EXPECT_GT(heard_quickly_, heard_ / 4);
}

// ---- What closes the way of a send --------------------------------------------------------------

QuickWay way_of(const End &end, std::uint32_t bytes = 100)
{
	QuickPlan plan;

	return end.connection.plan_quickly(bytes, plan);
}

bool may_send(const End &end, std::uint32_t bytes = 100)
{
	return way_of(end, bytes) == QuickWay::kSend;
}

struct Hindrance {
	const char *name;
	std::function<void(Acquainted &pair)> put;
};

// What ends a's connection, with those beside it.
std::vector<Hindrance> with_endings(const std::vector<Hindrance> &others)
{
	std::vector<Hindrance> all{
		{"the own end", [](Acquainted &pair) { pair.a.connection.shutdown_write(); }},
		{"the own close", [](Acquainted &pair) { pair.a.connection.close(); }},
		{"an abort", [](Acquainted &pair) { pair.a.connection.abort(); }},
		{"a lost link", [](Acquainted &pair) { pair.a.connection.transport_lost(); }},
		{"the peer's end",
		 [](Acquainted &pair) {
			 pair.b.connection.shutdown_write();
			 pair.b.transmit();
			 pair.wire.settle();
		 }},
	};

	all.insert(all.end(), others.begin(), others.end());
	return all;
}

TEST(QuickSendTest, EachHindranceAlone)
{
	const auto hindrances = with_endings({
		{"a cork", [](Acquainted &pair) { pair.a.connection.set_corked(true); }},
		{"bytes that wait",
		 [](Acquainted &pair) { pair.a.append("more", SendHint::kMore); }},
		{"an urgent byte",
		 [](Acquainted &pair) { pair.a.connection.announce_urgent(true); }},
		{"a failover", [](Acquainted &pair) { pair.a.connection.fail_over(); }},
		{"an offer of a ring",
		 [](Acquainted &pair) { EXPECT_TRUE(pair.a.connection.offer_ring(65536)); }},
		{"a ring of the peer's",
		 [](Acquainted &pair) { pair.a.connection.take_peer_ring(65536); }},
	});

	for (const Hindrance &hindrance : hindrances) {
		Config config = compact_config();

		config.growing = true;
		Acquainted pair{config};
		ASSERT_TRUE(may_send(pair.a)) << hindrance.name;
		hindrance.put(pair);
		EXPECT_EQ(way_of(pair.a), QuickWay::kNone) << hindrance.name;
	}
}

// As long as nothing else is due: that would leave at once.
TEST(QuickSendTest, WaitsForWhatIsUnderWay)
{
	Acquainted pair;

	pair.a.send("one");
	pair.a.send("two");
	ASSERT_TRUE(pair.a.last_plan.signal);
	EXPECT_EQ(way_of(pair.a), QuickWay::kWait);
	EXPECT_EQ(send_quickly(pair.a, "three"), QuickWay::kWait);
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 5u);
	EXPECT_EQ(way_of(pair.a), QuickWay::kWait);
	// So much does not wait.
	EXPECT_EQ(way_of(pair.a, 8192 - 5), QuickWay::kWait);
	EXPECT_EQ(way_of(pair.a, 8192 - 5 + 1), QuickWay::kNone);

	Connection &asked = pair.a.connection;
	const Connection before = asked;
	asked.push();
	EXPECT_EQ(way_of(pair.a), QuickWay::kNone);
	asked = before;
	pair.wire.settle();
	EXPECT_EQ(pair.a.connection.unsent_bytes(), 0u);
	EXPECT_EQ(pair.b.receive(), "onetwothree");
}

// A stream may go on for long before the peer has read everything once.
TEST(QuickSendTest, APeersLargerRingMattersWhenItIsDue)
{
	Config config = compact_config();

	config.growing = true;
	Acquainted pair{config};
	pair.a.send("unread");
	pair.wire.settle();
	pair.a.connection.take_peer_ring(65536);
	ASSERT_FALSE(pair.a.connection.ring_change_due());
	EXPECT_EQ(way_of(pair.a), QuickWay::kSend);

	EXPECT_EQ(pair.b.receive(), "unread");
	pair.b.send("answer");
	pair.wire.settle();
	ASSERT_TRUE(pair.a.connection.ring_change_due());
	EXPECT_EQ(way_of(pair.a), QuickWay::kNone);
}

TEST(QuickSendTest, NotWithSomethingElseThatIsDue)
{
	Acquainted pair;

	pair.a.send("one");
	pair.a.send("two");
	ASSERT_EQ(way_of(pair.a), QuickWay::kWait);
	pair.b.send(std::string(12000, 'x'));
	while (pair.wire.carry(pair.b)) {}
	while (!pair.a.arrived.empty())
		(void)pair.wire.deliver(pair.a);
	ASSERT_EQ(way_of(pair.a), QuickWay::kWait);
	(void)pair.a.read();
	ASSERT_TRUE(pair.a.update_wanted);
	EXPECT_EQ(way_of(pair.a), QuickWay::kNone);
}

TEST(QuickSendTest, OnlyInCompactMessages)
{
	EXPECT_FALSE(may_send(Acquainted{plain_config()}.a));
	// The peer has not spoken yet.
	EXPECT_FALSE(may_send(Pair{compact_config()}.a));
}

TEST(QuickSendTest, OnlyWhereACompletionFreesTheSendBuffer)
{
	Config config = compact_config();

	config.completion_frees_sndbuf = false;
	EXPECT_FALSE(may_send(Acquainted{config}.a));
}

// The last byte of the peer's ring has to be announced as such.
TEST(QuickSendTest, OnlyWhereThereIsRoom)
{
	Config wide = compact_config();
	wide.sndbuf_size_bytes = 65536;
	Acquainted pair{wide, Pair::mirrored(compact_config())};

	ASSERT_EQ(pair.a.connection.peer_window_bytes(), 16384u);
	// "hello" lies before.
	EXPECT_TRUE(may_send(pair.a, 16384 - 5));
	EXPECT_FALSE(may_send(pair.a, 16384 - 4));
	pair.a.send(std::string(16384 - 5 - 10, 'x'));
	EXPECT_TRUE(may_send(pair.a, 10));
	pair.a.send(std::string(10, 'x'));
	pair.wire.settle();
	EXPECT_TRUE(may_send(pair.a, 4));
	EXPECT_FALSE(may_send(pair.a, 5));
	EXPECT_FALSE(may_send(pair.a, 0));

	Config narrow = compact_config();
	narrow.sndbuf_size_bytes = 1000;
	narrow.autocorking_size_bytes = 0;
	Acquainted other{narrow, Pair::mirrored(compact_config())};
	other.a.send(std::string(995, 'x'));
	EXPECT_TRUE(may_send(other.a, 5));
	EXPECT_FALSE(may_send(other.a, 6));
}

TEST(QuickSendTest, OnlyInOnePiece)
{
	for (const bool own : {false, true}) {
		Config config = compact_config();
		if (own)
			config.sndbuf_size_bytes = 1000;
		Acquainted pair{config, Pair::mirrored(compact_config())};
		const std::uint32_t size_bytes = own ? 1000 : 16384;

		pair.a.send(std::string(size_bytes - 5 - 100, 'x'));
		pair.wire.settle();
		pair.b.receive();
		pair.wire.settle();
		ASSERT_GE(pair.a.connection.sndbuf_free_bytes(), 200u);
		EXPECT_TRUE(may_send(pair.a, 100));
		EXPECT_FALSE(may_send(pair.a, 101));
	}
}

TEST(QuickSendTest, NotWithMoreConsumedThanItCanSay)
{
	Acquainted pair{spacious_config()};

	pair.a.send(std::string(wire::kCompactConsumedMaxBytes, 'x'));
	pair.a.send("xx");
	pair.wire.settle();
	ASSERT_EQ(pair.b.read(wire::kCompactConsumedMaxBytes).size(),
		  wire::kCompactConsumedMaxBytes);
	EXPECT_TRUE(may_send(pair.b));
	ASSERT_EQ(pair.b.read(1).size(), 1u);
	EXPECT_FALSE(may_send(pair.b));
}

// MSG_MORE of the last send, all of which has gone, is over with this one.
TEST(QuickSendTest, EndsWhatAskedForMore)
{
	Acquainted pair;

	pair.a.send(std::string(5000, 'm'), SendHint::kMore);
	ASSERT_EQ(pair.a.connection.unsent_bytes(), 0u);
	ASSERT_TRUE(pair.a.connection.corked());
	EXPECT_EQ(send_quickly(pair.a, "rest"), QuickWay::kSend);
	EXPECT_FALSE(pair.a.connection.corked());
}

TEST(QuickSendTest, APlanThatIsOutOfDateIsABug)
{
	Acquainted pair;
	QuickPlan plan;

	ASSERT_EQ(pair.a.connection.plan_quickly(10, plan), QuickWay::kSend);
	pair.a.send("x");
	pair.a.connection.commit_quickly(plan);
	EXPECT_TRUE(pair.a.connection.broken());
}

// ---- That of a message --------------------------------------------------------------------------

constexpr CompactMessage kTenBytes{
	.written_bytes = 10, .consumed_bytes = 0, .wrapped = false, .write_blocked = false};

// What it refuses it leaves alone.
std::uint16_t heard_of(const End &end, const CompactMessage &message = kTenBytes)
{
	Connection connection = end.connection;
	const std::uint16_t events = connection.hear_quickly(message);

	if (events == 0)
		expect_alike(connection, end.connection);
	return events;
}

TEST(QuickHearTest, TellsOfBytesAndOfRoom)
{
	Acquainted pair;

	EXPECT_EQ(heard_of(pair.a), event::kReadable);
	pair.a.send(std::string(pair.a.connection.sndbuf_free_bytes(), 'x'));
	ASSERT_FALSE(pair.a.connection.writable_for_poll());
	EXPECT_EQ(heard_of(pair.a, {.written_bytes = 10,
				    .consumed_bytes = 16384,
				    .wrapped = false,
				    .write_blocked = false}),
		  event::kReadable | event::kWritable);
}

TEST(QuickHearTest, EachHindranceAlone)
{
	const auto hindrances = with_endings({
		{"an urgent byte",
		 [](Acquainted &pair) {
			 pair.b.send("!", SendHint::kUrgent);
			 pair.wire.settle();
		 }},
		{"an urgent byte that nobody has read yet",
		 [](Acquainted &pair) {
			 pair.b.send("!", SendHint::kUrgent);
			 pair.wire.settle();
			 pair.b.send("more");
			 pair.wire.settle();
		 }},
		{"a peer that was blocked",
		 [](Acquainted &pair) {
			 for (int i = 0; i < 2; i++) {
				 pair.b.send(
					 std::string(pair.b.connection.sndbuf_free_bytes(), 'x'));
				 pair.wire.settle();
			 }
			 pair.a.read(8192);
		 }},
	});

	for (const Hindrance &hindrance : hindrances) {
		Acquainted pair;

		ASSERT_NE(heard_of(pair.a), 0);
		hindrance.put(pair);
		EXPECT_EQ(heard_of(pair.a), 0) << hindrance.name;
	}
}

TEST(QuickHearTest, OnlyWhatCanBe)
{
	Acquainted pair;
	const std::uint32_t room_bytes = 16384 - 10;

	for (const auto &[written_bytes, consumed_bytes, heard] :
	     {std::tuple{room_bytes, 0U, true}, std::tuple{room_bytes + 1, 0U, false},
	      std::tuple{10U, 1U, false}, std::tuple{0U, 0U, false}}) {
		Acquainted fresh;

		// With "hello" ten bytes that the peer does not know to be read; it has read all of
		// ours.
		fresh.b.send("12345");
		fresh.wire.settle();
		EXPECT_EQ(heard_of(fresh.a, {.written_bytes = written_bytes,
					     .consumed_bytes = consumed_bytes,
					     .wrapped = false,
					     .write_blocked = false}) != 0,
			  heard);
	}
	for (const bool wrapped : {false, true}) {
		CompactMessage message = kTenBytes;

		message.wrapped = wrapped;
		message.write_blocked = !wrapped;
		EXPECT_EQ(heard_of(pair.a, message), 0);
	}
}

// ---- And that of a read -------------------------------------------------------------------------

using Found = QuickLook::Found;

TEST(QuickLookTest, FindsWhatThereIs)
{
	Acquainted pair;

	EXPECT_EQ(pair.b.connection.look_quickly(100, 1, false).found, Found::kNothing);
	pair.a.send("0123456789");
	pair.wire.settle();
	const QuickLook all = pair.b.connection.look_quickly(100, 1, false);
	EXPECT_EQ(all.found, Found::kPiece);
	EXPECT_EQ(all.piece, (ring::Segment{5, 10}));
	EXPECT_FALSE(all.leaves_some);
	const QuickLook part = pair.b.connection.look_quickly(4, 4, false);
	EXPECT_EQ(part.found, Found::kPiece);
	EXPECT_EQ(part.piece, (ring::Segment{5, 4}));
	EXPECT_TRUE(part.leaves_some);
	// As much as that is not there yet.
	EXPECT_EQ(pair.b.connection.look_quickly(100, 10, false).found, Found::kPiece);
	EXPECT_EQ(pair.b.connection.look_quickly(100, 11, false).found, Found::kUnusual);
	// The option has changed.
	EXPECT_EQ(pair.b.connection.look_quickly(100, 1, true).found, Found::kUnusual);
}

// After each of these there is more to look at than bytes and room.
std::vector<Hindrance> of_a_reader()
{
	return {
		{"an urgent byte", [](Acquainted &pair) { pair.a.send("!", SendHint::kUrgent); }},
		{"one that is announced",
		 [](Acquainted &pair) {
			 pair.a.connection.announce_urgent(true);
			 pair.a.send("more");
		 }},
		{"the peer's end",
		 [](Acquainted &pair) {
			 pair.a.connection.shutdown_write();
			 pair.a.transmit();
		 }},
		{"the peer's close",
		 [](Acquainted &pair) {
			 pair.a.connection.close();
			 pair.a.transmit();
		 }},
		{"the peer's abort",
		 [](Acquainted &pair) {
			 pair.a.connection.abort();
			 pair.a.transmit();
		 }},
		{"the own end", [](Acquainted &pair) { pair.b.connection.shutdown_write(); }},
		{"a lost link", [](Acquainted &pair) { pair.b.connection.transport_lost(); }},
	};
}

TEST(QuickLookTest, EachHindranceAlone)
{
	for (const bool with_data : {false, true}) {
		for (const Hindrance &hindrance : of_a_reader()) {
			Acquainted pair;

			if (with_data)
				pair.a.send("data");
			pair.wire.settle();
			ASSERT_EQ(pair.b.connection.look_quickly(100, 1, false).found,
				  with_data ? Found::kPiece : Found::kNothing);
			hindrance.put(pair);
			pair.wire.settle();
			EXPECT_EQ(pair.b.connection.look_quickly(100, 1, false).found,
				  Found::kUnusual)
				<< hindrance.name;
		}
	}
}

TEST(QuickLookTest, OnlyOnePiece)
{
	Acquainted pair;

	pair.a.send(std::string(16384 - 5 - 10, 'x'));
	pair.wire.settle();
	pair.b.receive();
	pair.wire.settle();
	pair.a.send(std::string(20, 'y'));
	pair.wire.settle();
	EXPECT_EQ(pair.b.connection.look_quickly(10, 1, false).piece,
		  (ring::Segment{16384 - 10, 10}));
	EXPECT_EQ(pair.b.connection.look_quickly(11, 1, false).found, Found::kUnusual);
}

// It is counted.
TEST(QuickLookTest, NotAFullRing)
{
	Acquainted pair;

	pair.a.send(std::string(16384, 'x'));
	pair.wire.settle();
	ASSERT_EQ(pair.b.connection.readable_bytes(), 16384u);
	EXPECT_EQ(pair.b.connection.look_quickly(10, 1, false).found, Found::kUnusual);
}

// ---- And poll() ---------------------------------------------------------------------------------

TEST(QuickReadinessTest, BytesAndRoom)
{
	Acquainted pair;
	const Connection &sender = pair.a.connection, &reader = pair.b.connection;

	EXPECT_TRUE(reader.ready_quickly().usual);
	EXPECT_EQ(reader.ready_quickly().readable_bytes, 0u);
	EXPECT_TRUE(sender.ready_quickly().writable);
	while (sender.writable_for_poll())
		pair.a.send(std::string(1024, 'x'));
	EXPECT_TRUE(sender.ready_quickly().usual);
	EXPECT_FALSE(sender.ready_quickly().writable);
	pair.wire.settle();
	EXPECT_NE(reader.readable_bytes(), 0u);
	EXPECT_EQ(reader.ready_quickly().readable_bytes, reader.readable_bytes());
	while (reader.readable_bytes() != 0)
		pair.b.receive();
	pair.wire.settle();
	EXPECT_TRUE(sender.ready_quickly().writable);
	EXPECT_EQ(reader.ready_quickly().readable_bytes, 0u);
}

TEST(QuickReadinessTest, EachHindranceAlone)
{
	for (const Hindrance &hindrance : of_a_reader()) {
		Acquainted pair;

		ASSERT_TRUE(pair.b.connection.ready_quickly().usual);
		hindrance.put(pair);
		pair.wire.settle();
		EXPECT_FALSE(pair.b.connection.ready_quickly().usual) << hindrance.name;
	}
}

} // namespace
} // namespace smc::connection::test
