// SPDX-License-Identifier: GPL-2.0-only
//
// A link group, client or server: its peer sends any LLC message on any link, and the shell does
// anything. A separate account of links, flows, timers and RMBs of the peer checks every effect.
#include "core/group/machine.hpp"
#include "script.hpp"
#include "support.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

using namespace smc;
using namespace smc::group;

namespace {

constexpr int kOpsMax = 120;
constexpr int kWakeupsMax = 4000;
constexpr std::uint64_t kLongestMs = 3600000;
constexpr std::uint32_t kLlcInputMax = 1200;

Config make_config(std::uint8_t choice)
{
	Config config;

	config.role = (choice & 1) != 0 ? Role::kServer : Role::kClient;
	config.version = (choice & 2) != 0 ? wire::LlcVersion::kV1 : wire::LlcVersion::kV2;
	config.release = (choice & 4) != 0 ? 0 : 1;
	config.max_links = (choice & 8) != 0 ? 2 : 1;
	config.testlink_idle_ms = (choice & 16) != 0 ? 0 : 30000;
	config.group_uid = 0x100;
	return config;
}

LinkIdentity make_identity(std::uint8_t host)
{
	return {wire::Mac{{0x52, 0x54, 0, 0, 0, host}}, wire::gid_from_ipv4({10, 9, 0, host}),
		wire::Qpn{0x11}};
}

class Group {
public:
	explicit Group(const Config &config) : machine_(std::make_unique<GroupMachine>(config)) {}

	void run(fuzz::Script script)
	{
		for (int i = 0; i < kOpsMax && !script.done(); i++) {
			act(script);
			check();
		}
		// Nothing stays for ever: within an hour each flow and each confirmation has ended.
		sleep(kLongestMs);
		check();
		for (const Progress progress : links_)
			fuzz::demand(over_ || progress == Progress::kNone ||
				     progress == Progress::kActive);
		fuzz::demand(over_ || flows_.empty());
		for (const Held &held : held_)
			machine_->release_rtoken(held.index);
	}

private:
	// What the shell knows about a link.
	enum class Progress : std::uint8_t { kNone, kConfirming, kAdding, kActive };
	struct Held {
		RtokenIndex index;
		bool deleted;
	};

	void act(fuzz::Script &script)
	{
		switch (script.below(22)) {
		case 0: receive(0, script.take(wire::kLlcSize)); break;
		case 1: {
			const LinkIndex from = link(script);
			receive(from, script.take(script.number(2) % kLlcInputMax));
			break;
		}
		case 2:
			start_link(
				StartConfirmLink{link(script), make_identity(1), make_identity(2)});
			break;
		case 3:
			start_link(ExpectConfirmLink{link(script), make_identity(2),
						     make_identity(1)});
			break;
		case 4: {
			const LinkIndex index = link(script);
			deliver(LinkActivated{index, std::nullopt});
			break;
		}
		case 5: {
			const LinkIndex index = link(script);
			deliver(LinkActivated{index, wire::DeclineReason::kErrRegBuf});
			break;
		}
		case 6: deliver(LinkFailed{link(script)}); break;
		case 7: add_flow<AnnounceRkey>(script); break;
		case 8: add_flow<DeleteRkey>(script); break;
		case 9: {
			const FlowId flow = script.byte();
			flows_.erase(flow);
			deliver(CancelFlow{flow});
			break;
		}
		case 10: sleep(std::uint64_t{script.byte()} * 256); break;
		case 11:
			// Early, or just at the deadline: then the timer has expired.
			if (deadline_ms_ && *deadline_ms_ <= now_ms_)
				deadline_ms_.reset();
			deliver(Timer{});
			break;
		case 12: acquire(script); break;
		case 13: release(script); break;
		case 14: tell(script); break;
		case 15:
			if (script.byte() % 8 == 0)
				deliver(Terminate{});
			break;
		case 16: prepared(script); break;
		case 17: deliver(LinkReady{link(script), script.byte() % 4 != 0}); break;
		case 18: deliver(AlternateFound{make_identity(3).mac, make_identity(3).gid}); break;
		case 19: tell_of_link(script); break;
		case 20: tell_rkeys(script); break;
		case 21: delete_link(script); break;
		}
	}

