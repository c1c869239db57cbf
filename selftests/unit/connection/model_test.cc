// SPDX-License-Identifier: GPL-2.0-only
//
// Two connections with applications, over the simulated wire. Everything is random: sizes, delays
// of data, messages and completions, corks, urgent bytes, full send queues. Every byte must arrive
// once and in order, and every run must finish. The latter is strict, since nothing polls:
// transmit() is called only when the connection asks for it, a writer sleeps until kWritable, a
// reader until kReadable.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "connection/seeds.hpp"
#include "connection/two_ends.hpp"
#include "core/connection/connection.hpp"

namespace smc::connection::test {
namespace {

char stream_byte(std::uint64_t position, std::uint32_t salt)
{
	std::uint64_t x = (position + 1) * 0x9e3779b97f4a7c15u + salt;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return static_cast<char>(x >> 56);
}

class Random {
public:
	explicit Random(std::uint32_t seed) : engine_(seed) {}

	std::uint32_t below(std::uint32_t bound)
	{
		return static_cast<std::uint32_t>(engine_() % bound);
	}
	bool one_in(std::uint32_t n) { return below(n) == 0; }
	template <std::size_t N>
	std::uint32_t pick(const std::array<std::uint32_t, N> &values)
	{
		return values[below(N)];
	}

private:
	std::mt19937 engine_;
};

struct App {
	App(End &own, std::uint32_t own_salt, std::uint32_t peer_salt, std::uint64_t total,
	    std::uint64_t peer_total)
		: end(own), salt(own_salt), other_salt(peer_salt), total_bytes(total),
		  expected_bytes(peer_total)
	{
	}

	Connection &connection() { return end.connection; }

	bool can_write() const { return written_bytes < total_bytes && writable; }
	bool can_read() const { return readable && !at_end; }
	bool can_shut() const { return written_bytes == total_bytes && !shut && !closed; }
	bool can_close() const
	{
		return written_bytes == total_bytes && !closed &&
		       (at_end || (expected_bytes == 0 && hasty));
	}

	void told(std::uint16_t events)
	{
		if ((events & event::kWritable) != 0)
			writable = true;
		if ((events & event::kReadable) != 0)
			readable = true;
		if ((events & event::kReleasable) != 0)
			releases++;
	}

	void write(Random &random)
	{
		const std::uint32_t size = connection().diagnostics().sndbuf_size_bytes;
		const std::uint64_t left = total_bytes - written_bytes;
		std::uint32_t bytes = 1 + random.below(random.one_in(3) ? size : 1 + size / 20);
		if (bytes > left)
			bytes = static_cast<std::uint32_t>(left);
		std::string data(bytes, '\0');
		for (std::uint32_t i = 0; i < bytes; i++)
			data[i] = stream_byte(written_bytes + i, salt);
		SendHint hint = SendHint::kNormal;
		if (random.one_in(8))
			hint = SendHint::kMore;
		else if (random.one_in(30))
			hint = SendHint::kUrgent;
		written_bytes += end.send(data, hint);
		writable = connection().writable_for_poll();
		if (random.one_in(10)) {
			connection().set_corked(random.one_in(2));
			end.transmit();
		}
	}

	void read(Random &random)
	{
		const std::uint32_t size = connection().diagnostics().rmb_size_bytes;
		const std::string data =
			end.receive(1 + random.below(random.one_in(2) ? size : 1 + size / 30));
		for (const char byte : data)
			ASSERT_EQ(byte, stream_byte(read_bytes++, other_salt))
				<< "at " << read_bytes - 1;
		if (connection().at_eof())
			at_end = true;
		readable = at_end || connection().readable_bytes() != 0;
	}

