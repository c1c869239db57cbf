// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/group/effect.hpp"
#include "core/group/event.hpp"
#include "core/group/machine.hpp"
#include "core/wire/llc.hpp"
#include "doubles/time.hpp"
#include "effect_log.hpp"
#include "wire/hex_byte.hpp"

// One end of a link group: the machine, its timer, and its effects. Checks the invariants at every
// step.
namespace smc::group::test {

using Bytes = std::vector<std::byte>;

inline Bytes encoded(const wire::LlcBody &body, bool response = false,
		     wire::LlcVersion version = wire::LlcVersion::kV2)
{
	Bytes bytes(wire::kLlcSizeMax);

	bytes.resize(wire::encode({version, response, body}, bytes));
	EXPECT_FALSE(bytes.empty());
	return bytes;
}

// Responses to requests about RMBs.
inline Bytes confirm_response(std::uint32_t rkey, bool negative = false)
{
	wire::ConfirmRkey body;

	body.token = {wire::Rkey{rkey}, 0xff2c06a7c4b50000};
	body.negative = negative;
	return encoded(body, /*response=*/true);
}

inline Bytes delete_response(bool negative = false)
{
	wire::DeleteRkey body;

	body.count = 1;
	body.negative = negative;
	return encoded(body, /*response=*/true);
}

// The golden vectors' hosts: 1 is the server, 2 the client.
inline LinkIdentity identity_of(std::uint8_t host)
{
	return {wire::Mac{{0x52, 0x54, 0, 0, 0, host}},
		wire::Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, host}},
		wire::Qpn{0x11}};
}

// This host's description of its end of a link.
inline wire::ConfirmLink confirm_link_of(std::uint8_t host, std::uint8_t link)
{
	const LinkIdentity sender = identity_of(host);
	wire::ConfirmLink body;

	body.mac = sender.mac;
	body.gid = sender.gid;
	body.qpn = sender.qpn;
	body.link = wire::LinkId{link};
	return body;
}

inline Config config_of(Role role)
{
	Config config;

	config.role = role;
	config.release = 1;
	config.group_uid = 0x100;
	return config;
}

inline LinkRkeys rkeys_of(std::uint32_t rkey, LinkIndex link = 0)
{
	LinkRkeys rkeys;

	EXPECT_TRUE(rkeys.push_back({link, {wire::Rkey{rkey}, 0xff2c06a7c4b50000}}));
	return rkeys;
}

class Member : public EffectLog<Effect> {
public:
	explicit Member(const Config &config) : machine_(std::make_unique<GroupMachine>(config)) {}

	// A shell that carries out at once what the machine wants of other links. Without another
	// port there is none to add.
	struct OtherPort {
		LinkEnd end;
		std::vector<wire::RkeyPair> rkeys;
	};
	std::optional<OtherPort> other_port;
	bool ready = true;       // it can be made ready
	bool answers = true;     // or the shell takes its time
	bool drops_links = true; // the same for links that are down

	void deliver(const Event &event)
	{
		const bool was_over = over();
		const Effects effects = machine_->step(event, now_ms_);

		if (was_over) {
			EXPECT_TRUE(effects.empty());
		}
		for (const Effect &effect : effects) {
			EXPECT_FALSE(over()) << "an effect behind TerminateGroup";
			log_.push_back(effect);
			perform(effect);
		}
		EXPECT_EQ(over(), machine_->state() == GroupState::kTerminated);
		for (const Effect &effect : effects)
			answer(effect);
	}

	void receive(const Bytes &bytes, LinkIndex link = 0) { deliver(LlcReceived{link, bytes}); }
	void receive(std::string_view hex, LinkIndex link = 0) { receive(from_hex(hex), link); }

	// Time passes; the timer runs out whenever it does.
	void sleep(std::uint64_t ms)
	{
		int wakeups = 0;

		pass_time(ms, now_ms_, deadline_ms_, [this, &wakeups] {
			ASSERT_LT(++wakeups, 10000) << "the timer never rests";
			deliver(Timer{});
		});
	}

	[[nodiscard]] GroupMachine &machine() { return *machine_; }
	[[nodiscard]] int active_links() const
	{
		int count = 0;

		for (LinkIndex link = 0; link < kLinksMax; link++)
			count += machine_->link_state(link) == LinkState::kActive ? 1 : 0;
		return count;
	}
	[[nodiscard]] std::uint64_t now_ms() const { return now_ms_; }
	[[nodiscard]] std::optional<std::uint64_t> deadline_ms() const { return deadline_ms_; }
	[[nodiscard]] const TerminateGroup *terminated() const { return last<TerminateGroup>(); }
	[[nodiscard]] bool over() const { return terminated() != nullptr; }

	// The next message that was sent; empty if none.
	[[nodiscard]] Bytes take_sent()
	{
		if (sent_.empty())
			return {};
		Bytes bytes = sent_.front().second;
		sent_.pop_front();
		return bytes;
	}
	[[nodiscard]] LinkIndex next_sent_on() const { return sent_.front().first; }
	[[nodiscard]] std::size_t sent() const { return sent_.size(); }
	void drop_sent() { sent_.clear(); }