	// ---- Other links ------------------------------------------------------------------------

	// The shell has found another port, or none.
	void prepared(fuzz::Script &script)
	{
		const LinkIndex index = link(script);
		const std::uint8_t choice = script.byte();
		const bool server = machine_->config().role == Role::kServer;
		std::vector<wire::RkeyPair> pairs;

		for (unsigned i = 0; i < choice / 8U; i++)
			pairs.push_back(pair(script));
		if (choice % 8 == 0)
			deliver(LinkPrepared{index, std::nullopt, {}});
		else
			deliver(LinkPrepared{index, end_of(server ? 1 : 2), pairs});
	}

	static LinkEnd end_of(std::uint8_t host)
	{
		return {make_identity(host), wire::Psn{7}, wire::QpMtu{3}};
	}

	wire::RkeyPair pair(fuzz::Script &script)
	{
		const wire::RemoteToken before = token(script);
		const wire::RemoteToken now = token(script);

		return {before.rkey, now.rkey, now.address};
	}

	[[nodiscard]] LinkIndex link_in(LinkState state) const
	{
		for (std::size_t i = 0; i < kLinksMax; i++) {
			if (machine_->link_state(static_cast<LinkIndex>(i)) == state)
				return static_cast<LinkIndex>(i);
		}
		return 0;
	}

	void say(LinkIndex from, const wire::LlcBody &body, bool response)
	{
		std::vector<std::byte> space(wire::kLlcSizeMax);
		const std::size_t size =
			wire::encode({machine_->config().version, response, body}, space);

		receive(from, ByteSpan{space}.first(size));
	}

	// The peer's ADD_LINK: its end of a new link, or its answer to ours.
	void tell_of_link(fuzz::Script &script)
	{
		const LinkIndex from = link(script);
		const std::uint8_t choice = script.byte();
		const bool server = machine_->config().role == Role::kServer;
		const LinkEnd end = end_of(server ? 2 : 1);
		std::vector<std::byte> list(wire::RkeyPairList::kItemSize * kRtokensMax);
		std::vector<wire::RkeyPair> pairs;
		wire::AddLink body;

		for (unsigned i = 0; i < choice / 16U; i++)
			pairs.push_back(pair(script));
		body.mac = end.identity.mac;
		body.gid = end.identity.gid;
		body.qpn = end.identity.qpn;
		body.psn = end.psn;
		body.mtu = end.mtu;
		body.link = server ? machine_->link_id(link_in(LinkState::kOffered))
				   : wire::LinkId{static_cast<std::uint8_t>(50 + choice % 4)};
		body.rejected = server && choice % 16 == 0;
		if (machine_->config().version == wire::LlcVersion::kV2 && !body.rejected) {
			body.extension.emplace();
			body.extension->rkeys = wire::RkeyPairList::of(pairs, list);
		}
		say(from, body, /*response=*/server);
	}

	void tell_rkeys(fuzz::Script &script)
	{
		const LinkIndex from = link(script);
		const std::uint8_t choice = script.byte();
		wire::AddLinkCont body;

		if (machine_->config().version != wire::LlcVersion::kV1)
			return;
		body.link = machine_->link_id(link_in(LinkState::kExchanging));
		body.rkeys_left = choice % 4;
		for (wire::RkeyPair &one : body.rkeys)
			one = pair(script);
		say(from, body, /*response=*/machine_->config().role == Role::kServer);
	}

	void delete_link(fuzz::Script &script)
	{
		const LinkIndex from = link(script);
		const std::uint8_t choice = script.byte();
		wire::DeleteLink body;

		body.link = machine_->link_id(static_cast<LinkIndex>(choice % kLinksMax));
		body.reason = wire::DeleteLinkReason::kLostPath;
		say(from, body, /*response=*/choice / kLinksMax % 4 == 0);
	}

