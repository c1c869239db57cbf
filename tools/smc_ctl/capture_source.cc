// SPDX-License-Identifier: GPL-2.0-only
#include "capture_source.hpp"
#include "netlink.hpp"

#include <pcap/pcap.h>
#include <poll.h>

#include <cstddef>

namespace smc_ctl {
namespace {

constexpr int kReadTimeoutMs = 100;
constexpr int kPacketsMax = 64;
constexpr std::uint64_t kNsPerS = 1000000000;
constexpr std::uint64_t kNsPerUs = 1000;

// Of the kernel's memory, for each device. Each packet takes the room of the largest.
int ring_bytes(Keep keep)
{
	switch (keep) {
	case Keep::kHeaders: return 4 << 20;
	case Keep::kBlanks: return 8 << 20;
	case Keep::kAll: break;
	}
	return 16 << 20;
}

// What pcap_dispatch() passes on.
struct Visitor {
	const CaptureSource::Visit &visit;
	bool nanoseconds;
};

void visit_packet(u_char *user, const pcap_pkthdr *header, const u_char *bytes)
{
	const auto *visitor = reinterpret_cast<const Visitor *>(user);
	const auto fraction = static_cast<std::uint64_t>(header->ts.tv_usec);

	visitor->visit(static_cast<std::uint64_t>(header->ts.tv_sec) * kNsPerS +
			       fraction * (visitor->nanoseconds ? 1 : kNsPerUs),
		       {bytes, header->caplen}, header->len);
}

std::string detail(const std::string &text)
{
	return text.empty() ? text : " (" + text + ")";
}

} // namespace

void CaptureSource::Close::operator()(pcap *handle) const
{
	pcap_close(handle);
}

CaptureSource::CaptureSource(const std::string &name, Keep keep) : name_(name)
{
	char error[PCAP_ERRBUF_SIZE] = "";

	handle_.reset(pcap_create(name.c_str(), error));
	if (!handle_)
		throw NetlinkError(name + ": " + error, 0);
	pcap *const handle = handle_.get();
	// Each packet at once: those of several devices are to be in their order.
	if (pcap_set_snaplen(handle, static_cast<int>(most_bytes(keep))) != 0 ||
	    pcap_set_promisc(handle, 0) != 0 || pcap_set_timeout(handle, kReadTimeoutMs) != 0 ||
	    pcap_set_immediate_mode(handle, 1) != 0 ||
	    pcap_set_buffer_size(handle, ring_bytes(keep)) != 0)
		throw NetlinkError(why(), 0);
	// Where it cannot be, it is microseconds.
	(void)pcap_set_tstamp_precision(handle, PCAP_TSTAMP_PRECISION_NANO);
	const int status = pcap_activate(handle);
	if (status < 0)
		throw NetlinkError(
			name + ": " + pcap_statustostr(status) + detail(pcap_geterr(handle)), 0);
	nanoseconds_ = pcap_get_tstamp_precision(handle) == PCAP_TSTAMP_PRECISION_NANO;
	switch (pcap_datalink(handle)) {
	case DLT_EN10MB: link_type_ = LinkType::kEthernet; break;
	case DLT_RAW: link_type_ = LinkType::kIp; break;
	case DLT_LINUX_SLL: link_type_ = LinkType::kCooked; break;
	default: throw NetlinkError(name + ": carries neither Ethernet nor IP", 0);
	}
}

CaptureSource CaptureSource::of_netdev(const std::string &name, const TcpFilter &tcp, Keep keep)
{
	CaptureSource source(name, keep);
	char error[PCAP_ERRBUF_SIZE] = "";

	if (pcap_setnonblock(source.handle_.get(), 1, error) != 0)
		throw NetlinkError(name + ": " + error, 0);
	source.set_filter(filter_of_netdev(tcp, source.link_type_ == LinkType::kEthernet));
	return source;
}

CaptureSource CaptureSource::of_rdma_device(const std::string &name, Keep keep)
{
	CaptureSource source(name, keep);

	// libpcap's sniffer can only wait.
	source.waits_ = true;
	source.set_filter(filter_of_rdma_device());
	return source;
}

int CaptureSource::fd() const
{
	return pcap_get_selectable_fd(handle_.get());
}

unsigned CaptureSource::read(const Visit &visit)
{
	if (waits_ && !has_packets())
		return 0;
	Visitor visitor{visit, nanoseconds_};
	const int count = pcap_dispatch(handle_.get(), kPacketsMax, visit_packet,
					reinterpret_cast<u_char *>(&visitor));

	if (count < 0)
		throw NetlinkError(why(), 0);
	has_more_ = count == kPacketsMax;
	return static_cast<unsigned>(count);
}

// After as many as there can be it goes on with those that are left, without an event for them.
bool CaptureSource::has_packets() const
{
	pollfd wait{fd(), POLLIN, 0};

	return has_more_ || poll(&wait, 1, 0) > 0;
}

CaptureSource::Counts CaptureSource::counts() const
{
	pcap_stat found{};

	if (pcap_stats(handle_.get(), &found) != 0)
		return {};
	return {.received = found.ps_recv, .dropped = found.ps_drop};
}

void CaptureSource::set_filter(const std::string &filter)
{
	bpf_program program{};

	if (pcap_compile(handle_.get(), &program, filter.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0)
		throw NetlinkError(why(), 0);
	const int status = pcap_setfilter(handle_.get(), &program);
	pcap_freecode(&program);
	if (status != 0)
		throw NetlinkError(why(), 0);
}

std::string CaptureSource::why() const
{
	return name_ + ": " + pcap_geterr(handle_.get());
}

} // namespace smc_ctl
