// SPDX-License-Identifier: GPL-2.0-only
//
// The port that a connection gets on hosts with several. The kernel's functions that list devices
// are doubles.
#include "shell/transport/rdma/port.cc"
#include "shell/transport/rdma/port_memory.cc"
#include "shell/transport/rdma/port_search.cc"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "doubles/net.hpp"

namespace {

struct FakePort {
	bool active = true;
	bool below = true;       // the connection's netdev
	bool below_host = false; // the netdev of the host's route
	u8 known_mtu_code = 3;
	u8 mtu_code = 3;    // its index has changed to this
	std::string pnetid; // none
	bool has_route = true;
	bool uses_gateway = false;
	u32 ifindex = 3;
	std::vector<smc_ib_gid_type> gids{SMC_IB_GID_ROCE_V1, SMC_IB_GID_ROCE_V2};
};

} // namespace

struct smc_ib_device {
	std::size_t place = 0;
	int references = 1;
	bool present = true;
	bool accessible = true;
	bool of_host = false; // GIDs are those of the initial namespace
	bool iwarp = false;
	std::vector<FakePort> ports;
};

namespace {

std::vector<std::unique_ptr<smc_ib_device>> devices;
std::string netdev_pnetid; // none
struct net host;
u32 host_ports = SMC_HOST_PORTS_NONE;
bool host_has_route = true;
bool links_meet = true;

bool pad(const std::string &pnetid, u8 *out)
{
	std::fill_n(out, SMC_PNETID_LEN, ' ');
	std::copy(pnetid.begin(), pnetid.end(), out);
	return !pnetid.empty();
}

} // namespace

void smc_ib_device_get(smc_ib_device *dev)
{
	dev->references++;
}

void smc_ib_device_put(smc_ib_device *dev)
{
	if (dev != nullptr)
		dev->references--;
}

smc_ib_device *smc_ib_device_next(smc_ib_device *prev)
{
	const std::size_t place = prev == nullptr ? 0 : prev->place + 1;

	smc_ib_device_put(prev);
	if (place == devices.size())
		return nullptr;
	smc_ib_device_get(devices[place].get());
	return devices[place].get();
}

bool smc_ib_device_any()
{
	return !devices.empty();
}

bool smc_ib_device_any_iwarp()
{
	return std::any_of(devices.begin(), devices.end(),
			   [](const auto &device) { return device->iwarp; });
}

bool smc_ib_device_present(const smc_ib_device *dev)
{
	return dev->present;
}

bool smc_ib_device_accessible(smc_ib_device *dev, const net *net)
{
	return dev->accessible && dev->of_host == (net == smc_init_net());
}

u8 smc_ib_device_ports(const smc_ib_device *dev)
{
	return static_cast<u8>(dev->ports.size());
}

bool smc_ib_device_iwarp(const smc_ib_device *dev)
{
	return dev->iwarp;
}

u8 smc_ib_port_mtu(const smc_ib_device *dev, u8 port)
{
	return dev->ports[port - 1U].known_mtu_code;
}

void smc_ib_port_update_mtu(smc_ib_device *dev, u8 port)
{
	dev->ports[port - 1U].known_mtu_code = dev->ports[port - 1U].mtu_code;
}

bool smc_ib_port_active(const smc_ib_device *dev, u8 port)
{
	return dev->ports[port - 1U].active;
}

bool smc_ib_port_carries(smc_ib_device *dev, u8 port, net *net, u32)
{
	const FakePort &fake = dev->ports[port - 1U];

	return net == smc_init_net() ? fake.below_host : fake.below;
}

u32 smc_sysctl_host_ports(net *)
{
	return host_ports;
}

bool smc_tcp_host_path(const struct smc_tcp_path *, struct smc_host_path *path)
{
	*path = {};
	return host_has_route;
}

bool smc_ib_device_meets_in(const smc_ib_device *, const net *)
{
	return links_meet;
}

int smc_ib_port_info(smc_ib_device *dev, u8 port, const net *, struct smc_ib_port_info *out)
{
	*out = {};
	out->mac[5] = 9;
	out->ifindex = dev->ports[port - 1U].ifindex;
	return 0;
}

int smc_ib_gid_find(smc_ib_device *dev, u8 port, const smc_ib_gid_query *query, smc_ib_gid *out)
{
	const auto &gids = dev->ports[port - 1U].gids;

	*out = {};
	return std::find(gids.begin(), gids.end(), query->type) == gids.end() ? -2 : 0;
}