	static LinkIndex link(fuzz::Script &script)
	{
		return static_cast<LinkIndex>(script.below(kLinksMax));
	}

	template <class Event>
	void start_link(const Event &event)
	{
		// A flow that has not ended is not started again.
		const bool starts = !over_ && links_[event.link] == Progress::kNone &&
				    (machine_->config().role == Role::kServer) ==
					    std::is_same_v<Event, StartConfirmLink>;

		if (starts) {
			links_[event.link] = Progress::kConfirming;
			peers_[event.link] = event.peer;
		}
		deliver(event);
	}

	template <class Event>
	void add_flow(fuzz::Script &script)
	{
		Event event;

		event.flow = next_flow_++;
		const std::uint8_t on_links = script.byte();
		for (std::size_t i = 0; i < kLinksMax; i++) {
			if ((on_links >> i & 1) != 0)
				fuzz::demand(event.rkeys.push_back(
					{static_cast<LinkIndex>(i), token(script)}));
		}
		if (!over_)
			flows_[event.flow] = true;
		deliver(event);
	}

	static wire::RemoteToken token(fuzz::Script &script)
	{
		const std::uint8_t choice = script.byte();

		return {wire::Rkey{choice % 16U}, 0xff2c06a700000000 + 65536ULL * (choice / 16)};
	}

	// --- RMBs of the peer --------------------------------------------------------------------

	// Any RMB, or only one that the peer has announced on this link, or that a connection uses
	// there.
	void acquire(fuzz::Script &script)
	{
		const std::uint8_t choice = script.byte();
		const LinkIndex on = static_cast<LinkIndex>(choice % kLinksMax);
		const bool known = choice / kLinksMax % 2 != 0;
		const wire::RemoteToken wanted = token(script);
		std::array<std::optional<wire::RemoteToken>, kRtokensMax> before;
		bool used = false;

		for (const Held &held : held_) {
			before[held.index] = machine_->rtoken(held.index, on);
			used = used || before[held.index] == wanted;
		}
		const auto index = known ? machine_->acquire_known_rtoken(on, wanted)
					 : machine_->acquire_rtoken(on, wanted);
		fuzz::demand(!known || !used || index.has_value());
		fuzz::demand(!known || !index || told(wanted));
		if (!index)
			return;
		if (!lost_[on])
			fuzz::demand(machine_->rtoken(*index, on) == wanted);
		// The entry of a connection is never given to another RMB.
		for (const Held &held : held_) {
			fuzz::demand(held.index != *index || before[*index] == wanted || lost_[on]);
			fuzz::demand(held.index == *index ||
				     machine_->rtoken(held.index, on) == before[held.index]);
		}
		held_.push_back({*index, false});
		told_.push_back(wanted);
	}

	// Announced by the peer, or named by a connection, at any time.
	[[nodiscard]] bool told(const wire::RemoteToken &wanted) const
	{
		return std::find(told_.begin(), told_.end(), wanted) != told_.end();
	}

	void hear(ByteSpan bytes)
	{
		const auto message = wire::decode_llc(bytes);
		const auto *confirm = message ? message->get<wire::ConfirmRkey>() : nullptr;

		if (const auto *add = message ? message->get<wire::AddLink>() : nullptr;
		    add != nullptr && add->extension) {
			for (std::size_t i = 0; i < add->extension->rkeys.size(); i++)
				hear_pair(add->extension->rkeys[i]);
		}
		if (const auto *more = message ? message->get<wire::AddLinkCont>() : nullptr) {
			for (const wire::RkeyPair &one : more->rkeys)
				hear_pair(one);
		}
		if (confirm == nullptr || message->response)
			return;
		told_.push_back(confirm->token);
		for (const wire::LinkToken &other : confirm->others)
			told_.push_back(other.token);
	}