	// The result of the flow; none if it has not ended.
	[[nodiscard]] std::optional<FlowResult> flow(FlowId id) const
	{
		std::optional<FlowResult> result;

		for (const Effect &effect : log_) {
			const auto *done = std::get_if<FlowDone>(&effect);
			if (done != nullptr && done->flow == id) {
				EXPECT_FALSE(result.has_value()) << "a flow ended twice";
				result = done->result;
			}
		}
		return result;
	}

	// Decodes the next message that was sent, which must be of this kind.
	template <class Body>
	[[nodiscard]] std::optional<Body> take(bool response)
	{
		last_taken_ = take_sent();
		const auto message = wire::decode_llc(last_taken_);
		if (!message) {
			ADD_FAILURE() << "nothing sent, or nonsense";
			return std::nullopt;
		}
		EXPECT_EQ(message->response, response);
		const Body *body = message->get<Body>();
		EXPECT_NE(body, nullptr) << "another kind of message";
		return body == nullptr ? std::nullopt : std::optional<Body>{*body};
	}

private:
	void answer(const Effect &effect)
	{
		if (const auto *prepare = std::get_if<PrepareLink>(&effect); prepare != nullptr) {
			if (!answers)
				return;
			LinkPrepared prepared{prepare->link, std::nullopt, {}};
			if (other_port) {
				prepared.local = other_port->end;
				prepared.rkeys = other_port->rkeys;
			}
			deliver(prepared);
		} else if (const auto *get_ready = std::get_if<ReadyLink>(&effect)) {
			if (answers)
				deliver(LinkReady{get_ready->link, ready});
		} else if (const auto *unwanted = std::get_if<DestroyLink>(&effect)) {
			if (drops_links)
				deliver(LinkGone{unwanted->link});
		} else if (const auto *down = std::get_if<LinkDown>(&effect)) {
			if (drops_links && !over())
				deliver(LinkGone{down->link});
		}
	}

	void perform(const Effect &effect)
	{
		if (const auto *send = std::get_if<SendLlc>(&effect)) {
			const ByteSpan bytes = send->bytes();
			EXPECT_GE(bytes.size(), wire::kLlcSize);
			EXPECT_TRUE(wire::decode_llc(bytes));
			sent_.emplace_back(send->link, Bytes(bytes.begin(), bytes.end()));
		} else if (const auto *timer = std::get_if<SetTimer>(&effect)) {
			deadline_ms_ = timer->deadline_ms;
		} else if (std::holds_alternative<StopTimer>(effect)) {
			EXPECT_TRUE(deadline_ms_.has_value());
			deadline_ms_.reset();
		} else if (std::holds_alternative<TerminateGroup>(effect)) {
			EXPECT_FALSE(deadline_ms_.has_value()) << "timer left running";
		}
	}

	std::unique_ptr<GroupMachine> machine_;
	std::deque<std::pair<LinkIndex, Bytes>> sent_;
	std::optional<std::uint64_t> deadline_ms_;
	Bytes last_taken_;
	std::uint64_t now_ms_ = 1000;
};

// Where @to has the link that @from has in that place.
inline LinkIndex place_at(Member &to, Member &from, LinkIndex link)
{
	for (std::size_t i = 0; i < kLinksMax; i++) {
		const auto place = static_cast<LinkIndex>(i);

		if (!from.machine().link_id(link).is_zero() &&
		    to.machine().link_id(place) == from.machine().link_id(link))
			return place;
	}
	return link;
}

// Delivers messages both ways until no more are sent.
inline void exchange(Member &a, Member &b)
{
	while (a.sent() + b.sent() > 0) {
		for (auto [from, to] : {std::pair{&a, &b}, {&b, &a}}) {
			while (from->sent() > 0) {
				const LinkIndex link = place_at(*to, *from, from->next_sent_on());
				to->receive(from->take_sent(), link);
				// A shell that carries out each effect at once.
				if (to->machine().link_state(link) == LinkState::kActivating) {
					to->deliver(LinkActivated{link, std::nullopt});
					to->deliver(AnswerDelivered{link});
				}
			}
		}
	}
}

// A member with one active link to a Linux of release 2.1.
inline Member active_member(Role role, Config config)
{
	Member member(config);
	wire::ConfirmLink confirm = confirm_link_of(role == Role::kServer ? 2 : 1, 1);

	config.role = role;
	confirm.link_uid = wire::LinkUid{0x501};
	if (role == Role::kServer) {
		member.deliver(StartConfirmLink{0, identity_of(1), identity_of(2)});
		member.receive(encoded(confirm, /*response=*/true, config.version));
	} else {
		member.deliver(ExpectConfirmLink{0, identity_of(2), identity_of(1)});
		member.receive(encoded(confirm, /*response=*/false, config.version));
		member.deliver(LinkActivated{0, std::nullopt});
		member.deliver(AnswerDelivered{0});
	}
	EXPECT_EQ(member.machine().link_state(0), LinkState::kActive);
	EXPECT_EQ(member.machine().state(), GroupState::kActive);
	member.drop_sent();
	return member;
}

inline Member active_member(Role role)
{
	return active_member(role, config_of(role));
}

} // namespace smc::group::test
