// SPDX-License-Identifier: GPL-2.0-only
#include "capture_devices.hpp"
#include "capture_source.hpp"
#include "commands.hpp"
#include "fd.hpp"
#include "netlink.hpp"
#include "pcapng.hpp"
#include "smc_packet.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace smc_ctl {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = SmcPacket::Kind;

// Each has a ring buffer.
constexpr std::size_t kDevicesMax = 32;
constexpr std::uint64_t kBytesPerMib = 1 << 20;
// For sources that cannot be waited for.
constexpr int kPollMs = 200;
// What is in the rings when it ends is written, too, unless that never stops.
constexpr std::chrono::milliseconds kLastRounds{500};

struct Packet {
	std::uint32_t interface = 0;
	std::uint64_t when_ns = 0;
	std::vector<std::uint8_t> bytes{};
	std::uint32_t original_bytes = 0;
};

struct Interface {
	CaptureSource source;
	std::array<std::uint64_t, SmcPacket::kKinds> counts{};
	bool gone = false;
};

void say(const std::string &text)
{
	std::fprintf(stderr, "smc_ctl: %s\n", text.c_str());
}

std::uint64_t now_ns()
{
	const auto now = std::chrono::system_clock::now().time_since_epoch();

	return static_cast<std::uint64_t>(
		std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// Ctrl-C and the like, to be waited for like packets.
class Signals {
public:
	Signals() : fd_(make()) {}

	[[nodiscard]] int fd() const { return fd_.get(); }

private:
	static int make()
	{
		sigset_t ends;

		sigemptyset(&ends);
		for (const int one : {SIGINT, SIGTERM, SIGHUP})
			sigaddset(&ends, one);
		sigprocmask(SIG_BLOCK, &ends, nullptr);
		const int fd = signalfd(-1, &ends, SFD_CLOEXEC);
		if (fd < 0)
			throw NetlinkError("signals", errno);
		return fd;
	}

	Fd fd_;
};

// "-": standard output.
class OutputFile {
public:
	explicit OutputFile(const std::string &path)
	{
		if (path == "-") {
			if (isatty(STDOUT_FILENO))
				throw NetlinkError(
					"packets are nothing to read on a terminal: name a "
					"file by --write, or pipe them to tshark -r -",
					0);
			file_ = stdout;
			return;
		}
		// What is in there is not for everybody.
		const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fd < 0 || (file_ = fdopen(fd, "w")) == nullptr)
			throw NetlinkError(path, errno);
	}
	~OutputFile()
	{
		if (file_ != stdout)
			(void)std::fclose(file_);
	}
	OutputFile(const OutputFile &) = delete;
	OutputFile &operator=(const OutputFile &) = delete;

	[[nodiscard]] std::FILE *get() const { return file_; }

private:
	std::FILE *file_ = nullptr;
};

// Reads from several sources, and writes one file.
class Capture {
public:
	Capture(const CaptureOptions &options, std::vector<Interface> &interfaces, std::FILE *to)
		: options_(options), interfaces_(interfaces),
		  writer_(to, "smc_ctl " SMC_PACKAGE_VERSION)
	{
		for (const Interface &one : interfaces_)
			writer_.add(
				{.name = one.source.name(),
				 .description = is_netdev(one.source.name()) ? "" : "RDMA device",
				 .link_type = static_cast<std::uint16_t>(one.source.link_type()),
				 .most_bytes = most_bytes(options.keep)});
		writer_.flush();
	}

	// Until it is ended.
	void run(const Signals &signals)
	{
		const Clock::time_point begin = Clock::now();
		bool is_busy = false;

		while (!is_full() && any_is_there()) {
			const std::optional<int> rest_ms = rest_of(begin);

			// A source may have more that it does not tell of.
			if (rest_ms == 0 || is_ended(signals, is_busy ? 0 : rest_ms))
				break;
			is_busy = round() != 0;
		}
		const Clock::time_point end = Clock::now();
		while (!is_full() && round() != 0 && Clock::now() - end < kLastRounds) {}
		for (std::size_t i = 0; i < interfaces_.size(); i++) {
			const CaptureSource::Counts counts = interfaces_[i].source.counts();

			writer_.add(static_cast<std::uint32_t>(i), {.end_ns = now_ns(),
								    .received = counts.received,
								    .dropped = counts.dropped});
		}
		writer_.flush();
	}

private:
	[[nodiscard]] bool is_full() const
	{
		return (options_.packets != 0 && packets_ >= options_.packets) ||
		       writer_.written_bytes() >= options_.size_mib * kBytesPerMib;
	}

	[[nodiscard]] bool any_is_there() const
	{
		return std::any_of(interfaces_.begin(), interfaces_.end(),
				   [](const Interface &one) { return !one.gone; });
	}

	// Of the time that it is to take; nothing if it has no end.
	[[nodiscard]] std::optional<int> rest_of(Clock::time_point begin) const
	{
		if (options_.seconds == 0)
			return std::nullopt;
		const auto rest = std::chrono::ceil<std::chrono::milliseconds>(
			begin + std::chrono::duration<double>(options_.seconds) - Clock::now());
		return static_cast<int>(std::clamp<std::int64_t>(rest.count(), 0, INT_MAX));
	}

	// Waits for packets, and for whoever ends it.
	[[nodiscard]] bool is_ended(const Signals &signals, std::optional<int> rest_ms) const
	{
		std::vector<pollfd> waits{{signals.fd(), POLLIN, 0}};
		int wait_ms = rest_ms.value_or(-1);

		for (const Interface &one : interfaces_) {
			if (one.gone)
				continue;
			if (one.source.fd() >= 0)
				waits.push_back({one.source.fd(), POLLIN, 0});
			else
				wait_ms = rest_ms ? std::min(*rest_ms, kPollMs) : kPollMs;
		}
		if (poll(waits.data(), waits.size(), wait_ms) < 0 && errno != EINTR)
			throw NetlinkError("poll", errno);
		return (waits.front().revents & POLLIN) != 0;
	}

	// Some packets of each source, in the order in which they came; returns how many.
	std::size_t round()
	{
		std::vector<Packet> packets;

		for (std::size_t i = 0; i < interfaces_.size(); i++)
			read(static_cast<std::uint32_t>(i), packets);
		std::stable_sort(packets.begin(), packets.end(),
				 [](const Packet &one, const Packet &other) {
					 return one.when_ns < other.when_ns;
				 });
		for (Packet &packet : packets) {
			if (is_full())
				break;
			write(packet);
		}
		writer_.flush();
		return packets.size();
	}

	void read(std::uint32_t number, std::vector<Packet> &packets)
	{
		Interface &from = interfaces_[number];

		if (from.gone)
			return;
		try {
			from.source.read([&](std::uint64_t when_ns,
					     std::span<const std::uint8_t> bytes,
					     std::uint32_t original_bytes) {
				packets.push_back({.interface = number,
						   .when_ns = when_ns,
						   .bytes = {bytes.begin(), bytes.end()},
						   .original_bytes = original_bytes});
			});
		} catch (const NetlinkError &error) {
			say(std::string(error.what()) + "; its packets are missing from here on");
			from.gone = true;
		}
	}

	void write(Packet &packet)
	{
		Interface &from = interfaces_[packet.interface];
		const SmcPacket found = look_at(packet.bytes, from.source.link_type());
		const auto payload = packet.bytes.begin() +
				     static_cast<std::ptrdiff_t>(found.without_payload_bytes);

		// Wireshark calls RoCE malformed if its payload is left out.
		if (options_.keep == Keep::kBlanks && found.kind == Kind::kRoce)
			std::fill(payload, packet.bytes.end(), 0);
		else if (options_.keep != Keep::kAll)
			packet.bytes.erase(payload, packet.bytes.end());
		writer_.add({.interface = packet.interface,
			     .when_ns = packet.when_ns,
			     .kept = packet.bytes,
			     .original_bytes = packet.original_bytes,
			     .comment = name_of_message(found)});
		from.counts[static_cast<std::size_t>(found.kind)]++;
		packets_++;
	}

	const CaptureOptions &options_;
	std::vector<Interface> &interfaces_;
	PcapngWriter writer_;
	std::uint64_t packets_ = 0;
};

std::string advice_about_hardware(const std::string &device, const NetlinkError &error)
{
	return "the RDMA packets of " + device +
	       " are missing: hardware keeps them from its network device, and its driver does not "
	       "give them (" +
	       error.what() +
	       "); it takes a libpcap with RDMA and a driver with a sniffer, or a switch that "
	       "mirrors the port to another host";
}

// Those that the user has named. Throws if one of them cannot be.
void add_named(const CaptureOptions &options, std::vector<Interface> &interfaces)
{
	for (const std::string &name : options.interfaces) {
		if (is_netdev(name)) {
			interfaces.push_back(
				{CaptureSource::of_netdev(name, options.tcp, options.keep)});
			continue;
		}
		if (!is_rdma_device(name))
			throw NetlinkError("there is no network device and no RDMA device " + name,
					   0);
		try {
			interfaces.push_back({CaptureSource::of_rdma_device(name, options.keep)});
		} catch (const NetlinkError &error) {
			throw NetlinkError(advice_about_hardware(name, error), 0);
		}
	}
}

// All that may matter. Returns whether all of these could be opened.
bool add_all(const CaptureOptions &options, std::vector<Interface> &interfaces)
{
	const std::vector<std::string> netdevs = lowest_netdevs();
	std::optional<NetlinkError> first_error;
	bool complete = true;

	if (netdevs.size() > kDevicesMax)
		throw NetlinkError(std::to_string(netdevs.size()) +
					   " network devices are up: name those that matter by "
					   "--interface",
				   0);
	for (const std::string &name : netdevs) {
		try {
			interfaces.push_back(
				{CaptureSource::of_netdev(name, options.tcp, options.keep)});
		} catch (const NetlinkError &error) {
			say(error.what());
			first_error = first_error.value_or(error);
			complete = false;
		}
	}
	if (interfaces.empty())
		throw first_error.value_or(NetlinkError("no network device is up", 0));
	for (const std::string &name : rdma_hardware()) {
		try {
			interfaces.push_back({CaptureSource::of_rdma_device(name, options.keep)});
		} catch (const NetlinkError &error) {
			say(advice_about_hardware(name, error));
			complete = false;
		}
	}
	return complete;
}

std::string names_of(const std::vector<Interface> &interfaces)
{
	std::string names;

	for (const Interface &one : interfaces)
		names += (names.empty() ? "" : ", ") + one.source.name();
	return names;
}

void summarize(const Interface &from)
{
	const auto count = [&](Kind kind) {
		return std::to_string(from.counts[static_cast<std::size_t>(kind)]);
	};

	say(from.source.name() + ": " + count(Kind::kClc) + " CLC, " + count(Kind::kTcp) +
	    " other TCP, " + count(Kind::kLlc) + " LLC, " + count(Kind::kCdc) + " CDC, " +
	    count(Kind::kRoce) + " other RoCE; " + std::to_string(from.source.counts().dropped) +
	    " dropped");
}

} // namespace

int capture(const CaptureOptions &options)
{
	std::vector<Interface> interfaces;
	bool complete = true;

	if (options.interfaces.empty())
		complete = add_all(options, interfaces);
	else
		add_named(options, interfaces);
	const Signals signals;
	const OutputFile file(options.file);
	Capture run(options, interfaces, file.get());

	say("capturing on " + names_of(interfaces) + " into " +
	    (options.file == "-" ? "standard output" : options.file));
	run.run(signals);
	for (const Interface &one : interfaces) {
		summarize(one);
		complete = complete && !one.gone;
	}
	return complete ? 0 : static_cast<int>(CaptureStatus::kIncomplete);
}

} // namespace smc_ctl
