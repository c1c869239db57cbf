// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/group/budget.hpp"
#include "core/group/effect.hpp"
#include "core/group/event.hpp"
#include "core/group/limits.hpp"
#include "core/group/ring_queue.hpp"
#include "core/group/rtoken_table.hpp"
#include "core/wire/ids.hpp"
#include "core/wire/llc.hpp"

namespace smc::group {

enum class Role : std::uint8_t {
	kClient,
	kServer,
};

enum class LinkState : std::uint8_t {
	kUnused,
	// A link that is added, until CONFIRM_LINK:
	kPreparing,  // the queue pair is being made
	kOffered,    // server: ADD_LINK is out
	kExchanging, // version 1: ADD_LINK_CONT
	kReadying,   // server: the queue pair is getting ready
	// Any link:
	kAwaitRequest,  // client: CONFIRM_LINK has not come yet
	kActivating,    // client: CONFIRM_LINK has come, the queue pair is getting ready
	kAnswered,      // client: the response is out, and not known to have arrived
	kAwaitResponse, // server: CONFIRM_LINK is out
	kActive,
	kDown, // until LinkGone
};
inline constexpr std::uint8_t kLinkStates = 11;

enum class GroupState : std::uint8_t {
	kForming, // no link has been active yet
	kActive,
	kTerminated,
};
inline constexpr std::uint8_t kGroupStates = 3;

[[nodiscard]] std::string_view name(LinkState state);
[[nodiscard]] std::string_view name(GroupState state);

struct Config {
	Role role = Role::kClient;
	wire::LlcVersion version = wire::LlcVersion::kV2;
	std::uint8_t release = 0;     // of version 2
	std::uint8_t max_links = 1;   // as agreed
	bool adds_links = true;       // or this host does not, whatever was agreed
	std::uint8_t max_conns = 255; // as agreed
	bool direct = true;           // version 2: no gateway between the hosts
	bool addresses_alone = false; // iWARP: a port is known by its GID, a MAC there is a nonce
	// Our number of the group, lowest byte 0. Plus the link id, it is the link's uid.
	std::uint32_t group_uid = 0;

	std::uint32_t testlink_idle_ms = 30000; // 0: never
	std::uint32_t response_ms = 2000;       // for a response, before the next flow has its turn
	// How much later a response may still come. Linux has one worker for a group, which waits
	// up to 10 s for each thing.
	std::uint32_t late_response_ms = 20000;
	std::uint32_t test_response_ms = 20000; // for any sign of life, after TEST_LINK
	std::uint32_t first_request_ms = 4000;  // client: for CONFIRM_LINK
	std::uint32_t activation_ms = 5000;     // client: for LinkActivated
	std::uint32_t turn_ms = 20000;          // for a flow in the queue
	std::uint32_t deletion_turn_ms = 60000; // the same of a DELETE_RKEY: nobody is in a hurry
};

// Violations of the peer, and messages without effect. These only grow.
struct Counters {
	std::uint32_t received = 0;
	std::uint32_t ignored = 0; // unknown types, and others that want no answer
	std::uint32_t malformed = 0;
	std::uint32_t wrong_version = 0;
	std::uint32_t unexpected_requests = 0;
	std::uint32_t unexpected_responses = 0;
	std::uint32_t late_responses = 0; // to flows that had timed out; no violation
	std::uint32_t rejected_add_links = 0;

	[[nodiscard]] std::uint32_t violations() const
	{
		return malformed + wrong_version + unexpected_requests + unexpected_responses;
	}

