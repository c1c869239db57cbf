// SPDX-License-Identifier: GPL-2.0-only
//
// Two connections inside one kernel (SMC-D): the send buffer of each is the other's ring, messages
// are delivered at once, and an empty ring may be replaced. Two applications do anything, with
// memory that is really written and read: each byte that is read must be the next one that was
// sent. A reader or writer may keep what it was handed out for as long as it likes, while the other
// end goes on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "alike.hpp"
#include "core/connection/connection.hpp"
#include "cursors.hpp"
#include "script.hpp"
#include "support.hpp"

namespace smc::fuzz {

class InPlace {
public:
	explicit InPlace(Script &script)
	{
		const std::array<std::uint32_t, 2> sizes_bytes{ring_size_bytes(script),
							       ring_size_bytes(script)};

		for (std::uint32_t side = 0; side < 2; side++) {
			ends_[side].ring.resize(sizes_bytes[side]);
			demand(ends_[side].conn.init({.sndbuf_size_bytes = sizes_bytes[side],
						      .rmb_size_bytes = sizes_bytes[1 - side],
						      .peer_rmb_size_bytes = sizes_bytes[side],
						      .local_token = 1 + side,
						      .peer_token = 2 - side,
						      .in_place = true}));
		}
	}

	void run(Script script)
	{
		for (int i = 0; i < kOpsMax && !script.done(); i++) {
			act(script);
			check();
		}
		finish();
	}

private:
	static constexpr int kOpsMax = 300;
	// Bytes up to an urgent mark, those behind it, flags.
	static constexpr int kSayingsMax = 4;
	static constexpr int kTurnsMax = 6;

	using Connection = connection::Connection;
	using SendHint = connection::SendHint;
	using SendStatus = connection::SendStatus;

	// One end, and the direction in which it writes. Positions are of the stream and never
	// wrap.
	struct End {
		Connection conn;
		std::vector<std::uint8_t> ring; // this end writes it, the other one reads it
		std::uint64_t ring_begins_at_bytes = 0;
		std::uint64_t accepted_bytes = 0;
		std::uint64_t appended_bytes = 0; // accepted, and not dropped at an end
		std::uint64_t sent_bytes = 0;
		std::uint64_t received_bytes = 0; // by the other end
		std::uint64_t taken_bytes = 0;    // ditto

		// What this end's application was handed out.
		ring::Segments room{};
		ring::Segments piece{};
		bool writing = false;
		bool reading = false;

		std::uint64_t urgent_at_bytes = 0; // position in the stream that it reads
		bool urgent_inline = false;
		bool refuses = false;
		bool silent = false; // it has not reported yet what it has done
		bool closed = false;
		bool gone = false; // closed and freed
	};

	static std::uint32_t ring_size_bytes(Script &script)
	{
		constexpr std::array<std::uint32_t, 6> sizes = {64, 65, 100, 1000, 4096, 16384};

		return sizes[script.below(sizes.size())];
	}
	static std::uint8_t byte_at(std::uint64_t position_bytes)
	{
		return static_cast<std::uint8_t>(position_bytes * 7 + position_bytes / 251);
	}
	static std::uint32_t size_bytes(const End &end)
	{
		return static_cast<std::uint32_t>(end.ring.size());
	}
	static bool aborted(const End &end)
	{
		return end.conn.send_status() == SendStatus::kAborted;
	}

	void act(Script &script)
	{
		const std::uint8_t choice = script.byte();
		const std::uint32_t side = choice >> 7;
		End &own = ends_[side];

		if (own.gone)
			return;
		if (own.silent)
			converse(side);
		switch ((choice & 0x7f) % 20) {
		case 0: write(side, script.number(1), SendHint::kNormal); break;
		case 1: write(side, script.number(2), SendHint::kNormal); break;
		case 2: write(side, script.number(1), SendHint::kMore); break;
		case 3: write(side, script.number(1), SendHint::kUrgent); break;
		case 4: take_room(side, script.number(2)); break;
		case 5: fill_room(side, script.byte()); break;
		case 6: take_piece(side, script.number(2)); break;
		case 7: give_piece_back(side, script.byte()); break;
		case 8: read(side, script.number(2)); break;
		case 9: read(side, UINT32_MAX); break;
		case 10: urgent(side, script.byte()); break;
		case 11:
			own.conn.set_corked((script.byte() & 1) != 0);
			converse(side);
			break;
		case 12:
			own.conn.push();
			converse(side);
			break;
		case 13: widen(side, script.byte()); break;
		case 14: look(side, script.number(2), script.byte()); break;
		case 15: shut_down(side, script.byte()); break;
		case 16: close(side, script.byte()); break;
		case 17: abort(side, script.byte()); break;
		case 18: go(side); break;
		case 19:
			own.conn.request_completion();
			converse(side);
			break;
		}
	}

