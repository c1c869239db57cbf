// SPDX-License-Identifier: GPL-2.0-only
#include "shell/socket/accept_queue.hpp"

#include <utility>

namespace smc::shell {

void AcceptQueue::put_aside(Owned<Plain> plain)
{
	plain->turn = turns_++;
	plain_.push_back(*plain.release());
}

void AcceptQueue::begin(const Ref<Handshake> &child)
{
	child->set_turn(turns_++);
	under_way_.push_back(child);
}

bool AcceptQueue::end(Handshake &child)
{
	Ref<Handshake> moves = under_way_.remove(child);

	if (child.failed()) {
		failed_.push_back(std::move(moves));
		return false;
	}
	// In TCP's order: a client may complete its handshake, and begin its next connection,
	// before this server hears of it.
	Handshake *before = done_.back();
	while (before != nullptr && before->turn() > child.turn())
		before = done_.previous(*before);
	done_.insert_behind(before, std::move(moves));
	return true;
}

AcceptQueue::First AcceptQueue::take_first()
{
	Handshake *done = done_.front();
	Plain *plain = plain_.front();

	if (done != nullptr && (plain == nullptr || done->turn() < plain->turn))
		return {.done = done_.remove(*done), .plain = {}};
	return {.done = {}, .plain = take_plain()};
}

Ref<Handshake> AcceptQueue::remove(Handshake &child)
{
	if (child.outcome() == nullptr)
		return under_way_.remove(child);
	return child.failed() ? failed_.remove(child) : done_.remove(child);
}

} // namespace smc::shell
