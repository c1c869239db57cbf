// SPDX-License-Identifier: GPL-2.0-only
#include "shell/socket/stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/wire/ids.hpp"
#include "kernel/abi/sock.h"
#include "kernel/abi/stats.h"

namespace smc::shell::stream {

namespace {

using connection::Connection;
using connection::SendHint;
using connection::SendStatus;
using connection::UrgentStatus;
using transport::Endpoint;

// The sock's lock, and the connection that it keeps.
class LockedConnection {
public:
	explicit LockedConnection(const SmcSocket &socket) : socket_(socket)
	{
		smc_sk_lock(sk());
		endpoint_ = socket_.connection_locked();
	}
	~LockedConnection() { smc_sk_unlock(sk()); }
	LockedConnection(const LockedConnection &) = delete;
	LockedConnection &operator=(const LockedConnection &) = delete;

	[[nodiscard]] bool there() const { return endpoint_ != nullptr; }
	[[nodiscard]] Endpoint &endpoint() const { return *endpoint_; }
	[[nodiscard]] struct sock *sk() const { return socket_.sk(); }
	[[nodiscard]] bool shut_rcv() const
	{
		return socket_.shut_rcv().load(std::memory_order_acquire);
	}
	// Before a sleep, during which the lock is free: somebody may disconnect the socket.
	void keep()
	{
		if (!kept_)
			kept_ = Ref<Endpoint>::share(endpoint_);
	}

private:
	const SmcSocket &socket_;
	Endpoint *endpoint_;
	Ref<Endpoint> kept_;
};

struct Waiter {
	const LockedConnection &connection;
	u32 seen_bytes = 0;         // a peek waits for more than these
	bool stops_at_mark = false; // since it has something
	bool peeks = false;
};

// The TCP connection underneath has died. Its error is reported once, like any error of a socket;
// what comes after finds the end of the stream, as on TCP.
bool tcp_died(const struct sock *sk)
{
	return smc_sk_state(sk) == SMC_TCP_CLOSE;
}

bool may_write(void *arg)
{
	const LockedConnection &connection = static_cast<Waiter *>(arg)->connection;

	return connection.endpoint().ready_to_write() || smc_sk_error(connection.sk()) != 0 ||
	       tcp_died(connection.sk());
}

bool may_read(void *arg)
{
	const auto *waiter = static_cast<Waiter *>(arg);
	const auto at_mark = [waiter](Connection &conn) {
		return conn.mark_is_ahead(waiter->seen_bytes) || (!waiter->peeks && conn.at_mark());
	};

	const LockedConnection &connection = waiter->connection;

	return connection.endpoint().ready_to_read(waiter->seen_bytes) ||
	       (waiter->stops_at_mark && connection.endpoint().with_lock(at_mark)) ||
	       smc_sk_error(connection.sk()) != 0 || tcp_died(connection.sk()) ||
	       connection.shut_rcv();
}

// Copies from the user into the send buffer. Fewer bytes than there is room for: EFAULT.
u32 copy_in(Endpoint &endpoint, const ring::Segments &segments, msghdr *msg)
{
	u32 copied = 0;

	for (const ring::Segment &piece : segments) {
		const auto n = static_cast<u32>(smc_msg_copy_from(
			msg, endpoint.sndbuf() + piece.offset_bytes, piece.length_bytes));
		copied += n;
		if (n != piece.length_bytes)
			break;
	}
	return copied;
}

u32 copy_out(const Endpoint &endpoint, const ring::Segments &segments, msghdr *msg)
{
	u32 copied = 0;

	for (const ring::Segment &piece : segments) {
		const auto n = static_cast<u32>(smc_msg_copy_to(
			msg, endpoint.rmb() + piece.offset_bytes, piece.length_bytes));
		copied += n;
		if (n != piece.length_bytes)
			break;
	}
	return copied;
}

// While it lives, the peer may be told that an urgent byte is on its way.
class UrgentAnnouncement {
public:
	UrgentAnnouncement(Endpoint &endpoint, bool urgent) : endpoint_(endpoint), urgent_(urgent)
	{
		if (urgent_)
			endpoint_.with_lock([](Connection &conn) { conn.announce_urgent(true); });
	}
	// Takes nothing back if the byte is in the send buffer.
	~UrgentAnnouncement()
	{
		if (urgent_)
			endpoint_.with_lock([](Connection &conn) { conn.announce_urgent(false); });
	}
	UrgentAnnouncement(const UrgentAnnouncement &) = delete;
	UrgentAnnouncement &operator=(const UrgentAnnouncement &) = delete;

private:
	Endpoint &endpoint_;
	const bool urgent_;
};

// The peer has closed, and nobody will read this. TCP takes what its buffer holds, and learns of
// it by the answer.
int send_in_vain(Endpoint &endpoint, msghdr *msg, size_t len)
{
	std::array<std::byte, 128> sink;
	const size_t taken_bytes = std::min<size_t>(
		len, endpoint.with_lock([](Connection &conn) { return conn.sndbuf_free_bytes(); }));
	size_t sent = 0;

	while (sent < taken_bytes) {
		const size_t piece = std::min(taken_bytes - sent, sink.size());
		const size_t n = smc_msg_copy_from(msg, sink.data(), piece);

		sent += n;
		if (n != piece)
			break;
	}
	return sent != 0 || taken_bytes == 0 ? static_cast<int>(sent) : -EFAULT;
}

// @reset: what was taken, here or before, is for a peer that does not read any more. TCP is to end
// as by the peer's answer to that, and to tell the next call of this error.
int send_locked(LockedConnection &connection, msghdr *msg, size_t len, bool nonblock,
		std::optional<int> *reset)
{
	struct sock *sk = connection.sk();
	Endpoint &endpoint = connection.endpoint();
	const u32 flags = smc_msg_flags(msg);
	// Asked for by the first that has to sleep.
	std::optional<long> timeo;
	const bool urgent = (flags & SMC_MSG_OOB) != 0;
	size_t sent = 0;
	bool waited = false;

	const UrgentAnnouncement announcement(endpoint, urgent && len != 0);
	do {
		endpoint.widen_if_full();
		const Endpoint::Room room = endpoint.take_room(len - sent);

		const bool peer_closed = room.status == SendStatus::kPeerClosed;

		if ((room.status != SendStatus::kOpen && !peer_closed) || smc_sk_error(sk) != 0 ||
		    tcp_died(sk)) {
			endpoint.give_room_back();
			return sent != 0 ? static_cast<int>(sent)
					 : smc_sk_stream_error(sk, flags, -EPIPE);
		}
		if (sent == 0 && !smc_msg_control_is_good(sk, msg)) {
			endpoint.give_room_back();
			return -EINVAL;
		}
		if (len == sent)
			break;
		if (peer_closed) {
			const int ret = sent != 0 || waited ? static_cast<int>(sent)
							    : send_in_vain(endpoint, msg, len);
			if (ret >= 0)
				*reset = ret != 0 ? EPIPE : 0;
			return ret != 0 ? ret : smc_sk_stream_error(sk, flags, -EPIPE);
		}
		if (room.segments.empty()) {
			Waiter waiter{connection};

			connection.keep();
			endpoint.note_full();
			// Nothing may be held back by a cork while somebody waits for room.
			smc_sk_set_nospace(sk);
			if (!timeo)
				timeo = smc_sk_sndtimeo(
					sk, nonblock || (flags & SMC_MSG_DONTWAIT) != 0);
			const int ret = smc_sk_wait(sk, &*timeo, may_write, &waiter, false);
			if (ret != 0)
				return sent != 0 ? static_cast<int>(sent) : ret;
			waited = true;
			continue;
		}
		const u32 n = copy_in(endpoint, room.segments, msg);
		const bool last = sent + n == len;
		SendHint hint = SendHint::kNormal;

		if (urgent && last)
			hint = SendHint::kUrgent;
		else if (!last || (flags & SMC_MSG_MORE) != 0)
			hint = last ? SendHint::kMore : SendHint::kNormal;
		endpoint.produce(n, hint);
		sent += n;
		if (n != room.segments.length_bytes()) {
			endpoint.note_stray_bytes();
			return sent != 0 ? static_cast<int>(sent) : -EFAULT;
		}
	} while (sent < len);
	return static_cast<int>(sent);
}

int receive_urgent(const LockedConnection &connection, msghdr *msg, size_t len, int flags)
{
	struct sock *sk = connection.sk();
	const bool peek = (flags & static_cast<int>(SMC_MSG_PEEK)) != 0;
	const bool urgent_inline = smc_sk_urgent_inline(sk);
	bool tell_peer = false;
	const connection::UrgentRead read = connection.endpoint().with_lock([&](Connection &conn) {
		tell_peer = conn.set_urgent_inline(urgent_inline);
		return conn.take_urgent(peek);
	});

	if (tell_peer)
		connection.endpoint().transmit();
	switch (read.status) {
	case UrgentStatus::kNone: return -EINVAL;
	case UrgentStatus::kWait: return tcp_died(sk) || connection.shut_rcv() ? 0 : -EAGAIN;
	case UrgentStatus::kByte:
		smc_msg_add_flags(msg, len == 0 ? SMC_MSG_OOB | SMC_MSG_TRUNC : SMC_MSG_OOB);
		if (len == 0)
			return 0;
		if ((flags & static_cast<int>(SMC_MSG_TRUNC)) == 0 &&
		    smc_msg_copy_to(msg, &read.value, 1) != 1)
			return -EFAULT;
		return 1;
	}
	return -EINVAL;
}

struct View {
	ring::Segments segments;
	u32 readable_bytes = 0;
	bool ended = false;
	bool in_order = false; // as the peer wanted it
	bool full = false;
	bool stalled = false; // nothing more may come before something is taken
	bool at_mark = false;
};

int receive_locked(LockedConnection &connection, msghdr *msg, size_t len, int flags, bool nonblock)
{
	struct sock *sk = connection.sk();
	Endpoint &endpoint = connection.endpoint();
	const bool peek = (flags & static_cast<int>(SMC_MSG_PEEK)) != 0;
	const bool discard = (flags & static_cast<int>(SMC_MSG_TRUNC)) != 0;
	const bool waitall = (flags & static_cast<int>(SMC_MSG_WAITALL)) != 0;
	const auto is_enough = [&](size_t bytes) {
		return bytes >= smc_sk_rcvlowat(sk, waitall, len);
	};
	// Asked for by the first that has to sleep.
	std::optional<long> timeo;
	// TCP looks at SO_OOBINLINE when it reads; nobody is told when it changes. That needs the
	// sock's lock.
	bool urgent_inline = smc_sk_urgent_inline(sk);
	const u32 peek_offset = peek ? smc_sk_peek_offset(sk) : 0;
	size_t got = 0;

	// With nothing asked for, too, TCP waits for something: once.
	do {
		const u32 seen = peek ? peek_offset + static_cast<u32>(got) : 0;
		bool tell_peer = false;
		const View view = endpoint.with_lock([&](Connection &conn) -> View {
			const u32 most = static_cast<u32>(std::min<size_t>(len - got, 1U << 30));

			tell_peer = conn.set_urgent_inline(urgent_inline);
			if (!peek && len != 0 && got == 0)
				conn.leave_mark();
			View view{.segments = peek ? conn.peek_segments(most, seen)
						   : conn.read_segments(most)};
			view.readable_bytes = conn.readable_bytes();
			view.full = view.readable_bytes == conn.rmb_size_bytes();
			// The rest is of no interest then.
			if (got == 0 && !view.segments.empty())
				return view;
			view.ended = conn.at_eof(seen) || conn.reset() ||
				     conn.send_status() == SendStatus::kAborted;
			view.in_order = conn.at_orderly_end(seen);
			view.stalled = conn.waits_for_reader();
			view.at_mark = conn.mark_is_ahead(seen) || (!peek && conn.at_mark());
			return view;
		});

		if (got == 0 && view.readable_bytes > len)
			endpoint.count(SMC_TS_RX_BUF, SMC_BUF_SIZE_SMALL);
		if (got == 0 && view.full)
			endpoint.count(SMC_TS_RX_BUF, SMC_BUF_FULL);
		// One that is told nothing may send nothing, and this reader sleep for ever.
		if (tell_peer) [[unlikely]]
			endpoint.transmit();
		if (len == 0 && view.readable_bytes != 0)
			return 0;
		// Whoever has something stops before the urgent byte.
		if (got != 0 && view.at_mark)
			break;

		if (!view.segments.empty()) {
			const u32 want = view.segments.length_bytes();
			const u32 n = discard ? want : copy_out(endpoint, view.segments, msg);

			// What the user has not got stays: no byte twice, none lost.
			if (!peek && n != 0)
				endpoint.consume(n);
			smc_sk_move_peek_offset(sk, n, peek);
			got += n;
			if (n != want)
				return got != 0 ? static_cast<int>(got) : -EFAULT;
			// That was all, and what comes meanwhile is for the next call.
			if (!peek && want == view.readable_bytes && is_enough(got))
				break;
			continue;
		}
		// A peek does not empty the ring.
		if (got != 0 && (is_enough(got) || (peek && view.stalled)))
			break;
		if (view.ended || tcp_died(sk) || connection.shut_rcv() || smc_sk_error(sk) != 0) {
			if (got != 0)
				break;
			// What went wrong behind the end is nothing to readers who met it.
			return view.in_order ? 0 : smc_sk_take_error(sk);
		}
		Waiter waiter{connection, seen, got != 0, peek};
		connection.keep();
		if (!timeo)
			timeo = smc_sk_rcvtimeo(
				sk, nonblock || (flags & static_cast<int>(SMC_MSG_DONTWAIT)) != 0);
		const int ret = smc_sk_sleep_for_data(sk, &*timeo, may_read, &waiter);
		if (ret != 0)
			return got != 0 ? static_cast<int>(got) : ret;
		urgent_inline = smc_sk_urgent_inline(sk);
	} while (got < len);
	return static_cast<int>(got);
}

// What smcr and smcd say of requests that the buffers are small for.
void count_request(Endpoint &endpoint, u32 flags, size_t len)
{
	if ((flags & SMC_MSG_OOB) != 0)
		endpoint.count(SMC_TS_URGENT);
	// No buffer is smaller, and most requests need no look at them.
	if (len <= wire::BufferSize::kSmallestBytes)
		return;
	const auto [own_bytes, peer_bytes] = endpoint.with_lock([](const Connection &conn) {
		return std::pair{conn.sndbuf_size_bytes(), conn.peer_rmb_size_bytes()};
	});
	if (len > own_bytes)
		endpoint.count(SMC_TS_TX_BUF, SMC_BUF_SIZE_SMALL);
	if (len > peer_bytes)
		endpoint.count(SMC_TS_TX_BUF, SMC_BUF_SIZE_SMALL_PEER);
}

} // namespace

int send(SmcSocket &socket, msghdr *msg, size_t len, bool nonblock)
{
	LockedConnection connection(socket);
	struct sock *sk = connection.sk();
	if (!connection.there())
		return smc_sk_stream_error(sk, smc_msg_flags(msg), -EPIPE);
	// MSG_ZEROCOPY: copied, and said so. Where TCP takes no notice of it, nor does this.
	smc_zerocopy *notice = nullptr;
	int ret = smc_zerocopy_begin(sk, msg, len, &notice);
	if (ret == 0) {
		std::optional<int> reset;

		ret = send_locked(connection, msg, len, nonblock, &reset);
		if (reset && smc_sk_state(sk) != SMC_TCP_CLOSE)
			smc_tcp_abort(sk, *reset);
		if (notice != nullptr)
			smc_zerocopy_end(notice, ret > 0);
	}
	Endpoint &endpoint = connection.endpoint();
	count_request(endpoint, smc_msg_flags(msg), len);
	smc_stat_tx(endpoint.counters(), endpoint.tech(), len, ret);
	return ret;
}

int receive(SmcSocket &socket, msghdr *msg, size_t len, int flags, bool nonblock)
{
	LockedConnection connection(socket);
	if (!connection.there())
		return -ENOTCONN;
	struct sock *sk = connection.sk();
	Endpoint &endpoint = connection.endpoint();
	int ret;

	smc_msg_no_name(msg);
	if ((flags & static_cast<int>(SMC_MSG_OOB)) != 0) {
		endpoint.count(SMC_TS_URGENT);
		ret = receive_urgent(connection, msg, len, flags);
	} else {
		ret = receive_locked(connection, msg, len, flags, nonblock);
	}
	if (ret >= 0 && smc_msg_wants_inq(sk, msg))
		smc_msg_put_inq(sk, msg, endpoint.with_lock([](Connection &conn) {
			return conn.at_eof() ? 1 : conn.inquired_bytes();
		}));
	smc_stat_rx(endpoint.counters(), endpoint.tech(), len, ret);
	return ret;
}

u32 poll(struct sock *sk, Endpoint &endpoint, bool shut_rcv)
{
	struct Facts {
		u32 readable, ring_size;
		bool reset, peer_done, urgent, writable;
		SendStatus status;
	};
	const auto look = [sk, &endpoint] {
		return endpoint.with_lock([sk](const Connection &conn) -> Facts {
			return {conn.readable_bytes(smc_sk_urgent_inline(sk)),
				conn.rmb_size_bytes(),
				conn.reset(),
				conn.peer_finished_sending() && !conn.eof_withheld(),
				conn.urgent_for_poll(),
				conn.writable_for_poll(),
				conn.send_status()};
		});
	};
	Facts facts = look();
	u32 mask = 0;

	const bool dead = facts.status == SendStatus::kAborted || facts.reset || tcp_died(sk);
	const bool rcv_shut = shut_rcv || facts.peer_done || dead;
	const bool snd_shut = facts.status != SendStatus::kOpen || dead;

	// A peer that has closed can still be sent to, as far as TCP's poll knows.
	if ((rcv_shut && facts.status == SendStatus::kShutdown) || dead)
		mask |= SMC_POLL_HUP;
	if (rcv_shut)
		mask |= SMC_POLL_IN | SMC_POLL_RDHUP;
	// More than half of the ring is not worth waiting for: a sender may not fill all of it.
	// (TCP caps SO_RCVLOWAT in the same way.)
	const size_t lowat = std::min<size_t>(smc_sk_rcvlowat(sk, false, ~0U), facts.ring_size / 2);
	if (facts.readable != 0 && facts.readable >= lowat)
		mask |= SMC_POLL_IN;
	if (facts.urgent)
		mask |= SMC_POLL_PRI;
	if (snd_shut || facts.writable) {
		mask |= SMC_POLL_OUT;
	} else {
		smc_sk_set_nospace(sk);
		// Room may have come just before that.
		if (look().writable)
			mask |= SMC_POLL_OUT;
	}
	if (smc_sk_error(sk) != 0 || smc_sk_has_queued_error(sk))
		mask |= SMC_POLL_ERR;
	return mask;
}

int ioctl(struct sock *sk, Endpoint &endpoint, unsigned int cmd, unsigned long arg, bool *handled)
{
	const bool urgent_inline = smc_sk_urgent_inline(sk);
	u32 value = 0;

	*handled = true;
	switch (cmd) {
	case SMC_SIOCINQ:
		value = endpoint.with_lock([urgent_inline](const Connection &conn) {
			return conn.inquired_bytes(urgent_inline);
		});
		break;
	case SMC_SIOCOUTQ:
		value = endpoint.with_lock([](Connection &conn) {
			conn.request_completion();
			return conn.queued_bytes();
		});
		if (value != 0)
			endpoint.transmit();
		break;
	case SMC_SIOCOUTQNSD:
		value = endpoint.with_lock(
			[](Connection &conn) { return conn.queued_unsent_bytes(); });
		break;
	case SMC_SIOCATMARK:
		value = endpoint.with_lock(
			[](Connection &conn) { return conn.at_mark() ? 1U : 0U; });
		break;
	default: *handled = false; return 0;
	}
	return smc_put_user_int(static_cast<int>(value), arg);
}

void option_changed(struct sock *sk, Endpoint &endpoint, smc_option option)
{
	// The lock, or of two calls at once the first might have the last word.
	smc_sk_lock(sk);
	const bool corked = smc_sk_corked(sk);
	const bool nodelay = smc_sk_nodelay(sk);

	if (option == SMC_OPTION_NODELAY && nodelay)
		endpoint.count(SMC_TS_NODELAY);
	if (option == SMC_OPTION_CORK && !corked)
		endpoint.count(SMC_TS_CORK);
	endpoint.set_corked(corked, nodelay);
	smc_sk_unlock(sk);
}

void push(struct sock *sk, Endpoint &endpoint)
{
	smc_sk_lock(sk);
	endpoint.set_corked(smc_sk_corked(sk), smc_sk_nodelay(sk));
	smc_sk_unlock(sk);
}

} // namespace smc::shell::stream
