// SPDX-License-Identifier: GPL-2.0-only
//
// A connection between an application that does anything and a peer that sends any CDC message. A
// separate account, in stream positions that never wrap, says whether each message is allowed and
// what each plan may contain. Inputs that begin with kInPlace are for two connections that share
// their memory (in_place.hpp).
#include "alike.hpp"
#include "core/connection/cdc_mapping.hpp"
#include "core/connection/connection.hpp"
#include "core/wire/cdc.hpp"
#include "cursors.hpp"
#include "in_place.hpp"
#include "script.hpp"
#include "support.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

using namespace smc;
using namespace smc::connection;
using fuzz::ahead_bytes;
using fuzz::cursor_at;

namespace {

constexpr std::byte kInPlace{0xee};
constexpr int kOpsMax = 200;
// Plans that follow directly: bytes up to an urgent mark, those behind it, flags.
constexpr int kPlansMax = 4;

struct Knobs {
	Config config;
	bool smcd = false;
};

Knobs make_knobs(fuzz::Script &script)
{
	constexpr std::array<std::uint32_t, 8> sizes = {
		64, 100, 1000, 16384 - 32, 16384, 65536, 1U << 20, ring::kMaxSizeBytes};
	constexpr std::array<std::uint32_t, 4> corks = {0, 16, 4096, 65536};
	Knobs knobs;

	knobs.config.sndbuf_size_bytes = sizes[script.below(sizes.size())];
	knobs.config.rmb_size_bytes = sizes[script.below(sizes.size())];
	knobs.config.peer_rmb_size_bytes = sizes[script.below(sizes.size())];
	const std::uint8_t choice = script.byte();
	knobs.config.autocorking_size_bytes = corks[choice % corks.size()];
	knobs.config.completion_frees_sndbuf = (choice & 0x80) == 0;
	knobs.config.local_token = 1;
	knobs.config.peer_token = 2;
	knobs.smcd = (choice & 0x40) != 0;
	knobs.config.compact = (choice & 0x20) != 0 && !knobs.smcd;
	knobs.config.growing = (choice & 0x10) != 0 && !knobs.smcd;
	return knobs;
}

// Where the bytes of a stream lie. A larger ring goes on at the same cursor.
class Ring {
public:
	explicit Ring(std::uint64_t size_bytes) : size_bytes_(size_bytes) {}

