// SPDX-License-Identifier: GPL-2.0-only
#include "address.hpp"
#include "commands.hpp"
#include "doctor.hpp"
#include "fd.hpp"
#include "names.hpp"
#include "netlink.hpp"
#include "reason.hpp"
#include "sockets.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <regex>
#include <set>

namespace smc_ctl {
namespace {

namespace fs = std::filesystem;

using Level = Finding::Level;

constexpr int kAfSmc = 43;
constexpr int kConnectMs = 30000;
// A client of ours ends at once.
constexpr int kServeMs = 5000;
constexpr int kBacklog = 16;

struct FreeAddresses {
	void operator()(addrinfo *list) const { freeaddrinfo(list); }
	void operator()(ifaddrs *list) const { freeifaddrs(list); }
};
using Found = std::unique_ptr<addrinfo, FreeAddresses>;

// Throws NetlinkError with what the resolver says.
Found resolve(const std::string &host, const std::string &port)
{
	addrinfo hints{};
	addrinfo *list = nullptr;

	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = host.empty() ? AI_PASSIVE : 0;
	if (const int error =
		    getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &list))
		throw NetlinkError(host + ": " + gai_strerror(error), 0);
	return Found(list);
}

Endpoint endpoint_of(const sockaddr *address)
{
	char text[INET6_ADDRSTRLEN] = "?";

	if (address->sa_family == AF_INET) {
		const auto *v4 = reinterpret_cast<const sockaddr_in *>(address);

		(void)inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
		return {text, ntohs(v4->sin_port)};
	}
	const auto *v6 = reinterpret_cast<const sockaddr_in6 *>(address);
	(void)inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
	return {text, ntohs(v6->sin6_port)};
}

// The network device by which a packet to @to leaves; empty if there is no route.
std::string device_on_route(const addrinfo &to)
{
	const Fd fd(socket(to.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	sockaddr_storage local{};
	socklen_t size = sizeof(local);
	ifaddrs *list = nullptr;

	if (connect(fd.get(), to.ai_addr, to.ai_addrlen) != 0 ||
	    getsockname(fd.get(), reinterpret_cast<sockaddr *>(&local), &size) != 0 ||
	    getifaddrs(&list) != 0)
		return {};
	const std::unique_ptr<ifaddrs, FreeAddresses> all(list);
	const std::string source = endpoint_of(reinterpret_cast<sockaddr *>(&local)).address;
	// From the host to itself packets take the loopback device, whatever their address.
	if (source == endpoint_of(to.ai_addr).address)
		return "lo";
	for (const ifaddrs *one = list; one != nullptr; one = one->ifa_next) {
		if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == to.ai_family &&
		    endpoint_of(one->ifa_addr).address == source)
			return one->ifa_name;
	}
	return {};
}

// A device and those below it: of a VLAN, a bond, a bridge.
void add_with_lower(const std::string &netdev, std::set<unsigned> &ifindexes)
{
	std::error_code none;

	if (!ifindexes.insert(if_nametoindex(netdev.c_str())).second)
		return;
	for (const fs::directory_entry &entry :
	     fs::directory_iterator("/sys/class/net/" + netdev, none)) {
		const std::string name = entry.path().filename();

		if (name.starts_with("lower_"))
			add_with_lower(name.substr(std::strlen("lower_")), ifindexes);
	}
}

std::string pnet_of(const std::string &netdev)
{
	for (const PnetEntry &entry : pnet_entries()) {
		if (entry.device.eth == netdev)
			return entry.id;
	}
	return {};
}

std::vector<Finding> device_findings(const std::string &netdev)
{
	std::set<unsigned> ifindexes;
	const std::string pnet = pnet_of(netdev);
	std::vector<Finding> findings;

	add_with_lower(netdev, ifindexes);
	for (const RdmaPort &port : rdma_ports()) {
		const bool meant =
			pnet.empty() ? ifindexes.contains(port.ifindex) : port.pnet == pnet;

		if (!meant)
			continue;
		append(findings, port_findings(port));
	}
	if (findings.empty() && pnet.empty())
		findings.push_back(
			{Level::kBad, "device", "no RDMA device on " + netdev,
			 "smc_ctl doctor; if another device is to be used: smc_ctl pnet add; in a "
			 "container: sysctl net.smc.host_ports=2 by the host"});
	else if (findings.empty())
		findings.push_back({Level::kBad, "device",
				    "no port of an RDMA device has the PNET ID " + pnet,
				    "smc_ctl pnet add " + pnet + " --rdma NAME"});
	return findings;
}

Address address_of(const Endpoint &peer)
{
	return parse_prefix(peer.address).address;
}

// As smc_ctl's command line has it, with hyphens in front of the words that are not values.
std::string as_options(const std::string &rule)
{
	return std::regex_replace(rule, std::regex(" (peer|port|out|in)\\b"), " --$1");
}

// Rules, and what is remembered: of this module only.
std::vector<Finding> policy_findings(const Endpoint &peer)
{
	std::vector<Finding> findings;
	const Address address = address_of(peer);

	for (const Rule &rule : rules()) {
		const Prefix prefix = rule.peer.empty() ? Prefix{} : parse_prefix(rule.peer);

		if ((rule.in && !rule.out) || peer.port < rule.port_first ||
		    peer.port > rule.port_last || !is_in(address, prefix))
			continue;
		if (!rule.allow)
			findings.push_back({Level::kBad, "rules",
					    "this one forbids it: " + text_of(rule),
					    "smc_ctl rules del " + as_options(text_of(rule))});
		break;
	}
	for (const PeerInfo &known : peers()) {
		if (!known.smc && known.endpoint == text_of(peer))
			findings.push_back(
				{Level::kBad, "peer",
				 "it did not answer as an SMC server, and is not asked for "
				 "another " +
					 std::to_string(known.rest_s) + " s",
				 "smc_ctl peers flush"});
	}
	return findings;
}

std::string carrier_of(const SocketInfo &socket)
{
	switch (socket.carrier) {
	case Carrier::kSmcR:
		return "SMC-R, device " + socket.device + " port " + std::to_string(socket.port);
	case Carrier::kSmcD: return "SMC-D, inside this host";
	case Carrier::kTcp: return "TCP: " + describe_reason(socket.reason);
	case Carrier::kNone: break;
	}
	return "not connected";
}

std::optional<SocketInfo> find_socket(const Fd &fd)
{
	struct stat found;

	if (fstat(fd.get(), &found) != 0)
		return std::nullopt;
	for (const SocketInfo &socket : sockets()) {
		if (socket.inode == found.st_ino)
			return socket;
	}
	return std::nullopt;
}

// 0, or the errno.
int connect_within(const Fd &fd, const addrinfo &to, int ms)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (connect(fd.get(), to.ai_addr, to.ai_addrlen) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	pollfd wait{fd.get(), POLLOUT, 0};
	const int ready = poll(&wait, 1, ms);
	if (ready < 0)
		return errno;
	if (ready == 0)
		return ETIMEDOUT;
	return getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

int smc_socket(int family, int flags)
{
	return socket(kAfSmc, SOCK_STREAM | SOCK_CLOEXEC | flags, family == AF_INET6 ? 1 : 0);
}

// Connects, and looks what has become of it.
Verdict probe(const addrinfo &to, std::vector<Finding> &findings)
{
	const Fd fd(smc_socket(to.ai_family, SOCK_NONBLOCK));

	if (fd.get() < 0) {
		findings.push_back({Level::kBad, "socket",
				    std::string("AF_SMC: ") + std::strerror(errno),
				    "modprobe smc"});
		return Verdict::kNoModule;
	}
	if (const int error = connect_within(fd, to, kConnectMs)) {
		findings.push_back({Level::kBad, "connect", std::strerror(error),
				    error == ECONNREFUSED
					    ? "nobody listens there: smc_ctl check --serve on the "
					      "other host, or name the port of a server"
					    : "the same is to be expected of TCP: ping, firewall"});
		return Verdict::kNoConnection;
	}
	const std::optional<SocketInfo> made = find_socket(fd);
	if (!made) {
		findings.push_back({Level::kBad, "connect", "the socket is not shown any more"});
		return Verdict::kNoConnection;
	}
	if (made->carrier != Carrier::kTcp) {
		findings.push_back({Level::kOk, "connected", carrier_of(*made)});
		return Verdict::kSmc;
	}
	std::string advice = advise_about(made->reason);
	std::string text = carrier_of(*made);
	if (made->peer_reason != 0) {
		text += "; the peer says: " + describe_reason(made->peer_reason);
		if (const std::string theirs = advise_about(made->peer_reason); !theirs.empty())
			advice = theirs;
	}
	findings.push_back({Level::kBad, "connected", text, advice});
	return Verdict::kTcp;
}

Verdict check_one(const addrinfo &to, std::vector<Finding> &findings)
{
	const Endpoint peer = endpoint_of(to.ai_addr);
	const std::string netdev = device_on_route(to);

	findings.push_back(module_finding());
	if (findings.back().level == Level::kBad)
		return Verdict::kNoModule;
	append(findings, namespace_findings());
	if (findings.front().level == Level::kOk)
		append(findings, policy_findings(peer));
	if (netdev.empty()) {
		findings.push_back({Level::kBad, "route", "there is none to " + peer.address,
				    "ip route get " + peer.address});
		return Verdict::kNoConnection;
	}
	findings.push_back({Level::kOk, "route", "to " + text_of(peer) + " by " + netdev});
	if (netdev != "lo") {
		append(findings, device_findings(netdev));
		findings.push_back(firewall_finding());
	}
	return probe(to, findings);
}

// Takes clients until it is killed.
[[noreturn]] void serve(const std::string &port)
{
	const Found found = resolve("", port);
	std::vector<std::unique_ptr<Fd>> listeners;
	std::vector<pollfd> waits;
	const int on = 1;

	for (const addrinfo *at = found.get(); at != nullptr; at = at->ai_next) {
		auto fd = std::make_unique<Fd>(smc_socket(at->ai_family, 0));

		if (at->ai_family == AF_INET6)
			(void)setsockopt(fd->get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
		(void)setsockopt(fd->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (fd->get() < 0 || bind(fd->get(), at->ai_addr, at->ai_addrlen) != 0 ||
		    listen(fd->get(), kBacklog) != 0)
			throw NetlinkError("port " + port, errno);
		waits.push_back({fd->get(), POLLIN, 0});
		listeners.push_back(std::move(fd));
	}
	std::printf("listening on port %s\n", port.c_str());
	std::fflush(stdout);
	for (;;) {
		if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR)
			throw NetlinkError("poll", errno);
		for (const pollfd &wait : waits) {
			sockaddr_storage from{};
			socklen_t size = sizeof(from);

			if ((wait.revents & POLLIN) == 0)
				continue;
			const Fd client(accept4(wait.fd, reinterpret_cast<sockaddr *>(&from), &size,
						SOCK_CLOEXEC));
			if (client.get() < 0)
				continue;
			const std::optional<SocketInfo> made = find_socket(client);
			std::printf(
				"%s %s\n",
				text_of(endpoint_of(reinterpret_cast<sockaddr *>(&from))).c_str(),
				made ? carrier_of(*made).c_str() : "TCP");
			std::fflush(stdout);
			pollfd end{client.get(), POLLIN, 0};
			(void)poll(&end, 1, kServeMs);
		}
	}
}

} // namespace

int check(const CheckOptions &options)
{
	if (options.serve)
		serve(options.port);
	std::vector<Finding> findings;
	const Found found = resolve(options.host, options.port);
	const Verdict verdict = check_one(*found, findings);

	return tell(findings, verdict, options.json);
}

} // namespace smc_ctl
