// SPDX-License-Identifier: GPL-2.0-only
//
// LinkGroup: a peer host, a role, and the links that lead there; shared by all connections between
// the two (RFC 7609, 2.2). It runs link control (LinkControl), owns the buffers and the table of
// connections (EndpointTable), and ends all of these when it ends.
//
// Life: Forming (first contact) → Active → Ending → Ended. It ends on a DELETE_LINK of either side,
// on loss of its last link, with its device, with its namespace, or after kIdle…_ms without a
// connection. Ending goes in phases: 1. begin_end(): no connection joins any more, and the peer is
// told; then in end_phase(): 2. the connections learn that their transport is lost; 3. posted work
// leaves, or kDrain_ms pass; then in end_links(), which may wait for the peer: 4. the queue pairs
// stop, and no callback runs any more; 5. memory is unmapped and freed, except what users still
// read; 6. it leaves the table. References keep the object itself: one of the table, one of each
// endpoint.
//
// Locking: lock_ (class GROUP), shared with softirqs.
//
// Its functions are in link_group.cc (its life, the effects of link control, its work) and, by
// subject, in link_group_{setup,links,buffers,rings,ends,end,snapshot}.cc and registration.cc.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

#include "core/group/doubt.hpp"
#include "core/group/machine.hpp"
#include "core/handshake/effect.hpp"
#include "core/handshake/event.hpp"
#include "kernel/abi/control.h"
#include "kernel/abi/verbs.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/base/ref.hpp"
#include "shell/base/work.hpp"
#include "shell/control/pnet.hpp"
#include "shell/transport/rdma/buffer.hpp"
#include "shell/transport/rdma/deletions.hpp"
#include "shell/transport/rdma/endpoint_table.hpp"
#include "shell/transport/rdma/link.hpp"
#include "shell/transport/rdma/link_control.hpp"
#include "shell/transport/rdma/places.hpp"
#include "shell/transport/rdma/pool.hpp"
#include "shell/transport/rdma/port.hpp"
#include "shell/transport/rdma/rdma_endpoint.hpp"
#include "shell/transport/setup_observer.hpp"
#include "shell/transport/transport.hpp"

namespace smc::transport::rdma {

struct TableTag;
struct OpenTag;

// What identifies a group, beside the ends of its links; lookups compare it.
struct GroupKey {
	net *netns = nullptr;
	bool server = false;
	u8 version = 2;
	u16 vlan_id = 0;      // of our GIDs; the GIDs of two VLANs may be equal
	wire::PeerId peer_id; // zero if the peer's Proposal had none
	wire::Eid eid;        // version 2
	// Of the port that its connections take here. Links are added on others that have it.
	std::optional<control::PnetIdBytes> pnet;

	friend bool operator==(const GroupKey &, const GroupKey &) = default;
};

// Both ends of a link.
struct LinkEnds {
	smc_ib_device *device = nullptr; // null: there is no such link
	u8 port = 0;
	wire::Gid gid; // own
	wire::Gid peer_gid;
	wire::Mac peer_mac;
	wire::Qpn peer_qpn; // zero: not known yet

