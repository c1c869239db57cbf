// SPDX-License-Identifier: GPL-2.0-only
//
// A whole CLC exchange, client or server: the peer's bytes in any pieces, FIN, answers of the
// shell, time, in any order. The script runs twice, with the peer's bytes in pieces and at once,
// and both runs must agree.
#include "core/handshake/client.hpp"
#include "core/handshake/endpoint.hpp"
#include "core/handshake/server.hpp"
#include "doubles/time.hpp"
#include "script.hpp"
#include "support.hpp"

#include <deque>
#include <optional>
#include <string_view>
#include <vector>

using namespace smc;
using namespace smc::handshake;

namespace {

constexpr int kOpsMax = 64;
constexpr std::uint64_t kLongestMs = 60000;

using Bytes = std::vector<std::byte>;

wire::Eid eid(std::string_view text)
{
	wire::Eid eid;

	eid.bytes.fill(' ');
	std::copy(text.begin(), text.end(), eid.bytes.begin());
	return eid;
}

// The hosts of the corpus: 1 is the server of its messages, 2 the client.
LocalOffer make_offer(std::uint8_t host, std::uint8_t choice)
{
	LocalOffer offer;

	offer.smcr_v1 = (choice & 1) != 0;
	offer.smcr_v2 = (choice & 2) != 0;
	offer.peer_id = wire::PeerId{{0xa4, host, 0x52, 0x54, 0, 0, 0, host}};
	offer.v1_gid =
		wire::Gid{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xff, 0xfe, 0, 0, host}};
	offer.v1_mac = wire::Mac{{0x52, 0x54, 0, 0, 0, host}};
	fuzz::demand(offer.ipv4_prefixes.push_back({{10, 9, 0, 0}, 24}));
	offer.v2_gid = wire::gid_from_ipv4({10, 9, 0, host});
	offer.v2_mac = offer.v1_mac;
	fuzz::demand(offer.eids.push_back(eid("SMCV2-TEST-UEID")));
	offer.host_name.fill(' ');
	offer.release = (choice & 4) != 0 ? 0 : 1;
	offer.max_conns = (choice & 8) != 0 ? 16 : 255;
	offer.max_links = (choice & 16) != 0 ? 1 : 2;
	offer.smcd = (choice & 64) != 0;
	offer.smcd_gid = wire::IsmGid{0x1122334455667788};
	offer.smcd_gid_extension = wire::IsmGid{0x8877665544332211};
	return offer;
}

// Own buffers on the loopback device; one is no valid buffer.
wire::SmcdEndpoint make_dmb(const LocalOffer &offer, std::uint8_t flaws)
{
	wire::SmcdEndpoint dmb;

	dmb.gid = offer.smcd_gid;
	dmb.gid_extension = offer.smcd_gid_extension;
	dmb.chid = wire::kLoopbackChid;
	dmb.dmb_token = wire::DmbToken{(flaws & 1) != 0 ? 0U : 0xd00dU};
	dmb.dmbe_size = wire::BufferSize{2};
	return dmb;
}

// Own endpoints; some cannot be encoded in a message.
wire::SmcrEndpoint make_endpoint(const LocalOffer &offer, std::uint8_t flaws)
{
	wire::SmcrEndpoint endpoint;

	endpoint.gid = (flaws & 1) != 0 ? wire::Gid{} : offer.v2_gid;
	endpoint.mac = offer.v1_mac;
	endpoint.qpn = wire::Qpn{(flaws & 2) != 0 ? 0U : 0x11U};
	endpoint.rmb_rkey = wire::Rkey{0x300};
	endpoint.token = wire::Token{(flaws & 4) != 0 ? 0U : 0xabcd00U};
	endpoint.rmbe_size = wire::BufferSize{2};
	endpoint.mtu = wire::QpMtu{static_cast<std::uint8_t>((flaws & 8) != 0 ? 0 : 3)};
	endpoint.rmb_address = 0xff2c06a7c4b30000;
	endpoint.psn = wire::Psn{0x8b91d0};
	return endpoint;
}

