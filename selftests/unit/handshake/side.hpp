// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/handshake/client.hpp"
#include "core/handshake/effect.hpp"
#include "core/handshake/event.hpp"
#include "core/handshake/server.hpp"
#include "core/wire/clc.hpp"
#include "doubles/time.hpp"
#include "effect_log.hpp"
#include "wire/hex_byte.hpp"

// One end of a handshake: the machine, its TCP receive queue, its timer, and a shell that answers
// effects as the test says. Checks the invariants at every step.
namespace smc::handshake::test {

using Bytes = std::vector<std::byte>;

template <class Message>
Bytes encoded(const Message &message)
{
	Bytes bytes(wire::kClcMessageSizeMax);

	bytes.resize(wire::encode(message, bytes));
	EXPECT_FALSE(bytes.empty());
	return bytes;
}

inline wire::Gid gid_of(std::uint8_t host)
{
	return wire::Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, host}};
}

inline wire::Gid v1_gid_of(std::uint8_t host)
{
	return wire::Gid{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xff, 0xfe, 0, 0, host}};
}

inline wire::Mac mac_of(std::uint8_t host)
{
	return wire::Mac{{0x52, 0x54, 0, 0, 0, host}};
}

inline wire::PeerId peer_id_of(std::uint8_t host)
{
	return wire::PeerId{{0xa4, host, 0x52, 0x54, 0, 0, 0, host}};
}

inline wire::Eid eid(std::string_view text)
{
	wire::Eid eid;

	eid.bytes.fill(' ');
	std::copy(text.begin(), text.end(), eid.bytes.begin());
	return eid;
}

// Host 1 is the golden vectors' server "va", host 2 their client "vb".
inline LocalOffer offer_of(std::uint8_t host, bool v1, bool v2)
{
	LocalOffer offer;

	offer.smcr_v1 = v1;
	offer.smcr_v2 = v2;
	offer.peer_id = peer_id_of(host);
	offer.v1_gid = v1_gid_of(host);
	offer.v1_mac = mac_of(host);
	EXPECT_TRUE(offer.ipv4_prefixes.push_back({{10, 9, 0, 0}, 24}));
	offer.v2_gid = gid_of(host);
	offer.v2_mac = mac_of(host);
	EXPECT_TRUE(offer.eids.push_back(eid("SMCV2-TEST-UEID")));
	offer.host_name.fill(' ');
	offer.host_name[0] = 'v';
	offer.host_name[1] = static_cast<std::uint8_t>('a' + host - 1);
	offer.max_links = 2;
	offer.feature_mask = wire::kFeatureEmulatedIsm;
	return offer;
}

// Inside one kernel both hosts have the same loopback device.
inline LocalOffer near_offer_of(std::uint8_t host, bool v2 = false)
{
	LocalOffer offer = offer_of(host, false, v2);

	offer.smcd = true;
	offer.smcd_gid = wire::IsmGid{0x1122334455667788};
	offer.smcd_gid_extension = wire::IsmGid{0x99aabbccddeeff01};
	return offer;
}

inline wire::SmcdEndpoint dmb_of(std::uint8_t host)
{
	wire::SmcdEndpoint dmb;

	dmb.gid = wire::IsmGid{0x1122334455667788};
	dmb.gid_extension = wire::IsmGid{0x99aabbccddeeff01};
	dmb.chid = wire::kLoopbackChid;
	dmb.dmb_token = wire::DmbToken{0xd0d1d2d3d4d5d600U + host};
	dmb.dmbe_size = wire::BufferSize{2};
	dmb.link_id = 1;
	return dmb;
}

