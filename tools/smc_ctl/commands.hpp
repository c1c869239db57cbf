// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "capture_source.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The subcommands of smc_ctl. All throw NetlinkError. What shows something does so for people, or
// as JSON.
namespace smc_ctl {

void eid_add(const std::string &eid);
void eid_del(const std::string &eid);
void eid_flush();
std::vector<std::string> eids();
// What a namespace for which none is set has instead; empty if it has no such.
std::string default_eid();
void eid_show(bool json);

struct PnetDevice {
	std::string eth{}; // empty: none
	std::string ib{};  // empty: none
	std::uint8_t ib_port = 1;
};
void pnet_add(const std::string &id, const PnetDevice &device);
void pnet_del(const std::string &id);
void pnet_flush();
// One device in each entry.
struct PnetEntry {
	std::string id;
	PnetDevice device;
};
std::vector<PnetEntry> pnet_entries();
// "netdev eth0" or "rdma mlx5_0 port 1".
std::string text_of(const PnetDevice &device);
// @id empty: all entries.
void pnet_show(const std::string &id, bool json);

// Peers that this network namespace has connected to.
struct PeerInfo {
	bool smc = false; // it has answered as an SMC server
	std::string endpoint;
	unsigned long long rest_s = 0; // until it is forgotten
};
std::vector<PeerInfo> peers();
void peers_show(bool json);
void peers_flush();

struct Rule {
	bool allow = false;
	std::string peer{}; // a prefix; empty: any
	std::uint16_t port_first = 0;
	std::uint16_t port_last = UINT16_MAX;
	bool out = false;
	bool in = false;
};
void rule_add(const Rule &rule);
void rule_del(const Rule &rule);
void rules_flush();
// In the order in which they apply.
std::vector<Rule> rules();
// As a line of smc.conf has it.
std::string text_of(const Rule &rule);
// "80", "80-90", or empty for all.
void parse_ports(const std::string &ports, Rule &rule);
void rules_show(bool json);

// Whose TCP sockets become SMC sockets. These throw std::system_error, too.
struct Selection {
	std::optional<std::string> netns{}; // of /run/netns; empty: this one
	std::string cgroup{};
	std::string unit{};
};
void select_add(const Selection &what);
void select_del(const Selection &what);
struct Selected {
	Selection what; // a cgroup as a directory, or as its ID if that has gone
	// A cgroup that is selected while a program of select_run() or a unit runs in it.
	bool passing = false;
};
std::vector<Selected> selections();
void select_list(bool json);
// What units need, and what is not needed when nothing is selected.
void select_prepare();
void select_tidy();
// Cgroups; units and namespaces stay.
void select_clear();
// Runs the program in a cgroup of its own that is selected; returns its exit status.
int select_run(char *const *command);

// /etc/smc.conf, or another file in that form.
struct ApplyOptions {
	std::string file;
	bool dry_run = false;
};
// Makes what is in force be what the file says, and prints the difference. Returns the exit status.
int apply(const ApplyOptions &options);
// Writes what is in force; "-": to standard output.
void save(const std::string &file);

// Why is it TCP? Exit statuses besides 1, that of an error.
enum class Verdict {
	kSmc = 0,
	kTcp = 2, // the host lacks something, or the connection went on as TCP
	kNoModule = 3,
	kNoConnection = 4,
};
struct CheckOptions {
	std::string host; // empty if it serves
	std::string port;
	bool serve = false;
	bool json = false;
};
// The host alone, and a connection to another one. They return the exit status.
int doctor(bool json);
int check(const CheckOptions &options);
// All of the above and more, for somebody elsewhere who is to find a fault.
void report();

// Packets of SMC, into a file for Wireshark. Ends at Ctrl-C, or when one of the limits is reached.
struct CaptureOptions {
	std::string file = "smc.pcapng";       // "-": standard output
	std::vector<std::string> interfaces{}; // none: all that may matter
	TcpFilter tcp{};
	double seconds = 0;             // 0: no limit
	unsigned long long packets = 0; // 0: no limit
	unsigned long long size_mib = 1024;
	Keep keep = Keep::kBlanks;
};
// The exit status besides 0 and 1.
enum class CaptureStatus {
	kIncomplete = 2, // packets of some device are missing
};
int capture(const CaptureOptions &options);

void groups_show(bool json);
void links_show(bool json);
void devices_show(bool json);
// All that are given have to fit.
struct SocketFilter {
	std::string state;
	std::string address; // a prefix, of either end
	std::string process; // a name or a number
	std::string reason;  // a part of its text, or its number as 0x...
	bool processes = false;
	bool traffic = false;
	bool json = false;
};
void sockets_show(const SocketFilter &filter);
struct TopOptions {
	SocketFilter filter{};
	double interval_s = 2;
	unsigned rounds = 0; // 0: until it is ended
	std::string order = "bytes";
};
// What SMC connections move, again and again, the busiest first.
void top(const TopOptions &options);
void stats_show();
struct StatsOptions {
	bool reset = false;
	bool delta = false;
	bool prometheus = false;
	bool json = false;
	std::string to{}; // of prometheus: a file; empty: standard output
};
// Counters by name.
void counters_show(const StatsOptions &options);
void fallback_show(bool json);
void info_show(bool json);

} // namespace smc_ctl