	// --- Bytes -------------------------------------------------------------------------------

	void write(std::uint32_t side, std::uint32_t bytes, SendHint hint)
	{
		take_room(side, bytes);
		if (ends_[side].writing)
			produce(side, ends_[side].room.length_bytes(), hint);
	}

	void take_room(std::uint32_t side, std::uint32_t bytes)
	{
		End &own = ends_[side];

		if (own.writing || own.closed)
			return;
		own.room = own.conn.write_segments(bytes);
		demand(own.room.length_bytes() == std::min(bytes, own.conn.sndbuf_free_bytes()));
		own.writing = !own.room.empty();
	}

	// A copy may also fail half-way.
	void fill_room(std::uint32_t side, std::uint8_t choice)
	{
		const std::uint32_t bytes = ends_[side].room.length_bytes();

		if (ends_[side].writing)
			produce(side, choice % 4 == 3 ? bytes / 2 : bytes,
				choice % 4 == 2 ? SendHint::kMore : SendHint::kNormal);
	}

	void produce(std::uint32_t side, std::uint32_t bytes, SendHint hint)
	{
		End &own = ends_[side];
		const bool open = own.conn.send_status() == SendStatus::kOpen;
		std::uint64_t at_bytes = own.appended_bytes;

		for (const ring::Segment &segment : own.room) {
			demand(std::uint64_t{segment.offset_bytes} + segment.length_bytes <=
			       own.ring.size());
			for (std::uint32_t i = 0; i < segment.length_bytes; i++)
				own.ring[segment.offset_bytes + i] = byte_at(at_bytes++);
		}
		if (open)
			demand(own.room.begin()->offset_bytes ==
			       (own.appended_bytes - own.ring_begins_at_bytes) % own.ring.size());
		own.writing = false;
		if (hint == SendHint::kNormal && pass(side, bytes))
			return;
		own.conn.produce(bytes, hint);
		if (open) {
			own.accepted_bytes += bytes;
			own.appended_bytes += bytes;
		}
		converse(side);
	}

	bool pass(std::uint32_t side, std::uint32_t bytes)
	{
		End &own = ends_[side];
		End &other = ends_[1 - side];
		const Before before(other.conn);
		Connection writer = own.conn;
		Connection reader = other.conn;
		const std::uint16_t events =
			other.gone ? 0 : Connection::pass(own.conn, other.conn, bytes);

		if (events == 0) {
			demand(alike(own.conn, writer) && alike(other.conn, reader));
			return false;
		}
		// The steps one by one give the same result.
		writer.produce(bytes, SendHint::kNormal);
		const auto saying = writer.speak();
		demand(saying && saying->produced_bytes == bytes);
		const connection::Verdict verdict = reader.hear(*saying);
		demand(verdict.ok() && verdict.events == events);
		demand(alike(own.conn, writer) && alike(other.conn, reader));

		own.accepted_bytes += bytes;
		own.appended_bytes += bytes;
		own.sent_bytes += bytes;
		own.received_bytes += bytes;
		check_told(before, other, {.events = events});
		converse(1 - side);
		return true;
	}

	void read(std::uint32_t side, std::uint32_t bytes)
	{
		take_piece(side, bytes);
		give_piece_back(side, /*choice=*/0);
	}

	void take_piece(std::uint32_t side, std::uint32_t bytes)
	{
		End &own = ends_[side];

		if (own.reading || own.closed)
			return;
		own.piece = own.conn.read_segments(bytes);
		demand(own.piece.length_bytes() <= bytes);
		own.reading = true;
	}

	// Copied only now: what was handed out must have stayed unchanged.
	void give_piece_back(std::uint32_t side, std::uint8_t choice)
	{
		End &own = ends_[side];
		End &other = ends_[1 - side];

		if (!own.reading)
			return;
		compare(own.piece, other, other.taken_bytes);
		const std::uint32_t piece_bytes = own.piece.length_bytes();
		const std::uint32_t bytes = choice % 4 == 3 ? piece_bytes / 2 : piece_bytes;
		own.reading = false;
		const bool tell = own.conn.consume(bytes);
		other.taken_bytes += bytes;
		follow_urgent_skip(side);
		if (tell)
			converse(side);
	}

