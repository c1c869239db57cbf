// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "core/wire/ids.hpp"
#include "kernel/abi/sock.h"
#include "kernel/abi/stats.h"
#include "kernel/abi/tcp.h"
#include "kernel/abi/trace.h"
#include "shell/socket/copy_pieces.hpp"
#include "shell/socket/locked_connection.hpp"
#include "shell/socket/stream.hpp"

namespace smc::shell::stream {

namespace {

using connection::Connection;
using connection::SendHint;
using connection::SendStatus;

bool may_write(void *arg)
{
	const LockedConnection &connection = *static_cast<LockedConnection *>(arg);

	return connection.endpoint().ready_to_write() || smc_sk_is_broken(connection.sk());
}

// Copies from the user into the send buffer. Fewer bytes than there is room for: EFAULT.
u32 copy_in(Endpoint &endpoint, const ring::Segments &segments, msghdr *msg)
{
	return copy_pieces(segments, [&](const ring::Segment &piece) {
		return smc_msg_copy_from(msg, endpoint.sndbuf() + piece.offset_bytes,
					 piece.length_bytes);
	});
}

// While it exists, messages may announce an urgent byte to the peer.
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

// The peer has closed, and nobody will read this. TCP takes what its buffer holds, and learns of it
// by the peer's reset.
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

// One send().
class Send : StreamCall {
public:
	Send(LockedConnection &connection, msghdr *msg, size_t len, u32 flags, bool has_control,
	     const long *left_jiffies)
		: StreamCall(connection, msg, len, flags), has_control_(has_control)
	{
		if (left_jiffies != nullptr)
			timeo_jiffies_ = *left_jiffies;
	}

	// Bytes, or -errno.
	[[nodiscard]] int run();
	// The bytes taken, now or before, are for a peer that does not read any more. TCP is to end
	// as by the peer's reset, and the next call gets this error.
	[[nodiscard]] std::optional<int> reset() const { return reset_; }

private:
	[[nodiscard]] int sent_or(int err) const
	{
		return sent_ != 0 ? static_cast<int>(sent_) : err;
	}
	// Why nothing can be sent, whether there is room or not; none if it can.
	[[nodiscard]] std::optional<int> refuse(SendStatus status);
	[[nodiscard]] int end_for_closed_peer();
	// 0, or -errno.
	[[nodiscard]] int wait_for_room();
	[[nodiscard]] SendHint hint(bool last) const;