	void hear_pair(const wire::RkeyPair &one)
	{
		told_.push_back({one.new_rkey, one.new_address});
	}

	// CONFIRM_LINK of the peer, or sometimes of another peer.
	void confirm(LinkIndex from, unsigned choice)
	{
		const bool server = machine_->config().role == Role::kServer;
		const LinkIdentity sender = peers_[from];
		const bool stranger = choice % 4 == 0;
		wire::ConfirmLink body{.mac = make_identity(9).mac,
				       .gid = sender.gid,
				       .qpn = sender.qpn,
				       .link = machine_->link_id(from),
				       .max_links = static_cast<std::uint8_t>(choice),
				       .max_conns = static_cast<std::uint8_t>(choice)};
		const std::uint32_t violations = machine_->counters().violations();

		if (stranger && choice % 8 == 0)
			body.gid = sender.gid == make_identity(9).gid ? make_identity(8).gid
								      : make_identity(9).gid;
		else if (stranger)
			body.qpn = wire::Qpn{sender.qpn.value() + 1};
		// The server assigns link IDs.
		if (!server && body.link.is_zero())
			body.link = wire::LinkId{static_cast<std::uint8_t>(11 + from)};
		std::array<std::byte, wire::kLlcSize> space{};
		const std::size_t size =
			wire::encode({machine_->config().version, server, body}, space);
		receive(from, ByteSpan{space}.first(size));
		if (!stranger)
			return;
		fuzz::demand(machine_->counters().violations() == violations + 1);
		fuzz::demand(over_ || machine_->link_state(from) == LinkState::kAwaitRequest ||
			     machine_->link_state(from) == LinkState::kUnused);
	}

	// Messages that random bytes hardly ever form: the peer confirms a link, announces an RMB,
	// or deletes it.
	void tell(fuzz::Script &script)
	{
		const std::uint8_t choice = script.byte();
		const LinkIndex from = static_cast<LinkIndex>(choice % kLinksMax);

		// Only useful in certain states.
		switch (machine_->link_state(from)) {
		case LinkState::kAwaitRequest:
		case LinkState::kAwaitResponse: confirm(from, choice / kLinksMax); return;
		case LinkState::kAnswered: deliver(AnswerDelivered{from}); return;
		default: break;
		}
		if (choice / kLinksMax % 4 == 0) {
			machine_->note_activity(from, now_ms_);
			return;
		}
		const bool takes_back = choice / kLinksMax % 4 == 1;
		const wire::RemoteToken rmb = token(script);
		std::array<std::byte, wire::kLlcSize> space{};
		std::array<std::byte, wire::RkeyList::kItemSize> list{};
		const std::array<wire::Rkey, 1> rkeys = {rmb.rkey};
		wire::LlcBody body = wire::ConfirmRkey{.token = rmb};

		if (takes_back)
			body = wire::DeleteRkey{.count = 1,
						.rkeys = wire::RkeyList::of(rkeys, list)};
		const std::size_t size =
			wire::encode({machine_->config().version, /*response=*/false, body}, space);
		receive(from, ByteSpan{space}.first(size));
		if (over_ || machine_->link_state(from) != LinkState::kActive)
			return;
		const auto index = machine_->acquire_known_rtoken(from, rmb);
		fuzz::demand(index.has_value() != takes_back || held_.size() >= kRtokensMax);
		if (index)
			held_.push_back({*index, false});
	}

	void release(fuzz::Script &script)
	{
		if (held_.empty())
			return;
		const std::size_t which = script.byte() % held_.size();

		machine_->release_rtoken(held_[which].index);
		held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
	}

	// --- Time and messages -------------------------------------------------------------------

	void sleep(std::uint64_t ms)
	{
		const std::uint64_t until_ms = now_ms_ + ms;
		int wakeups = 0;

		while (deadline_ms_ && *deadline_ms_ <= until_ms) {
			fuzz::demand(++wakeups < kWakeupsMax);
			now_ms_ = std::max(now_ms_, *deadline_ms_);
			deadline_ms_.reset();
			deliver(Timer{});
		}
		now_ms_ = until_ms;
	}