	friend bool operator==(const Counters &, const Counters &) = default;
};

// Link control of one link group (RFC 7609, 3.5.2 and 4.5): confirms its links, announces and
// deletes our RMBs, records the peer's RMBs, probes silent links, and answers the peer's requests.
//
// Our requests are sent one at a time: one CONFIRM_RKEY or DELETE_RKEY, since Linux matches
// responses by their type alone. A request that is not answered in time makes way for the next one
// and is remembered (overdue.cc), so that a late response counts for it and for no other. Requests
// of the peer are answered in the step that receives them; none is queued.
//
// More links are added one at a time, by the server's decision: when the first one is confirmed,
// after a loss, when a port comes, and when the client asks for one (add_link.cc). Meanwhile no
// CONFIRM_RKEY or DELETE_RKEY is sent: an RMB announced then would have no rkey on the new link. A
// link that is lost while others are active is deleted by them (delete_link.cc).
//
// A peer that keeps breaking the protocol loses the group (ViolationBudget).
//
// No locking of its own: the caller's lock of the link group guards it, the direct functions
// included. About 60 KiB: to be allocated, not to be put on a stack.
class GroupMachine {
public:
	explicit GroupMachine(const Config &config) : config_(config) {}
	GroupMachine(const GroupMachine &) = delete;
	GroupMachine &operator=(const GroupMachine &) = delete;

	// now_ms: any monotonic clock, the same in all calls.
	[[nodiscard]] Effects step(const Event &event, std::uint64_t now_ms);

	// Something other than an LLC message was received on this link, so it is alive.
	void note_activity(LinkIndex link, std::uint64_t now_ms);

	// The peer's RMB of a connection, from its Accept or Confirm. Nothing: decline with
	// kErrRtok.
	[[nodiscard]] std::optional<RtokenIndex> acquire_rtoken(LinkIndex link,
								const wire::RemoteToken &rtoken);
	// The same at a later contact: only an RMB that the peer has announced on a link.
	[[nodiscard]] std::optional<RtokenIndex>
	acquire_known_rtoken(LinkIndex link, const wire::RemoteToken &rtoken);
	// That connection has ended.
	void release_rtoken(RtokenIndex index);
	// Where writes into that RMB go on this link. Nothing if the peer has deleted it.
	[[nodiscard]] std::optional<wire::RemoteToken> rtoken(RtokenIndex index,
							      LinkIndex link) const;

	[[nodiscard]] GroupState state() const { return state_; }
	[[nodiscard]] LinkState link_state(LinkIndex link) const { return links_[link].state; }
	[[nodiscard]] wire::LinkId link_id(LinkIndex link) const { return links_[link].id; }
	[[nodiscard]] const Config &config() const { return config_; }
	[[nodiscard]] const Counters &counters() const { return counters_; }
	[[nodiscard]] std::size_t flows_waiting() const { return waiting_.size(); }
	// While earlier messages wait for room in the send queue no flow starts and no TEST_LINK is
	// sent. The next Timer after that sends it.
	void hold_requests(bool held) { held_ = held; }
	// A link is being added, and the ends have begun to speak of it.
	[[nodiscard]] bool exchange_under_way() const;
	// One more link would be of use.
	[[nodiscard]] bool lacks_link() const;
	// Nothing of it has been sent yet.
	[[nodiscard]] bool flow_waits(FlowId id) const;
	// CancelFlow has something to do.
	[[nodiscard]] bool has_flow(FlowId id) const;
	// The number of the last TEST_LINK, on whatever link.
	[[nodiscard]] std::uint64_t probes() const { return tests_sent_; }
	// The last one on that link is not answered yet.
	[[nodiscard]] bool probe_under_way(LinkIndex link) const
	{
		return links_[link].test_number != 0;
	}

	[[nodiscard]] static bool transition_is_legal(LinkState from, LinkState to);
	[[nodiscard]] static bool transition_is_legal(GroupState from, GroupState to);

private:
	struct Link {
		LinkState state = LinkState::kUnused;
		wire::LinkId id;
		wire::LinkUid uid;
		wire::LinkUid peer_uid;
		LinkIdentity local;
		LinkIdentity peer;
		std::uint64_t deadline_ms = 0; // of the state, before kActive
		std::uint64_t last_received_ms = 0;
		bool testing = false; // no message since our TEST_LINK
		std::uint64_t test_sent_ms = 0;
		std::uint64_t test_number = 0; // of a TEST_LINK that awaits its answer, or 0
		bool test_waits = false;       // for room, to be sent
		bool served = false;           // has been active
		// Our empty ADD_LINK waits for its rejection.
		bool offered = false;
	};

