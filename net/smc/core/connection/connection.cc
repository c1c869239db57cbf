// SPDX-License-Identifier: GPL-2.0-only
#include "core/connection/connection.hpp"

#include <algorithm>

namespace smc::connection {

namespace {

// Consumption up to this is not worth a message of its own while there is more to read.
constexpr std::uint32_t kUpdateFloorBytes = 2304;

// What is copied in less time than a message takes to get there and wake a reader is not cut up. In
// place there is no way to go.
constexpr std::uint32_t kQuantumFloorBytes = 64 * 1024;

constexpr bool is_usable(std::uint32_t size_bytes)
{
	return size_bytes >= Connection::kMinRingBytes && size_bytes <= ring::kMaxSizeBytes;
}

} // namespace

bool Connection::init(const Config &config)
{
	*this = Connection{};
	if (!is_usable(config.sndbuf_size_bytes) || !is_usable(config.rmb_size_bytes) ||
	    !is_usable(config.peer_rmb_size_bytes) ||
	    (config.in_place && config.sndbuf_size_bytes != config.peer_rmb_size_bytes))
		return false;

	send_.init(config.sndbuf_size_bytes, config.peer_rmb_size_bytes,
		   config.completion_frees_sndbuf, config.in_place);
	receive_.init(config.rmb_size_bytes);
	local_token_ = config.local_token;
	peer_token_ = config.peer_token;
	compact_ = config.compact;
	growing_ = config.growing && !config.in_place;
	autocork_max_bytes_ = config.autocorking_size_bytes;
	set_send_limits();
	set_peer_limits();
	set_receive_limits();
	close_.start();
	return true;
}

void Connection::set_send_limits()
{
	quantum_bytes_ =
		std::min(send_.size_bytes(), std::max(send_.size_bytes() / 2,
						      send_.in_place() ? 0 : kQuantumFloorBytes));
	quarter_bytes_ = send_.size_bytes() / 4;
	writable_from_bytes_ = send_.size_bytes() / 3;
	awaits_ = Awaits::kNothing;
	autocork_bytes_ = std::min(send_.size_bytes() / 2, autocork_max_bytes_);
	if (borrowed_) {
		// What is appended the short way either goes at once, or goes this way.
		autocork_bytes_ = 0;
		quantum_bytes_ = 0;
	}
}

void Connection::set_peer_limits()
{
	crumb_bytes_ = send_.peer_size_bytes() / 8;
}

void Connection::set_receive_limits()
{
	update_floor_bytes_ = std::min(kUpdateFloorBytes, receive_.size_bytes() / 2);
	update_above_bytes_ = std::max(receive_.size_bytes() / 10, update_floor_bytes_);
}

bool Connection::replace_send_buffer(std::uint32_t size_bytes, bool borrowed)
{
	if (!is_usable(size_bytes) || send_.in_place() || send_.used_bytes() != 0)
		return false;
	send_.restart(size_bytes);
	borrowed_ = borrowed;
	set_send_limits();
	return true;
}

void Connection::await_peer_room()
{
	borrowed_ = true;
	awaits_ = Awaits::kPeerRoom;
	// Another try is due anyway, by run().
	if (!send_buffer_lacks())
		writable_from_bytes_ = send_.size_bytes() + 1;
}

// Room in crumbs is left to gather (see transmittable_bytes()).
ring::Segments Connection::borrowed_segments(std::uint32_t max_bytes)
{
	if (!borrowed_)
		return {};
	const std::uint32_t room_bytes = peer_room_bytes();

	if (room_bytes < std::min(max_bytes, crumb_bytes_)) {
		await_peer_room();
		return {};
	}
	return send_.free_segments(std::min(max_bytes, room_bytes));
}

bool Connection::replace_ring(Connection &writer, Connection &reader, std::uint32_t size_bytes)
{
	if (!is_usable(size_bytes) || !ring_is_replaceable(writer, reader))
		return false;
	writer.send_.replace(size_bytes);
	writer.set_send_limits();
	writer.set_peer_limits();
	reader.receive_.replace(size_bytes);
	reader.set_receive_limits();
	return true;
}

// --- Sending ---------------------------------------------------------------------------------

void Connection::announce_urgent(bool pending)
{
	if (pending)
		urgent_tx_.announce();
	else
		urgent_tx_.withdraw();
}

void Connection::set_corked(bool corked)
{
	corked_ = corked;
	if (!corked)
		push();
}

void Connection::push()
{
	more_ = false;
	push_ = send_.pending_bytes() != 0;
}

void Connection::request_completion()
{
	// Only if that teaches us something: not if all has completed, or the newest message is
	// signalled.
	completion_requested_ =
		sent_messages_ > std::max(completed_messages_, last_signalled_message_);
}

void Connection::drop_pending_data()
{
	send_.discard_pending();
	urgent_tx_.clear();
	more_ = false;
	push_ = false;
}

// --- Receiving -------------------------------------------------------------------------------

std::optional<CursorMessage> Connection::in_full(const CompactMessage &message,
						 const CursorMessage &before) const
{
	const auto size_bytes = ring_bytes(before.ring);

	if (!size_bytes || !ring::is_inside(before.producer, *size_bytes) ||
	    !ring::is_inside(before.consumer, send_.peer_size_bytes()))
		return std::nullopt;
	const auto saying = expand(message, before, *size_bytes);

	if (!saying)
		return std::nullopt;
	CursorMessage full = saying->message;
	full.state_flags = before.state_flags;
	full.ring = before.ring;
	return full;
}

// The peer has moved the connection to another link, and says up to which message its old link had
// delivered. If that is further than we have seen, a message is lost for good.
Verdict Connection::on_failover_validation(std::int16_t ahead)
{
	if (!close_.started() || close_.finished() || close_.locally_aborted())
		return {.events = event::kIgnored};
	if (ahead > 0)
		return {.violation = Violation::kMessagesLost};
	peer_failed_over_ = true;
	// The flag counts when it is set anew; after a failover our answer to the last one may be
	// lost.
	peer_producer_flags_ &= static_cast<std::uint8_t>(~producer_flag::kConsumerUpdateWanted);
	return {};
}

// After a failover the peer repeats messages, cut differently, that we may have had already. Their
// cursors may lie behind ours: then ours stay.
Violation Connection::classify_producer(const ring::Cursor &producer) const
{
	if (!ring::forward_distance_bytes(producer, receive_.producer(), receive_.size_bytes()))
		return Violation::kProducerOverrun;
	return peer_failed_over_ ? Violation::kNone : Violation::kProducerBackward;
}

Violation Connection::classify_consumer(const ring::Cursor &consumer) const
{
	if (!ring::forward_distance_bytes(consumer, send_.peer_consumer(), send_.peer_size_bytes()))
		return Violation::kConsumerBeyondSent;
	return peer_failed_over_ ? Violation::kNone : Violation::kConsumerBackward;
}

std::uint16_t Connection::take_in_state_flags(std::uint8_t state_flags)
{
	const std::uint8_t fresh_flags = close_.on_peer_flags(state_flags);
	std::uint16_t events = 0;

	if (fresh_flags != 0)
		data_due_ = false;
	if ((fresh_flags & state_flag::kSendingDone) != 0)
		events |= event::kPeerDone;
	if ((fresh_flags & state_flag::kClosed) != 0)
		events |= event::kPeerClosed;
	if ((fresh_flags & state_flag::kAborted) != 0)
		events |= event::kPeerAborted;
	// A peer that has closed will never make room again.
	if ((fresh_flags & state_flag::kAnyClose) != 0)
		drop_pending_data();
	return events;
}

// Data of a peer that has announced the end of its stream. Until our reader has reached that end
// the data still belongs to the stream: when a program exits on the kernel's own module, that sends
// "closed" at once and the corked data behind it. Once the reader may have seen the end, it is a
// violation. After refuse_data() it is refused, as on TCP.
std::optional<Verdict> Connection::refuse_data_of(const CursorMessage &message)
{
	if (at_eof()) {
		// The reader must not take that for an orderly end.
		close_.disown_end();
		return Verdict{.violation = Violation::kProducerBehindEnd};
	}
	if (!refuses_data_)
		return std::nullopt;
	abort();
	Verdict verdict{.events = event::kRefused | event::kReadable | event::kWritable};
	verdict.events |= take_in_state_flags(message.state_flags);
	verdict.events |= tell_if_releasable();
	return verdict;
}

void Connection::drop_received_data()
{
	receive_.consume(receive_.stored_bytes());
	urgent_rx_.clear();
}

// --- Urgent data -----------------------------------------------------------------------------

std::uint16_t Connection::take_in_urgent_flags(const CursorMessage &message,
					       std::uint32_t produced_bytes)
{
	if ((message.producer_flags & producer_flag::kUrgentPresent) != 0) {
		// Only the message that brings the byte sets the mark; later ones repeat the flag.
		// A byte that came without the flag gets no mark afterwards: a reader may be
		// copying it already.
		if (produced_bytes == 0)
			return 0;
		urgent_rx_.arrive(receive_.received_bytes() - 1);
		return event::kUrgent;
	}
	if ((message.producer_flags & producer_flag::kUrgentPending) == 0) {
		urgent_rx_.withdraw();
		return 0;
	}
	if (urgent_rx_.state() != UrgentReceiver::State::kNone)
		return 0;
	urgent_rx_.announce();
	return event::kUrgentPending;
}

std::uint32_t Connection::urgent_offset_bytes() const
{
	const auto behind_bytes =
		static_cast<std::uint32_t>(receive_.received_bytes() - urgent_rx_.position_bytes());
	return ring::retreat(receive_.producer(), behind_bytes, receive_.size_bytes()).count;
}

void Connection::store_urgent(std::uint8_t value)
{
	if (urgent_rx_.state() != UrgentReceiver::State::kArrived) {
		broken_ = true;
		return;
	}
	urgent_rx_.store(value);
	if (!urgent_inline_ && urgent_rx_.position_bytes() == receive_.consumed_bytes())
		skip_urgent_byte();
}

UrgentRead Connection::take_urgent(bool peek)
{
	using State = UrgentReceiver::State;

	if (urgent_inline_)
		return {};
	switch (urgent_rx_.state()) {
	case State::kNone:
	case State::kTaken: return {};
	case State::kPending:
	case State::kArrived: return {.status = UrgentStatus::kWait};
	case State::kValid: break;
	}
	if (!peek)
		urgent_rx_.take();
	return {.status = UrgentStatus::kByte, .value = urgent_rx_.value()};
}

bool Connection::change_urgent_inline(bool urgent_inline)
{
	urgent_inline_ = urgent_inline;
	if (urgent_inline || !urgent_rx_.has_mark() ||
	    urgent_rx_.state() == UrgentReceiver::State::kArrived ||
	    urgent_rx_.position_bytes() != receive_.consumed_bytes())
		return false;
	skip_urgent_byte();
	return close_.may_transmit();
}

// Also where the reader has been moved past the byte, see skip_urgent_byte().
bool Connection::at_mark() const
{
	if (!urgent_rx_.has_mark())
		return false;
	const std::uint64_t mark_bytes = urgent_rx_.position_bytes();
	const std::uint64_t reader_bytes = receive_.consumed_bytes();
	return reader_bytes == mark_bytes || reader_bytes == mark_bytes + 1;
}

bool Connection::mark_is_ahead(std::uint32_t bytes) const
{
	return urgent_rx_.has_mark() &&
	       urgent_rx_.position_bytes() == receive_.consumed_bytes() + bytes;
}

void Connection::leave_mark()
{
	if (!urgent_inline_ && at_mark() && readable_bytes() == 0)
		urgent_rx_.clear();
}

ring::Segments Connection::peek_segments(std::uint32_t max_bytes, std::uint32_t skip_bytes) const
{
	if (!urgent_rx_.has_mark() || urgent_rx_.position_bytes() < receive_.consumed_bytes() ||
	    urgent_rx_.position_bytes() > receive_.consumed_bytes() + skip_bytes)
		return read_segments(max_bytes, skip_bytes);
	const std::uint32_t behind_bytes = skip_bytes + (urgent_inline_ ? 0 : 1);
	if (behind_bytes >= receive_.stored_bytes())
		return {};
	return receive_.stored_segments(
		behind_bytes, std::min(max_bytes, receive_.stored_bytes() - behind_bytes));
}

std::uint32_t Connection::inquired_bytes(bool urgent_inline) const
{
	if (!urgent_rx_.has_mark() || urgent_inline)
		return receive_.stored_bytes();
	if (urgent_rx_.position_bytes() < receive_.consumed_bytes())
		return 0;
	return static_cast<std::uint32_t>(urgent_rx_.position_bytes() - receive_.consumed_bytes());
}

// An urgent byte out of line does not belong to the stream, so the reader moves past it without
// reading it. The peer is told: the kernel's own module sends nothing behind an urgent byte until
// it is consumed.
void Connection::skip_urgent_byte()
{
	receive_.consume(1);
	update_due_ = true;
}

// Needs an urgent mark.
void Connection::reader_moved()
{
	const std::uint64_t mark_bytes = urgent_rx_.position_bytes();
	const std::uint64_t reader_bytes = receive_.consumed_bytes();

	if (!urgent_inline_ && reader_bytes == mark_bytes &&
	    urgent_rx_.state() != UrgentReceiver::State::kArrived) {
		skip_urgent_byte();
	} else if (reader_bytes > mark_bytes + (urgent_inline_ ? 0 : 1)) {
		urgent_rx_.clear();
		update_due_ = true;
	}
}

// --- Ending ----------------------------------------------------------------------------------

void Connection::shutdown_write()
{
	close_.shutdown_write();
	push();
}

void Connection::close()
{
	// As on TCP: an urgent byte that the reader has not passed counts as unread, even if
	// MSG_OOB has fetched it.
	const bool unread = receive_.stored_bytes() != 0 || at_mark();

	if (unread)
		abort();
	close_.close();
	drop_received_data();
	push();
}

void Connection::abort()
{
	close_.abort();
	drop_pending_data();
}

void Connection::give_up()
{
	abort();
	close_.give_up();
}

void Connection::transport_lost()
{
	close_.transport_lost();
	drop_pending_data();
}

Diagnostics Connection::diagnostics() const
{
	return {.state = state(),
		.token = local_token_,
		.sndbuf_size_bytes = send_.size_bytes(),
		.rmb_size_bytes = receive_.size_bytes(),
		.peer_rmb_size_bytes = send_.peer_size_bytes(),
		.rx_producer = receive_.producer(),
		.rx_consumer = send_.peer_consumer(),
		.tx_producer = send_.producer(),
		.tx_consumer = receive_.consumer(),
		.rx_producer_flags = peer_producer_flags_,
		.rx_state_flags = close_.peer_flags(),
		.tx_producer_flags = sent_producer_flags_,
		.tx_state_flags = close_.sent_flags(),
		.tx_prepared = send_.prepared(),
		.tx_sent = send_.sent(),
		.tx_finished = send_.finished(),
		.sent_bytes = send_.sent_bytes(),
		.received_bytes = receive_.received_bytes(),
		.sent_messages = sent_messages_,
		.stale_messages = stale_messages_,
		.repeated_bytes = written_again_bytes_};
}

} // namespace smc::connection