	void receive(LinkIndex from, ByteSpan message)
	{
		// Of the exact size, so that AddressSanitizer sees every overrun.
		const std::vector<std::byte> bytes(message.begin(), message.end());
		const Counters before = machine_->counters();
		const bool was_over = over_;

		forget_violations();
		hear(message);
		deliver(LlcReceived{from, bytes});
		const Counters &now = machine_->counters();
		fuzz::demand(now.received == before.received + (was_over ? 0 : 1));
		fuzz::demand(now.violations() >= before.violations() &&
			     now.violations() <= before.violations() + 1);
		violations_ += now.violations() - before.violations();
		fuzz::demand(over_ || violations_ < kViolationsMax);
	}

	// One every so many seconds while there are any.
	void forget_violations()
	{
		while (violations_ > 0 && now_ms_ >= forgotten_ms_ + kViolationForgotten_ms) {
			violations_--;
			forgotten_ms_ += kViolationForgotten_ms;
		}
		if (violations_ == 0)
			forgotten_ms_ = now_ms_;
	}

	void deliver(const Event &event)
	{
		const bool was_over = over_;
		const Effects effects = machine_->step(event, now_ms_);

		fuzz::demand(!was_over || effects.empty());
		for (const Effect &effect : effects) {
			fuzz::demand(!over_);
			perform(effect);
		}
		fuzz::demand(over_ == (machine_->state() == GroupState::kTerminated));
		for (const Effect &effect : effects)
			answer(effect);
	}

	// The shell lets go of links at once.
	void answer(const Effect &effect)
	{
		if (const auto *unwanted = std::get_if<DestroyLink>(&effect))
			deliver(LinkGone{unwanted->link});
		else if (const auto *down = std::get_if<LinkDown>(&effect))
			deliver(LinkGone{down->link});
		else if (const auto *failed = std::get_if<LinkConfirmFailed>(&effect))
			deliver(LinkGone{failed->link});
	}

	void perform(const Effect &effect)
	{
		if (const auto *send = std::get_if<SendLlc>(&effect)) {
			const auto message = wire::decode_llc(send->bytes());
			fuzz::demand(message && message->version == machine_->config().version);
			fuzz::demand(links_[send->link] != Progress::kNone);
		} else if (const auto *activate = std::get_if<ActivateLink>(&effect)) {
			fuzz::demand(links_[activate->link] == Progress::kConfirming ||
				     links_[activate->link] == Progress::kAdding);
		} else if (const auto *confirmed = std::get_if<LinkConfirmed>(&effect)) {
			fuzz::demand(links_[confirmed->link] == Progress::kConfirming ||
				     links_[confirmed->link] == Progress::kAdding);
			fuzz::demand(!confirmed->id.is_zero());
			links_[confirmed->link] = Progress::kActive;
		} else if (const auto *failed = std::get_if<LinkConfirmFailed>(&effect)) {
			fuzz::demand(links_[failed->link] == Progress::kConfirming);
			lose(failed->link);
		} else if (const auto *prepare = std::get_if<PrepareLink>(&effect)) {
			fuzz::demand(links_[prepare->link] == Progress::kNone);
			fuzz::demand(links_[prepare->beside] == Progress::kActive);
			fuzz::demand(std::count(links_.begin(), links_.end(), Progress::kAdding) ==
				     0);
			fuzz::demand(machine_->config().max_links > 1);
			links_[prepare->link] = Progress::kAdding;
			lost_[prepare->link] = false;
			if (prepare->peer)
				peers_[prepare->link] = prepare->peer->identity;
		} else if (const auto *get_ready = std::get_if<ReadyLink>(&effect)) {
			fuzz::demand(links_[get_ready->link] == Progress::kAdding);
			peers_[get_ready->link] = get_ready->peer.identity;
		} else if (const auto *unwanted = std::get_if<DestroyLink>(&effect)) {
			fuzz::demand(links_[unwanted->link] == Progress::kAdding);
			lose(unwanted->link);
		} else if (const auto *down = std::get_if<LinkDown>(&effect)) {
			fuzz::demand(links_[down->link] == Progress::kActive);
			lose(down->link);
		} else if (const auto *done = std::get_if<FlowDone>(&effect)) {
			// It must be under way, and ends once.
			fuzz::demand(flows_.erase(done->flow) == 1);
		} else if (const auto *deleted = std::get_if<RtokensDeleted>(&effect)) {
			remove(deleted->rtokens);
		} else if (const auto *timer = std::get_if<SetTimer>(&effect)) {
			deadline_ms_ = timer->deadline_ms;
		} else if (std::holds_alternative<StopTimer>(effect)) {
			fuzz::demand(deadline_ms_.has_value());
			deadline_ms_.reset();
		} else if (std::holds_alternative<TerminateGroup>(effect)) {
			fuzz::demand(!deadline_ms_);
			over_ = true;
			for (const Progress progress : links_)
				fuzz::demand(progress != Progress::kConfirming);
		}
	}