	// Both of them use one port of either host.
	[[nodiscard]] bool share_port(const Link &one, const Link &other) const
	{
		const auto same = [this](const LinkIdentity &a, const LinkIdentity &b) {
			return a.gid == b.gid && (config_.addresses_alone || a.mac == b.mac);
		};
		return same(one.local, other.local) || same(one.peer, other.peer);
	}

	// The link that is being added, until it is active or given up.
	struct Addition {
		bool under_way = false;
		LinkIndex link = 0;
		LinkIndex carrier = 0;   // the link by which it is spoken of
		bool asked = false;      // by the client's REQ_ADD_LINK
		wire::AddLink request{}; // client: the server's, without its rkeys
		LinkEnd peer;
		wire::RkeyPairList rkeys; // ours; in rkey_space_
		// Version 1:
		std::size_t rkeys_sent = 0;
		std::uint32_t rounds = 0;
	};

	// A DELETE_LINK of ours.
	struct Deletion {
		wire::DeleteLink body;
		std::uint32_t tries = 0;
		std::uint64_t deadline_ms = 0; // of the response
	};

	enum class FlowKind : std::uint8_t {
		kNone,
		kConfirmRkey,
		kDeleteRkey,
	};

	struct Flow {
		FlowKind kind = FlowKind::kNone;
		bool wanted = false; // an owner waits for the result
		bool sent = false;   // over a link that is lost since, or in vain
		// Running: the RMBs' keys on a link that is added went out after it, by another
		// link, and may arrive before it.
		bool overtaken = false;
		FlowId id = 0;
		LinkRkeys rkeys;
		std::uint64_t deadline_ms = 0; // waiting: to be started; running: for the response

		[[nodiscard]] bool names(LinkIndex link, const wire::RemoteToken &token) const
		{
			return std::any_of(rkeys.begin(), rkeys.end(), [&](const LinkRkey &rkey) {
				return rkey.link == link && rkey.token == token;
			});
		}
	};

	// A request that was not answered in time.
	struct Overdue {
		Flow flow; // deadline_ms: of the late response
		LinkIndex link = 0;
	};

	// Events (machine.cc).
	void start_confirm_link(const StartConfirmLink &event, std::uint64_t now_ms,
				Effects &effects);
	void expect_confirm_link(const ExpectConfirmLink &event, std::uint64_t now_ms);
	void link_activated(const LinkActivated &event, std::uint64_t now_ms, Effects &effects);
	void answer_delivered(LinkIndex index, std::uint64_t now_ms, Effects &effects);
	void link_failed(LinkIndex index, std::uint64_t now_ms, Effects &effects);
	void link_gone(LinkIndex index, std::uint64_t now_ms, Effects &effects);
	void timer(std::uint64_t now_ms, Effects &effects);
	void link_timer(LinkIndex index, std::uint64_t now_ms, Effects &effects);

	// The peer's messages (receive.cc).
	void received(const LlcReceived &event, std::uint64_t now_ms, Effects &effects);
	void dispatch(LinkIndex from, const wire::LlcMessage &message, std::uint64_t now_ms,
		      Effects &effects);
	void confirm_link_request(LinkIndex from, const wire::ConfirmLink &body,
				  std::uint64_t now_ms, Effects &effects);
	void confirm_link_response(LinkIndex from, const wire::ConfirmLink &body,
				   std::uint64_t now_ms, Effects &effects);
	void confirm_rkey_request(LinkIndex from, const wire::ConfirmRkey &body, Effects &effects);
	void delete_rkey_request(LinkIndex from, const wire::DeleteRkey &body, Effects &effects);
	void confirm_rkey_response(LinkIndex from, const wire::ConfirmRkey &body,
				   std::uint64_t now_ms, Effects &effects);
	void delete_rkey_response(LinkIndex from, const wire::DeleteRkey &body,
				  std::uint64_t now_ms, Effects &effects);
	void test_link_response(LinkIndex from, const wire::TestLink &body, std::uint64_t now_ms,
				Effects &effects);
	void unexpected(bool response);