	End &end;
	const std::uint32_t salt;
	const std::uint32_t other_salt;
	const std::uint64_t total_bytes;
	const std::uint64_t expected_bytes;
	std::uint64_t written_bytes = 0;
	std::uint64_t read_bytes = 0;
	int releases = 0;
	bool writable = true;
	bool readable = false;
	bool at_end = false;
	bool shut = false;
	bool closed = false;
	bool hasty = false; // closes as soon as all is written
};

class Model {
public:
	explicit Model(std::uint32_t seed)
		: random_(seed), config_a_(random_config()), config_b_(peer_config()),
		  pair_(config_a_, config_b_), a_(make_app(pair_.a, 1, 2)),
		  b_(make_app(pair_.b, 2, 1))
	{
		for (End *end : {&pair_.a, &pair_.b}) {
			end->send_queue_limit = random_.pick<4>({1, 2, 5, 1000});
			EXPECT_FALSE(end->connection.set_urgent_inline(true));
		}
		pair_.a.complete_early = !config_a_.completion_frees_sndbuf;
		pair_.b.complete_early = !config_b_.completion_frees_sndbuf;
		for (std::uint32_t &weight : weights_)
			weight = random_.pick<4>({1, 4, 20, 60});
		// Where a completion does not prove arrival nothing can be repeated.
		fails_ = random_.one_in(2) && config_a_.completion_frees_sndbuf &&
			 config_b_.completion_frees_sndbuf;
	}

	void run()
	{
		for (std::uint64_t step = 0; !done(); step++) {
			ASSERT_LT(step, 20000000u) << "does not end: " << describe();
			if (!act()) {
				if (settled())
					break;
				idle_++;
				ASSERT_LT(idle_, 100000u) << "stuck: " << describe();
				continue;
			}
			idle_ = 0;
			check(pair_.a);
			check(pair_.b);
			if (::testing::Test::HasFailure())
				return;
		}
		ASSERT_TRUE(done()) << "nothing left to do: " << describe();
		for (App *app : {&a_, &b_}) {
			EXPECT_EQ(app->read_bytes, app->expected_bytes);
			EXPECT_TRUE(app->connection().finished());
			EXPECT_EQ(app->connection().state(), State::kClosed);
			EXPECT_FALSE(app->connection().reset());
		}
		for (App *app : {&a_, &b_}) {
			while (app->end.link_is_dead)
				(void)fail(*app);
		}
		pair_.wire.settle();
		for (App *app : {&a_, &b_})
			EXPECT_TRUE(app->connection().releasable());
	}

private:
	enum Action : std::uint32_t {
		kWrite,
		kRead,
		kEnd,
		kCarry,
		kDeliver,
		kComplete,
		kFail,
		kRest,
		kGrow,
		kActions
	};

	static constexpr std::array<std::uint32_t, 6> kSizes{64, 100, 1000, 5000, 16352, 16384};

	Config random_config()
	{
		return {.sndbuf_size_bytes = random_.pick(kSizes),
			.rmb_size_bytes = random_.pick(kSizes),
			.peer_rmb_size_bytes = random_.pick(kSizes),
			.autocorking_size_bytes = random_.pick<3>({0, 40, 65536}),
			.local_token = 1,
			.peer_token = 2,
			.completion_frees_sndbuf = !random_.one_in(4),
			.compact = random_.one_in(2),
			.growing = random_.one_in(2)};
	}
	Config peer_config()
	{
		Config config = random_config();
		config.rmb_size_bytes = config_a_.peer_rmb_size_bytes;
		config.compact = config_a_.compact;
		config.growing = config_a_.growing;
		config.peer_rmb_size_bytes = config_a_.rmb_size_bytes;
		return config;
	}
	App make_app(End &end, std::uint32_t salt, std::uint32_t peer_salt)
	{
		if (salt == 1) {
			const std::uint32_t smallest_bytes =
				std::min({config_a_.sndbuf_size_bytes, config_b_.sndbuf_size_bytes,
					  config_a_.rmb_size_bytes, config_b_.rmb_size_bytes});
			const std::uint32_t most_bytes = std::min(200000u, smallest_bytes * 400);
			for (std::uint64_t &total : totals_)
				total = random_.one_in(4) ? 0 : random_.below(most_bytes);
		}
		App app{end, salt, peer_salt, totals_[salt - 1], totals_[peer_salt - 1]};
		app.hasty = random_.one_in(2);
		return app;
	}

