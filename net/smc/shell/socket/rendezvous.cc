// SPDX-License-Identifier: GPL-2.0-only
#include "shell/socket/rendezvous.hpp"

#include <cstring>
#include <utility>

#include "shell/base/alloc.hpp"

namespace smc::shell {

namespace {

Rendezvous *the_rendezvous;

} // namespace

NearClc *Rendezvous::find_locked(const Bucket &bucket, const NearClc &end)
{
	NearClc *other = bucket.waiting.front();

	while (other != nullptr && (other->side() == end.side() || other->key() != end.key()))
		other = bucket.waiting.next(*other);
	return other;
}

bool Rendezvous::add(NearClc &to, SpinLock &lock, ByteSpan message)
{
	std::size_t &length_bytes = to.length_bytes_.under(lock);

	if (message.size() > NearClc::kInboxSize - length_bytes)
		return false;
	std::memcpy(to.bytes_.data() + length_bytes, message.data(), message.size());
	length_bytes += message.size();
	return true;
}

bool Rendezvous::enter(NearClc &end, const NearKey &key)
{
	Bucket &place = bucket(key);
	Guard guard(place.lock);

	end.entered_ = true;
	end.key_ = key;
	NearClc *other = find_locked(place, end);
	if (other == nullptr) {
		place.waiting.push_back(end);
		return false;
	}
	place.waiting.remove(*other);
	other->peer_.under(place.lock) = &end;
	end.peer_.under(place.lock) = other;
	other->met_.under(place.lock) = end.met_.under(place.lock) = true;
	// The other end need not know before it is answered.
	const std::size_t left_bytes = std::exchange(other->length_bytes_.under(place.lock), 0);
	(void)add(end, place.lock, ByteSpan{other->bytes_}.first(left_bytes));
	return true;
}

bool Rendezvous::met(NearClc &end)
{
	if (!end.entered_)
		return false;
	Bucket &place = bucket(end.key_);
	Guard guard(place.lock);

	return end.met_.under(place.lock);
}

bool Rendezvous::leave(NearClc &from, ByteSpan message)
{
	Bucket &place = bucket(from.key_);
	Guard guard(place.lock);

	return List<NearClc, NearClcTag>::linked(from) && add(from, place.lock, message);
}

ByteSpan Rendezvous::stop_waiting(NearClc &end)
{
	Bucket &place = bucket(end.key_);
	Guard guard(place.lock);

	place.waiting.remove(end);
	if (end.met_.under(place.lock))
		return {};
	return ByteSpan{end.bytes_}.first(end.length_bytes_.under(place.lock));
}

void Rendezvous::part(NearClc &end)
{
	if (!end.entered_)
		return;
	Bucket &place = bucket(end.key_);
	Guard guard(place.lock);

	place.waiting.remove(end);
	NearClc *peer = std::exchange(end.peer_.under(place.lock), nullptr);
	if (peer != nullptr)
		peer->peer_.under(place.lock) = nullptr;
}

Rendezvous::Sent Rendezvous::send(NearClc &from, ByteSpan message)
{
	if (!from.entered_)
		return Sent::kNotHere;
	Bucket &place = bucket(from.key_);
	Guard guard(place.lock);
	NearClc *to = from.peer_.under(place.lock);

	if (!from.met_.under(place.lock))
		return Sent::kNotHere;
	if (to == nullptr)
		return Sent::kDelivered;
	if (!add(*to, place.lock, message))
		return Sent::kNoRoom;
	to->owner_.on_near_clc();
	return Sent::kDelivered;
}

ByteSpan Rendezvous::received(NearClc &end)
{
	if (!end.entered_)
		return {};
	Bucket &place = bucket(end.key_);
	Guard guard(place.lock);

	// Else they are its own.
	if (!end.met_.under(place.lock))
		return {};
	return ByteSpan{end.bytes_}.first(end.length_bytes_.under(place.lock));
}

void Rendezvous::consume(NearClc &end, std::size_t bytes)
{
	Bucket &place = bucket(end.key_);
	Guard guard(place.lock);
	std::size_t &length_bytes = end.length_bytes_.under(place.lock);

	length_bytes -= bytes;
	std::memmove(end.bytes_.data(), end.bytes_.data() + bytes, length_bytes);
}

MutableByteSpan Rendezvous::room_for_tcp(NearClc &end)
{
	const MutableByteSpan all{end.bytes_};

	if (!end.entered_)
		return all;
	Bucket &place = bucket(end.key_);
	Guard guard(place.lock);

	place.waiting.remove(end);
	// The peer may send at any moment.
	return end.met_.under(place.lock) ? all.subspan(NearClc::kInboxSize) : all;
}

Rendezvous &rendezvous()
{
	return *the_rendezvous;
}

bool set_up_rendezvous()
{
	return make_single(the_rendezvous);
}

void tear_down_rendezvous()
{
	free_single(the_rendezvous);
}

} // namespace smc::shell
