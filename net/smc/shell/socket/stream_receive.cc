// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>

#include "kernel/abi/sock.h"
#include "kernel/abi/stats.h"
#include "shell/socket/copy_pieces.hpp"
#include "shell/socket/locked_connection.hpp"
#include "shell/socket/stream.hpp"

namespace smc::shell::stream {

namespace {

using connection::Connection;
using connection::SendStatus;
using connection::UrgentStatus;

// Nothing will come, whatever the connection says. @Holder: of the sock's lock.
template <class Holder>
bool has_ended(const Holder &holder)
{
	return holder.shut_rcv() || smc_sk_is_broken(holder.sk());
}

struct Waiter {
	const Endpoint &endpoint;
	u64 news; // Endpoint's, before the reader looked
	struct sock *sk;
	const std::atomic<bool> &shut_rcv;
};

bool may_look_again(void *arg)
{
	const auto *waiter = static_cast<Waiter *>(arg);

	return waiter->endpoint.has_news_since(waiter->news) || smc_sk_is_broken(waiter->sk) ||
	       waiter->shut_rcv.load(std::memory_order_acquire);
}

// How long a call still waits for data, once it has to.
class Patience {
public:
	Patience(bool nonblock, const long *left_jiffies) : nonblock_(nonblock)
	{
		if (left_jiffies != nullptr) [[unlikely]]
			timeo_jiffies_ = *left_jiffies;
	}

	[[nodiscard]] bool none() const { return nonblock_; }

	// Gives the lock of @holder, who has found nothing after he had read @news, back for a
	// sleep. 0, or -errno.
	template <class Holder>
	[[nodiscard]] int wait(Holder &holder, u64 news)
	{
		struct sock *sk = holder.sk();

		if (!timeo_jiffies_)
			timeo_jiffies_ = smc_sk_rcvtimeo(sk, nonblock_);
		if (*timeo_jiffies_ == 0)
			return -EAGAIN;
		return holder.sleep([&](Endpoint &endpoint) {
			Waiter waiter{.endpoint = endpoint,
				      .news = news,
				      .sk = sk,
				      .shut_rcv = holder.shut_rcv_flag()};

			return smc_sk_await_data(sk, &*timeo_jiffies_, may_look_again, &waiter);
		});
	}

private:
	const bool nonblock_;
	std::optional<long> timeo_jiffies_; // read when the call first has to sleep
};

u32 copy_out(const Endpoint &endpoint, const ring::Segments &segments, msghdr *msg)
{
	return copy_pieces(segments, [&](const ring::Segment &piece) {
		return smc_msg_copy_to(msg, endpoint.rmb() + piece.offset_bytes,
				       piece.length_bytes);
	});
}

int receive_urgent(const LockedConnection &connection, msghdr *msg, size_t len, u32 flags,
		   bool urgent_inline)
{
	struct sock *sk = connection.sk();
	const bool peek = (flags & SMC_MSG_PEEK) != 0;
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
	bool in_order = false; // the peer ended it
	bool full = false;
	bool stalled = false; // the peer can send nothing until something is taken
	bool at_mark = false;
};

// One recv() of the stream.
class Receive : StreamCall {
public:
	Receive(LockedConnection &connection, msghdr *msg, size_t len, u32 flags,
		smc_receive_options &options, Patience &patience)
		: StreamCall(connection, msg, len, flags), options_(options), patience_(patience),
		  peek_((flags_ & SMC_MSG_PEEK) != 0),
		  peek_offset_bytes_(peek_ ? smc_sk_peek_offset(sk_) : 0)
	{
	}