	bool done() const
	{
		return a_.closed && b_.closed && a_.end.connection.finished() &&
		       b_.end.connection.finished();
	}
	// Nothing is under way, and no application can go on.
	bool settled() const
	{
		for (const App *app : {&a_, &b_}) {
			if (app->can_write() || app->can_read() || app->can_shut() ||
			    app->can_close() || app->end.link_is_dead || !app->end.posted.empty() ||
			    !app->end.arrived.empty() || !app->end.completions.empty())
				return false;
		}
		return true;
	}

	bool act()
	{
		App &app = random_.one_in(2) ? a_ : b_;
		std::uint32_t roll = random_.below(total_weight(app));
		std::uint32_t action = 0;
		while (roll >= weight(app, action))
			roll -= weight(app, action++);
		switch (static_cast<Action>(action)) {
		case kWrite:
			if (!app.can_write())
				return false;
			app.write(random_);
			return true;
		case kRead:
			if (!app.can_read())
				return false;
			app.read(random_);
			return true;
		case kEnd: return end(app);
		case kCarry: return pair_.wire.carry(app.end);
		case kDeliver:
			if (app.end.arrived.empty())
				return false;
			if (app.end.arrived.front().link > app.end.link)
				return fail(app);
			react(app, pair_.wire.deliver(app.end));
			return true;
		case kComplete:
			if (app.end.completions.empty())
				return false;
			react(app, pair_.wire.complete(app.end));
			return true;
		case kFail: return fail(app);
		case kRest: return rest(app);
		case kGrow: return grow(app);
		case kActions: break;
		}
		return false;
	}
	// The link dies, or an end goes on over the next one.
	bool fail(App &app)
	{
		if (!fails_)
			return false;
		if (app.end.link_is_dead) {
			// What came by the old link is taken in first.
			while (!app.end.arrived.empty() &&
			       app.end.arrived.front().link <= app.end.link)
				react(app, pair_.wire.deliver(app.end));
			while (!app.end.completions.empty())
				react(app, pair_.wire.complete(app.end));
			Wire::move(app.end);
			return true;
		}
		if (pair_.a.link_is_dead || pair_.b.link_is_dead || pair_.a.link != pair_.b.link ||
		    !random_.one_in(20))
			return false;
		for (End *end : {&pair_.a, &pair_.b})
			pair_.wire.lose_link(*end, random_.below(4), random_.one_in(2),
					     random_.below(3));
		return true;
	}
	// The send buffer's memory goes, and comes back with another size.
	bool rest(App &app)
	{
		if (!random_.one_in(20) || !app.connection().send_buffer_is_idle())
			return false;
		app.end.sndbuf.assign(random_.pick(kSizes), '\xee');
		EXPECT_TRUE(app.connection().replace_send_buffer(
			static_cast<std::uint32_t>(app.end.sndbuf.size()), random_.one_in(3)));
		app.writable = app.connection().writable_for_poll();
		return true;
	}
	// A larger ring for what it receives.
	bool grow(App &app)
	{
		return random_.one_in(20) &&
		       app.end.offer(app.connection().rmb_size_bytes() + 1 + random_.below(5000));
	}
	bool end(App &app)
	{
		if (app.can_close() && (app.shut || random_.one_in(2))) {
			app.connection().close();
			app.closed = true;
		} else if (app.can_shut() && !app.hasty) {
			app.connection().shutdown_write();
			app.shut = true;
		} else if (app.can_shut() && app.expected_bytes != 0) {
			app.connection().shutdown_write();
			app.shut = true;
		} else {
			return false;
		}
		app.end.transmit();
		return true;
	}
	static void react(App &app, const Verdict &verdict)
	{
		app.told(verdict.events);
		if (can_transmit(app.connection()))
			app.end.transmit();
	}

	std::uint32_t weight(const App &app, std::uint32_t action) const
	{
		return weights_[(&app == &a_ ? 0u : +kActions) + action];
	}
	std::uint32_t total_weight(const App &app) const
	{
		std::uint32_t sum = 0;
		for (std::uint32_t action = 0; action < kActions; action++)
			sum += weight(app, action);
		return sum;
	}