	// Adding links (add_link.cc).
	void alternate_found(const AlternateFound &event, std::uint64_t now_ms, Effects &effects);
	void link_prepared(const LinkPrepared &event, std::uint64_t now_ms, Effects &effects);
	void link_ready(const LinkReady &event, std::uint64_t now_ms, Effects &effects);
	void add_link_request(LinkIndex from, const wire::AddLink &body, std::uint64_t now_ms,
			      Effects &effects);
	void add_link_response(LinkIndex from, const wire::AddLink &body, std::uint64_t now_ms,
			       Effects &effects);
	void add_link_cont(LinkIndex from, const wire::AddLinkCont &body, bool response,
			   std::uint64_t now_ms, Effects &effects);
	void req_add_link_request(LinkIndex from, std::uint64_t now_ms, Effects &effects);
	void req_add_link_response();
	[[nodiscard]] bool look_for_link(bool asked, std::uint64_t now_ms, Effects &effects);
	[[nodiscard]] bool may_add(std::uint64_t now_ms);
	[[nodiscard]] bool adds_later(std::uint64_t now_ms);
	void seek_alternate(std::uint64_t now_ms, Effects &effects);
	[[nodiscard]] bool has_asymmetric_link() const;
	void begin_addition(LinkIndex link, LinkIndex carrier, std::uint64_t now_ms);
	void give_up_addition(Effects &effects);
	void addition_failed(std::uint64_t now_ms, Effects &effects);
	void count_attempt();
	void try_again_later(std::uint64_t now_ms);
	void refuse_link(LinkIndex from, const wire::AddLink &request, Effects &effects);
	void make_ready(std::uint64_t now_ms, Effects &effects);
	[[nodiscard]] bool is_superseded_by_offer(LinkIndex from) const;
	void take_rkey(const wire::RkeyPair &pair);
	void send_add_link(bool response, Effects &effects);
	void send_rkeys(bool response, Effects &effects);
	void drop_asymmetric(LinkIndex newest, std::uint64_t now_ms, Effects &effects);

	// Deleting links (delete_link.cc).
	void delete_link_request(LinkIndex from, const wire::DeleteLink &body, std::uint64_t now_ms,
				 Effects &effects);
	void client_delete_link(LinkIndex from, const wire::DeleteLink &body, std::uint64_t now_ms,
				Effects &effects);
	void server_delete_link(LinkIndex from, const wire::DeleteLink &body, std::uint64_t now_ms,
				Effects &effects);
	void delete_link_response(const wire::DeleteLink &body);
	void take_down(LinkIndex index, TerminateCause cause, wire::DeleteLinkReason reason,
		       std::uint64_t now_ms, Effects &effects);
	void ask_for_deletion(LinkIndex index, wire::DeleteLinkReason reason, bool orderly,
			      std::uint64_t now_ms, Effects &effects);
	[[nodiscard]] bool end_deletion(wire::LinkId id);
	void deletion_timer(std::uint64_t now_ms, Effects &effects);

	// Our requests (flows.cc).
	void add_flow(FlowKind kind, FlowId id, const LinkRkeys &rkeys, std::uint64_t now_ms,
		      Effects &effects);
	[[nodiscard]] std::uint32_t turn_ms(FlowKind kind) const;
	[[nodiscard]] bool put_flow_back(std::uint64_t now_ms);
	void repeat_flow(std::uint64_t now_ms, Effects &effects);
	void announce_again(std::uint64_t now_ms, Effects &effects);
	void cancel_flow(FlowId id);
	void next_flow(std::uint64_t now_ms, Effects &effects);
	void add_link_to_flows();
	void add_link_to(Flow &flow) const;
	void take_link_from_flows(LinkIndex index);
	void start_flow(const Flow &flow, LinkIndex link, std::uint64_t now_ms, Effects &effects);
	void flow_timer(std::uint64_t now_ms, Effects &effects);
	void end_flow(FlowResult result, Effects &effects);
	[[nodiscard]] bool has_to_wait(const Flow &flow) const;
	[[nodiscard]] std::uint64_t waiting_deadline(std::uint64_t now_ms) const;
	void test_link(LinkIndex index, std::uint64_t now_ms, Effects &effects);
	void send_test(LinkIndex index, Effects &effects);
	void offer_no_link(LinkIndex index, Effects &effects);

