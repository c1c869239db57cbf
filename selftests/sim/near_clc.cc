// SPDX-License-Identifier: GPL-2.0-only
//
// CLC messages that are handed over in memory. They make no call of the kernel, so the linker
// routes the module's Rendezvous::send() and enter() through here (sim.mk): the observer sees them
// like those over TCP, and the connection may break at them as well.
#include "shell/socket/rendezvous.hpp"

#include "clc_observer.hpp"
#include "tcp_connection.hpp"
#include "trace.hpp"

using smc::ByteSpan;
using smc::shell::NearClc;
using smc::shell::NearKey;
using smc::shell::Rendezvous;

#define SMC_ENTER "_ZN3smc5shell10Rendezvous5enterERNS0_7NearClcERKNS0_7NearKeyE"
#define SMC_SEND \
	"_ZN3smc5shell10Rendezvous4sendERNS0_7NearClcESt4spanIKSt4byteLm18446744073709551615EE"

bool module_enter(Rendezvous *, NearClc &, const NearKey &) __asm__("__real_" SMC_ENTER);
bool enter(Rendezvous *, NearClc &, const NearKey &) __asm__("__wrap_" SMC_ENTER);
Rendezvous::Sent module_send(Rendezvous *, NearClc &, ByteSpan) __asm__("__real_" SMC_SEND);
Rendezvous::Sent send(Rendezvous *, NearClc &, ByteSpan) __asm__("__wrap_" SMC_SEND);

namespace {

void observe(const NearKey &key, unsigned side, ByteSpan message)
{
	const auto connection =
		sim::connection_by_sequence(key.client_sequence, key.server_sequence);

	if (connection == nullptr)
		sim::fail("two handshakes have met that have no connection");
	sim::note("tcp-%llu: %zu bytes of CLC in memory from side %u",
		  static_cast<unsigned long long>(connection->id()), message.size(), side);
	connection->observer->sent(
		side, {reinterpret_cast<const char *>(message.data()), message.size()});
	if (sim::world().fault(sim::world().knobs.tcp_reset))
		connection->break_off();
}

sim::ClcObserver *observer_of(const NearKey &key)
{
	return sim::connection_by_sequence(key.client_sequence, key.server_sequence)
		->observer.get();
}

// The other end sees the message at once.
void observe_taken(const NearKey &key, unsigned side)
{
	observer_of(key)->taken(side);
}

} // namespace

bool enter(Rendezvous *rendezvous, NearClc &end, const NearKey &key)
{
	const unsigned side = end.side() == NearClc::Side::kClient ? 0 : 1;
	const bool met = module_enter(rendezvous, end, key);
	const ByteSpan left = rendezvous->received(end);

	// What was sent since then send() has seen.
	if (!left.empty() && !observer_of(key)->has_spoken(1 - side)) {
		observe(key, 1 - side, left);
		observe_taken(key, side);
	}
	return met;
}

Rendezvous::Sent send(Rendezvous *rendezvous, NearClc &from, ByteSpan message)
{
	if (!rendezvous->met(from))
		return module_send(rendezvous, from, message);
	const unsigned side = from.side() == NearClc::Side::kClient ? 0 : 1;

	observe(from.key(), side, message);
	const Rendezvous::Sent sent = module_send(rendezvous, from, message);
	if (sent == Rendezvous::Sent::kDelivered)
		observe_taken(from.key(), 1 - side);
	return sent;
}