inline wire::SmcrEndpoint endpoint_of(std::uint8_t host, bool v2 = true)
{
	wire::SmcrEndpoint endpoint;

	endpoint.gid = v2 ? gid_of(host) : v1_gid_of(host);
	endpoint.mac = mac_of(host);
	endpoint.qpn = wire::Qpn{0x11U + host};
	endpoint.rmb_rkey = wire::Rkey{0x300U + host};
	endpoint.token = wire::Token{0xabcd00U + host};
	endpoint.rmbe_size = wire::BufferSize{2};
	endpoint.mtu = wire::QpMtu{3};
	endpoint.rmb_address = 0xff2c06a7c4b30000;
	endpoint.psn = wire::Psn{0x8b91d0U + host};
	return endpoint;
}

// The shell's answers to effects that ask for one; empty: it never answers.
struct Answers {
	std::deque<Event> acquire;
	std::optional<Event> connect = LinkConnected{};
	std::optional<Event> announce = RkeyAnnounced{};
	std::optional<Event> confirm = LinkConfirmed{};
};

inline Answers answers(const wire::SmcrEndpoint &local, bool first_contact)
{
	Answers answers;

	answers.acquire.push_back(LinkAcquired{first_contact, /*v2_direct=*/true, local});
	return answers;
}

inline Answers answers(const wire::SmcdEndpoint &local)
{
	Answers answers;

	answers.acquire.push_back(DmbAcquired{local});
	return answers;
}

template <class Machine>
class Side : public EffectLog<Effect> {
public:
	Side(const LocalOffer &offer, Answers answers, Timeouts timeouts = {})
		: answers_(std::move(answers)), machine_(offer, timeouts)
	{
	}

	void start() { deliver(Start{}); }
	// TCP says that the peer is a client, too.
	void start_crossed() { deliver(Start{.crossed = true}); }

	// Bytes arrive by TCP.
	void arrive(ByteSpan bytes)
	{
		stream_.insert(stream_.end(), bytes.begin(), bytes.end());
		want_bytes_ = true;
		run();
	}
	void arrive_eof()
	{
		eof_ = true;
		want_bytes_ = true;
		run();
	}

	void deliver(const Event &event)
	{
		pending_.push_back(event);
		run();
	}

	// Lets time pass until the timer expires, or for so many ms.
	void sleep(std::uint64_t ms)
	{
		pass_time(ms, now_ms_, deadline_ms_, [this] { deliver(Timer{}); });
	}

	[[nodiscard]] bool finished() const { return outcome_.has_value(); }
	[[nodiscard]] const UseSmc *use_smc() const
	{
		return outcome_ ? std::get_if<UseSmc>(&outcome_->outcome) : nullptr;
	}
	[[nodiscard]] const FallBack *fall_back() const
	{
		return outcome_ ? std::get_if<FallBack>(&outcome_->outcome) : nullptr;
	}
	[[nodiscard]] const Fail *failed() const
	{
		return outcome_ ? std::get_if<Fail>(&outcome_->outcome) : nullptr;
	}
	[[nodiscard]] bool
	fell_back(wire::DeclineReason reason,
		  wire::DeclineReason diagnosis = wire::DeclineReason::kNone) const
	{
		return fall_back() != nullptr && fall_back()->reason == reason &&
		       fall_back()->peer_diagnosis == diagnosis;
	}
	[[nodiscard]] bool failed_with(int error) const
	{
		return failed() != nullptr && failed()->error == error;
	}

	// The index of the first such effect among all; -1: none.
	template <class Wanted>
	[[nodiscard]] int position() const
	{
		for (std::size_t i = 0; i < log_.size(); i++) {
			if (std::holds_alternative<Wanted>(log_[i]))
				return static_cast<int>(i);
		}
		return -1;
	}

	// How many messages had been sent before the first such effect.
	template <class Wanted>
	[[nodiscard]] int sent_before() const
	{
		int found = 0;

		for (int i = 0; i < position<Wanted>(); i++)
			found += std::holds_alternative<SendClc>(log_[static_cast<std::size_t>(i)]);
		return found;
	}