	// Bytes, or -errno.
	[[nodiscard]] int run();

private:
	[[nodiscard]] u32 seen_bytes() const
	{
		return peek_ ? peek_offset_bytes_ + static_cast<u32>(got_) : 0;
	}
	[[nodiscard]] View look(bool &tell_peer);
	// Where run() begins, and after each piece and each sleep.
	[[nodiscard]] View look_and_tell();
	[[nodiscard]] bool is_enough() const { return got_ >= options_.low_water_bytes; }
	// Copies what is there to the user. False: not all of it could be copied.
	[[nodiscard]] bool take(const View &view);
	// Nothing, or nothing more, is there: true if the call ends.
	[[nodiscard]] bool ends_with(const View &view) const;
	// 0, or -errno.
	[[nodiscard]] int wait_for_data();

	// TCP reads options at each recv(), without an event when they change. Needs the sock's
	// lock.
	smc_receive_options &options_;
	Patience &patience_;
	const bool peek_;
	const u32 peek_offset_bytes_;
	size_t got_ = 0;
	u64 news_ = 0; // before the last look
};

View Receive::look(bool &tell_peer)
{
	return endpoint_.with_lock([&](Connection &conn) -> View {
		const u32 most = static_cast<u32>(std::min<size_t>(len_ - got_, 1U << 30));
		const u32 seen = seen_bytes();

		tell_peer = conn.set_urgent_inline(options_.urgent_inline);
		if (!peek_ && len_ != 0 && got_ == 0)
			conn.leave_mark();
		View view{.segments = peek_ ? conn.peek_segments(most, seen)
					    : conn.read_segments(most)};
		view.readable_bytes = conn.readable_bytes();
		view.full = view.readable_bytes == conn.rmb_size_bytes();
		// The call ends then, and needs no more.
		if (got_ == 0 && !view.segments.empty())
			return view;
		view.ended = conn.at_eof(seen) || conn.reset() ||
			     conn.send_status() == SendStatus::kAborted;
		view.in_order = conn.at_orderly_end(seen);
		view.stalled = conn.waits_for_reader();
		view.at_mark = conn.mark_is_ahead(seen) || (!peek_ && conn.at_mark());
		return view;
	});
}

View Receive::look_and_tell()
{
	bool tell_peer = false;

	news_ = endpoint_.news();
	const View view = look(tell_peer);

	if (got_ == 0 && view.readable_bytes > len_)
		endpoint_.count(SMC_TS_RX_BUF, SMC_BUF_SIZE_SMALL);
	if (got_ == 0 && view.full)
		endpoint_.count(SMC_TS_RX_BUF, SMC_BUF_FULL);
	// Before it sleeps: a peer that does not hear of the room sends nothing.
	if (tell_peer) [[unlikely]]
		endpoint_.transmit();
	return view;
}

bool Receive::take(const View &view)
{
	const u32 want = view.segments.length_bytes();
	const bool discard = (flags_ & SMC_MSG_TRUNC) != 0;
	const u32 n = discard ? want : copy_out(endpoint_, view.segments, msg_);

	// Bytes that the user did not get stay: none is read twice, none is lost.
	if (!peek_ && n != 0)
		endpoint_.consume(n);
	if (options_.moves_peek_offset)
		smc_sk_move_peek_offset(sk_, n, peek_);
	got_ += n;
	return n == want;
}

bool Receive::ends_with(const View &view) const
{
	return view.ended || has_ended(connection_);
}

int Receive::wait_for_data()
{
	const int ret = patience_.wait(connection_, news_);

	smc_sk_receive_options(sk_, msg_, (flags_ & SMC_MSG_WAITALL) != 0, len_, &options_);
	return ret;
}

int Receive::run()
{
	// TCP waits once for something, even if no bytes are asked for.
	do {
		const View view = look_and_tell();

		if (len_ == 0 && view.readable_bytes != 0)
			return 0;
		// A read that has something stops before the urgent byte.
		if (got_ != 0 && view.at_mark)
			break;
		if (!view.segments.empty()) {
			if (!take(view))
				return got_ != 0 ? static_cast<int>(got_) : -EFAULT;
			// That was everything; later bytes are for the next call.
			if (!peek_ && view.segments.length_bytes() == view.readable_bytes &&
			    is_enough())
				break;
			continue;
		}
		// A peek does not empty the ring.
		if (got_ != 0 && (is_enough() || (peek_ && view.stalled)))
			break;
		if (ends_with(view)) {
			if (got_ != 0)
				break;
			// An error after the end does not concern a reader who met the end first.
			return view.in_order ? 0 : smc_sk_take_error(sk_);
		}
		const int ret = wait_for_data();
		if (ret != 0)
			return got_ != 0 ? static_cast<int>(got_) : ret;
	} while (got_ < len_);
	return static_cast<int>(got_);
}

// Of the stream, from where the reader stands. TCP_INQ is told by a copy to the user.
bool is_usual(size_t len, u32 flags, const smc_receive_options &options)
{
	constexpr u32 unusual = SMC_MSG_OOB | SMC_MSG_PEEK | SMC_MSG_TRUNC;

	return len != 0 && (flags & unusual) == 0 && !options.moves_peek_offset &&
	       !options.wants_inq;
}

// Most calls need nothing but a copy, before or after a sleep. Bytes, or -errno; none if the call
// is, or becomes, another one.
std::optional<int> receive_at_once(BriefConnection &connection, Patience &patience, msghdr *msg,
				   size_t len, u32 flags)
{
	smc_receive_options options;

	if (!connection.there()) [[unlikely]]
		return {};
	smc_sk_receive_options(connection.sk(), msg, (flags & SMC_MSG_WAITALL) != 0, len, &options);
	if (!is_usual(len, flags, options)) [[unlikely]]
		return {};
	do {
		// It stays until @connection goes, or has the lock until then.
		Endpoint &endpoint = connection.endpoint();
		std::optional<u32> taken{0};

		if (patience.none() || !endpoint.is_dry())
			taken = endpoint.receive_at_once(msg, len, options, connection.held());
		if (!taken || (*taken == 0 && has_ended(connection))) [[unlikely]]
			break;
		const int ret = *taken != 0 ? static_cast<int>(*taken)
					    : patience.wait(connection, endpoint.dry_at());
		if (ret != 0) {
			smc_stat_rx(endpoint.counters(), endpoint.tech(), len, ret);
			return ret;
		}
	} while (connection.there());
	return {};
}

// Not inlined, so that the usual call need not save what this one uses.
[[gnu::noinline]] int receive_in_steps(BriefConnection &brief, Patience &patience, msghdr *msg,
				       size_t len, u32 flags)
{
	LockedConnection connection(brief);
	if (!connection.there())
		return -ENOTCONN;
	struct sock *sk = connection.sk();
	Endpoint &endpoint = connection.endpoint();
	smc_receive_options options;
	int ret;

	smc_sk_receive_options(sk, msg, (flags & SMC_MSG_WAITALL) != 0, len, &options);
	if ((flags & SMC_MSG_OOB) != 0) {
		endpoint.count(SMC_TS_URGENT);
		ret = receive_urgent(connection, msg, len, flags, options.urgent_inline);
	} else {
		ret = Receive(connection, msg, len, flags, options, patience).run();
	}
	if (ret >= 0 && options.wants_inq)
		smc_msg_put_inq(sk, msg, endpoint.with_lock([](Connection &conn) {
			return conn.at_eof() ? 1 : conn.inquired_bytes();
		}));
	smc_stat_rx(endpoint.counters(), endpoint.tech(), len, ret);
	return ret;
}

} // namespace

int receive(SmcSocket &socket, msghdr *msg, size_t len, u32 flags, const long *left_jiffies)
{
	Patience patience((flags & SMC_MSG_DONTWAIT) != 0, left_jiffies);
	BriefConnection brief(socket);
	const auto done = receive_at_once(brief, patience, msg, len, flags);

	return done ? *done : receive_in_steps(brief, patience, msg, len, flags);
}

} // namespace smc::shell::stream