template <class Machine>
class Party {
public:
	Party(const LocalOffer &offer, bool crossed, bool in_pieces)
		: offer_(offer), start_{crossed}, in_pieces_(in_pieces), machine_(offer, Timeouts{})
	{
	}

	void run(fuzz::Script script)
	{
		for (int i = 0; i < kOpsMax && !script.done(); i++)
			act(script);
		// Whatever has happened, the handshake ends.
		deliver(start_);
		sleep(kLongestMs);
		fuzz::demand(outcome_.has_value());
	}

	// Everything that is visible from outside.
	[[nodiscard]] const Bytes &log() const { return log_; }

private:
	void act(fuzz::Script &script)
	{
		switch (script.below(16)) {
		case 0: arrive(script.take(script.byte()), 1); break;
		case 1: {
			const std::size_t piece_bytes = 1 + script.byte();
			arrive(script.take(script.number(2) % 2048), piece_bytes);
			break;
		}
		case 2:
			eof_ = true;
			look();
			break;
		case 3: deliver(start_); break;
		case 4: sleep(std::uint64_t{script.byte()} * 64); break;
		case 5: deliver(Timer{}); break;
		case 6: {
			const std::uint8_t choice = script.byte();
			// An answer to one effect does not answer another.
			if (dmb_)
				answer(State::kAcquiringLink,
				       DmbAcquired{make_dmb(offer_, choice >> 4)});
			else
				answer(State::kAcquiringLink,
				       LinkAcquired{(choice & 1) != 0, (choice & 2) != 0,
						    make_endpoint(offer_, choice >> 4)});
			break;
		}
		case 7:
			if (machine_.state() == State::kAcquiringLink)
				link_held_ = false;
			answer(State::kAcquiringLink, LinkFailed{reason(script)});
			break;
		case 8: answer(State::kConnectingLink, LinkConnected{}); break;
		case 9: answer(State::kConnectingLink, LinkConnectFailed{reason(script)}); break;
		case 10: answer(State::kAnnouncingRkey, RkeyAnnounced{}); break;
		case 11: answer(State::kAnnouncingRkey, RkeyAnnounceFailed{reason(script)}); break;
		case 12: answer(State::kConfirmingLink, LinkConfirmed{}); break;
		case 13: answer(State::kConfirmingLink, LinkConfirmFailed{reason(script)}); break;
		case 14: deliver(Abort{}); break;
		case 15: deliver(TcpError{1 + script.byte()}); break;
		}
	}

	static wire::DeclineReason reason(fuzz::Script &script)
	{
		constexpr wire::DeclineReason reasons[] = {
			wire::DeclineReason::kTimeoutCl, wire::DeclineReason::kSyncErr,
			wire::DeclineReason::kMem, wire::DeclineReason::kErrRtok};

		return reasons[script.below(std::size(reasons))];
	}

	void arrive(ByteSpan bytes, std::size_t piece_bytes)
	{
		if (!in_pieces_)
			piece_bytes = bytes.size();
		while (!bytes.empty()) {
			const ByteSpan piece = bytes.first(std::min(piece_bytes, bytes.size()));
			stream_.insert(stream_.end(), piece.begin(), piece.end());
			bytes = bytes.subspan(piece.size());
			look();
		}
	}

	// The bytes in the TCP queue go to the machine, again whenever it asks for them.
	void look()
	{
		do {
			want_bytes_ = false;
			if (stream_.empty() && !eof_)
				return;
			// Of the exact size, so that AddressSanitizer sees every overrun.
			const Bytes peeked = stream_;
			step(TcpBytes{peeked, eof_});
		} while (want_bytes_);
	}

	void deliver(const Event &event)
	{
		step(event);
		if (want_bytes_)
			look();
	}

	// An answer to an effect that is not awaited any more changes nothing.
	void answer(State expected_in, const Event &event)
	{
		const State before = machine_.state();
		const std::size_t logged = log_.size();

		deliver(event);
		if (before != expected_in)
			fuzz::demand(machine_.state() == before && log_.size() == logged);
	}

	void sleep(std::uint64_t ms)
	{
		pass_time(ms, now_ms_, deadline_ms_, [this] { deliver(Timer{}); });
	}

