// SPDX-License-Identifier: GPL-2.0-only
#include "process.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "scheduler.hpp"
#include "talk.hpp"
#include "trace.hpp"
#include "world.hpp"

namespace sim {
namespace {

Random &lot()
{
	return scheduler().random();
}

void pause()
{
	if (!lot().one_in(3))
		return;
	// Now and then so long that the send buffer is taken away.
	if (lot().one_in(200))
		scheduler().sleep_us(lot().below(4'000'000));
	else
		scheduler().sleep_us(lot().below(lot().one_in(10) ? 300'000 : 500));
}

size_t some(size_t most)
{
	return 1 + lot().below(lot().one_in(3) ? most : std::min<size_t>(most, 3000));
}

// Shared by two threads of a process.
struct Shared {
	struct socket *sock;
	Talk &talk;
	unsigned side;
	bool polls; // does not block
	bool shut;  // the reading direction, by itself
	int readers = 1;
	Fiber *waiter = nullptr; // for the reader's end
};

bool is_dying(const Shared &shared)
{
	const Side &side = shared.talk.side(shared.side);
	return side.ending == Ending::kKilled && lot().one_in(20);
}

// ---- Reading ------------------------------------------------------------------------------------

void peek(Shared &shared, std::vector<u8> &buffer)
{
	msghdr msg{.flags = SMC_MSG_PEEK | SMC_MSG_DONTWAIT,
		   .to = buffer.data(),
		   .length_bytes = buffer.size()};
	const int n = sys_receive(shared.sock, msg);

	if (n > 0)
		shared.talk.peeked(shared.side, buffer.data(), static_cast<size_t>(n));
	else if (n != 0 && n != -EAGAIN && n != -EFAULT && n != -EINTR)
		shared.talk.failed(shared.side, "recv(MSG_PEEK)", n);
}

void read_urgent(Shared &shared)
{
	u8 value = 0;
	msghdr msg{.flags = SMC_MSG_OOB | SMC_MSG_DONTWAIT, .to = &value, .length_bytes = 1};

	if (sys_receive(shared.sock, msg) == 1)
		shared.talk.received_urgent(shared.side, value);
}

// False: no more reading.
bool read_once(Shared &shared)
{
	const size_t most = lot().one_in(5) ? 200000 : 20000;
	std::vector<u8> buffer(some(most));
	msghdr msg{.to = buffer.data(), .length_bytes = buffer.size()};

	if (lot().one_in(20))
		read_urgent(shared);
	if (lot().one_in(8))
		peek(shared, buffer);
	if (lot().one_in(20) && !shared.polls)
		msg.flags |= SMC_MSG_WAITALL;
	if (world().fault(world().knobs.efault))
		msg.fault_at_bytes = lot().below(buffer.size());
	const int n = sys_receive(shared.sock, msg);
	if (n > 0) {
		shared.talk.received(shared.side, buffer.data(), static_cast<size_t>(n));
		return true;
	}
	if (n == 0) {
		if (!shared.shut)
			shared.talk.end_seen(shared.side);
		return false;
	}
	if (n == -EFAULT)
		return true;
	if (n == -EAGAIN && shared.polls)
		return sys_poll_wait(shared.sock, SMC_POLL_IN | SMC_POLL_RDHUP);
	if (n == -EINTR)
		return !shared.shut;
	shared.talk.failed(shared.side, "recv()", n);
	return false;
}

void read_all(Shared &shared)
{
	for (;;) {
		const u64 began_us = scheduler().now_us();
		const bool more = read_once(shared);

		shared.talk.came_back(shared.side, "recv()", began_us);
		if (!more)
			break;
		pause();
		if (is_dying(shared))
			break;
	}
	shared.readers--;
	if (shared.waiter != nullptr)
		scheduler().wake(shared.waiter);
}

// ---- Writing ------------------------------------------------------------------------------------

void fiddle(Shared &shared)
{
	int value = 0;

	switch (lot().below(12)) {
	case 0: sys_cork(shared.sock, true); break;
	case 1: sys_cork(shared.sock, false); break;
	case 2: sys_nodelay(shared.sock); break;
	case 3: (void)sys_ioctl(shared.sock, SMC_SIOCOUTQ, &value); break;
	case 4: (void)sys_ioctl(shared.sock, SMC_SIOCOUTQNSD, &value); break;
	case 5: (void)sys_ioctl(shared.sock, SMC_SIOCINQ, &value); break;
	case 6: (void)sys_ioctl(shared.sock, SMC_SIOCATMARK, &value); break;
	default: break;
	}
}

// False: no more writing.
bool write_once(Shared &shared)
{
	Side &side = shared.talk.side(shared.side);
	const u64 left = side.total_bytes - side.accepted_bytes;
	std::vector<u8> buffer(std::min<u64>(left, some(lot().one_in(4) ? 200000 : 20000)));
	msghdr msg{.from = buffer.data(), .length_bytes = buffer.size()};

	shared.talk.fill(shared.side, side.accepted_bytes, buffer.data(), buffer.size());
	if (lot().one_in(10))
		msg.flags |= SMC_MSG_MORE;
	const u64 last = side.accepted_bytes + buffer.size() - 1;
	if (lot().one_in(40) && (side.urgent.empty() || last > *side.urgent.rbegin() + 1)) {
		msg.flags |= SMC_MSG_OOB;
		side.urgent.insert(last);
	}
	if (world().fault(world().knobs.efault))
		msg.fault_at_bytes = lot().below(buffer.size());
	// What the call takes may be read before it returns.
	const u64 before = side.accepted_bytes;
	side.accepted_bytes += buffer.size();
	const int n = sys_send(shared.sock, msg);
	side.accepted_bytes = before + static_cast<u64>(std::max(n, 0));
	if (n > 0)
		return true;
	if (n == -EFAULT)
		return true;
	if (n == -EAGAIN && shared.polls)
		return sys_poll_wait(shared.sock, SMC_POLL_OUT);
	if (n == -EINTR)
		return true;
	shared.talk.failed(shared.side, "send()", n);
	return false;
}

void write_all(Shared &shared)
{
	Side &side = shared.talk.side(shared.side);

	while (side.accepted_bytes < side.total_bytes) {
		const u64 began_us = scheduler().now_us();
		const bool more = write_once(shared);

		shared.talk.came_back(shared.side, "send()", began_us);
		if (!more)
			break;
		fiddle(shared);
		pause();
		if (is_dying(shared) || (side.ending == Ending::kReset && lot().one_in(20)))
			break;
	}
}

void wait_for_reader(Shared &shared)
{
	shared.waiter = scheduler().current();
	while (shared.readers != 0) {
		scheduler().prepare();
		if (shared.readers != 0)
			(void)scheduler().block();
	}
}

// The reader is to stop, as the threads of a process that dies.
void stop_reader(Shared &shared, Fiber *reader)
{
	if (shared.readers == 0)
		return;
	reader->signalled = true;
	shared.shut = true;
	scheduler().wake(reader);
	wait_for_reader(shared);
}

} // namespace

int &processes()
{
	static int count;
	return count;
}

void converse(struct socket *sock, unsigned index)
{
	Talk &talk = talks().of(connection_id(sock));
	Side &side = talk.side(index);
	auto shared =
		std::make_shared<Shared>(Shared{sock, talk, index, lot().one_in(2), side.shut});

	side.arrived = true;
	side.ours = sys_uses_smc(sock);
	note("tcp-%llu: side %u goes by %s, %llu bytes, ending %d", talk.id(), index,
	     side.ours ? "SMC" : "TCP", side.total_bytes, static_cast<int>(side.ending));
	sock->nonblock = shared->polls;
	Fiber *reader = scheduler().spawn("reader-" + std::to_string(talk.id()) + "." +
						  std::to_string(index),
					  [shared] { read_all(*shared); });
	write_all(*shared);
	const bool gave_up = side.accepted_bytes != side.total_bytes;
	switch (gave_up && side.ending == Ending::kShutdown ? Ending::kHasty : side.ending) {
	case Ending::kShutdown:
		side.ended = true;
		(void)sys_shutdown(sock, 1);
		wait_for_reader(*shared);
		break;
	case Ending::kFollow: wait_for_reader(*shared); break;
	case Ending::kBoth:
		side.ended = true;
		shared->shut = true;
		(void)sys_shutdown(sock, 2);
		wait_for_reader(*shared);
		break;
	case Ending::kHasty:
	case Ending::kKilled:
	case Ending::kReset: stop_reader(*shared, reader); break;
	}
	if (side.ending == Ending::kReset) {
		sock->sk->linger = true;
		side.ended = side.ended || !side.ours;
	} else {
		side.ended = true;
		if (lot().one_in(5)) {
			sock->sk->linger = true;
			sock->sk->linger_ms = 5000;
		}
	}
	scheduler().current()->exiting = side.ending == Ending::kKilled;
	side.closed = true;
	if (side.error == -ECONNRESET)
		side.gave_up_us = scheduler().now_us();
	sys_close(sock);
	note("tcp-%llu: side %u closed", talk.id(), index);
}

namespace {

// As on TCP: a server may have reset the connection before connect() returns from its sleep.
bool reset_by_server(struct socket *sock)
{
	if (sock->sk->connection == nullptr)
		return false;
	const Side &server = talks().of(connection_id(sock)).side(1);

	return server.closed && server.ending == Ending::kReset;
}

} // namespace

void run_client(net *host, net *server)
{
	struct socket *sock = sys_socket(host);
	bool told_writable = false;
	int ret;

	if (lot().one_in(4))
		sock->sk->sndbuf_bytes = static_cast<u32>(16384 << lot().below(3));
	if (lot().one_in(4))
		sock->sk->rcvbuf_bytes = static_cast<u32>(16384 << lot().below(3));
	sock->nonblock = lot().one_in(2);
	std::optional<u64> id;
	while ((ret = sys_connect(sock, server, kPort)) == -EINPROGRESS || ret == -EALREADY ||
	       ret == -EINTR) {
		if (told_writable)
			fail("writable, and connect() says errno %d", -ret);
		if (sock->sk->connection != nullptr) {
			// The one before was disconnected.
			if (id && *id != connection_id(sock))
				talks().of(*id).side(0).ended = true;
			id = connection_id(sock);
		}
		if (ret == -EINTR && lot().one_in(3))
			break;
		// Another thread disconnects it after all.
		const bool shut = ret == -EINPROGRESS && world().fault(world().knobs.signal);
		if (shut) {
			// The server may see that end before the call returns.
			const bool there = sock->sk->connection != nullptr;
			if (there)
				talks().of(connection_id(sock)).side(0).ended = true;
			const bool failed = sys_shutdown(sock, 2) != 0;
			// Too late to end the attempt, it has ended the connection: nothing can be
			// written, and reading finds the end at once.
			if (sock->sk->connection != nullptr && sock->sk->shut_snd) {
				Side &side = talks().of(connection_id(sock)).side(0);
				side.ended = side.shut = true;
				side.total_bytes = 0;
			} else if (there && failed) {
				talks().of(connection_id(sock)).side(0).ended = false;
			}
		}
		told_writable = sys_poll_wait(sock, SMC_POLL_OUT) && !shut;
	}
	if (ret != 0) {
		note("tcp-%llu: connect() fails, errno %d", id.value_or(0), -ret);
		if (!world().knobs.any_fault() && !(ret == -ECONNRESET && reset_by_server(sock)))
			fail("connect() fails for no reason, errno %d", -ret);
		// For the other side that is an end like any other.
		if (sock->sk->connection != nullptr)
			id = connection_id(sock);
		if (id)
			talks().of(*id).side(0).ended = true;
		sys_close(sock);
	} else {
		converse(sock, 0);
	}
	processes()--;
}

namespace {

std::vector<std::shared_ptr<Service>> services;

void run_server(const std::shared_ptr<Service> &service)
{
	bool told_readable = false;

	for (;;) {
		struct socket *sock = nullptr;
		const int ret = sys_accept(service->listener, &sock);

		if (ret == -EINVAL)
			break;
		// With no other thread in accept(), the connection that poll() has shown is there.
		if (ret == -EAGAIN && told_readable)
			fail("readable, and there is nobody to accept");
		told_readable = ret == -EAGAIN && sys_poll_wait(service->listener, SMC_POLL_IN) &&
				service->processes == 1;
		if (ret != 0) {
			if (ret != -EAGAIN && !world().knobs.any_fault())
				fail("accept() fails for no reason, errno %d", -ret);
			continue;
		}
		processes()++;
		scheduler().spawn("server-" + service->host->name, [sock] {
			converse(sock, 1);
			processes()--;
		});
	}
	if (--service->processes == 0)
		sys_close(service->listener);
	processes()--;
}

} // namespace

void start_service(net *host, int backlog)
{
	auto service = std::make_shared<Service>(Service{host, sys_socket(host), 0});

	service->listener->nonblock = lot().one_in(2);
	if (sys_listen(service->listener, kPort, backlog) != 0) {
		if (!world().knobs.any_fault())
			fail("listen() fails for no reason");
		sys_close(service->listener);
		return;
	}
	services.push_back(service);
	service->processes = static_cast<int>(lot().between(1, 2));
	for (int i = 0; i < service->processes; i++) {
		processes()++;
		scheduler().spawn("accept-" + host->name, [service] { run_server(service); });
	}
}

void stop_services()
{
	for (const auto &service : std::exchange(services, {}))
		(void)sys_shutdown(service->listener, 0);
}

} // namespace sim