	[[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
	[[nodiscard]] std::uint64_t offset_bytes(std::uint64_t position_bytes) const
	{
		return (position_bytes + shift_bytes_) % size_bytes_;
	}
	[[nodiscard]] ring::Cursor cursor(std::uint64_t position_bytes) const
	{
		return cursor_at(position_bytes + shift_bytes_,
				 static_cast<std::uint32_t>(size_bytes_));
	}
	[[nodiscard]] std::uint64_t ahead(ring::Cursor cursor, std::uint64_t position_bytes) const
	{
		return ahead_bytes(cursor, position_bytes + shift_bytes_,
				   static_cast<std::uint32_t>(size_bytes_));
	}
	void grow(std::uint64_t position_bytes, std::uint64_t size_bytes)
	{
		const std::uint64_t at_bytes = position_bytes + shift_bytes_;

		shift_bytes_ = at_bytes / size_bytes_ * size_bytes + at_bytes % size_bytes_ -
			       position_bytes;
		size_bytes_ = size_bytes;
	}

private:
	std::uint64_t size_bytes_;
	std::uint64_t shift_bytes_ = 0;
};

class Live {
public:
	explicit Live(const Knobs &knobs)
		: knobs_(knobs), own_ring_(knobs.config.rmb_size_bytes),
		  peer_ring_(knobs.config.peer_rmb_size_bytes)
	{
		fuzz::demand(c_.init(knobs.config));
	}

	void run(fuzz::Script script)
	{
		for (int i = 0; i < kOpsMax && !script.done(); i++) {
			const State before = c_.state();

			act(script);
			fuzz::demand(transition_is_legal(before, c_.state()));
			check();
		}
	}

private:
	const Config &config() const { return knobs_.config; }

	void act(fuzz::Script &script)
	{
		switch (script.below(22)) {
		case 0: send_small(script.number(1)); break;
		case 1: send(script.number(3), SendHint::kNormal); break;
		case 2: send(script.number(1), SendHint::kMore); break;
		case 3: send(script.number(1), SendHint::kUrgent); break;
		case 4: transmit(script.byte()); break;
		case 5: complete(script.byte()); break;
		case 6: raw_message(script); break;
		case 7: near_message(script, /*distance_size_bytes=*/1); break;
		case 8: near_message(script, /*distance_size_bytes=*/3); break;
		case 9: consume(script.number(1)); break;
		case 10: consume(script.number(4)); break;
		case 11: look(script.number(2)); break;
		case 12: urgent(script.byte()); break;
		case 13: c_.set_corked((script.byte() & 1) != 0); break;
		case 14: push(script.byte()); break;
		case 15: c_.request_completion(); break;
		case 16: shut_down(script.byte()); break;
		case 17: close(); break;
		case 18: abort(); break;
		case 19: lose(script.byte()); break;
		case 20: offer(script.number(2)); break;
		case 21: take_offer(script.number(2)); break;
		}
	}

	// --- The application ---------------------------------------------------------------------

	void send(std::uint32_t bytes, SendHint hint)
	{
		const ring::Segments segments = c_.write_segments(bytes);

		check_segments(segments, std::min(bytes, c_.sndbuf_free_bytes()),
			       config().sndbuf_size_bytes);
		const bool open = c_.send_status() == SendStatus::kOpen;
		c_.produce(segments.length_bytes(), hint);
		if (open)
			appended_bytes_ += segments.length_bytes();
	}

	// By the short way where it is open, half of the time.
	void send_small(std::uint32_t bytes)
	{
		QuickPlan quick;
		const QuickWay way =
			bytes % 2 != 0 ? QuickWay::kNone : c_.plan_quickly(bytes, quick);

		if (way == QuickWay::kNone)
			return send(bytes, SendHint::kNormal);
		Connection general = c_;
		TransmitPlan plan;
		fuzz::demand(bytes <= c_.sndbuf_free_bytes() && !c_.ring_change_due());
		general.produce(bytes);
		fuzz::demand(general.plan_transmit(plan) == (way == QuickWay::kSend));
		appended_bytes_ += bytes;
		if (way == QuickWay::kWait)
			return c_.produce(bytes);
		check_quick_plan(quick, plan);
		check_plan(plan);
		c_.commit_quickly(quick);
		general.commit_transmit(plan);
		fuzz::demand(fuzz::alike(c_, general));
		note_sent(plan);
	}

	static void check_quick_plan(const QuickPlan &quick, const TransmitPlan &plan)
	{
		fuzz::demand(plan.compact && plan.write_count == 1);
		fuzz::demand(plan.writes[0].sndbuf_offset_bytes == quick.write.sndbuf_offset_bytes);
		fuzz::demand(plan.writes[0].peer_offset_bytes == quick.write.peer_offset_bytes);
		fuzz::demand(plan.write_bytes == quick.write.length_bytes);
		fuzz::demand(plan.brief.consumed_bytes == quick.consumed_bytes);
		fuzz::demand(!plan.brief.wrapped && !plan.brief.write_blocked);
		fuzz::demand(plan.marker.sent_bytes == quick.marker.sent_bytes &&
			     plan.marker.message_number == quick.marker.message_number);
		fuzz::demand(plan.signal == quick.signal);
	}

	// What the short way finds is what the general one would take.
	void look_quickly(std::uint32_t bytes) const
	{
		using Found = QuickLook::Found;

		for (const bool urgent_inline : {false, true}) {
			const QuickLook look = c_.look_quickly(bytes, 1, urgent_inline);
			Connection general = c_;

			if (look.found == Found::kUnusual)
				continue;
			fuzz::demand(!general.set_urgent_inline(urgent_inline) && !c_.at_eof());
			fuzz::demand(look.leaves_some ==
				     (c_.readable_bytes() > look.piece.length_bytes));
			const ring::Segments segments = general.read_segments(bytes);
			if (look.found == Found::kNothing)
				fuzz::demand(segments.empty());
			else
				fuzz::demand(segments.pieces().size() == 1 &&
					     *segments.begin() == look.piece);
		}
	}

	void consume(std::uint32_t bytes)
	{
		const ring::Segments segments = c_.read_segments(bytes);

		look_quickly(bytes);

		check_segments(segments, segments.length_bytes(), own_ring_.size_bytes());
		fuzz::demand(segments.length_bytes() <= stored_bytes());
		const bool tell = c_.consume(segments.length_bytes());
		consumed_bytes_ += segments.length_bytes();
		follow_urgent_skip();
		if (tell)
			fuzz::demand(can_transmit());
	}

	void look(std::uint32_t choice) const
	{
		const std::uint32_t max_bytes = choice >> 8;
		const std::uint32_t skip_bytes = choice & 0xff;

		for (const ring::Segments &segments : {c_.read_segments(max_bytes, skip_bytes),
						       c_.peek_segments(max_bytes, skip_bytes)}) {
			fuzz::demand(segments.length_bytes() <= max_bytes);
			fuzz::demand(segments.empty() ||
				     segments.length_bytes() + skip_bytes <= stored_bytes());
			check_segments(segments, segments.length_bytes(), own_ring_.size_bytes());
		}
	}

	void urgent(std::uint8_t choice)
	{
		switch (choice % 6) {
		case 0: (void)c_.take_urgent(/*peek=*/true); break;
		case 1: (void)c_.take_urgent(/*peek=*/false); break;
		case 2: fuzz::demand(!c_.set_urgent_inline(true)); break;
		case 3:
			if (c_.set_urgent_inline(false))
				fuzz::demand(c_.has_something_to_say());
			break;
		case 4: c_.leave_mark(); break;
		case 5: c_.announce_urgent((choice & 0x80) != 0); break;
		}
		follow_urgent_skip();
	}

	// Or no user waits any longer for the data that a closed peer left.
	void push(std::uint8_t choice)
	{
		if (choice % 8 != 7)
			return c_.push();
		if (!c_.eof_withheld())
			return;
		c_.give_up_withheld_data();
		gave_up_withheld_ = true;
		fuzz::demand(c_.at_eof());
	}

	void shut_down(std::uint8_t choice)
	{
		c_.shutdown_write();
		if (choice % 4 != 0 || c_.send_status() != SendStatus::kShutdown)
			return;
		c_.refuse_data();
		refuses_ = true;
	}

	void close()
	{
		const bool unread = stored_bytes() != 0 || c_.at_mark();

		c_.close();
		if (unread)
			drop_pending();
		if (unread)
			fuzz::demand(c_.send_status() == SendStatus::kAborted);
		locally_closed_ = true;
		aborted_ = aborted_ || unread;
		consumed_bytes_ = received_bytes_;
	}

	void abort()
	{
		c_.abort();
		aborted_ = true;
		drop_pending();
	}

	// Rare, since little happens after it.
	void lose(std::uint8_t choice)
	{
		if (choice % 8 > 1)
			return;
		if (choice % 8 == 0) {
			c_.transport_lost();
			link_lost_ = true;
		} else {
			c_.give_up();
			aborted_ = true;
		}
		lost_ = true;
		drop_pending();
		fuzz::demand(c_.finished() && c_.reset());
		fuzz::demand(c_.releasable() == (link_lost_ || c_.transmit_idle()));
	}

	// --- Transmit ----------------------------------------------------------------------------

	[[nodiscard]] bool both_closed() const
	{
		return (sent_flags_ & state_flag::kAnyClose) != 0 &&
		       (peer_flags_ & state_flag::kAnyClose) != 0;
	}

	[[nodiscard]] bool can_transmit() const
	{
		TransmitPlan plan;

		return c_.plan_transmit(plan);
	}

	void offer(std::uint32_t size_bytes)
	{
		const bool offered = c_.offer_ring(size_bytes);

		fuzz::demand(!offered || (config().growing && offered_bytes_ == 0 &&
					  size_bytes > own_ring_.size_bytes()));
		if (!offered)
			return;
		offered_bytes_ = size_bytes;
		fuzz::demand(can_transmit());
	}

	void take_offer(std::uint32_t size_bytes)
	{
		if (!c_.wants_peer_ring(size_bytes)) {
			if (size_bytes % 8 == 0)
				c_.drop_peer_ring();
			return;
		}
		fuzz::demand(config().growing && size_bytes > peer_ring_.size_bytes());
		c_.take_peer_ring(size_bytes);
		next_peer_bytes_ = size_bytes;
	}

	void change_peer_ring()
	{
		if (!c_.ring_change_due())
			return;
		fuzz::demand(acknowledged_bytes_ == sent_bytes_);
		c_.change_peer_ring();
		peer_ring_.grow(sent_bytes_, next_peer_bytes_);
		peer_ring_number_++;
		fuzz::demand(c_.peer_rmb_size_bytes() == next_peer_bytes_);
	}

	// If so many plans find no room in the send queue, the first of them is not committed.
	void transmit(std::uint32_t room)
	{
		TransmitPlan plan;

		change_peer_ring();
		for (int plans = 0; c_.plan_transmit(plan); plans++) {
			fuzz::demand(plans < kPlansMax);
			check_plan(plan);
			if (room-- == 0)
				return;
			if (room % 16 == 15)
				plan.signal = true; // the queue needs a signalled request
			c_.commit_transmit(plan);
			note_sent(plan);
		}
	}

	void note_sent(const TransmitPlan &plan)
	{
		if (plan.signal)
			markers_.push_back(plan.marker);
		sent_bytes_ += plan.write_bytes;
		sent_messages_++;
		release_told_ = false;
		sent_flags_ |= plan.message.state_flags;
		confirmed_bytes_ = consumed_bytes_;
	}

	void check_plan(const TransmitPlan &plan) const
	{
		const CursorMessage &message = plan.message;
		std::uint64_t bytes = 0;

		fuzz::demand(!link_lost_ && !both_closed());
		fuzz::demand((sent_flags_ & state_flag::kAborted) == 0);
		fuzz::demand(plan.write_count <= TransmitPlan::kMaxWrites);
		for (const WriteSegment &write : plan.write_segments()) {
			const std::uint64_t at_bytes = sent_bytes_ + bytes;

			fuzz::demand(write.length_bytes != 0);
			fuzz::demand(write.sndbuf_offset_bytes ==
				     at_bytes % config().sndbuf_size_bytes);
			fuzz::demand(write.peer_offset_bytes == peer_ring_.offset_bytes(at_bytes));
			fuzz::demand(write.sndbuf_offset_bytes + write.length_bytes <=
				     config().sndbuf_size_bytes);
			fuzz::demand(write.peer_offset_bytes + write.length_bytes <=
				     peer_ring_.size_bytes());
			bytes += write.length_bytes;
		}
		fuzz::demand(bytes == plan.write_bytes);
		fuzz::demand(sent_bytes_ + bytes <= appended_bytes_);
		fuzz::demand(sent_bytes_ + bytes - acknowledged_bytes_ <= peer_ring_.size_bytes());
		fuzz::demand(message.token == config().peer_token);
		fuzz::demand(message.sequence == static_cast<std::uint16_t>(sent_messages_ + 1));
		fuzz::demand(message.producer == peer_ring_.cursor(sent_bytes_ + bytes));
		fuzz::demand(message.consumer == own_ring_.cursor(consumed_bytes_));
		fuzz::demand(message.ring == peer_ring_number_);
		fuzz::demand(message.offers_ring == (offered_bytes_ != 0));
		// Flags are never withdrawn. Those that end the stream come after its last byte.
		fuzz::demand((sent_flags_ & ~message.state_flags) == 0);
		fuzz::demand(sent_flags_ == 0 || bytes == 0);
		if (message.state_flags != 0)
			fuzz::demand(sent_bytes_ + bytes == appended_bytes_);
		fuzz::demand(aborted_ == ((message.state_flags & state_flag::kAborted) != 0));
		if (plan.compact)
			check_compact(plan);
	}

	// A receiver that knows all messages before can tell from it what the long form would say.
	void check_compact(const TransmitPlan &plan) const
	{
		const std::uint64_t before_bytes =
			plan.brief.wrapped
				? peer_ring_.size_bytes() - peer_ring_.offset_bytes(sent_bytes_)
				: 0;

		fuzz::demand(config().compact && plan.write_count != 0);
		fuzz::demand(before_bytes + plan.brief.written_bytes == plan.write_bytes);
		fuzz::demand(plan.brief.written_bytes ==
			     plan.writes[plan.write_count - 1].length_bytes);
		fuzz::demand(plan.brief.consumed_bytes == consumed_bytes_ - confirmed_bytes_);
		fuzz::demand(plan.message.state_flags == 0);
		fuzz::demand(plan.message.producer_flags ==
			     (plan.brief.write_blocked ? producer_flag::kWriteBlocked : 0));
	}

	void complete(std::uint8_t choice)
	{
		if (markers_.empty())
			return;
		// Usually in order; a cursor may be repeated.
		const TransmitMarker marker = markers_[choice % markers_.size()];
		const Before before(*this);
		const Verdict verdict = c_.on_transmit_complete(marker);

		completed_bytes_ = std::max(completed_bytes_, marker.sent_bytes);
		completed_messages_ = std::max(completed_messages_, marker.message_number);
		check_verdict(before, verdict);
		fuzz::demand(c_.transmit_idle() == (completed_messages_ == sent_messages_));
	}

	// --- The peer ----------------------------------------------------------------------------

	void raw_message(fuzz::Script &script)
	{
		std::array<std::byte, wire::kCdcSize> space{};
		const ByteSpan bytes = script.take(space.size());

		std::copy(bytes.begin(), bytes.end(), space.begin());
		if (const auto cdc = wire::decode_cdc(space))
			receive(from_wire(*cdc));
	}

	// Nearly right: a little ahead of the known position.
	void near_message(fuzz::Script &script, std::size_t distance_size_bytes)
	{
		const std::uint32_t produced_bytes = script.number(distance_size_bytes);
		const std::uint32_t consumed_bytes = script.number(distance_size_bytes);
		CursorMessage message;

		message.sequence = static_cast<std::uint16_t>(peer_sequence_ + script.byte() % 4);
		message.consumer = peer_ring_.cursor(acknowledged_bytes_ + consumed_bytes);
		message.ring = own_ring_number_;
		Ring ring = own_ring_;
		if (config().growing && message.sequence % 4 == 0) {
			message.ring++;
			ring.grow(received_bytes_, std::max(offered_bytes_, 1U));
		}
		message.producer = ring.cursor(received_bytes_ + produced_bytes);
		message.producer_flags = script.byte() & 0xf8;
		message.state_flags = script.byte() & state_flag::kAll;
		if (config().compact && (message.producer_flags & 0x08) == 0 &&
		    message.state_flags == 0)
			receive_compact({.written_bytes = produced_bytes,
					 .consumed_bytes = consumed_bytes,
					 .wrapped = (message.producer_flags & 0x10) != 0,
					 .write_blocked = (message.producer_flags & 0x80) != 0});
		else
			receive(message);
	}

	void receive_compact(const CompactMessage &compact)
	{
		const std::uint64_t rmb_bytes = own_ring_.size_bytes();
		const std::uint64_t produced_bytes =
			(compact.wrapped ? rmb_bytes - own_ring_.offset_bytes(received_bytes_)
					 : 0) +
			compact.written_bytes;
		const bool fits =
			produced_bytes <= rmb_bytes - (received_bytes_ - confirmed_bytes_) &&
			compact.consumed_bytes <= sent_bytes_ - acknowledged_bytes_;
		const bool deaf = c_.finished();
		const Before before(*this);
		Connection twin = c_;
		const std::uint16_t quickly = twin.hear_quickly(compact);
		const Verdict verdict = c_.on_cdc(compact);

		// The short way, where it is open, comes to the same.
		if (quickly != 0) {
			const Diagnostics now = c_.diagnostics();
			const Diagnostics same = twin.diagnostics();

			fuzz::demand(verdict.ok() && verdict.events == quickly);
			fuzz::demand(now.rx_producer == same.rx_producer &&
				     now.tx_consumer == same.tx_consumer &&
				     c_.readable_bytes() == twin.readable_bytes() &&
				     c_.has_something_to_say() == twin.has_something_to_say());
		}

		peer_sequence_++;
		if (deaf)
			fuzz::demand(verdict.events == event::kIgnored && verdict.ok());
		else if (!fits && !aborted_)
			fuzz::demand(verdict.violation == Violation::kCursorOutsideRing);
		else
			take_in({.sequence = peer_sequence_,
				 .producer = own_ring_.cursor(received_bytes_ + produced_bytes),
				 .consumer = peer_ring_.cursor(acknowledged_bytes_ +
							       compact.consumed_bytes),
				 .producer_flags = compact.write_blocked
							   ? producer_flag::kWriteBlocked
							   : std::uint8_t{0},
				 .ring = own_ring_number_},
				verdict);
		check_verdict(before, verdict);
	}

	void receive(const CursorMessage &message)
	{
		const bool validation = !knobs_.smcd && (message.producer_flags &
							 producer_flag::kFailoverValidation) != 0;
		const auto ahead = static_cast<std::int16_t>(message.sequence - peer_sequence_);
		const bool deaf = c_.finished();
		const bool stale = !knobs_.smcd && !validation && ahead < 0;
		const Before before(*this);
		const Verdict verdict = knobs_.smcd ? c_.on_cursors(message) : c_.on_cdc(message);

		if (validation) {
			if (deaf || aborted_)
				fuzz::demand(verdict.events == event::kIgnored);
			else
				fuzz::demand((verdict.violation == Violation::kMessagesLost) ==
					     (ahead > 0));
			failed_over_ = failed_over_ || (!deaf && !aborted_ && verdict.ok());
		} else if (stale) {
			fuzz::demand(verdict.events == event::kStale && verdict.ok());
		} else if (deaf) {
			fuzz::demand(verdict.events == event::kIgnored && verdict.ok());
			peer_sequence_ = message.sequence;
			if (lost_)
				peer_flags_ |= message.state_flags & state_flag::kAll;
		} else {
			take_in(message, verdict);
		}
		check_verdict(before, verdict);
	}

	void take_in(const CursorMessage &message, const Verdict &verdict)
	{
		std::uint64_t produced_bytes = 0;
		std::uint64_t consumed_bytes = 0;
		// An aborted connection only accepts flags.
		const Violation violation =
			aborted_ ? Violation::kNone
				 : judge(message, produced_bytes, consumed_bytes);

		fuzz::demand(verdict.violation == violation);
		if (!verdict.ok())
			return;
		peer_sequence_ = message.sequence;
		blocked_ = (message.producer_flags & producer_flag::kWriteBlocked) != 0;
		if (refuses_ && produced_bytes != 0) {
			fuzz::demand(verdict.has(event::kRefused));
			fuzz::demand(c_.send_status() == SendStatus::kAborted);
			aborted_ = true;
			drop_pending();
			take_in_flags(message.state_flags & state_flag::kAll, verdict);
			return;
		}
		fuzz::demand(!verdict.has(event::kRefused));
		received_bytes_ += produced_bytes;
		acknowledged_bytes_ += consumed_bytes;
		if (locally_closed_ && !aborted_)
			consumed_bytes_ = received_bytes_;
		take_in_flags(message.state_flags & state_flag::kAll, verdict);
		if (verdict.has(event::kUrgent)) {
			fuzz::demand(c_.urgent_offset_bytes() ==
				     own_ring_.offset_bytes(received_bytes_ - 1));
			c_.store_urgent('!');
			follow_urgent_skip();
		}
	}

	void take_in_flags(std::uint8_t flags, const Verdict &verdict)
	{
		const unsigned fresh = flags & ~peer_flags_;

		// Each event occurs once.
		fuzz::demand(verdict.has(event::kPeerDone) ==
			     ((fresh & state_flag::kSendingDone) != 0));
		fuzz::demand(verdict.has(event::kPeerClosed) ==
			     ((fresh & state_flag::kClosed) != 0));
		fuzz::demand(verdict.has(event::kPeerAborted) ==
			     ((fresh & state_flag::kAborted) != 0));
		peer_flags_ |= flags;
		if ((fresh & state_flag::kAnyClose) != 0)
			drop_pending();
		if ((fresh & state_flag::kAborted) != 0)
			aborted_ = true; // and so does our account
	}

	// What the protocol allows as the message's cursors.
	Violation judge(const CursorMessage &message, std::uint64_t &produced_bytes,
			std::uint64_t &consumed_bytes)
	{
		if (!knobs_.smcd && message.ring != own_ring_number_) {
			if (message.ring != static_cast<std::uint8_t>(own_ring_number_ + 1) ||
			    offered_bytes_ == 0 || confirmed_bytes_ != received_bytes_)
				return Violation::kWrongRing;
			own_ring_.grow(received_bytes_, std::exchange(offered_bytes_, 0));
			own_ring_number_++;
		}
		const std::uint64_t rmb_bytes = own_ring_.size_bytes();
		const std::uint64_t peer_bytes = peer_ring_.size_bytes();

		if (message.producer.count >= rmb_bytes || message.consumer.count >= peer_bytes)
			return Violation::kCursorOutsideRing;
		produced_bytes = own_ring_.ahead(message.producer, received_bytes_);
		if (produced_bytes > rmb_bytes - (received_bytes_ - confirmed_bytes_)) {
			const bool behind = 65536 * rmb_bytes - produced_bytes <= rmb_bytes;
			if (!behind)
				return Violation::kProducerOverrun;
			if (!failed_over_)
				return Violation::kProducerBackward;
			produced_bytes = 0;
		}
		consumed_bytes = peer_ring_.ahead(message.consumer, acknowledged_bytes_);
		if (consumed_bytes > sent_bytes_ - acknowledged_bytes_) {
			const bool behind = 65536 * peer_bytes - consumed_bytes <= peer_bytes;
			if (!behind)
				return Violation::kConsumerBeyondSent;
			if (!failed_over_)
				return Violation::kConsumerBackward;
			consumed_bytes = 0;
		}
		// The peer's end counts if the reader has reached it, unless the peer said then
		// that it had data left.
		if (produced_bytes != 0 && peer_flags_ != 0 && c_.readable_bytes() == 0 &&
		    (gave_up_withheld_ || !blocked_))
			return Violation::kProducerBehindEnd;
		return Violation::kNone;
	}

	// --- What holds at all times -------------------------------------------------------------

	struct Before {
		explicit Before(const Live &live)
			: diagnostics(live.c_.diagnostics()),
			  readable_bytes(live.c_.readable_bytes()), eof(live.c_.at_eof()),
			  writable(live.c_.writable_for_poll()), releasable(live.c_.releasable()),
			  aborted(live.aborted_)
		{
		}

		Diagnostics diagnostics;
		std::uint32_t readable_bytes;
		bool eof;
		bool writable;
		bool releasable;
		bool aborted;
	};

	// Nobody polls: what became possible has to be told. After an abort of our own nobody waits
	// to read or to write.
	void check_verdict(const Before &before, const Verdict &verdict)
	{
		if (!verdict.ok()) {
			const Diagnostics now = c_.diagnostics();

			fuzz::demand((verdict.events & ~event::kNewRing) == 0);
			fuzz::demand(now.rx_producer == before.diagnostics.rx_producer &&
				     now.rx_consumer == before.diagnostics.rx_consumer &&
				     now.rx_state_flags == before.diagnostics.rx_state_flags &&
				     now.rx_producer_flags ==
					     before.diagnostics.rx_producer_flags &&
				     now.state == before.diagnostics.state);
		}
		if (!before.aborted &&
		    (c_.readable_bytes() > before.readable_bytes || (c_.at_eof() && !before.eof)))
			fuzz::demand(verdict.has(event::kReadable));
		if (c_.writable_for_poll() && !before.writable)
			fuzz::demand(verdict.has(event::kWritable) || aborted_ ||
				     (peer_flags_ & state_flag::kAnyClose) != 0);
		if (c_.releasable() && !before.releasable)
			fuzz::demand(verdict.has(event::kReleasable));
		if (verdict.has(event::kReleasable)) {
			fuzz::demand(c_.releasable() && !release_told_);
			release_told_ = true;
		}
	}

	void check() const
	{
		const Diagnostics now = c_.diagnostics();
		const std::uint64_t freed_bytes =
			config().completion_frees_sndbuf
				? std::max(completed_bytes_, acknowledged_bytes_)
				: acknowledged_bytes_;

		fuzz::demand(!c_.broken());
		fuzz::demand(now.sent_bytes == sent_bytes_ &&
			     now.received_bytes == received_bytes_);
		fuzz::demand(now.rx_state_flags == peer_flags_ &&
			     now.tx_state_flags == sent_flags_);
		fuzz::demand(c_.unsent_bytes() == appended_bytes_ - sent_bytes_);
		fuzz::demand(c_.queued_bytes() == appended_bytes_ - freed_bytes);
		fuzz::demand(appended_bytes_ - freed_bytes <= config().sndbuf_size_bytes);
		fuzz::demand(c_.peer_window_bytes() ==
			     peer_ring_.size_bytes() - (sent_bytes_ - acknowledged_bytes_));
		fuzz::demand(received_bytes_ - confirmed_bytes_ <= own_ring_.size_bytes());
		fuzz::demand(c_.readable_bytes() <= stored_bytes() &&
			     c_.readable_bytes() + 1 >= stored_bytes());
		fuzz::demand(c_.inquired_bytes() <= stored_bytes());
		fuzz::demand(now.tx_consumer == own_ring_.cursor(consumed_bytes_));
		fuzz::demand(c_.high_water_bytes() ==
			     (aborted_ || own_ring_number_ != 0
				      ? own_ring_.size_bytes()
				      : std::min<std::uint64_t>(received_bytes_,
								own_ring_.size_bytes())));

		fuzz::demand(!c_.at_orderly_end() || c_.at_eof());
		fuzz::demand(!c_.both_ended() || c_.peer_finished_sending());
		// Once aborted, always aborted; and the end is the end.
		if (aborted_ || lost_)
			fuzz::demand(c_.send_status() == SendStatus::kAborted &&
				     c_.unsent_bytes() == 0);
		fuzz::demand(c_.reset() == (lost_ || (peer_flags_ & state_flag::kAborted) != 0));
		fuzz::demand(c_.finished() == (lost_ || both_closed()));
		if (link_lost_ || both_closed())
			fuzz::demand(!can_transmit() && !c_.closing_flag_owed());
		if (c_.at_eof())
			fuzz::demand(c_.readable_bytes() == 0 && (lost_ || peer_flags_ != 0));
		if (c_.reset() && c_.readable_bytes() == 0)
			fuzz::demand(c_.at_eof());
	}

	static void check_segments(const ring::Segments &segments, std::uint32_t length_bytes,
				   std::uint64_t size_bytes)
	{
		std::uint64_t sum_bytes = 0;

		for (const ring::Segment &segment : segments) {
			fuzz::demand(segment.length_bytes != 0);
			fuzz::demand(std::uint64_t{segment.offset_bytes} + segment.length_bytes <=
				     size_bytes);
			sum_bytes += segment.length_bytes;
		}
		fuzz::demand(sum_bytes == length_bytes);
	}

	[[nodiscard]] std::uint64_t stored_bytes() const
	{
		return received_bytes_ - consumed_bytes_;
	}

	void drop_pending() { appended_bytes_ = sent_bytes_; }

	// The reader may have been moved past an urgent byte, and past no more than that.
	void follow_urgent_skip()
	{
		const std::uint64_t skipped_bytes =
			own_ring_.ahead(c_.diagnostics().tx_consumer, consumed_bytes_);

		fuzz::demand(skipped_bytes <= 1 && skipped_bytes <= stored_bytes());
		consumed_bytes_ += skipped_bytes;
	}

	const Knobs knobs_;
	Connection c_;
	std::vector<TransmitMarker> markers_;

	// The account.
	Ring own_ring_;
	Ring peer_ring_;
	std::uint8_t own_ring_number_ = 0;
	std::uint8_t peer_ring_number_ = 0;
	std::uint32_t offered_bytes_ = 0; // 0: no ring is on offer
	std::uint32_t next_peer_bytes_ = 0;
	std::uint64_t appended_bytes_ = 0;
	std::uint64_t sent_bytes_ = 0;
	std::uint64_t acknowledged_bytes_ = 0;
	std::uint64_t completed_bytes_ = 0;
	std::uint64_t received_bytes_ = 0;
	std::uint64_t consumed_bytes_ = 0;
	std::uint64_t confirmed_bytes_ = 0;
	std::uint64_t sent_messages_ = 0;
	std::uint64_t completed_messages_ = 0;
	std::uint16_t peer_sequence_ = 0;
	std::uint8_t sent_flags_ = 0;
	std::uint8_t peer_flags_ = 0;
	bool failed_over_ = false;
	bool locally_closed_ = false;
	bool refuses_ = false;
	bool aborted_ = false;
	bool lost_ = false; // or given up
	bool link_lost_ = false;
	bool release_told_ = false;
	bool blocked_ = false; // the peer's newest message said so
	bool gave_up_withheld_ = false;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const ByteSpan input = fuzz::input(data, size);

	if (!input.empty() && input[0] == kInPlace) {
		fuzz::Script script(input.subspan(1));
		fuzz::InPlace pair(script);

		pair.run(script);
		return 0;
	}
	fuzz::Script script(input);
	Live live(make_knobs(script));

	live.run(script);
	return 0;
}