	void step(const Event &event)
	{
		const bool was_finished = outcome_.has_value();
		const Effects effects = machine_.step(event, now_ms_);

		fuzz::demand(!was_finished || effects.empty());
		for (const Effect &effect : effects) {
			fuzz::demand(!outcome_);
			note(effect.index());
			perform(effect);
		}
		fuzz::demand(outcome_.has_value() == (machine_.state() == State::kFinished));
	}

	void perform(const Effect &effect)
	{
		if (const auto *send = std::get_if<SendClc>(&effect)) {
			perform(*send);
		} else if (const auto *consume = std::get_if<ConsumeTcp>(&effect)) {
			note(consume->bytes);
			fuzz::demand(consume->bytes != 0 && consume->bytes <= stream_.size());
			const auto taken = wire::clc_type(ByteSpan{stream_}.first(consume->bytes));
			if (taken && *taken == wire::ClcType::kProposal) {
				took_proposal_ = true;
				const auto modes = std::to_integer<unsigned>(stream_[7]);
				const bool knows_smcr_v2 =
					modes >> 4 >= 2 &&
					((modes >> 2 & 3) == 0 || (modes >> 2 & 3) == 3);
				reads_short_only_ = !knows_smcr_v2;
			}
			took_decline_ = taken && *taken == wire::ClcType::kDecline;
			stream_.erase(stream_.begin(),
				      stream_.begin() +
					      static_cast<std::ptrdiff_t>(consume->bytes));
			consumed_ = true;
		} else if (std::holds_alternative<WantBytes>(effect)) {
			want_bytes_ = true;
		} else if (const auto *timer = std::get_if<SetTimer>(&effect)) {
			note(timer->deadline_ms);
			fuzz::demand(timer->deadline_ms >= now_ms_);
			deadline_ms_ = timer->deadline_ms;
		} else if (std::holds_alternative<StopTimer>(effect)) {
			fuzz::demand(deadline_ms_.has_value());
			deadline_ms_.reset();
		} else if (const auto *client_link = std::get_if<AcquireClientLink>(&effect)) {
			acquire(*client_link->agreement);
			check(*client_link->peer);
		} else if (const auto *client_dmb = std::get_if<AcquireClientDmb>(&effect)) {
			acquire_dmb();
			check(client_dmb->peer);
		} else if (std::holds_alternative<AcquireServerDmb>(effect)) {
			acquire_dmb();
		} else if (const auto *join = std::get_if<ConnectDmb>(&effect)) {
			fuzz::demand(link_held_ && dmb_);
			check(join->peer);
		} else if (const auto *server_link = std::get_if<AcquireServerLink>(&effect)) {
			acquire(*server_link->agreement);
		} else if (const auto *connect = std::get_if<ConnectLink>(&effect)) {
			fuzz::demand(link_held_ && !dmb_);
			fuzz::demand(connect->mtu <= connect->peer->mtu);
			check(*connect->peer);
		} else if (std::holds_alternative<ReleaseLink>(effect) ||
			   std::holds_alternative<TerminateGroup>(effect)) {
			fuzz::demand(link_held_);
			link_held_ = false;
		} else if (const auto *finish = std::get_if<Finished>(&effect)) {
			perform(*finish);
		}
	}

	void perform(const SendClc &send)
	{
		log_.insert(log_.end(), send.bytes.begin(), send.bytes.end());
		const auto type = wire::clc_type(send.bytes);
		fuzz::demand(type.has_value());
		switch (*type) {
		case wire::ClcType::kProposal:
			proposed_ = true;
			fuzz::demand(wire::decode_proposal(send.bytes).has_value());
			break;
		case wire::ClcType::kAccept:
			fuzz::demand(wire::decode_accept(send.bytes).has_value());
			break;
		case wire::ClcType::kConfirm:
			fuzz::demand(wire::decode_confirm(send.bytes).has_value());
			break;
		case wire::ClcType::kDecline:
			fuzz::demand(wire::decode_decline(send.bytes).has_value());
			fuzz::demand(!declined_);
			fuzz::demand(!reads_short_only_ || send.bytes.size() == 28);
			declined_ = true;
			break;
		}
	}