	static void check(const End &end)
	{
		const Diagnostics now = end.connection.diagnostics();
		ASSERT_FALSE(end.connection.broken());
		ASSERT_LE(end.connection.undelivered_bytes(), now.sndbuf_size_bytes);
		ASSERT_LE(end.connection.unsent_bytes(), end.connection.undelivered_bytes());
		ASSERT_LE(end.connection.peer_window_bytes(), now.peer_rmb_size_bytes);
		ASSERT_LE(end.connection.readable_bytes(), now.rmb_size_bytes);
		ASSERT_LE(end.connection.high_water_bytes(), now.rmb_size_bytes);
		ASSERT_EQ(end.connection.diagnostics().stale_messages, 0u);
	}

	std::string describe() const
	{
		std::string text;
		for (const App *app : {&a_, &b_}) {
			const Connection &connection = app->end.connection;
			text += "[state " + std::to_string(static_cast<int>(connection.state())) +
				" written " + std::to_string(app->written_bytes) + "/" +
				std::to_string(app->total_bytes) + " read " +
				std::to_string(app->read_bytes) + "/" +
				std::to_string(app->expected_bytes) + " unsent " +
				std::to_string(connection.unsent_bytes()) + " used " +
				std::to_string(connection.undelivered_bytes()) + " window " +
				std::to_string(connection.peer_window_bytes()) + " sndbuf " +
				std::to_string(app->end.sndbuf.size()) + " posted " +
				std::to_string(app->end.posted.size()) + " arrived " +
				std::to_string(app->end.arrived.size()) + " rmb " +
				std::to_string(app->end.rmb.size()) + "] ";
		}
		return text;
	}

	Random random_;
	bool fails_ = false; // links die
	Config config_a_;
	Config config_b_;
	Pair pair_;
	std::array<std::uint64_t, 2> totals_{};
	App a_;
	App b_;
	std::array<std::uint32_t, 2 * kActions> weights_{};
	std::uint32_t idle_ = 0;
};

TEST(ModelTest, EveryByteOnceAndAlwaysAnEnd)
{
	const Seeds seeds{80};
	for (std::uint32_t seed = seeds.first; seed <= seeds.last; seed++) {
		SCOPED_TRACE("SMC_SEED=" + std::to_string(seed));
		Model{seed}.run();
		if (HasFailure())
			return;
	}
}

// 70,000 laps of a 16 KiB ring: past the point where the 16-bit wrap count starts again.
TEST(ModelTest, WrapCountStartsAgain)
{
	Pair pair;
	TransmitPlan plan;
	for (std::uint32_t lap = 0; lap < 70000; lap++) {
		for (const std::uint32_t bytes : {5000u, 11384u}) {
			pair.a.connection.produce(bytes);
			ASSERT_TRUE(pair.a.connection.plan_transmit(plan));
			ASSERT_EQ(plan.write_bytes, bytes);
			pair.a.connection.commit_transmit(plan);
			if (plan.signal)
				pair.a.connection.on_transmit_complete(plan.marker);
			ASSERT_TRUE(pair.b.connection.on_cdc(plan.message).ok());
			ASSERT_EQ(pair.b.connection.readable_bytes(), bytes);
			if (pair.b.connection.consume(bytes)) {
				ASSERT_TRUE(pair.b.connection.plan_transmit(plan));
				pair.b.connection.commit_transmit(plan);
				ASSERT_TRUE(pair.a.connection.on_cdc(plan.message).ok());
			}
		}
	}
	const Diagnostics a = pair.a.connection.diagnostics();
	EXPECT_EQ(a.tx_producer, (ring::Cursor{70000 - 65536, 0}));
	EXPECT_EQ(a.tx_prepared, (ring::Cursor{70000 - 65536, 0}));
	EXPECT_EQ(a.sent_bytes, 70000ull * 16384);
	EXPECT_FALSE(pair.a.connection.broken());
	EXPECT_FALSE(pair.b.connection.broken());
}

} // namespace
} // namespace smc::connection::test