	// What a Proposal says of the peer's end, and our own port. Version 1 compares the MAC.
	[[nodiscard]] bool join_ports_of(const LinkEnds &other, u8 version) const
	{
		return device == other.device && port == other.port && gid == other.gid &&
		       peer_gid == other.peer_gid && (version >= 2 || peer_mac == other.peer_mac);
	}
	// The peer's end, as an Accept names it.
	[[nodiscard]] bool lead_to(const LinkEnds &other, u8 version) const
	{
		return device != nullptr && peer_gid == other.peer_gid &&
		       (version >= 2 || peer_mac == other.peer_mac) && peer_qpn == other.peer_qpn;
	}
};

using group::TcpAddress;

class LinkGroup final : public Awaited,
			public LinkControl::Owner,
			public EndpointGroup,
			public shell::ListNode<TableTag>,
			public shell::ListNode<OpenTag> {
public:
	static constexpr u64 kIdleServer_ms = 600'000;
	static constexpr u64 kIdleClient_ms = 610'000;
	// Where it keeps its namespace, which nobody else may want any more.
	static constexpr u64 kIdleKeepsNamespace_ms = 5000;
	static constexpr u64 kDrain_ms = 2000;
	// How long a port may be without its carrier before its link is given up: where another
	// link is left for its connections, and where none is. A queue pair with work gives up
	// after its own retries, two seconds or so.
	static constexpr u64 kPortFlap_ms = 500;
	static constexpr u64 kPortGrace_ms = 5000;
	// The same for a peer that does not say what has arrived (iWARP with several links, where a
	// queue pair has TCP's patience).
	static constexpr u64 kSilent_ms = 4000;
	static constexpr u64 kSilentGrace_ms = 20'000;
	// How often send buffers are looked for that have not been used since the last time; and
	// how soon while a connection has found none.
	static constexpr u64 kCollect_ms = 1000;
	static constexpr u64 kCollectSoon_ms = 20;

	// The table that it is in.
	class Table {
	public:
		// The peer ID of this host in @netns: an instance number and the MAC of the first
		// port that was used (RFC 7609, 3.5.1.1). Namespaces that use one port have one
		// GID; each has a number of its own, or a peer would take them for one host.
		[[nodiscard]] virtual wire::PeerId own_peer_id(net *netns,
							       const wire::Mac &mac) = 0;
		// A group that was full has room again. Process.
		virtual void reopen(LinkGroup &group) = 0;
		// No lookup finds it any more. Returns the table's reference; none if it was
		// removed before.
		[[nodiscard]] virtual shell::Ref<LinkGroup> take_out(LinkGroup &group) = 0;

	protected:
		~Table() = default;
	};

	// What it begins with.
	struct Founding {
		const LinkEnds &ends;
		const handshake::Agreement &agreement;
		const TcpAddress &founder; // the peer's end of TCP at the first contact
		bool direct;
		u32 uid;
	};

	enum class State : u8 { kForming, kActive, kEnding, kEnded };
	[[nodiscard]] static constexpr bool state_change_is_legal(State from, State to)
	{
		switch (from) {
		case State::kForming: return to == State::kActive || to == State::kEnding;
		case State::kActive: return to == State::kEnding;
		case State::kEnding: return to == State::kEnded;
		case State::kEnded: return false;
		}
		return false;
	}

	// Made with one link; not in @table yet. Process.
	static shell::Ref<LinkGroup> create(Table &table, const GroupKey &key, const Port &port,
					    const Founding &founding, Places::Place &&place);

	[[nodiscard]] const GroupKey &key() const { return key_; }
	// The peer's at the first contact; the table keeps the group by it.
	[[nodiscard]] const wire::Gid &home_gid() const { return home_gid_; }
	[[nodiscard]] bool is_server() const { return key_.server; }
	[[nodiscard]] const TcpAddress &founder_address() const { return founder_address_; }
	[[nodiscard]] bool direct() const { return direct_; }
	// Any context, with lock_ or without.
	[[nodiscard]] State state() const { return seen_state_.load(std::memory_order_acquire); }
	// It has a link on that port; on any port of the device. Any context.
	[[nodiscard]] bool uses(const smc_ib_device *device, u8 port);
	[[nodiscard]] bool uses(const smc_ib_device *device);
	// Its link with that end of the peer's. Any context.
	[[nodiscard]] std::optional<group::LinkIndex> link_to(const LinkEnds &ends);
	// False if it has certainly none; for lookups, which pass many groups. Any context.
	[[nodiscard]] bool may_lead_to(wire::Qpn peer_qpn) const
	{
		return std::any_of(peer_qpns_.begin(), peer_qpns_.end(), [&](const auto &qpn) {
			return qpn.load(std::memory_order_relaxed) == peer_qpn.value();
		});
	}
	[[nodiscard]] u64 serial() const { return serial_; }
	void set_serial(u64 serial) { serial_ = serial; }

	// ---- Setting up a connection; process context, by its handshake -------------------------

	// What join() would do with one more connection, as far as that is known beforehand.
	// kLater: there is no room, and Table::reopen() is called when there is again.
	enum class Room : u8 { kThere, kNotForYou, kLater, kNever };
	// For a server, by a link between these ports.
	[[nodiscard]] Room room(const TcpAddress &from, const LinkEnds &ends);

	// Why a connection has not joined.
	struct NotJoined {
		enum class Then : u8 {
			kWait,       // the group is forming: the observer will get kGroupSettled
			kTryAnother, // it is ending, or for a server full or begun from elsewhere
			kGiveUp,
		};
		Then then;
		wire::DeclineReason reason = wire::DeclineReason::kNone; // kGiveUp
	};
	// How a connection joins.
	struct Joining {
		struct sock *sk;
		const TcpAddress &from; // the peer's end of TCP
		bool founder;           // the first one, which does not wait
		group::LinkIndex link;  // of a client: as its server says
		SetupObserver &observer;
	};
	// Adds a connection with buffers of its own. The observer gets later results.
	[[nodiscard]] Result<shell::Ref<RdmaEndpoint>, NotJoined> join(const Joining &joining);
	// Our end, for Accept and Confirm.
	[[nodiscard]] wire::SmcrEndpoint local_end(const RdmaEndpoint &endpoint);
	// Of the link that it uses.
	[[nodiscard]] LinkEnds ends_of(const RdmaEndpoint &endpoint);
	void stop_waiting(SetupObserver &observer) override;

	// EndpointGroup
	[[nodiscard]] Result<Connected, wire::DeclineReason>
	connect(RdmaEndpoint &endpoint, const handshake::ConnectLink &towards) override;
	[[nodiscard]] Announced announce_rkey(RdmaEndpoint &endpoint) override;
	void confirm_link(RdmaEndpoint &endpoint) override;
	void complete(RdmaEndpoint &endpoint) override;
	void know_peer(const handshake::Agreement &agreement) override;
	void unobserve(RdmaEndpoint &endpoint, SetupObserver &observer) override;
	void abandon(RdmaEndpoint &endpoint, bool peer_may_use) override;
	void disown(const TcpAddress &from) override;
	void remove(RdmaEndpoint &endpoint) override;
	[[nodiscard]] wire::BufferSize send_buffer_size(struct sock *sk) const override;
	[[nodiscard]] Lent lend_send_buffer(struct sock *sk, wire::BufferSize size,
					    bool may_borrow) override;
	void take_back_send_buffer(Buffer &buffer, bool idle) override;
	[[nodiscard]] bool speaks_compactly() const override { return compact_; }
	[[nodiscard]] bool grows_rings() const override { return growing_; }
	[[nodiscard]] bool ends_by_reset() const override { return ends_by_reset_; }
	void look_at_rings() override;
	void look_at_ends() override;
	void snapshot(const RdmaEndpoint &endpoint, smc_sock_info &info) override;

	// ---- Ending -----------------------------------------------------------------------------

	// Begins the end, if it has not begun. Any context.
	void end(wire::DeleteLinkReason reason);
	// Since when it has had no connection; 0: it has some, or is forming. Any context.
	[[nodiscard]] u64 idle_since_ms();
	// Begins the end if it has no connection now. Any context.
	void end_if_idle();
	// The link is lost. Any context.
	void lose_link(group::LinkIndex index);
	// The links on that device are lost. Any context.
	void lose_links_on(const smc_ib_device *device);
	// The port has lost its carrier, or has it again. If it stays away its links are lost. Any
	// context.
	void port_changed(const smc_ib_device *device, u8 port, bool active);
	// A port has come that another link may use. Any context.
	void look_for_other_port();
	// Waits until it has no link on that device any more. Process.
	void wait_unused(const smc_ib_device *device);
	// Waits until it has ended. Process.
	void wait_ended();

	// ---- From the link; softirq (failed: any) -----------------------------------------------

	// False: the message is kept until give_back().
	bool on_received(Link &link, const LinkControl::Received &message,
			 shell::InSoftirq context);
	// An RDMA write of @written_bytes came with this immediate data.
	void on_immediate(Link &link, u32 immediate, u32 written_bytes, shell::InSoftirq context);
	void on_sent(Link &link, u64 up_to_seq);
	void on_link_failed(Link &link, int status);
	// Any context.
	void on_link_met(Link &link);
	// A link's first message may want an answer. Process.
	void await_answers();

	// LinkControl::Owner
	void on_effect(const group::Effect &effect) override;

	// ---- For the control plane; process -----------------------------------------------------

	void snapshot(smc_lgr_info &info);

	LinkGroup(Table &table, const GroupKey &key, const Port &port, const Founding &founding,
		  Places::Place &&place);
	~LinkGroup();

private:
	static constexpr group::LinkIndex kFirstLink = 0;

	// What the group knows of a link, beside the Link itself.
	struct LinkRecord {
		LinkEnds ends;
		wire::LinkUid uid;
		wire::LinkUid peer_uid;
		u64 port_lost_ms = 0; // 0: the port is active
		bool leaving =
			false; // it has no connection any more, and its end waits for the peer
		u32 connections = 0;
		bool ends_wait = false; // for an answer to a TEST_LINK
		u64 probe_answered = 0; // the last one that the peer has answered
	};
	// How many answers of the peer settle a withheld end, one after the other. Linux may leave
	// what it still has to a work item, if all its send slots are taken when it hears of room.
	static constexpr u32 kEndAnswers = 2;

	// Performs an effect of the machine (on_effect()).
	void perform(const group::Effect &effect) SMC_REQUIRES(lock_);
	void link_confirmed(const group::LinkConfirmed &confirmed) SMC_REQUIRES(lock_);
	void trace_link(group::LinkIndex index, bool up) const SMC_REQUIRES(lock_);
	void rtokens_deleted(const group::RtokensDeleted &deleted) SMC_REQUIRES(lock_);
	void flow_done(const group::FlowDone &done) SMC_REQUIRES(lock_);
	void settle_waiting() SMC_REQUIRES(lock_);
	// What run() was to do for the link that is added.
	void forget_addition() SMC_REQUIRES(lock_);
	// The first link has met its peer: what is left of connect().
	[[nodiscard]] Result<Connected, wire::DeclineReason> link_met(RdmaEndpoint &founder)
		SMC_REQUIRES(lock_);
	void tell(RdmaEndpoint *endpoint, SetupResult result, wire::DeclineReason reason)
		SMC_REQUIRES(lock_);
	void begin_end() SMC_REQUIRES(lock_);
	void lose_link_locked(group::LinkIndex index) SMC_REQUIRES(lock_);
	// Connections can go by it now.
	[[nodiscard]] bool is_usable(group::LinkIndex index) const SMC_REQUIRES(lock_);
	// When a link is given up whose port is away, or whose peer does not answer; none while
	// neither is so.
	[[nodiscard]] std::optional<u64> given_up_ms(Link &link) const SMC_REQUIRES(lock_);
	[[nodiscard]] bool has_usable_link_beside(const Link &link) const SMC_REQUIRES(lock_);
	// It has links on that device, and no other one that its connections could move to.
	[[nodiscard]] bool goes_with(const smc_ib_device *device) const SMC_REQUIRES(lock_);
	void end_if_idle_locked() SMC_REQUIRES(lock_);
	// How long it stays without a connection.
	[[nodiscard]] u64 idle_limit_ms() const SMC_REQUIRES(lock_);
	void set_ends(group::LinkIndex link, const LinkEnds &ends) SMC_REQUIRES(lock_);
	[[nodiscard]] Link::Making making_on(const Port &port) const;
	// The one place where the state changes.
	void set_state(State to) SMC_REQUIRES(lock_);
	void kick();
	void on_credit(Link &link);
	void on_cdc(Link &link, ByteSpan message, shell::InSoftirq context);
	// There is no connection for a message. A violation, unless it is late.
	void note_bad_token(bool late) const;
	[[nodiscard]] bool is_late(const wire::Cdc &message);
	[[nodiscard]] bool is_late(const wire::Compact &message);
	void peer_has_moved(const RdmaEndpoint &endpoint, const Link &to);
	// SMC_LGR_TYPE_*.
	[[nodiscard]] u8 type_locked() const SMC_REQUIRES(lock_);
	// False if there is no such link.
	[[nodiscard]] bool link_snapshot(group::LinkIndex index, smc_link_info &info);
	[[nodiscard]] bool give_rmb(RdmaEndpoint &endpoint);
	[[nodiscard]] bool lay_in_reserve();
	void free_reserve();
	// A mapped buffer of @size or smaller; nullptr if there is none, or the group ends.
	[[nodiscard]] Buffer *take_mapped(struct sock *sk, smc_ib_buffer_kind kind,
					  wire::BufferSize size);
	[[nodiscard]] bool map(Slab &slab) SMC_REQUIRES(setup_mutex_);
	// link_group_links.cc: links beside the first one.
	[[nodiscard]] std::optional<Port> other_port(group::LinkIndex beside, const wire::Gid *peer,
						     bool same_will_do);
	void prepare_link(const group::PrepareLink &wanted);
	void ready_link(const group::ReadyLink &wanted);
	void added_link_met(group::LinkIndex index) SMC_REQUIRES(lock_);
	void activate_link(group::LinkIndex index);
	void advance_link_registration() SMC_REQUIRES(lock_);
	void drop_links();
	void drop_link(Link &link);
	void end_link(Link &link);
	// Somebody has read an Accept, or an ADD_LINK, who is not the client that answers it.
	[[nodiscard]] bool met_stranger(group::LinkIndex index) const SMC_REQUIRES(lock_);
	void refuse_stranger() const;
	void tell_of_other_port();
	// registration.cc
	void register_buffers(RdmaEndpoint &endpoint, AfterRegistration next) SMC_REQUIRES(lock_);
	void advance_registrations() SMC_REQUIRES(lock_);
	[[nodiscard]] Registration post_registrations(RdmaEndpoint &endpoint) SMC_REQUIRES(lock_);
	void buffers_registered(RdmaEndpoint &endpoint, bool ok) SMC_REQUIRES(lock_);
	void announce(RdmaEndpoint &endpoint) SMC_REQUIRES(lock_);
	void announcement_over(RdmaEndpoint &announcer, std::optional<bool> confirmed)
		SMC_REQUIRES(lock_);
	void tell_announced(RdmaEndpoint &endpoint, bool confirmed) SMC_REQUIRES(lock_);
	[[nodiscard]] bool peer_knows(const Slab &rmb) const SMC_REQUIRES(lock_);
	[[nodiscard]] bool ending() const { return state() >= State::kEnding; }
	[[nodiscard]] bool full() const SMC_REQUIRES(lock_);
	[[nodiscard]] Room room_locked(const TcpAddress &from) const SMC_REQUIRES(lock_);
	// Where the next connection goes; none without an active link.
	[[nodiscard]] std::optional<group::LinkIndex> least_used_link() const SMC_REQUIRES(lock_);
	// Makes the queue pair ready to receive, and a server's to send. @peer.mtu: the smaller one
	// of both. Process; may wait for the network.
	[[nodiscard]] Result<void, wire::DeclineReason> bring_up(Link &link,
								 const group::LinkEnd &peer);
	void take_back_buffers(RdmaEndpoint &endpoint, bool peer_is_done);
	void take_back_other_rmbs(RdmaEndpoint &endpoint, bool peer_is_done);
	// link_group_rings.cc: rings that grow.
	void tend_rings();
	void tend_ring(RdmaEndpoint &endpoint);
	void take_back_left_rmb(RdmaEndpoint &endpoint);
	void grow_rmb(RdmaEndpoint &endpoint, wire::BufferSize size);
	void finish_growth(RdmaEndpoint &endpoint);
	void leave_peer_ring(RdmaEndpoint &endpoint);
	// The peer has deleted an RMB that it writes to, or is about to.
	[[nodiscard]] bool loses_ring(const RdmaEndpoint &endpoint,
				      const group::RtokensDeleted &deleted) const
		SMC_REQUIRES(lock_);
	void take_offer(RdmaEndpoint &endpoint, const Link &link, const wire::RingOffer &offer);
	// The RMB that it announces, or has announced last.
	[[nodiscard]] static Buffer *announced_rmb(const RdmaEndpoint &endpoint,
						   const shell::SpinLock &lock) SMC_REQUIRES(lock);
	// An announcement has come to its end.
	void tell_of_announcement(RdmaEndpoint &endpoint, bool ok) SMC_REQUIRES(lock_);
	// link_group_ends.cc: ends of file that are withheld.
	void settle_ends();
	void settle_end(RdmaEndpoint &endpoint);
	void link_answered(const group::LinkAnswered &answered) SMC_REQUIRES(lock_);
	void take_out(RdmaEndpoint &endpoint, bool peer_is_done);
	[[nodiscard]] RdmaEndpoint *look(std::size_t slot) const
		SMC_REQUIRES_SHARED(shell::rcu_read_side) SMC_NO_LOCK_CHECK // it needs no lock
	{
		return endpoints_.look(slot);
	}
	[[nodiscard]] static bool has_rmb(const RdmaEndpoint &endpoint, const shell::SpinLock &lock)
		SMC_REQUIRES(lock);
	void collect_soon() SMC_REQUIRES(lock_);
	void collect_send_buffers();
	// Calls @visit for each connection, not under lock_.
	template <class Visit>
	void visit_connections(Visit &&visit)
	{
		for (std::size_t slot = 1; slot < EndpointTable::kSlots; slot++) {
			shell::Ref<RdmaEndpoint> endpoint;
			{
				shell::Guard guard(lock_);
				endpoint =
					shell::Ref<RdmaEndpoint>::share(endpoints_.in_slot(slot));
			}
			if (endpoint)
				visit(*endpoint);
		}
	}
	// What the pool does not keep.
	void free_unless_kept(Slab *slab);
	[[nodiscard]] bool delete_slab(Slab *slab);
	[[nodiscard]] bool delete_slab_locked(Slab *slab) SMC_REQUIRES(lock_);
	void ask_for_deletions() SMC_REQUIRES(lock_);
	void delete_surplus() SMC_REQUIRES(lock_);
	void free_deleted();
	[[nodiscard]] bool free_slots_of(Slab &slab) SMC_REQUIRES(lock_);
	void activate();
	void activated(group::LinkIndex link, bool ok) SMC_REQUIRES(lock_);
	void look_for_delivery(group::LinkIndex link) SMC_REQUIRES(lock_);
	// The address and key of an RMB on each link that is active.
	[[nodiscard]] group::LinkRkeys rkeys_of(const Slab &rmb) const SMC_REQUIRES(lock_);
	// The peer's RMB on the link that it begins on instead of the one it has lost.
	[[nodiscard]] std::optional<wire::RemoteToken> begin_elsewhere(RdmaEndpoint &endpoint,
								       group::RtokenIndex rmb)
		SMC_REQUIRES(lock_);
	void leave_link(const Link &link) SMC_REQUIRES(lock_);
	[[nodiscard]] bool is_left_behind(RdmaEndpoint &endpoint);
	void move_connections(const Link *from);
	void move_connection(RdmaEndpoint &endpoint);
	void lose_connections();
	void lose_connections_on_deleted();
	void run();
	void end_phase();
	void end_links();
	void wait_for_peers();
	void arm() SMC_REQUIRES(lock_);
	void arm_for_idleness() SMC_REQUIRES(lock_);
	void destroy() override { shell::Deleter()(this); }

	Table &table_;
	const GroupKey key_;
	struct smc_counters *const counters_; // of its namespace
	const wire::Gid home_gid_;
	const TcpAddress founder_address_;
	const bool compact_;       // both ends understand compact messages
	const bool growing_;       // and rings that are replaced
	const bool ends_by_reset_; // and that TCP may end with a RST
	const u8 max_links_;       // as agreed
	handshake::Agreement agreement_ SMC_GUARDED_BY(lock_);
	bool direct_;
	u64 serial_ = 0;
	Pool pool_;
	LinkControl::Links links_{Link{*this, 0}, Link{*this, 1}, Link{*this, 2}};

	// Serialises changes and mappings of the queue pair with its end. Never held while waiting
	// for the network or for a work request. Taken before lock_.
	shell::Mutex setup_mutex_{SMC_LOCK_GROUP_SETUP};
	shell::SpinLock lock_{SMC_LOCK_GROUP};
	State state_ SMC_GUARDED_BY(lock_) = State::kForming;
	std::atomic<State> seen_state_{State::kForming}; // the same, for those without the lock
	LinkControl control_ SMC_GUARDED_BY(lock_);
	EndpointTable endpoints_ SMC_GUARDED_BY(lock_);
	shell::List<SetupObserver, ObserverTag> waiting_ SMC_GUARDED_BY(lock_);
	// Endpoints whose buffers are being registered, or will be when there is room.
	shell::List<RdmaEndpoint, RegisteringTag> registering_ SMC_GUARDED_BY(lock_);
	// At first contact, until the link is active.
	shell::Ref<RdmaEndpoint> founder_ SMC_GUARDED_BY(lock_);
	// The same, while its link has not met its peer, and it waits for that.
	shell::Ref<RdmaEndpoint> meeting_ SMC_GUARDED_BY(lock_);
	// RMBs that are deleted; run() frees them when the peer has answered, or puts them aside.
	Deletions deletions_ SMC_GUARDED_BY(lock_);
	u64 announcements_ SMC_GUARDED_BY(lock_) = 0; // CONFIRM_RKEYs asked for
	u64 crowded_at_ SMC_GUARDED_BY(lock_) = 0;    // the last of them that was one of many
	group::Doubt doubt_ SMC_GUARDED_BY(lock_);    // of a server's group
	Places::Place place_ SMC_GUARDED_BY(lock_);   // while it has a link
	// What run() is to do for a link that is added.
	std::optional<group::PrepareLink> to_prepare_ SMC_GUARDED_BY(lock_);
	std::optional<group::ReadyLink> to_ready_ SMC_GUARDED_BY(lock_);
	std::optional<group::LinkIndex> to_activate_ SMC_GUARDED_BY(lock_);
	// A server's new link that has not met its peer yet (iWARP).
	std::optional<group::LinkIndex> meeting_link_ SMC_GUARDED_BY(lock_);
	// The new link on which all buffers are being registered.
	std::optional<group::LinkIndex> registering_link_ SMC_GUARDED_BY(lock_);
	bool drop_due_ SMC_GUARDED_BY(lock_) = false;  // links that are down
	bool other_due_ SMC_GUARDED_BY(lock_) = false; // look_for_other_port()
	bool activate_due_ SMC_GUARDED_BY(lock_) = false;
	bool lose_due_ SMC_GUARDED_BY(lock_) = false;
	bool free_due_ SMC_GUARDED_BY(lock_) = false;
	bool rings_due_ SMC_GUARDED_BY(lock_) = false; // tend_rings()
	bool ends_due_ SMC_GUARDED_BY(lock_) = false;  // settle_ends()
	bool end_told_ SMC_GUARDED_BY(lock_) = false;  // to the connections
	bool links_end_ SMC_GUARDED_BY(lock_) = false; // end_links() has begun; run() waits
	u64 idle_since_ms_ SMC_GUARDED_BY(lock_) = 0;  // 0: it has connections
	// For whoever finds no other send buffer: established connections must never wait for each
	// other for good.
	Buffer *reserve_ SMC_GUARDED_BY(lock_) = nullptr;
	bool reserve_lent_ SMC_GUARDED_BY(lock_) = false;
	bool starving_ SMC_GUARDED_BY(lock_) = false; // one has found none
	u32 lent_send_buffers_ SMC_GUARDED_BY(lock_) = 0;
	// When unused ones are taken back; 0: none is lent.
	u64 collect_ms_ SMC_GUARDED_BY(lock_) = 0;
	u64 drain_deadline_ms_ SMC_GUARDED_BY(lock_) = 0;
	// A run is queued for that time, or for an earlier one; 0: none is.
	u64 armed_ms_ SMC_GUARDED_BY(lock_) = 0;
	std::array<LinkRecord, group::kLinksMax> records_ SMC_GUARDED_BY(lock_);
	// Of records_; written under the lock.
	std::array<std::atomic<u32>, group::kLinksMax> peer_qpns_{};

	smc_completion ended_;
	shell::CountedWork<LinkGroup, &LinkGroup::run> work_{*this};
	shell::CountedWork<LinkGroup, &LinkGroup::wait_for_peers> end_work_{*this,
									    SMC_WORK_WAITING};
};

} // namespace smc::transport::rdma