	static void compare(const ring::Segments &segments, const End &writer,
			    std::uint64_t at_bytes)
	{
		demand(segments.empty() ||
		       at_bytes + segments.length_bytes() <= writer.received_bytes);
		for (const ring::Segment &segment : segments) {
			demand(std::uint64_t{segment.offset_bytes} + segment.length_bytes <=
			       writer.ring.size());
			for (std::uint32_t i = 0; i < segment.length_bytes; i++)
				demand(writer.ring[segment.offset_bytes + i] ==
				       byte_at(at_bytes++));
		}
	}

	void look(std::uint32_t side, std::uint32_t max_bytes, std::uint32_t skip_bytes) const
	{
		const Connection &conn = ends_[side].conn;
		const End &other = ends_[1 - side];

		if (ends_[side].closed)
			return;
		compare(conn.read_segments(max_bytes, skip_bytes), other,
			other.taken_bytes + skip_bytes);
		const ring::Segments peeked = conn.peek_segments(max_bytes, skip_bytes);
		demand(peeked.length_bytes() <= max_bytes);
		if (!peeked.empty())
			demand(other.taken_bytes + skip_bytes + peeked.length_bytes() <=
			       other.received_bytes);
	}

	void urgent(std::uint32_t side, std::uint8_t choice)
	{
		End &own = ends_[side];

		if (own.closed)
			return;
		switch (choice % 5) {
		case 0:
			if (const connection::UrgentRead urgent =
				    own.conn.take_urgent((choice & 0x80) != 0);
			    urgent.status == connection::UrgentStatus::kByte)
				demand(urgent.value == byte_at(own.urgent_at_bytes));
			break;
		// The option may be set at any time; the connection learns of it from its reader.
		case 1: own.urgent_inline = !own.urgent_inline; [[fallthrough]];
		case 2:
			if (own.reading)
				return;
			if (own.conn.set_urgent_inline(own.urgent_inline))
				converse(side);
			break;
		case 3:
			if (own.reading)
				return;
			own.conn.leave_mark();
			break;
		case 4:
			own.conn.announce_urgent((choice & 0x80) != 0);
			converse(side);
			break;
		}
		follow_urgent_skip(side);
	}

	// Only the writer replaces a ring, and not while it was handed out room.
	void widen(std::uint32_t side, std::uint8_t choice)
	{
		constexpr std::array<std::uint32_t, 8> sizes = {
			0, 63, 64, 99, 1000, 4096, 16384, ring::kMaxSizeBytes + 1};
		End &own = ends_[side];
		End &other = ends_[1 - side];
		const std::uint32_t bytes = sizes[choice % sizes.size()];

		if (own.writing || own.closed || other.gone)
			return;
		if (!Connection::replace_ring(own.conn, other.conn, bytes))
			return;
		demand(own.conn.send_status() == SendStatus::kOpen);
		demand(bytes >= Connection::kMinRingBytes && bytes <= ring::kMaxSizeBytes);
		demand(own.appended_bytes == own.sent_bytes);
		demand(own.sent_bytes == own.taken_bytes);
		demand(!other.reading || other.piece.empty());
		demand(own.conn.sndbuf_free_bytes() == bytes && own.conn.writable_for_poll());
		own.ring.assign(bytes, 0);
		own.ring_begins_at_bytes = own.sent_bytes;
	}

	// --- The end -----------------------------------------------------------------------------

	void shut_down(std::uint32_t side, std::uint8_t choice)
	{
		End &own = ends_[side];

		own.conn.shutdown_write();
		if (choice % 4 == 3 && own.conn.send_status() == SendStatus::kShutdown) {
			own.conn.refuse_data();
			own.refuses = true;
		}
		converse_soon(side, choice);
	}

	void close(std::uint32_t side, std::uint8_t choice)
	{
		End &own = ends_[side];

		if (own.closed)
			return;
		fill_room(side, /*choice=*/0);
		give_piece_back(side, /*choice=*/0);
		const bool unread = stored_bytes(side) != 0;
		own.conn.close();
		own.closed = true;
		ends_[1 - side].taken_bytes = ends_[1 - side].received_bytes;
		if (unread)
			demand(aborted(own));
		converse_soon(side, choice);
	}

	// Rare, since little happens after it.
	void abort(std::uint32_t side, std::uint8_t choice)
	{
		End &own = ends_[side];

		if (choice % 8 > 1)
			return;
		if (choice % 8 == 0)
			own.conn.abort();
		else
			own.conn.give_up();
		demand(aborted(own) && own.conn.unsent_bytes() == 0);
		if (choice % 8 == 1)
			demand(own.conn.releasable());
		converse_soon(side, choice);
	}