	// Removes the bytes that were sent so far, and returns them.
	[[nodiscard]] Bytes take_sent() { return std::exchange(sent_, {}); }
	[[nodiscard]] const Bytes &sent() const { return sent_; }
	// The bytes that the user would read if the connection became TCP now.
	[[nodiscard]] const Bytes &left_in_stream() const { return stream_; }
	[[nodiscard]] int declines_sent() const { return declines_sent_; }
	[[nodiscard]] std::optional<wire::Decline> decline_sent() const { return decline_sent_; }
	[[nodiscard]] bool link_held() const { return link_held_; }
	[[nodiscard]] std::optional<std::uint64_t> deadline_ms() const { return deadline_ms_; }
	[[nodiscard]] std::uint64_t now_ms() const { return now_ms_; }
	[[nodiscard]] State state() const { return machine_.state(); }
	[[nodiscard]] Answers &answers() { return answers_; }

private:
	void run()
	{
		while (!pending_.empty() || want_bytes_) {
			if (pending_.empty()) {
				want_bytes_ = false;
				if (stream_.empty() && !eof_)
					continue;
				// A copy of the exact size, so that AddressSanitizer sees every
				// overrun.
				const Bytes peeked = stream_;
				step(TcpBytes{peeked, eof_});
				continue;
			}
			const Event event = pending_.front();
			pending_.pop_front();
			step(event);
		}
	}

	void step(const Event &event)
	{
		const bool was_finished = finished();

		if (std::holds_alternative<LinkFailed>(event) && state() == State::kAcquiringLink)
			link_held_ = false;
		const Effects effects = machine_.step(event, now_ms_);

		if (was_finished) {
			EXPECT_TRUE(effects.empty());
			EXPECT_EQ(machine_.state(), State::kFinished);
		}
		for (const Effect &effect : effects) {
			EXPECT_FALSE(finished()) << "an effect behind Finished";
			log_.push_back(effect);
			perform(effect);
		}
		EXPECT_EQ(finished(), machine_.state() == State::kFinished);
	}

	void perform(const Effect &effect)
	{
		if (const auto *send = std::get_if<SendClc>(&effect)) {
			perform(*send);
		} else if (const auto *consume = std::get_if<ConsumeTcp>(&effect)) {
			ASSERT_LE(consume->bytes, stream_.size());
			stream_.erase(stream_.begin(),
				      stream_.begin() +
					      static_cast<std::ptrdiff_t>(consume->bytes));
		} else if (std::holds_alternative<WantBytes>(effect)) {
			want_bytes_ = true;
		} else if (const auto *timer = std::get_if<SetTimer>(&effect)) {
			EXPECT_GE(timer->deadline_ms, now_ms_);
			deadline_ms_ = timer->deadline_ms;
		} else if (std::holds_alternative<StopTimer>(effect)) {
			EXPECT_TRUE(deadline_ms_.has_value());
			deadline_ms_.reset();
		} else if (std::holds_alternative<AcquireServerLink>(effect) ||
			   std::holds_alternative<AcquireClientLink>(effect) ||
			   std::holds_alternative<AcquireServerDmb>(effect) ||
			   std::holds_alternative<AcquireClientDmb>(effect)) {
			perform_acquire();
		} else if (std::holds_alternative<ConnectLink>(effect) ||
			   std::holds_alternative<ConnectDmb>(effect)) {
			answer(answers_.connect);
		} else if (std::holds_alternative<AnnounceRkey>(effect)) {
			answer(answers_.announce);
		} else if (std::holds_alternative<ConfirmLink>(effect)) {
			answer(answers_.confirm);
		} else if (std::holds_alternative<ReleaseLink>(effect) ||
			   std::holds_alternative<TerminateGroup>(effect)) {
			EXPECT_TRUE(link_held_) << "released twice, or never acquired";
			link_held_ = false;
		} else if (const auto *finish = std::get_if<Finished>(&effect)) {
			outcome_ = *finish;
			EXPECT_FALSE(deadline_ms_.has_value()) << "timer left running";
			EXPECT_EQ(link_held_, use_smc() != nullptr) << "link leaked or lost";
		}
	}