	const bool has_control_;
	std::optional<long> timeo_jiffies_; // read when the call first has to sleep
	size_t sent_ = 0;
	bool waited_ = false;
	std::optional<int> reset_;
};

std::optional<int> Send::refuse(SendStatus status)
{
	if ((status != SendStatus::kOpen && status != SendStatus::kPeerClosed) ||
	    smc_sk_is_broken(sk_))
		return sent_ != 0 ? static_cast<int>(sent_)
				  : smc_sk_stream_error(sk_, flags_, -EPIPE);
	if (sent_ == 0 && has_control_ && !smc_msg_control_is_good(sk_, msg_))
		return -EINVAL;
	return {};
}

int Send::end_for_closed_peer()
{
	const int ret = sent_ != 0 || waited_ ? static_cast<int>(sent_)
					      : send_in_vain(endpoint_, msg_, len_);

	if (ret >= 0)
		reset_ = ret != 0 ? EPIPE : 0;
	return ret != 0 ? ret : smc_sk_stream_error(sk_, flags_, -EPIPE);
}

int Send::wait_for_room()
{
	connection_.keep();
	smc_trace_stall(sk_, endpoint_.note_full());
	// No cork may hold back bytes while this call waits for room.
	smc_sk_set_nospace(sk_);
	if (!timeo_jiffies_)
		timeo_jiffies_ = smc_sk_sndtimeo(sk_, (flags_ & SMC_MSG_DONTWAIT) != 0);
	const int ret = smc_sk_wait_for_room(sk_, &*timeo_jiffies_, may_write, &connection_);

	waited_ = ret == 0;
	return ret;
}

SendHint Send::hint(bool last) const
{
	if (!last)
		return SendHint::kNormal;
	if ((flags_ & SMC_MSG_OOB) != 0)
		return SendHint::kUrgent;
	return (flags_ & SMC_MSG_MORE) != 0 ? SendHint::kMore : SendHint::kNormal;
}

int Send::run()
{
	const UrgentAnnouncement announcement(endpoint_, (flags_ & SMC_MSG_OOB) != 0 && len_ != 0);

	do {
		if (endpoint_.widen_if_full()) [[unlikely]] {
			const int ret = wait_for_room();

			if (ret != 0)
				return sent_or(ret);
			// Unless the wait has another reason to end.
			(void)endpoint_.widen_if_full();
		}
		const Endpoint::Room room = endpoint_.take_room(len_ - sent_);

		if (const auto refused = refuse(room.status)) {
			endpoint_.give_room_back();
			return *refused;
		}
		if (len_ == sent_)
			break;
		if (room.status == SendStatus::kPeerClosed)
			return end_for_closed_peer();
		if (!room.has_buffer && endpoint_.take_send_buffer())
			continue;
		if (!room.has_buffer || room.segments.empty()) {
			const int ret = wait_for_room();

			if (ret != 0)
				return sent_or(ret);
			continue;
		}
		const u32 n = copy_in(endpoint_, room.segments, msg_);

		endpoint_.produce(n, hint(/*last=*/sent_ + n == len_));
		sent_ += n;
		if (n != room.segments.length_bytes()) {
			endpoint_.note_stray_bytes();
			return sent_or(-EFAULT);
		}
	} while (sent_ < len_);
	return static_cast<int>(sent_);
}

// The statistics of smcr and smcd: requests larger than the buffer.
void count_request(Endpoint &endpoint, u32 flags, size_t len)
{
	if ((flags & SMC_MSG_OOB) != 0)
		endpoint.count(SMC_TS_URGENT);
	// No buffer is smaller, so most requests need no comparison.
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

// Most sends need nothing but a copy and one message.
bool send_at_once(const BriefConnection &connection, msghdr *msg, size_t len, u32 flags,
		  bool has_control)
{
	constexpr u32 unusual = SMC_MSG_OOB | SMC_MSG_MORE | SMC_MSG_ZEROCOPY;

	return len != 0 && len <= Endpoint::kAtOnceMaxBytes && (flags & unusual) == 0 &&
	       !has_control && connection.there() && !smc_sk_is_broken(connection.sk()) &&
	       connection.endpoint().send_at_once(msg, static_cast<u32>(len), connection.held());
}

// Not inlined, so that the usual call need not save what this one uses.
[[gnu::noinline]] int send_in_steps(BriefConnection &brief, msghdr *msg, size_t len, u32 flags,
				    bool has_control, const long *left_jiffies)
{
	LockedConnection connection(brief);
	struct sock *sk = connection.sk();
	if (!connection.there())
		return smc_sk_stream_error(sk, flags, -EPIPE);
	Endpoint &endpoint = connection.endpoint();
	// MSG_ZEROCOPY: the bytes are copied, and the notification says so. Ignored where TCP
	// ignores it.
	smc_zerocopy *notice = nullptr;
	int ret = (flags & SMC_MSG_ZEROCOPY) != 0 ? smc_zerocopy_begin(sk, msg, len, &notice) : 0;
	if (ret == 0) {
		Send send(connection, msg, len, flags, has_control, left_jiffies);

		ret = send.run();
		if (send.reset() && smc_sk_state(sk) != SMC_TCP_CLOSE)
			smc_tcp_abort(sk, *send.reset());
		if (notice != nullptr)
			smc_zerocopy_end(notice, ret > 0);
	}
	count_request(endpoint, flags, len);
	smc_stat_tx(endpoint.counters(), endpoint.tech(), len, ret);
	return ret;
}

} // namespace

int send(SmcSocket &socket, msghdr *msg, size_t len, u32 flags, bool has_control,
	 const long *left_jiffies)
{
	BriefConnection brief(socket);

	if (!send_at_once(brief, msg, len, flags, has_control)) [[unlikely]]
		return send_in_steps(brief, msg, len, flags, has_control, left_jiffies);
	smc_stat_tx(brief.endpoint().counters(), brief.endpoint().tech(), len,
		    static_cast<s64>(len));
	return static_cast<int>(len);
}

} // namespace smc::shell::stream