	void perform(const Finished &finish)
	{
		const auto *use_smc = std::get_if<UseSmc>(&finish.outcome);
		const auto *fall_back = std::get_if<FallBack>(&finish.outcome);

		outcome_ = finish;
		note(finish.outcome.index());
		fuzz::demand(!deadline_ms_);
		fuzz::demand(link_held_ == (use_smc != nullptr));
		if (use_smc != nullptr)
			check(*use_smc->agreement);
		// Consumed bytes are lost to the user: they must be CLC messages, and then one side
		// has declined, or both have proposed.
		if (fall_back != nullptr && consumed_)
			fuzz::demand(declined_ || (proposed_ && took_proposal_) || took_decline_);
		if (const auto *fail = std::get_if<Fail>(&finish.outcome))
			fuzz::demand(fail->error > 0);
	}

	void acquire(const Agreement &agreement)
	{
		fuzz::demand(!link_held_);
		link_held_ = true;
		dmb_ = false;
		check(agreement);
	}
	void acquire_dmb()
	{
		fuzz::demand(!link_held_);
		fuzz::demand(offer_.smcd);
		link_held_ = true;
		dmb_ = true;
	}

	// Only what was offered, or may be agreed on.
	void check(const Agreement &agreement) const
	{
		fuzz::demand(agreement.smcd == dmb_);
		fuzz::demand(agreement.release <= offer_.release);
		if (agreement.smcd) {
			fuzz::demand(agreement.version == 2 && offer_.smcd);
			return;
		}
		fuzz::demand(agreement.version == 1 ? offer_.smcr_v1
						    : agreement.version == 2 && offer_.smcr_v2);
		if (agreement.version == 2)
			fuzz::demand(agreement.eid == offer_.eids.front());
	}

	// It is on the device that both share.
	void check(const wire::SmcdEndpoint &peer) const
	{
		fuzz::demand(peer.gid == offer_.smcd_gid && peer.chid == wire::kLoopbackChid);
		fuzz::demand(peer.gid_extension == offer_.smcd_gid_extension);
		fuzz::demand(!peer.dmb_token.is_zero());
	}

	// The peer's ring lies at a possible address.
	static void check(const wire::SmcrEndpoint &peer)
	{
		fuzz::demand(!peer.token.is_zero());
		fuzz::demand(peer.mtu.code() != 0);
		fuzz::demand(peer.rmb_address + peer.rmbe_size.bytes() - 1 >= peer.rmb_address);
	}

	void note(std::uint64_t value)
	{
		for (unsigned shift = 0; shift < 64; shift += 8)
			log_.push_back(static_cast<std::byte>(value >> shift));
	}

	const LocalOffer offer_;
	const Start start_;
	const bool in_pieces_;
	Machine machine_;
	Bytes stream_;
	Bytes log_;
	std::optional<Finished> outcome_;
	std::optional<std::uint64_t> deadline_ms_;
	std::uint64_t now_ms_ = 1000;
	bool eof_ = false;
	bool want_bytes_ = false;
	bool link_held_ = false;
	bool consumed_ = false;
	bool declined_ = false;
	bool proposed_ = false;
	bool took_proposal_ = false;
	bool took_decline_ = false;     // with the last message that was consumed
	bool reads_short_only_ = false; // the peer's Declines
	bool dmb_ = false;              // the last thing acquired is not a link
};

template <class Machine>
void twice(const LocalOffer &offer, bool crossed, fuzz::Script script)
{
	Party<Machine> pieces(offer, crossed, /*in_pieces=*/true);
	Party<Machine> whole(offer, crossed, /*in_pieces=*/false);

	pieces.run(script);
	whole.run(script);
	fuzz::demand(pieces.log() == whole.log());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	fuzz::Script script(fuzz::input(data, size));
	const std::uint8_t choice = script.byte();

	if ((choice & 0x80) != 0)
		twice<ServerHandshake>(make_offer(1, choice), /*crossed=*/false, script);
	else
		twice<ClientHandshake>(make_offer(2, choice), (choice & 32) != 0, script);
	return 0;
}