	void perform(const SendClc &send)
	{
		ASSERT_FALSE(send.bytes.empty());
		sent_.insert(sent_.end(), send.bytes.begin(), send.bytes.end());
		const auto type = wire::clc_type(send.bytes);
		ASSERT_TRUE(type);
		if (*type != wire::ClcType::kDecline)
			return;
		const auto decline = wire::decode_decline(send.bytes);
		ASSERT_TRUE(decline);
		declines_sent_++;
		decline_sent_ = *decline;
		EXPECT_EQ(declines_sent_, 1);
	}

	void perform_acquire()
	{
		EXPECT_FALSE(link_held_);
		link_held_ = true;
		if (answers_.acquire.empty())
			return;
		const Event event = answers_.acquire.front();
		answers_.acquire.pop_front();
		pending_.push_back(event);
	}

	void answer(const std::optional<Event> &event)
	{
		if (event)
			pending_.push_back(*event);
	}

	Answers answers_;
	Machine machine_;
	std::deque<Event> pending_;
	Bytes stream_;
	Bytes sent_;
	std::optional<Finished> outcome_;
	std::optional<std::uint64_t> deadline_ms_;
	std::optional<wire::Decline> decline_sent_;
	std::uint64_t now_ms_ = 1000;
	int declines_sent_ = 0;
	bool want_bytes_ = false;
	bool eof_ = false;
	bool link_held_ = false;
};

using Client = Side<ClientHandshake>;
using Server = Side<ServerHandshake>;

// In a machine whose state make() gives, an answer that was not asked for changes nothing.
template <class Make>
void expect_strays_ignored(Make make, const wire::SmcrEndpoint &local)
{
	const std::pair<State, Event> answers[] = {
		{State::kAcquiringLink, LinkAcquired{true, true, local}},
		{State::kAcquiringLink, LinkFailed{}},
		{State::kConnectingLink, LinkConnected{}},
		{State::kConnectingLink, LinkConnectFailed{}},
		{State::kAnnouncingRkey, RkeyAnnounced{}},
		{State::kAnnouncingRkey, RkeyAnnounceFailed{}},
		{State::kConfirmingLink, LinkConfirmed{}},
		{State::kConfirmingLink, LinkConfirmFailed{}},
		{State::kIdle, Start{}},
	};

	for (const auto &[at_home, event] : answers) {
		auto side = make();
		const State state = side.state();
		if (state == at_home)
			continue;
		side.deliver(event);
		EXPECT_EQ(side.state(), state) << name(state);
		EXPECT_TRUE(side.sent().empty());
	}
}

// These changes of state are legal, and no others.
template <class Machine, std::size_t Count>
void expect_transitions(const std::pair<State, State> (&legal)[Count])
{
	for (std::uint8_t from = 0; from < kStates; from++) {
		for (std::uint8_t to = 0; to < kStates; to++) {
			const std::pair pair{static_cast<State>(from), static_cast<State>(to)};
			const bool listed = std::find(std::begin(legal), std::end(legal), pair) !=
					    std::end(legal);
			EXPECT_EQ(Machine::transition_is_legal(pair.first, pair.second), listed)
				<< name(pair.first) << " -> " << name(pair.second);
		}
	}
}

// Carries bytes both ways until nothing moves, in pieces of so many bytes.
template <class One, class Other>
inline void exchange(One &client, Other &server, std::size_t piece_bytes = SIZE_MAX)
{
	const auto carry = [piece_bytes](const Bytes &bytes, auto &to) {
		for (std::size_t at = 0; at < bytes.size(); at += piece_bytes) {
			const std::size_t left = bytes.size() - at;
			to.arrive(ByteSpan{bytes}.subspan(at, std::min(left, piece_bytes)));
			if (piece_bytes >= left)
				break;
		}
	};

	while (!client.sent().empty() || !server.sent().empty()) {
		carry(client.take_sent(), server);
		carry(server.take_sent(), client);
	}
}

} // namespace smc::handshake::test