	void go(std::uint32_t side) { ends_[side].gone = ends_[side].closed; }

	// Between two steps the lock is free, and the other end goes on.
	void converse_soon(std::uint32_t side, std::uint8_t choice)
	{
		drop_pending(ends_[side]);
		ends_[side].silent = true;
		if ((choice & 0x80) == 0)
			converse(side);
	}

	// If neither end was aborted, all bytes arrive, then both ends.
	void finish()
	{
		for (std::uint32_t side = 0; side < 2; side++) {
			const End &end = ends_[side];

			if (end.silent)
				converse(side);
			demand(!end.closed || (!end.conn.owes() && end.conn.unsent_bytes() == 0));
		}
		for (const End &end : ends_) {
			if (end.closed || end.refuses || aborted(end))
				return;
		}
		for (std::uint32_t side = 0; side < 2; side++) {
			fill_room(side, /*choice=*/0);
			give_piece_back(side, /*choice=*/0);
			ends_[side].conn.set_corked(false);
			converse(side);
		}
		for (std::uint32_t side = 0; side < 2; side++) {
			const End &other = ends_[1 - side];

			// At most an urgent mark lies in between.
			for (int reads = 0; other.taken_bytes != other.accepted_bytes; reads++) {
				demand(reads < 3);
				read(side, UINT32_MAX);
			}
			check();
			demand(other.conn.writable_for_poll());
		}
		for (std::uint32_t side = 0; side < 2; side++) {
			ends_[side].conn.shutdown_write();
			converse(side);
		}
		for (std::uint32_t side = 0; side < 2; side++) {
			demand(ends_[side].conn.at_orderly_end());
			ends_[side].conn.leave_mark();
		}
		check();
		for (std::uint32_t side = 0; side < 2; side++)
			close(side, /*choice=*/0);
		check();
		for (const End &end : ends_)
			demand(end.conn.releasable());
	}

	// --- The talk ----------------------------------------------------------------------------

	struct Before {
		explicit Before(const Connection &conn)
			: readable_bytes(conn.readable_bytes()), eof(conn.at_eof()),
			  writable(conn.writable_for_poll()),
			  aborted(conn.send_status() == SendStatus::kAborted)
		{
		}

		std::uint32_t readable_bytes;
		bool eof;
		bool writable;
		bool aborted;
	};

	void converse(std::uint32_t side)
	{
		int turns = 0;

		for (std::uint32_t speaker = side; speak(speaker); speaker = 1 - speaker) {
			if (ends_[1 - speaker].gone)
				break;
			demand(++turns <= kTurnsMax);
		}
	}

	bool speak(std::uint32_t side)
	{
		End &own = ends_[side];
		int said = 0;

		own.silent = false;
		while (const auto saying = own.conn.speak()) {
			demand(++said <= kSayingsMax);
			own.sent_bytes += saying->produced_bytes;
			demand(own.sent_bytes <= own.appended_bytes);
			demand(saying->message.producer ==
			       cursor_at(own.sent_bytes - own.ring_begins_at_bytes,
					 size_bytes(own)));
			if (!ends_[1 - side].gone)
				hear(1 - side, *saying);
			drop_pending(own);
		}
		drop_pending(own);
		return said != 0;
	}

	void hear(std::uint32_t side, const connection::Saying &saying)
	{
		End &own = ends_[side];
		End &other = ends_[1 - side];
		const Before before(own.conn);
		const bool deaf = own.conn.finished() || aborted(own);
		const connection::Verdict verdict = own.conn.hear(saying);

		// The message comes from our own code.
		demand(verdict.ok());
		demand(!verdict.has(connection::event::kRefused) ||
		       (own.refuses && saying.produced_bytes != 0));
		if (!deaf && !verdict.has(connection::event::kRefused))
			other.received_bytes += saying.produced_bytes;
		if (own.closed)
			other.taken_bytes = other.received_bytes;
		drop_pending(own);
		check_told(before, own, verdict);
		if (!verdict.has(connection::event::kUrgent))
			return;
		own.urgent_at_bytes = other.received_bytes - 1;
		demand(own.conn.urgent_offset_bytes() ==
		       (own.urgent_at_bytes - other.ring_begins_at_bytes) % other.ring.size());
		(void)own.conn.set_urgent_inline(own.urgent_inline);
		const std::uint8_t value = other.ring[own.conn.urgent_offset_bytes()];
		demand(value == byte_at(own.urgent_at_bytes));
		own.conn.store_urgent(value);
		follow_urgent_skip(side);
	}

