// SPDX-License-Identifier: GPL-2.0-only
#include "shell/socket/orphans.hpp"

#include "kernel/abi/tcp.h"

namespace smc::shell {

namespace {

Orphans *instance;

// Nobody wants the connection: it is reset.
void bury(const Ref<Handshake> &handshake)
{
	handshake->cancel();
	smc_tcp_unwrap(handshake->sock());
}

} // namespace

void Orphans::adopt(Ref<Handshake> handshake)
{
	Guard guard(lock_);

	Handshake &adopted = *handshake;

	under_way_.push_back(std::move(handshake));
	// Under the lock: end() must not find it before it goes on.
	adopted.go_on(*this);
}

bool Orphans::on_handshake_done(Handshake &handshake)
{
	Guard guard(lock_);

	// Otherwise end() has it, and waits until it does not run.
	if (Ref<Handshake> moves = under_way_.remove(handshake)) {
		done_.push_back(std::move(moves));
		work_.queue();
	}
	return true;
}

void Orphans::run()
{
	for (;;) {
		const auto handshake = take(&Orphans::done_, nullptr);

		if (!handshake)
			return;
		bury(handshake);
	}
}

Ref<Handshake> Orphans::take(Children Orphans::*list, const net *net)
{
	Guard guard(lock_);
	Children &orphans = list_locked(list);
	Handshake *handshake = orphans.front();

	while (handshake != nullptr && net != nullptr && handshake->netns() != net)
		handshake = orphans.next(*handshake);
	return handshake != nullptr ? orphans.remove(*handshake) : Ref<Handshake>();
}

void Orphans::end(const net *net)
{
	while (const auto handshake = take(&Orphans::under_way_, net))
		bury(handshake);
	while (const auto handshake = take(&Orphans::done_, net))
		bury(handshake);
	// The one that run() would end. If run() still waits, behind other work that may take long,
	// its part is done here.
	if (work_.cancel())
		run();
	work_.wait();
}

Orphans &orphans()
{
	return *instance;
}

bool set_up_orphans()
{
	return make_single(instance);
}

void tear_down_orphans()
{
	free_single(instance);
}

} // namespace smc::shell