int smc_ib_route_lookup(smc_ib_device *dev, u8 port, const smc_ib_gid *, const u8 *,
			bool *uses_gateway)
{
	*uses_gateway = dev->ports[port - 1U].uses_gateway;
	return dev->ports[port - 1U].has_route ? 0 : -113;
}

// The host's part of an address is the device's and the port's place.
int smc_ib_port_address(smc_ib_device *dev, u8 port, net *, const u8 *like, const u8 *peer,
			bool *uses_gateway, smc_ib_gid *out)
{
	const FakePort &fake = dev->ports[port - 1U];

	*out = {};
	*uses_gateway = fake.uses_gateway;
	out->type = SMC_IB_GID_IWARP;
	std::copy_n(like, sizeof(out->raw), out->raw);
	out->raw[15] = static_cast<u8>(10 * dev->place + port);
	return peer == nullptr || fake.has_route ? 0 : -101;
}

bool smc_pnet_of_netdev(net *, u32, u8 out[SMC_PNETID_LEN])
{
	return pad(netdev_pnetid, out);
}

std::optional<smc::control::PnetIdBytes>
smc::control::pnet_of_port(const smc::shell::IbDevice &device, u8 port)
{
	PnetIdBytes id;

	if (!pad(device.get()->ports[port - 1U].pnetid, id.data()))
		return std::nullopt;
	return id;
}

namespace smc::transport::rdma {
namespace {

class PortTest : public testing::Test {
protected:
	void SetUp() override { ASSERT_TRUE(set_up_port_memory()); }
	void TearDown() override
	{
		for (const auto &device : devices)
			port_memory().forget(device.get());
		for (const auto &device : devices)
			EXPECT_EQ(device->references, 1) << "device " << device->place;
		devices.clear();
		netdev_pnetid.clear();
		host_ports = SMC_HOST_PORTS_NONE;
		host_has_route = true;
		links_meet = true;
		tear_down_port_memory();
	}

	static smc_ib_device &add(std::vector<FakePort> ports)
	{
		control::DeviceEpoch::begin();
		devices.push_back(std::make_unique<smc_ib_device>());
		devices.back()->place = devices.size() - 1;
		devices.back()->ports = std::move(ports);
		return *devices.back();
	}