	// Nothing polls: what became possible must be reported.
	static void check_told(const Before &before, const End &end,
			       const connection::Verdict &verdict)
	{
		const Connection &conn = end.conn;

		if (before.aborted || aborted(end))
			return;
		if (conn.readable_bytes() > before.readable_bytes || (conn.at_eof() && !before.eof))
			demand(verdict.has(connection::event::kReadable));
		if (conn.writable_for_poll() && !before.writable && !conn.peer_closed())
			demand(verdict.has(connection::event::kWritable));
	}

	// Data that was not sent when either end ended will never be.
	static void drop_pending(End &end)
	{
		if (aborted(end) || end.conn.peer_closed())
			end.appended_bytes = end.sent_bytes;
	}

	// The reader may have been moved past an urgent byte, and no further.
	void follow_urgent_skip(std::uint32_t side)
	{
		End &other = ends_[1 - side];
		const std::uint64_t skipped_bytes = ahead_bytes(
			ends_[side].conn.diagnostics().tx_consumer,
			other.taken_bytes - other.ring_begins_at_bytes, size_bytes(other));

		demand(skipped_bytes <= 1 && skipped_bytes <= stored_bytes(side));
		other.taken_bytes += skipped_bytes;
	}

	// --- What holds at all times -------------------------------------------------------------

	[[nodiscard]] std::uint64_t stored_bytes(std::uint32_t side) const
	{
		return ends_[1 - side].received_bytes - ends_[1 - side].taken_bytes;
	}

	void check() const
	{
		for (std::uint32_t side = 0; side < 2; side++) {
			check_writer(ends_[side], ends_[1 - side]);
			check_reader(side);
		}
	}

	static void check_writer(const End &own, const End &reader)
	{
		const std::uint32_t size = size_bytes(own);
		const connection::Diagnostics now = own.conn.diagnostics();

		demand(!own.conn.broken());
		demand(own.conn.transmit_idle());
		demand(now.sndbuf_size_bytes == size && now.peer_rmb_size_bytes == size);
		demand(now.sent_bytes == own.sent_bytes);
		demand(now.tx_producer ==
		       cursor_at(own.sent_bytes - own.ring_begins_at_bytes, size));
		demand(own.conn.unsent_bytes() == own.appended_bytes - own.sent_bytes);
		demand(own.conn.undelivered_bytes() == own.conn.unsent_bytes());
		demand(own.conn.queued_bytes() <= size);
		demand(own.conn.peer_window_bytes() <= size);
		// Room is what is not stored for the reader.
		demand(own.taken_bytes <= own.received_bytes &&
		       own.received_bytes <= own.sent_bytes);
		demand(own.conn.sndbuf_free_bytes() + (own.appended_bytes - own.taken_bytes) <=
		       size);
		if (own.gone || own.silent || reader.silent)
			return;
		// Everything that was to be sent has been sent.
		Connection copy = own.conn;
		demand(!copy.speak());
		if (reader.gone || aborted(own) || aborted(reader) || own.conn.finished())
			return;
		demand(own.received_bytes == own.sent_bytes);
		// A writer that waits for room is woken at the latest when everything has been
		// read.
		if (own.taken_bytes == own.appended_bytes)
			demand(own.conn.writable_for_poll());
	}

	void check_reader(std::uint32_t side) const
	{
		const End &own = ends_[side];
		const End &other = ends_[1 - side];
		const connection::Diagnostics now = own.conn.diagnostics();

		demand(now.rmb_size_bytes == other.ring.size());
		demand(now.received_bytes == other.received_bytes);
		demand(now.tx_consumer == cursor_at(other.taken_bytes - other.ring_begins_at_bytes,
						    size_bytes(other)));
		demand(own.conn.readable_bytes() <= stored_bytes(side) &&
		       own.conn.readable_bytes() + 1 >= stored_bytes(side));
		demand(own.conn.inquired_bytes() <= stored_bytes(side));
		demand(own.conn.high_water_bytes() <= other.ring.size());
		// An end without a reset comes after the last byte.
		if (own.conn.at_orderly_end() && !own.closed && !aborted(own))
			demand(own.conn.readable_bytes() == 0 &&
			       other.received_bytes == other.accepted_bytes);
	}

	std::array<End, 2> ends_;
};

} // namespace smc::fuzz
