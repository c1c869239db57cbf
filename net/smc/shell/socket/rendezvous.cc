// SPDX-License-Identifier: GPL-2.0-only
#include "shell/socket/rendezvous.hpp"

#include <cstring>

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
	other->peer_ = &end;
	end.peer_ = other;
	other->met_ = end.met_ = true;
	// A server waits for a Proposal, whichever way that comes.
	if (other->side_ == NearClc::Side::kClient)
		other->owner_.on_near_clc();
	return true;
}

bool Rendezvous::met(NearClc &end)
{
	if (!end.entered_)
		return false;
	Guard guard(bucket(end.key_).lock);

	return end.met_;
}

void Rendezvous::stop_waiting(NearClc &end)
{
	Bucket &place = bucket(end.key_);
	Guard guard(place.lock);

	place.waiting.remove(end);
}

void Rendezvous::part(NearClc &end)
{
	if (!end.entered_)
		return;
	Bucket &place = bucket(end.key_);
	Guard guard(place.lock);

	place.waiting.remove(end);
	if (end.peer_ != nullptr)
		end.peer_->peer_ = nullptr;
	end.peer_ = nullptr;
}

Rendezvous::Sent Rendezvous::send(NearClc &from, ByteSpan message)
{
	if (!from.entered_)
		return Sent::kNotHere;
	Guard guard(bucket(from.key_).lock);
	NearClc *to = from.peer_;

	if (!from.met_)
		return Sent::kNotHere;
	if (to == nullptr)
		return Sent::kDelivered;
	if (message.size() > to->inbox_.size() - to->length_bytes_)
		return Sent::kNoRoom;
	std::memcpy(to->inbox_.data() + to->length_bytes_, message.data(), message.size());
	to->length_bytes_ += message.size();
	to->owner_.on_near_clc();
	return Sent::kDelivered;
}

ByteSpan Rendezvous::received(NearClc &end)
{
	if (!end.entered_)
		return {};
	Guard guard(bucket(end.key_).lock);

	return ByteSpan{end.inbox_}.first(end.length_bytes_);
}

void Rendezvous::consume(NearClc &end, std::size_t bytes)
{
	Guard guard(bucket(end.key_).lock);

	end.length_bytes_ -= bytes;
	std::memmove(end.inbox_.data(), end.inbox_.data() + bytes, end.length_bytes_);
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
