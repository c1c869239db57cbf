// SPDX-License-Identifier: GPL-2.0-only
//
// shell/control on the host, as netlink and the handshake use it: errnos, namespaces, and
// allocations that fail.
#include "kernel/abi/callbacks/control.h"
#include "shell/control/eid.cc"
#include "shell/control/fallback.cc"
#include "shell/control/namespace.cc"
#include "shell/control/pnet.cc"
#include "shell/control/policy.cc"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "doubles/memory.hpp"
#include "doubles/net.hpp"
#include "doubles/spinlock.hpp"

struct sock {
	net *in;
};

namespace {

using doubles::initial_net;
using doubles::locks;
using doubles::memory;

net *ended = nullptr;
u64 now_ms = 1;
std::vector<u32> traced; // reasons

} // namespace

net *smc_sk_net(const struct sock *sk)
{
	return sk->in;
}

void smc_trace_fallback(const struct sock *, u32 reason)
{
	traced.push_back(reason);
}

u64 smc_now_ms(void)
{
	return now_ms;
}

u64 smc_random_u64(void)
{
	return 7;
}

namespace smc::control {

void leave_namespace(net *) {}

void end_namespace(net *net)
{
	EXPECT_NE(net->control, nullptr) << "the state has to be there until the end";
	ended = net;
}

namespace {

class ControlTest : public testing::Test {
protected:
	void SetUp() override
	{
		memory().allocations_left = -1;
		initial_net().control = smc_control_net_create(&initial_net());
		other_.control = smc_control_net_create(&other_);
	}
	void TearDown() override
	{
		for (net *net : {&initial_net(), &other_}) {
			smc_control_net_destroy(net, net->control);
			EXPECT_EQ(ended, net);
			net->stats.clear();
		}
		EXPECT_EQ(memory().allocated, 0) << "leaked";
		EXPECT_FALSE(locks().held);
		EXPECT_EQ(locks().classes, std::set{SMC_LOCK_CONTROL});
	}

	static int add(net *net, const char *id, const char *eth, const char *ib = nullptr,
		       u8 port = 1)
	{
		const smc_pnet_request request = {id, eth, ib, port};
		return smc_ctl_pnet_add(net, &request);
	}
	static std::vector<std::string> rows(net *net, const char *id = nullptr)
	{
		std::vector<std::string> rows;
		smc_pnet_entry entry;
		u64 cursor = 0;
		while (smc_ctl_pnet_next(net, id, &cursor, &entry) == 1)
			rows.push_back(std::string(entry.pnetid) + ":" + entry.dev_name +
				       (entry.is_ib ? "/" + std::to_string(entry.ib_port) : ""));
		return rows;
	}
	static std::string ib(const char *name, const char *parent, u8 port)
	{
		const auto id = pnet_of_ib(name, parent, port);
		return id ? std::string(id->begin(), id->end()) : "";
	}
	static Eid eid(const std::string &text)
	{
		Eid result;
		result.fill(' ');
		std::copy(text.begin(), text.end(), result.begin());
		return result;
	}