	void lose(LinkIndex index)
	{
		links_[index] = Progress::kNone;
		lost_[index] = true;
	}

	void remove(const RtokenSet &rtokens)
	{
		RtokenSet known;

		for (Held &held : held_) {
			known.insert(held.index);
			held.deleted = held.deleted || rtokens.contains(held.index);
		}
		// Only those that somebody waits for.
		known.insert(rtokens);
		RtokenSet used;
		for (const Held &held : held_)
			used.insert(held.index);
		fuzz::demand(known == used);
	}

	void check() const
	{
		for (std::size_t i = 0; i < kLinksMax && !over_; i++) {
			const LinkState state = machine_->link_state(static_cast<LinkIndex>(i));

			switch (links_[i]) {
			case Progress::kNone:
				fuzz::demand(state == LinkState::kUnused ||
					     state == LinkState::kDown);
				break;
			case Progress::kConfirming:
				fuzz::demand(state == LinkState::kAwaitRequest ||
					     state == LinkState::kActivating ||
					     state == LinkState::kAnswered ||
					     state == LinkState::kAwaitResponse);
				break;
			case Progress::kAdding:
				fuzz::demand(state != LinkState::kUnused &&
					     state != LinkState::kDown &&
					     state != LinkState::kActive);
				break;
			case Progress::kActive: fuzz::demand(state == LinkState::kActive); break;
			}
		}
		// Everything that waits has a deadline.
		bool confirming = false;
		for (const Progress progress : links_)
			confirming = confirming || progress == Progress::kConfirming ||
				     progress == Progress::kAdding;
		fuzz::demand(over_ || (flows_.empty() && !confirming) || deadline_ms_.has_value() ||
			     machine_->state() != GroupState::kActive);
		for (const Held &held : held_) {
			for (std::size_t i = 0; i < kLinksMax; i++)
				fuzz::demand(
					!held.deleted ||
					!machine_->rtoken(held.index, static_cast<LinkIndex>(i)));
		}
	}

	std::unique_ptr<GroupMachine> machine_;
	std::array<Progress, kLinksMax> links_{};
	std::array<LinkIdentity, kLinksMax> peers_{};
	std::array<bool, kLinksMax> lost_{}; // and not replaced
	std::map<FlowId, bool> flows_;       // under way, and the result is awaited
	std::vector<Held> held_;
	std::vector<wire::RemoteToken> told_;
	std::optional<std::uint64_t> deadline_ms_;
	std::uint64_t now_ms_ = 1000;
	std::uint32_t violations_ = 0; // not forgotten
	std::uint64_t forgotten_ms_ = 0;
	FlowId next_flow_ = 1;
	bool over_ = false;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	fuzz::Script script(fuzz::input(data, size));
	Group group(make_config(script.byte()));

	group.run(script);
	return 0;
}