	// "device/port", or nothing.
	static std::string found(smc_ib_gid_type type = SMC_IB_GID_ROCE_V2)
	{
		const struct smc_tcp_path path = {};
		const auto port = find_port(&host, path, type);

		return port ? std::to_string(port->device.get()->place) + "/" +
				       std::to_string(port->number)
			    : "";
	}
};

TEST_F(PortTest, FirstBelowTheNetdev)
{
	EXPECT_EQ(found(), "");
	add({{.below = false}, {.below = false}});
	EXPECT_EQ(found(), "");
	add({{.below = false}, {}});
	add({{}});
	EXPECT_EQ(found(), "1/2");
}

// In an active-backup bond the backup slave has no GID of the bond.
TEST_F(PortTest, OneWithoutTheGidIsPassedOver)
{
	add({{.gids = {}}});
	EXPECT_EQ(found(), "");
	add({{.gids = {SMC_IB_GID_ROCE_V2}}, {}});
	EXPECT_EQ(found(SMC_IB_GID_ROCE_V2), "1/1");
	EXPECT_EQ(found(SMC_IB_GID_ROCE_V1), "1/2");
}

TEST_F(PortTest, UnfitDevicesArePassedOver)
{
	add({{}}).iwarp = true;
	add({{}}).accessible = false;
	add({{}}).present = false;
	add({{.active = false}});
	EXPECT_EQ(found(), "");
	add({{}});
	EXPECT_EQ(found(), "4/1");
}

TEST_F(PortTest, IwarpTakesTheAddressOfTheConnection)
{
	struct smc_tcp_path path = {};
	path.local[0] = 0x20; // 2000::7
	path.local[15] = 7;
	add({{}});
	EXPECT_FALSE(find_port(&host, path, SMC_IB_GID_IWARP));
	add({{}}).iwarp = true;
	const auto port = find_port(&host, path, SMC_IB_GID_IWARP);
	ASSERT_TRUE(port);
	EXPECT_EQ(port->device.get()->place, 1u);
	EXPECT_EQ(port->gid.type, SMC_IB_GID_IWARP);
	EXPECT_EQ(port->wire_gid().bytes, std::to_array(path.local));
	EXPECT_EQ(port->wire_mac().bytes[5], 9);

	path.local[0] = 0xfe; // fe80::7
	path.local[1] = 0x80;
	EXPECT_FALSE(find_port(&host, path, SMC_IB_GID_IWARP));
	path.local[1] = 0x7f;
	EXPECT_TRUE(find_port(&host, path, SMC_IB_GID_IWARP));
	links_meet = false;
	EXPECT_FALSE(find_port(&host, path, SMC_IB_GID_IWARP));
}

// Not one that carries others, too.
TEST_F(PortTest, IwarpByAVlanIsThatVlans)
{
	struct smc_tcp_path path = {};

	path.local[10] = path.local[11] = 0xff;
	path.ifindex = 7;
	path.vlan_id = 5;
	add({{}}).iwarp = true;
	add({{.below = false, .pnetid = "F"}}).iwarp = true;
	netdev_pnetid = "F";
	EXPECT_FALSE(find_port(&host, path, SMC_IB_GID_IWARP));
	add({{.ifindex = 7}}).iwarp = true;
	const auto port = find_port(&host, path, SMC_IB_GID_IWARP);
	ASSERT_TRUE(port);
	EXPECT_EQ(port->device.get()->place, 2u);
	EXPECT_EQ(port->gid.vlan_id, 5);
}

// While the port below has gone one with the network device's PNET ID serves, for groups that have
// links on both.
TEST_F(PortTest, IwarpOnAnotherPortOfThePnet)
{
	struct smc_tcp_path path = {};

	path.local[10] = path.local[11] = 0xff;
	add({{.active = false}}).iwarp = true;
	add({{.below = false, .pnetid = "F"}}).iwarp = true;
	EXPECT_FALSE(find_port(&host, path, SMC_IB_GID_IWARP));
	netdev_pnetid = "F";
	const auto port = find_port(&host, path, SMC_IB_GID_IWARP);
	ASSERT_TRUE(port);
	EXPECT_EQ(port->device.get()->place, 1u);
	EXPECT_EQ(port->wire_gid().bytes[15], 11);
	links_meet = false;
	EXPECT_FALSE(find_port(&host, path, SMC_IB_GID_IWARP));
	links_meet = true;
	devices[0]->ports[0].active = true;
	EXPECT_EQ(found(SMC_IB_GID_IWARP), "0/1");
}

TEST_F(PortTest, PnetIdSaysWhereItHasOne)
{
	netdev_pnetid = "FABRIC1";
	add({{}, {.below = false, .pnetid = "FABRIC2"}});
	EXPECT_EQ(found(), "");
	add({{.below = false, .pnetid = "FABRIC1", .gids = {SMC_IB_GID_ROCE_V1}},
	     {.below = false, .pnetid = "FABRIC1"}});
	EXPECT_EQ(found(SMC_IB_GID_ROCE_V2), "1/2");
	EXPECT_EQ(found(SMC_IB_GID_ROCE_V1), "1/1");
}

TEST_F(PortTest, TheHostsPortIsThereAsFarAsItIsLent)
{
	add({{.below = false, .below_host = true}}).of_host = true;
	for (const u32 value : {u32{SMC_HOST_PORTS_NONE}, u32{SMC_HOST_PORTS_PNET}}) {
		host_ports = value;
		EXPECT_EQ(found(), "") << value;
	}
	host_ports = SMC_HOST_PORTS_ROUTE;
	EXPECT_EQ(found(), "0/1");
	host_has_route = false;
	EXPECT_EQ(found(), "");
	host_has_route = true;
	// An own one goes first, and is not marked as the host's.
	add({{}});
	EXPECT_EQ(found(), "1/1");
	const struct smc_tcp_path path = {};
	EXPECT_FALSE(find_port(&host, path, SMC_IB_GID_ROCE_V2)->of_host);
	devices.back()->present = false;
	EXPECT_TRUE(find_port(&host, path, SMC_IB_GID_ROCE_V2)->of_host);
}

TEST_F(PortTest, ALentPortHasThePnetIdOfTheNetdevIfThatHasOne)
{
	add({{.below_host = true}, {.below = false, .pnetid = "FABRIC1"}}).of_host = true;
	netdev_pnetid = "FABRIC1";
	EXPECT_EQ(found(), "");
	for (const u32 value : {u32{SMC_HOST_PORTS_PNET}, u32{SMC_HOST_PORTS_ROUTE}}) {
		host_ports = value;
		EXPECT_EQ(found(), "0/2") << value;
	}
	// Then a route alone does not do.
	netdev_pnetid = "FABRIC2";
	EXPECT_EQ(found(), "");
}

// A port that is found is not looked for again, until something has changed.
TEST_F(PortTest, IsRemembered)
{
	add({{}, {}});
	EXPECT_EQ(found(), "0/1");
	devices[0]->ports[0].below = false;
	EXPECT_EQ(found(), "0/1");
	EXPECT_EQ(found(SMC_IB_GID_ROCE_V1), "0/2");
	smc::control::DeviceEpoch::begin();
	EXPECT_EQ(found(), "0/2");
}

TEST_F(PortTest, ThatThereIsNoneIsRemembered)
{
	add({{.below = false}});
	EXPECT_EQ(found(), "");
	devices[0]->ports[0].below = true;
	EXPECT_EQ(found(), "");
	// What is known of peers stays.
	const u64 epoch = smc::control::DeviceEpoch::current();
	smc::control::DeviceEpoch::change_ways();
	EXPECT_EQ(found(), "0/1");
	EXPECT_EQ(smc::control::DeviceEpoch::current(), epoch);
}

// What the port itself says counts at once.
TEST_F(PortTest, OneThatIsRememberedMustBeUsable)
{
	add({{.mtu_code = 5}, {}});
	EXPECT_EQ(found(), "0/1");
	devices[0]->ports[0].known_mtu_code = 5;
	EXPECT_EQ(find_port(&host, {}, SMC_IB_GID_ROCE_V2)->mtu, wire::QpMtu{5});
	devices[0]->ports[0].active = false;
	EXPECT_EQ(found(), "0/2");
	devices[0]->accessible = false;
	EXPECT_EQ(found(), "");
}

TEST_F(PortTest, EachQuestionHasItsAnswer)
{
	struct smc_tcp_path path = {.ipv4 = true};
	const auto look = [&] { return find_port(&host, path, SMC_IB_GID_ROCE_V2).has_value(); };

	add({{}});
	EXPECT_TRUE(look());
	devices[0]->ports[0].below = false;
	EXPECT_TRUE(look());
	path.local[15] = 1;
	EXPECT_FALSE(look());
	path.local[15] = 0;
	path.ifindex = 1;
	EXPECT_FALSE(look());
	path.ifindex = 0;
	path.vlan_id = 1;
	EXPECT_FALSE(look());
	path.vlan_id = 0;
	EXPECT_TRUE(look());
	struct net other;
	EXPECT_FALSE(find_port(&other, path, SMC_IB_GID_ROCE_V2));
}

TEST_F(PortTest, ADeviceThatGoesIsForgotten)
{
	add({{}});
	EXPECT_EQ(found(), "0/1");
	EXPECT_EQ(devices[0]->references, 2);
	port_memory().forget(devices[0].get());
	EXPECT_EQ(devices[0]->references, 1);
	devices[0]->present = false;
	EXPECT_EQ(found(), "");
}

// ---- Another port for a group -----------------------------------------------------------------

class OtherPortTest : public PortTest {
protected:
	std::array<std::uint8_t, 16> gid_{}; // of what was found
	// "device/port", or nothing, for a group on port 1 of device 0.
	std::string other(bool direct = true, bool peer_is_known = true,
			  smc_ib_gid_type type = SMC_IB_GID_ROCE_V2, bool same_will_do = false)
	{
		Port than;
		wire::Gid peer;

		peer.bytes[10] = peer.bytes[11] = 0xff;
		than.device = shell::IbDevice::share(devices[0].get());
		than.number = 1;
		than.gid.raw[10] = than.gid.raw[11] = 0xff;
		const auto port =
			find_other_port({.netns = &host,
					 .than = than,
					 .type = type,
					 .vlan_id = 0,
					 .peer = peer_is_known ? std::optional(peer) : std::nullopt,
					 .direct = direct,
					 .same_will_do = same_will_do});

		if (port)
			gid_ = port->wire_gid().bytes;
		return port ? std::to_string(port->device.get()->place) + "/" +
				       std::to_string(port->number)
			    : "";
	}
};

TEST_F(OtherPortTest, HasThePnetIdOfTheFirst)
{
	add({{.pnetid = "FABRIC1"}, {.pnetid = "FABRIC2"}});
	EXPECT_EQ(other(), "");
	add({{}, {.pnetid = "FABRIC1"}});
	EXPECT_EQ(other(), "1/2");
	devices[0]->ports[1].pnetid = "FABRIC1";
	EXPECT_EQ(other(), "0/2");
	devices[0]->ports[1].active = false;
	EXPECT_EQ(other(), "1/2");
}

TEST_F(OtherPortTest, WithoutPnetIdThereIsNone)
{
	add({{}, {}});
	add({{}});
	EXPECT_EQ(other(), "");
}

TEST_F(OtherPortTest, LeadsToThePeerInTheSameWay)
{
	add({{.pnetid = "F"}, {.pnetid = "F", .has_route = false}});
	EXPECT_EQ(other(), "");
	EXPECT_EQ(other(true, /*peer_is_known=*/false), "0/2");
	add({{.pnetid = "F", .uses_gateway = true}, {.pnetid = "F"}});
	EXPECT_EQ(other(/*direct=*/true), "1/2");
	EXPECT_EQ(other(/*direct=*/false), "1/1");
}

// iWARP: its network device has an address from which a route leads to the peer.
TEST_F(OtherPortTest, OfIwarpHasAnAddress)
{
	const auto iwarp = [this](bool peer_is_known) {
		return other(/*direct=*/true, peer_is_known, SMC_IB_GID_IWARP);
	};
	add({{.pnetid = "F"}}).iwarp = true;
	add({{.pnetid = "F"}});
	EXPECT_EQ(iwarp(true), "");
	add({{.pnetid = "F", .has_route = false}}).iwarp = true;
	EXPECT_EQ(iwarp(true), "");
	EXPECT_EQ(iwarp(false), "2/1");
	add({{.pnetid = "F", .uses_gateway = true}, {.pnetid = "F"}}).iwarp = true;
	EXPECT_EQ(iwarp(true), "3/2");
	EXPECT_EQ(gid_[15], 32);
	EXPECT_EQ(gid_[10], 0xff);
	links_meet = false;
	EXPECT_EQ(iwarp(true), "");
}

TEST_F(OtherPortTest, TheSameOneWillDo)
{
	const auto other_or_same = [this] {
		return other(/*direct=*/true, /*peer_is_known=*/true, SMC_IB_GID_ROCE_V2,
			     /*same_will_do=*/true);
	};
	add({{}});
	EXPECT_EQ(other(), "");
	EXPECT_EQ(other_or_same(), "0/1");
	devices[0]->ports[0].pnetid = "F";
	EXPECT_EQ(other_or_same(), "0/1");
	add({{.pnetid = "F"}});
	EXPECT_EQ(other_or_same(), "1/1");
}

// A connection manager would connect to it.
TEST_F(OtherPortTest, TheSameOfIwarpLeadsToThePeer)
{
	const auto other_or_same = [this](bool direct, bool peer_is_known) {
		return other(direct, peer_is_known, SMC_IB_GID_IWARP, /*same_will_do=*/true);
	};
	add({{.pnetid = "F"}}).iwarp = true;
	EXPECT_EQ(other_or_same(true, true), "0/1");
	EXPECT_EQ(gid_[15], 0);
	EXPECT_EQ(other_or_same(false, true), "");
	EXPECT_EQ(other_or_same(true, false), "0/1");
	devices[0]->ports[0].has_route = false;
	EXPECT_EQ(other_or_same(true, true), "");
	EXPECT_EQ(other_or_same(true, false), "0/1");
}

// There was no event about the change.
TEST_F(PortTest, TheMtuOfANewLinkIsTodays)
{
	add({{.mtu_code = 5}});
	const struct smc_tcp_path path = {};
	auto port = find_port(&host, path, SMC_IB_GID_ROCE_V2);

	ASSERT_TRUE(port);
	EXPECT_EQ(port->mtu, wire::QpMtu{3});
	port->refresh_mtu();
	EXPECT_EQ(port->mtu, wire::QpMtu{5});
}

} // namespace
} // namespace smc::transport::rdma