	// Our requests whose responses are late (overdue.cc).
	void put_off(Effects &effects);
	[[nodiscard]] std::optional<std::size_t>
	find_overdue_confirm(LinkIndex from, const wire::RemoteToken &token) const;
	[[nodiscard]] bool late_delete_response(LinkIndex from, FlowResult result,
						std::uint64_t now_ms, Effects &effects);
	void newer_is_answered(LinkIndex link, std::size_t older, std::uint64_t now_ms);
	[[nodiscard]] std::size_t sent_before(std::uint64_t time_ms) const;
	void overdue_timer(std::uint64_t now_ms, Effects &effects);
	void forget_overdue(LinkIndex link, Effects &effects);

	void link_confirmed(LinkIndex index, std::uint64_t now_ms, Effects &effects);
	void confirm_failed(LinkIndex index, wire::DeclineReason reason, std::uint64_t now_ms,
			    Effects &effects);
	void link_lost(LinkIndex index, std::uint64_t now_ms, Effects &effects);
	void link_down(LinkIndex index, std::uint64_t now_ms, Effects &effects);
	void end_if_no_link(TerminateCause cause, wire::DeleteLinkReason reason, Effects &effects);
	void terminate(TerminateCause cause, wire::DeleteLinkReason reason, Effects &effects);
	void delete_all(wire::DeleteLinkReason reason, bool orderly, Effects &effects);

	void send_confirm_link(LinkIndex index, bool response, Effects &effects);
	void send(LinkIndex link, const wire::LlcBody &body, bool response, Effects &effects,
		  bool last = false);
	static void emit(Effects &effects, const Effect &effect);
	void rearm(std::uint64_t now_ms, Effects &effects);
	[[nodiscard]] std::optional<std::uint64_t> next_deadline(std::uint64_t now_ms) const;

	[[nodiscard]] std::optional<LinkIndex> active_link() const;
	[[nodiscard]] std::optional<LinkIndex> unused_link() const;
	[[nodiscard]] std::size_t active_links() const;
	[[nodiscard]] std::optional<LinkIndex> find_link(wire::LinkId id) const;
	[[nodiscard]] wire::LinkId new_link_id();
	[[nodiscard]] wire::LinkUid uid_of(wire::LinkId id) const;
	[[nodiscard]] static bool is_confirming(LinkState state);
	// It is being added, and CONFIRM_LINK is not due yet.
	[[nodiscard]] static bool is_being_added(LinkState state);
	static void set_state(Link &link, LinkState to);
	void set_state(GroupState to);

	Config config_;
	GroupState state_ = GroupState::kForming;
	std::array<Link, kLinksMax> links_{};
	LinkIndex newest_link_ = 0;
	RtokenTable rtokens_;
	RingQueue<Flow, kFlowsWaitingMax> waiting_;
	Flow running_; // kind kNone: no flow is running
	LinkIndex running_link_ = 0;
	RingQueue<Overdue, kOverdueMax> overdue_; // oldest first; at most one DELETE_RKEY
	Addition adding_;
	RingQueue<Deletion, kLinksMax> deletions_;
	AdditionBudget additions_;
	std::uint32_t additions_failed_ = 0; // attempts in a row
	std::uint64_t add_due_ms_ = 0;       // another look for a link that is lacking; 0: none
	std::uint64_t asked_ms_ = 0;         // client: of the last REQ_ADD_LINK; 0: none
	std::uint32_t asked_ = 0;            // of them, so many may be answered
	std::array<std::byte, kRtokensMax * wire::RkeyPairList::kItemSize> rkey_space_{};
	std::array<std::byte, wire::kAddLinkSizeMax> long_message_{};
	Counters counters_;
	ViolationBudget patience_;
	std::uint64_t tests_sent_ = 0;
	bool held_ = false;
	std::uint8_t link_ids_given_ = 0;
	std::optional<std::uint64_t> armed_ms_;
};

} // namespace smc::group
