// SPDX-License-Identifier: GPL-2.0-only
#include "shell/socket/rendezvous.hpp"

#include <cstring>
#include <utility>

#include "shell/base/alloc.hpp"

namespace smc::shell {

namespace {

Rendezvous *the_rendezvous;

} // namespace

u32 Rendezvous::bucket_of(const NearKey &key) const
{
	const u64 sequences = u64{key.client_sequence} << 32 | key.server_sequence;

	return smc_hash(&secret_, sequences, reinterpret_cast<uintptr_t>(key.within)) % kBuckets;
}

NearClc *Rendezvous::find_locked(const Bucket &bucket, const NearClc &end)
{
	NearClc *other = bucket.waiting.front();

	while (other != nullptr && (other->side() == end.side() || other->key() != end.key()))
		other = bucket.waiting.next(*other);
	return other;
}

bool Rendezvous::add(NearClc &to, const SpinLock & /*lock*/, ByteSpan message)
{
	const std::size_t length_bytes = to.length_bytes_.load(std::memory_order_relaxed);

	if (message.size() > NearClc::kInboxSize - length_bytes)
		return false;
	std::memcpy(to.bytes_.data() + length_bytes, message.data(), message.size());
	to.length_bytes_.store(length_bytes + message.size(), std::memory_order_release);
	return true;
}

void Rendezvous::remove(NearClc &from, const SpinLock & /*lock*/, std::size_t bytes)
{
	const std::size_t rest_bytes = from.length_bytes_.load(std::memory_order_relaxed) - bytes;

	std::memmove(from.bytes_.data(), from.bytes_.data() + bytes, rest_bytes);
	from.length_bytes_.store(rest_bytes, std::memory_order_relaxed);
}

bool Rendezvous::enter(NearClc &end, const NearKey &key)
{
	end.entered_ = true;
	end.key_ = key;
	end.bucket_ = bucket_of(key);
	Bucket &place = bucket(end);
	Guard guard(place.lock);

	NearClc *other = find_locked(place, end);
	if (other == nullptr) {
		place.waiting.push_back(end);
		return false;
	}
	place.waiting.remove(*other);
	other->peer_.under(place.lock) = &end;
	end.peer_.under(place.lock) = other;
	// The other end need not know before it is answered. What it has left must not seem to it
	// to have come.
	const std::size_t left_bytes = other->length_bytes_.exchange(0, std::memory_order_relaxed);
	(void)add(end, place.lock, ByteSpan{other->bytes_}.first(left_bytes));
	other->met_.store(true, std::memory_order_release);
	end.met_.store(true, std::memory_order_release);
	return true;
}

bool Rendezvous::leave(NearClc &from, ByteSpan message)
{
	Bucket &place = bucket(from);
	Guard guard(place.lock);

	return List<NearClc, NearClcTag>::linked(from) && add(from, place.lock, message);
}

ByteSpan Rendezvous::stop_waiting(NearClc &end)
{
	Bucket &place = bucket(end);
	Guard guard(place.lock);

	place.waiting.remove(end);
	if (met(end))
		return {};
	return received_or_left(end);
}

void Rendezvous::part(NearClc &end)
{
	if (!end.entered_)
		return;
	Bucket &place = bucket(end);
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
	Bucket &place = bucket(from);
	Guard guard(place.lock);
	NearClc *to = from.peer_.under(place.lock);

	if (!met(from))
		return Sent::kNotHere;
	if (to == nullptr)
		return Sent::kDelivered;
	if (!add(*to, place.lock, message))
		return Sent::kNoRoom;
	to->owner_.on_near_clc();
	return Sent::kDelivered;
}

void Rendezvous::consume(NearClc &end, std::size_t bytes)
{
	Bucket &place = bucket(end);
	Guard guard(place.lock);

	remove(end, place.lock, bytes);
}

MutableByteSpan Rendezvous::room_for_tcp(NearClc &end)
{
	const MutableByteSpan all{end.bytes_};

	if (!end.entered_)
		return all;
	Bucket &place = bucket(end);
	Guard guard(place.lock);

	place.waiting.remove(end);
	// The peer may send at any moment.
	return met(end) ? all.subspan(NearClc::kInboxSize) : all;
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
