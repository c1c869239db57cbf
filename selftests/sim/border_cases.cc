// SPDX-License-Identifier: GPL-2.0-only
//
// Cases that bound how often a call crosses from one language to the other on the way of a message.
#include "cases.hpp"

#include <array>
#include <utility>

#include "border.hpp"
#include "kernel/abi/callbacks/socket.h"
#include "plot.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "trace.hpp"

namespace sim {
namespace {

constexpr std::uint64_t kSendMax = 13;
constexpr std::uint64_t kReceiveMax = 9;
constexpr std::size_t kMessageBytes = 64;

void expect_at_most(std::uint64_t most, const char *what, const BorderCount &border)
{
	const std::uint64_t crossings = border.crossings();

	note("%s: %llu crossings: %s", what, static_cast<unsigned long long>(crossings),
	     border.list().c_str());
	if (crossings == 0 || crossings > most)
		fail("%s crosses the border %llu times, not 1 to %llu: %s", what,
		     static_cast<unsigned long long>(crossings),
		     static_cast<unsigned long long>(most), border.list().c_str());
}

// A message of 64 bytes is sent, arrives, and is read. The connection has been in use before, by
// both sides.
void crossings(net *from, net *to)
{
	std::array<u8, kMessageBytes> bytes{};
	struct socket *listener = sys_socket(to);
	struct socket *reader = nullptr;
	struct socket *writer = sys_socket(from);

	if (sys_listen(listener, kPort, 1) != 0 || sys_connect(writer, to, kPort) != 0 ||
	    sys_accept(listener, &reader) != 0 || !sys_uses_smc(writer))
		fail("no connection by SMC");
	for (int i = 0; i < 6; i++) {
		msghdr out{.from = bytes.data(), .length_bytes = bytes.size()};
		msghdr in{.to = bytes.data(), .length_bytes = bytes.size()};

		scheduler().sleep_us(kMoment_us);
		const BorderCount sending;
		if (smc_op_sendmsg(smc_sock_state(writer), writer, &out, bytes.size(), 0, false) !=
		    static_cast<int>(bytes.size()))
			fail("send() takes a part");
		// The first ones fetch a send buffer.
		if (i > 1)
			expect_at_most(kSendMax, "send()", sending);
		scheduler().sleep_us(kMoment_us);
		const BorderCount receiving;
		if (smc_op_recvmsg(smc_sock_state(reader), reader, &in, bytes.size(), 0) !=
		    static_cast<int>(bytes.size()))
			fail("recv() gives a part");
		expect_at_most(kReceiveMax, "recv()", receiving);
		std::swap(writer, reader);
	}
	for (struct socket *sock : {writer, reader, listener})
		sys_close(sock);
}

constexpr Case kCases[] = {
	{.name = "crossings",
	 .play = [] { scripted([] { crossings(&client(), &server()); }); },
	 .scripted = true},
	{.name = "crossings-near",
	 .play = [] { scripted([] { crossings(&client(), &client()); }); },
	 .scripted = true},
};

} // namespace

const std::span<const Case> border_cases{kCases};

} // namespace sim