	net *const init_ = &initial_net();
	net other_;
};

using Rows = std::vector<std::string>;

TEST_F(ControlTest, PnetAddIsAllOrNothing)
{
	EXPECT_EQ(add(init_, "net", "eth0", " mlx5_0 "), 0);
	EXPECT_EQ(rows(init_), (Rows{"NET:eth0", "NET:mlx5_0/1"}));

	EXPECT_EQ(add(init_, "NET", "eth0", "mlx5_0"), -EEXIST);
	EXPECT_EQ(add(init_, "NET", nullptr), -EEXIST);
	EXPECT_EQ(add(init_, "N E T", "eth1"), -EINVAL);
	EXPECT_EQ(add(init_, "NET", ""), -EINVAL);
	EXPECT_EQ(add(init_, "NET", "eth1", "mlx5_1", 3), -EINVAL);
	EXPECT_EQ(add(init_, "NET", "eth1", "mlx5_1", 0), -EINVAL);
	EXPECT_EQ(rows(init_).size(), 2u);

	// Of a request with one new part, the new part is added.
	EXPECT_EQ(add(init_, "NEW", "eth0", "mlx5_1"), 0);
	EXPECT_EQ(rows(init_, "new"), Rows{"NEW:mlx5_1/1"});
}

TEST_F(ControlTest, PnetAddWithoutMemory)
{
	for (int left : {0, 1}) {
		memory().allocations_left = left;
		EXPECT_EQ(add(init_, "NET", "eth0", "mlx5_0"), -ENOMEM);
		EXPECT_EQ(rows(init_), Rows{});
	}
	memory().allocations_left = 0;
	EXPECT_EQ(smc_control_net_create(&other_), nullptr);
	memory().allocations_left = -1;
}

TEST_F(ControlTest, PnetTableThatIsFullTakesNoHalves)
{
	for (std::size_t i = 0; i + 1 < PnetTable::kCapacity; i++)
		ASSERT_EQ(add(init_, "NET", ("e" + std::to_string(i)).c_str()), 0);
	EXPECT_EQ(add(init_, "NET", "eth0", "mlx5_0"), -ENOSPC);
	EXPECT_EQ(rows(init_).size(), PnetTable::kCapacity - 1);
	// One of these exists, so that there is room for the other.
	EXPECT_EQ(add(init_, "NET", "e7", "mlx5_0"), 0);
	EXPECT_EQ(add(init_, "NET", "eth0"), -ENOSPC);
	EXPECT_EQ(smc_ctl_pnet_del(init_, "net"), 0);
	EXPECT_EQ(smc_ctl_pnet_del(init_, "net"), -ENOENT);
	EXPECT_EQ(smc_ctl_pnet_del(init_, "n/a"), -ENOENT);
	EXPECT_TRUE(rows(init_).empty());
}

TEST_F(ControlTest, RdmaDevicesBelongToTheInitialNamespace)
{
	EXPECT_EQ(add(&other_, "IN", "eth0", "mlx5_0"), 0);
	EXPECT_EQ(add(&other_, "IN", nullptr, "mlx5_0"), -EEXIST);
	// A part that is ignored is not checked.
	EXPECT_EQ(add(&other_, "IN", "eth1", "mlx5_0", 200), 0);
	EXPECT_EQ(rows(&other_), (Rows{"IN:eth0", "IN:eth1"}));
	EXPECT_EQ(ib("mlx5_0", nullptr, 1), "");

	EXPECT_EQ(add(init_, "OUT", nullptr, "mlx5_0"), 0);
	EXPECT_EQ(add(init_, "PCI", nullptr, "0000:01:00.0", 2), 0);
	EXPECT_EQ(ib("mlx5_0", nullptr, 1), "OUT             ");
	EXPECT_EQ(ib("mlx5_0", nullptr, 2), "");
	EXPECT_EQ(ib("mlx5_0", "0000:01:00.0", 2), "PCI             ");
	EXPECT_EQ(rows(&other_), (Rows{"IN:eth0", "IN:eth1"}));

	u8 out[SMC_PNETID_LEN];
	EXPECT_TRUE(smc_ctl_pnet_of_eth(&other_, "eth1", out));
	EXPECT_EQ(std::string(out, out + sizeof(out)), "IN              ");
	EXPECT_FALSE(smc_ctl_pnet_of_eth(init_, "eth1", out));
}

TEST_F(ControlTest, EidsOfEachNamespace)
{
	EXPECT_EQ(smc_ctl_ueid_add(init_, eid("ONE").data()), 0);
	EXPECT_EQ(smc_ctl_ueid_add(init_, eid("ONE").data()), -EEXIST);
	EXPECT_EQ(smc_ctl_ueid_add(init_, eid("one").data()), -EINVAL);
	for (const char *more : {"TWO", "THREE", "FOUR"})
		EXPECT_EQ(smc_ctl_ueid_add(init_, eid(more).data()), 0);
	EXPECT_EQ(smc_ctl_ueid_add(init_, eid("FIVE").data()), -ERANGE);
	EXPECT_EQ(smc_ctl_ueid_del(init_, eid("TWO").data()), 0);
	EXPECT_EQ(smc_ctl_ueid_del(init_, eid("TWO").data()), -ENOENT);

	ASSERT_EQ(eids_of(init_).size(), 3u);
	EXPECT_EQ(eids_of(init_)[1], eid("THREE"));
	EXPECT_TRUE(eids_of(&other_).empty());

	u8 next[SMC_EID_LEN];
	u64 cursor = 0;
	int count = 0;
	while (smc_ctl_ueid_next(init_, &cursor, next) == 1)
		count++;
	EXPECT_EQ(count, 3);
	smc_ctl_ueid_flush(init_);
	EXPECT_TRUE(eids_of(init_).empty());
}

TEST_F(ControlTest, EidsAreInheritedWhereBothNamespacesWantThat)
{
	init_->inherit_eids = other_.inherit_eids = true;
	EXPECT_EQ(smc_ctl_ueid_add(init_, eid("ONE").data()), 0);
	EXPECT_EQ(eids_of(&other_).size(), 1u);
	EXPECT_EQ(smc_ctl_ueid_add(&other_, eid("OWN").data()), 0);
	ASSERT_EQ(eids_of(&other_).size(), 1u);
	EXPECT_EQ(eids_of(&other_)[0], eid("OWN"));
	smc_ctl_ueid_flush(&other_);
	// What is inherited is not the namespace's to show or remove.
	u8 next[SMC_EID_LEN];
	u64 cursor = 0;
	EXPECT_EQ(smc_ctl_ueid_next(&other_, &cursor, next), 0);
	EXPECT_EQ(smc_ctl_ueid_del(&other_, eid("ONE").data()), -ENOENT);
	for (net *stops : {init_, &other_}) {
		stops->inherit_eids = false;
		EXPECT_TRUE(eids_of(&other_).empty());
		stops->inherit_eids = true;
	}
	smc_ctl_ueid_flush(init_);
	EXPECT_TRUE(eids_of(&other_).empty());
	init_->inherit_eids = false;
}

TEST_F(ControlTest, TheDefaultEidIsThatOfWhoHasNone)
{
	u8 out[SMC_EID_LEN];
	init_->default_eid = other_.default_eid = true;
	init_->inherit_eids = other_.inherit_eids = true;
	for (net *has_none : {init_, &other_}) {
		ASSERT_EQ(eids_of(has_none).size(), 1u);
		EXPECT_EQ(eids_of(has_none)[0], default_eid());
		ASSERT_TRUE(smc_ctl_default_eid(has_none, out));
		EXPECT_TRUE(std::equal(out, out + sizeof(out), default_eid().begin()));
	}
	// It is in no table.
	u64 cursor = 0;
	EXPECT_EQ(smc_ctl_ueid_next(init_, &cursor, out), 0);
	EXPECT_EQ(smc_ctl_ueid_del(init_, default_eid().data()), -ENOENT);

	// Who inherits it needs both settings of both namespaces.
	for (net *stops : {init_, &other_}) {
		stops->inherit_eids = false;
		EXPECT_TRUE(eids_of(&other_).empty());
		EXPECT_EQ(eids_of(init_).size(), 1u);
		stops->inherit_eids = true;
	}
	other_.default_eid = false;
	EXPECT_TRUE(eids_of(&other_).empty());
	EXPECT_EQ(eids_of(init_).size(), 1u);
	other_.default_eid = true;
	init_->default_eid = false;
	EXPECT_TRUE(eids_of(&other_).empty());
	EXPECT_TRUE(eids_of(init_).empty());
	EXPECT_FALSE(smc_ctl_default_eid(init_, out));
	init_->default_eid = true;

	// One that is set takes its place, for those that inherit as well.
	EXPECT_EQ(smc_ctl_ueid_add(init_, eid("ONE").data()), 0);
	for (net *has_one : {init_, &other_}) {
		ASSERT_EQ(eids_of(has_one).size(), 1u);
		EXPECT_EQ(eids_of(has_one)[0], eid("ONE"));
		EXPECT_FALSE(smc_ctl_default_eid(has_one, out));
	}
	smc_ctl_ueid_flush(init_);
	EXPECT_EQ(eids_of(init_).size(), 1u);
	init_->default_eid = init_->inherit_eids = false;
}

TEST_F(ControlTest, EndsInsideTheKernelAreCountedByNamespace)
{
	Namespace &one = Namespace::of(init_);

	one.count_smcd(1, 65536);
	one.count_smcd(1, 16384);
	one.count_smcd(0, 131072 - 65536);
	Namespace::of(&other_).count_smcd(1, 16384);
	EXPECT_EQ(one.smcd_share().ends, 2u);
	EXPECT_EQ(one.smcd_share().dmb_bytes, 131072u + 16384u);
	one.count_smcd(-1, -131072);
	EXPECT_EQ(one.smcd_share().ends, 1u);
	EXPECT_EQ(one.smcd_share().dmb_bytes, 16384u);
	// More than 32 bits of bytes: 255 rings of 16 MiB and one.
	for (int i = 0; i < 256; i++)
		one.count_smcd(1, 16 << 20);
	EXPECT_EQ(one.smcd_share().dmb_bytes, (u64{1} << 32) + 16384);
	EXPECT_EQ(Namespace::of(&other_).smcd_share().ends, 1u);
}

TEST_F(ControlTest, FallbacksAreCountedByRoleAndReason)
{
	sock here{init_}, there{&other_};

	traced.clear();
	for (int i = 0; i < 3; i++)
		count_fallback(&here, 0x03010000, true);
	count_fallback(&here, 0x05000000, true);
	count_fallback(&here, 0x05000000, false);
	count_fallback(&there, 0x05000000, false);
	EXPECT_EQ(traced, (std::vector<u32>{0x03010000, 0x03010000, 0x03010000, 0x05000000,
					    0x05000000, 0x05000000}));

	EXPECT_EQ(init_->stats[SMC_STAT_FALLBACK_SRV], 4);
	EXPECT_EQ(init_->stats[SMC_STAT_FALLBACK_CLNT], 1);
	EXPECT_EQ(init_->stats[SMC_STAT_REASON_SRV], 3);
	EXPECT_EQ(init_->stats[SMC_STAT_REASON_SRV + 1], 1);
	EXPECT_EQ(init_->stats[SMC_STAT_REASON_CLNT], 1);
	EXPECT_EQ(other_.stats[SMC_STAT_FALLBACK_CLNT], 1);

	u32 reason = 0;
	EXPECT_TRUE(smc_ctl_fallback_reason(init_, true, 1, &reason));
	EXPECT_EQ(reason, 0x05000000u);
	EXPECT_FALSE(smc_ctl_fallback_reason(init_, true, 2, &reason));

	// However many reasons a peer invents, each is counted once and the list stays bounded.
	for (u32 code = 1; code <= 200; code++)
		count_fallback(&there, code, true);
	s64 sum = 0;
	for (u32 slot = 0; slot <= SMC_FALLBACK_REASONS; slot++)
		sum += other_.stats[SMC_STAT_REASON_SRV + slot];
	EXPECT_EQ(sum, 200);
	EXPECT_EQ(other_.stats[SMC_STAT_REASON_SRV + SMC_FALLBACK_REASONS], 200 - 64);
	EXPECT_EQ(other_.stats.rbegin()->first, SMC_STATS - 1u);
}

TEST(StatSizeClassTest, EdgesOfTheClasses)
{
	EXPECT_EQ(smc_stat_size_class(0), 0u);
	EXPECT_EQ(smc_stat_size_class(8192), 0u);
	EXPECT_EQ(smc_stat_size_class(8193), 1u);
	EXPECT_EQ(smc_stat_size_class(16384), 1u);
	EXPECT_EQ(smc_stat_size_class(1 << 20), 7u);
	EXPECT_EQ(smc_stat_size_class((1 << 20) + 1), 8u);
	EXPECT_EQ(smc_stat_size_class(~0ULL), 8u);
}

TEST(StatTest, CallsAndBuffers)
{
	net counted;
	smc_stat_tx(smc_counters(&counted), SMC_TECH_R, 10000, 4000);
	smc_stat_tx(smc_counters(&counted), SMC_TECH_R, 10000, -EAGAIN);
	smc_stat_rx(smc_counters(&counted), SMC_TECH_D, 100, 0);
	smc_stat_rx_buf(smc_counters(&counted), SMC_TECH_R, 65536, 1);
	smc_stat_rx_buf(smc_counters(&counted), SMC_TECH_R, 65536, -1);

	EXPECT_EQ(counted.stats[SMC_STAT_OF(SMC_TECH_R, SMC_TS_TX_CALLS)], 2);
	EXPECT_EQ(counted.stats[SMC_STAT_OF(SMC_TECH_R, SMC_TS_TX_BYTES)], 4000);
	EXPECT_EQ(counted.stats[SMC_STAT_OF(SMC_TECH_R, SMC_TS_TX_PAYLOAD) + 1], 1);
	EXPECT_EQ(counted.stats[SMC_STAT_OF(SMC_TECH_D, SMC_TS_RX_CALLS)], 1);
	EXPECT_EQ(counted.stats[SMC_STAT_OF(SMC_TECH_D, SMC_TS_RX_BYTES)], 0);
	EXPECT_EQ(counted.stats[SMC_STAT_OF(SMC_TECH_R, SMC_TS_RX_BUF_SIZE) + 3], 0);
	EXPECT_EQ(counted.stats[SMC_STAT_OF(SMC_TECH_R, SMC_TS_RX_BUF_USAGE)], 0);
}

// ---- Peers --------------------------------------------------------------------------------------

smc_peer peer(u16 port)
{
	smc_peer result{.address = {}, .scope_id = 0, .port = port};

	result.address[15] = 1;
	return result;
}

std::vector<std::string> peers_of(net *net)
{
	std::vector<std::string> found;
	smc_peer_info info;
	u64 cursor = 0;

	while (smc_ctl_peer_next(net, &cursor, &info) == 1)
		found.push_back((info.is_server ? "server " : "stranger ") +
				std::to_string(info.peer.port) + " " +
				std::to_string(info.rest_ms));
	std::sort(found.begin(), found.end());
	return found;
}

TEST_F(ControlTest, PeersAreRememberedForASysctlsTime)
{
	init_->plain_peer_time_s = 5;
	now_ms = 1000;
	note_stranger(init_, peer(80));
	now_ms = 2000;
	note_server(init_, peer(443));
	EXPECT_TRUE(peer_is_stranger(init_, peer(80)));
	EXPECT_FALSE(peer_may_be_slow(init_, peer(80)));
	EXPECT_FALSE(peer_is_stranger(init_, peer(443)));
	EXPECT_TRUE(peer_may_be_slow(init_, peer(443)));
	EXPECT_EQ(peers_of(init_), (Rows{"server 443 5000", "stranger 80 4000"}));
	now_ms = 6000;
	EXPECT_FALSE(peer_is_stranger(init_, peer(80)));
	EXPECT_EQ(peers_of(init_), Rows{"server 443 1000"});
	init_->plain_peer_time_s = 10;
	EXPECT_TRUE(peer_is_stranger(init_, peer(80)));
	smc_ctl_peers_flush(init_);
	EXPECT_EQ(peers_of(init_), Rows{});
	EXPECT_FALSE(peer_is_stranger(init_, peer(80)));
}

// connect() asks no further where nothing is known.
TEST_F(ControlTest, WhoIsRememberedOrRuledOutIsKnownOf)
{
	const auto knows = [](net *net) { return Namespace::of(net).knows_of_peers(); };
	const smc_peer_rule all{.out = true, .in = true, .port_last = UINT16_MAX};

	init_->plain_peer_time_s = 5;
	EXPECT_FALSE(knows(init_));
	note_stranger(init_, peer(80));
	EXPECT_TRUE(knows(init_));
	EXPECT_FALSE(knows(&other_));
	EXPECT_EQ(smc_ctl_rule_add(&other_, &all), 0);
	EXPECT_TRUE(knows(&other_));
}

TEST_F(ControlTest, WhomNoDeviceLeadsToIsKnownOf)
{
	Namespace &space = Namespace::of(init_);
	const u64 epoch = space.epoch();

	EXPECT_FALSE(space.knows_of_peers());
	note_elsewhere(init_, peer(80), epoch);
	EXPECT_TRUE(space.knows_of_peers());
	EXPECT_TRUE(peer_is_elsewhere(space, peer(443)));
	EXPECT_FALSE(peer_is_elsewhere(Namespace::of(&other_), peer(80)));
	DeviceEpoch::begin();
	EXPECT_FALSE(peer_is_elsewhere(space, peer(80)));
}

TEST_F(ControlTest, WhoWasNotNearIsNotLookedForAtOnce)
{
	Namespace &space = Namespace::of(init_);
	Namespace &other = Namespace::of(&other_);

	init_->others_listen = other_.others_listen = true;
	EXPECT_FALSE(peer_may_be_near(space, init_, peer(80)));
	init_->loopback = other_.loopback = SMC_LOOPBACK_NAMESPACE;
	EXPECT_FALSE(peer_may_be_near(space, init_, peer(80)));
	init_->loopback = other_.loopback = SMC_LOOPBACK_KERNEL;
	EXPECT_TRUE(peer_may_be_near(space, init_, peer(80)));
	note_not_near(init_, peer(80));
	EXPECT_FALSE(peer_may_be_near(space, init_, peer(443)));
	EXPECT_TRUE(peer_may_be_near(other, &other_, peer(80)));
	EXPECT_FALSE(peer_is_elsewhere(space, peer(80)));
	DeviceEpoch::begin();
	EXPECT_TRUE(peer_may_be_near(space, init_, peer(80)));
	init_->loopback = other_.loopback = SMC_LOOPBACK_OFF;
	init_->others_listen = other_.others_listen = false;
}

// Anybody can have a namespace of his own, and change its settings again and again.
TEST_F(ControlTest, SettingsOfOneNamespaceLetOthersKnowWhatTheyKnew)
{
	Namespace &space = Namespace::of(init_);
	Namespace &other = Namespace::of(&other_);
	const u64 ways = DeviceEpoch::of_ways();
	const u64 before = other.epoch();
	const auto note_both = [&] {
		note_elsewhere(init_, peer(80), space.epoch());
		note_elsewhere(&other_, peer(80), other.epoch());
	};

	note_both();
	smc_ctl_reach_changed(&other_);
	EXPECT_TRUE(peer_is_elsewhere(space, peer(80)));
	EXPECT_FALSE(peer_is_elsewhere(other, peer(80)));
	EXPECT_EQ(DeviceEpoch::of_ways(), ways);
	// What was found before comes too late.
	note_elsewhere(&other_, peer(80), before);
	EXPECT_FALSE(peer_is_elsewhere(other, peer(80)));
	note_both();
	EXPECT_TRUE(peer_is_elsewhere(other, peer(80)));
	// Others inherit what the initial one has.
	smc_ctl_reach_changed(init_);
	EXPECT_FALSE(peer_is_elsewhere(space, peer(80)));
	EXPECT_FALSE(peer_is_elsewhere(other, peer(80)));
}

TEST_F(ControlTest, PeersOfOneNamespaceAreNotKnownInOthers)
{
	init_->plain_peer_time_s = other_.plain_peer_time_s = 5;
	note_stranger(init_, peer(80));
	EXPECT_FALSE(peer_is_stranger(&other_, peer(80)));
	smc_ctl_peers_flush(&other_);
	EXPECT_TRUE(peer_is_stranger(init_, peer(80)));
}

TEST_F(ControlTest, PeersAreNotRememberedWithoutTimeOrMemory)
{
	init_->plain_peer_time_s = 0;
	note_stranger(init_, peer(80));
	note_server(init_, peer(443));
	EXPECT_FALSE(peer_is_stranger(init_, peer(80)));
	// Nobody can be told apart.
	EXPECT_TRUE(peer_may_be_slow(init_, peer(80)));
	init_->plain_peer_time_s = 5;
	EXPECT_EQ(peers_of(init_), Rows{});
	memory().allocations_left = 0;
	note_stranger(init_, peer(80));
	memory().allocations_left = -1;
	EXPECT_FALSE(peer_is_stranger(init_, peer(80)));
}

// ---- Rules --------------------------------------------------------------------------------------

TEST_F(ControlTest, RulesHaveErrnosAndCount)
{
	const smc_peer_rule all{.out = true, .in = true, .port_last = UINT16_MAX};
	const smc_peer_rule nobody{.port_last = UINT16_MAX};
	smc_peer_rule found;
	u64 cursor = 0;

	EXPECT_TRUE(server_is_allowed(Namespace::of(init_), peer(80)));
	EXPECT_EQ(smc_ctl_rule_del(init_, &all), -ENOENT);
	EXPECT_EQ(smc_ctl_rule_next(init_, &cursor, &found), 0);
	memory().allocations_left = 0;
	EXPECT_EQ(smc_ctl_rule_add(init_, &all), -ENOMEM);
	memory().allocations_left = -1;
	EXPECT_EQ(smc_ctl_rule_add(init_, &nobody), -EINVAL);
	EXPECT_EQ(smc_ctl_rule_add(init_, &all), 0);
	EXPECT_EQ(smc_ctl_rule_add(init_, &all), -EEXIST);
	EXPECT_FALSE(server_is_allowed(Namespace::of(init_), peer(80)));
	EXPECT_FALSE(smc_ctl_client_allowed(init_, peer(80).address, 80));
	EXPECT_TRUE(server_is_allowed(Namespace::of(&other_), peer(80)));
	EXPECT_EQ(init_->stats[SMC_STAT_RULED_OUT], 2);
	EXPECT_EQ(smc_ctl_rule_next(init_, &cursor, &found), 1);
	EXPECT_TRUE(found.in && found.out && !found.allow);
	EXPECT_EQ(smc_ctl_rule_next(init_, &cursor, &found), 0);
	EXPECT_EQ(smc_ctl_rule_del(init_, &all), 0);
	EXPECT_TRUE(server_is_allowed(Namespace::of(init_), peer(80)));
	for (u16 port = 0; port < PeerRules::kCapacity; port++) {
		const smc_peer_rule one{.out = true, .port_first = port, .port_last = port};
		EXPECT_EQ(smc_ctl_rule_add(init_, &one), 0);
	}
	EXPECT_EQ(smc_ctl_rule_add(init_, &all), -ENOSPC);
	smc_ctl_rules_flush(init_);
	EXPECT_EQ(smc_ctl_rule_add(init_, &all), 0);
}

} // namespace
} // namespace smc::control
