// SPDX-License-Identifier: GPL-2.0-only
#include "commands.hpp"
#include "json.hpp"
#include "processes.hpp"
#include "socket_matcher.hpp"
#include "sockets.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace smc_ctl {
namespace {

using Clock = std::chrono::steady_clock;

// All per second.
struct Rates {
	double sent_bytes = 0;
	double received_bytes = 0;
	double sent_messages = 0;
	double stalls = 0;
};

struct Row {
	SocketInfo socket;
	Rates rates;
};

// Connections at one moment, by inode, which no other socket has while this one is open.
struct Look {
	Clock::time_point when = Clock::now();
	std::map<std::uint64_t, SocketInfo> connections{};
};

Look look(const SocketMatcher &matcher, const Owners &owners)
{
	Look found;

	for (SocketInfo &socket : sockets()) {
		if (socket.traffic && matcher.fits(socket, owners))
			found.connections.emplace(socket.inode, std::move(socket));
	}
	return found;
}

double seconds(const Look &before, const Look &now)
{
	return std::chrono::duration<double>(now.when - before.when).count();
}

// One that has come since counts from its begin.
std::vector<Row> rows_of(const Look &before, const Look &now)
{
	const double passed_s = seconds(before, now);
	std::vector<Row> rows;

	for (const auto &[inode, socket] : now.connections) {
		const auto known = before.connections.find(inode);
		const smc_diag_traffic was = known == before.connections.end()
						     ? smc_diag_traffic{}
						     : *known->second.traffic;
		const auto rate = [&](__u64 smc_diag_traffic::*of) {
			const __u64 now_is = (*socket.traffic).*of;

			return now_is < was.*of ? 0
						: static_cast<double>(now_is - was.*of) / passed_s;
		};

		rows.push_back({socket,
				{.sent_bytes = rate(&smc_diag_traffic::sent_bytes),
				 .received_bytes = rate(&smc_diag_traffic::received_bytes),
				 .sent_messages = rate(&smc_diag_traffic::sent_messages),
				 .stalls = rate(&smc_diag_traffic::sends_without_room) +
					   rate(&smc_diag_traffic::messages_without_room)}});
	}
	return rows;
}

double key_of(const Rates &rates, const std::string &order)
{
	if (order == "sent")
		return rates.sent_bytes;
	if (order == "received")
		return rates.received_bytes;
	if (order == "messages")
		return rates.sent_messages;
	if (order == "stalls")
		return rates.stalls;
	return rates.sent_bytes + rates.received_bytes;
}

const char *name_of(Carrier carrier)
{
	return carrier == Carrier::kSmcR ? "SMC-R" : "SMC-D";
}

// At most five characters, with a prefix of the SI: "1.2M".
std::string short_number(double value)
{
	const char *unit = " kMGTP";
	char text[32];

	while (value >= 999.5 && unit[1] != '\0') {
		value /= 1000;
		unit++;
	}
	if (*unit == ' ')
		std::snprintf(text, sizeof(text), "%.0f", value);
	else
		std::snprintf(text, sizeof(text), value < 9.95 ? "%.1f%c" : "%.0f%c", value, *unit);
	return text;
}

Rates sum_of(const std::vector<Row> &rows)
{
	Rates sum;

	for (const Row &row : rows) {
		sum.sent_bytes += row.rates.sent_bytes;
		sum.received_bytes += row.rates.received_bytes;
		sum.sent_messages += row.rates.sent_messages;
		sum.stalls += row.rates.stalls;
	}
	return sum;
}

void show_rates(const Rates &rates)
{
	std::printf("%7s %7s %7s %7s", short_number(rates.sent_bytes).c_str(),
		    short_number(rates.received_bytes).c_str(),
		    short_number(rates.sent_messages).c_str(), short_number(rates.stalls).c_str());
}

// How many rows a screen has room for; 0 if this is none.
std::size_t room_of_terminal()
{
	constexpr std::size_t kOtherLines = 3;
	winsize size{};

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
		return 0;
	return std::max<std::size_t>(size.ws_row, kOtherLines + 1) - kOtherLines;
}

void show(const std::vector<Row> &rows, const Owners &owners)
{
	const std::size_t room = room_of_terminal();
	const std::size_t shown = room == 0 ? rows.size() : std::min(room, rows.size());

	if (room != 0)
		std::printf("\033[H\033[2J");
	std::printf("%7s %7s %7s %7s  %zu connections\n", "SENT/s", "RECV/s", "MSGS/s", "STALL/s",
		    rows.size());
	show_rates(sum_of(rows));
	std::printf("  in all\n");
	for (std::size_t i = 0; i < shown; i++) {
		const SocketInfo &socket = rows[i].socket;

		show_rates(rows[i].rates);
		std::printf("  %s %s %s%s\n", name_of(socket.carrier),
			    text_of(socket.local).c_str(), text_of(socket.peer).c_str(),
			    text_of(owners, socket.inode).c_str());
	}
	if (room == 0)
		std::printf("\n");
}

void show_as_json(const std::vector<Row> &rows, const Owners &owners, double passed_s)
{
	Json connections = Json::array();

	for (const auto &[socket, rates] : rows)
		connections.push_back({{"carrier", name_of(socket.carrier)},
				       {"local", json_of(socket.local)},
				       {"peer", json_of(socket.peer)},
				       {"inode", socket.inode},
				       {"sent_bytes", rates.sent_bytes},
				       {"received_bytes", rates.received_bytes},
				       {"sent_messages", rates.sent_messages},
				       {"stalls", rates.stalls},
				       {"processes", json_of(owners, socket.inode)}});
	const Json round = {{"seconds", passed_s}, {"connections", connections}};
	std::printf("%s\n", round.dump().c_str());
}

} // namespace

void top(const TopOptions &options)
{
	const SocketMatcher matcher(options.filter);
	Look before = look(matcher, owners_of_sockets());

	for (unsigned round = 1; options.rounds == 0 || round <= options.rounds; round++) {
		std::this_thread::sleep_for(std::chrono::duration<double>(options.interval_s));
		const Owners owners = owners_of_sockets();
		Look now = look(matcher, owners);
		std::vector<Row> rows = rows_of(before, now);

		std::stable_sort(rows.begin(), rows.end(), [&](const Row &one, const Row &other) {
			return key_of(one.rates, options.order) >
			       key_of(other.rates, options.order);
		});
		if (options.filter.json)
			show_as_json(rows, owners, seconds(before, now));
		else
			show(rows, owners);
		// A pipe's reader sees each round at once; without a reader it ends.
		if (std::fflush(stdout) != 0)
			return;
		before = std::move(now);
	}
}

} // namespace smc_ctl
