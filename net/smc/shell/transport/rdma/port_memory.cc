// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/port_memory.hpp"

#include "core/base/hash.hpp"
#include "shell/base/alloc.hpp"
#include "shell/control/device_epoch.hpp"

namespace smc::transport::rdma {

namespace {

PortMemory *memory;

} // namespace

PortMemory &port_memory()
{
	return *memory;
}

bool set_up_port_memory()
{
	return shell::make_single(memory);
}

void tear_down_port_memory()
{
	shell::free_single(memory);
}

// Two places of a network device, for both types: a handshake asks for both.
PortMemory::Place &PortMemory::place_of(const Question &question)
{
	u64 hash = reinterpret_cast<uintptr_t>(question.netns);

	hash = mix(hash, question.ifindex ^ u64{question.vlan_id} << 32);
	hash = mix(hash, question.ipv4);
	const std::size_t pair = hash >> 32 & (kPlaces / 2 - 1);

	return places_[2 * pair + (question.type == SMC_IB_GID_ROCE_V2 ? 1 : 0)];
}

// The answer is copied to where it stays: a port is large, and each copy counts a reference.
bool PortMemory::look(const Question &question, std::optional<Port> &port)
{
	Place &place = place_of(question);
	const u64 epoch = control::DeviceEpoch::of_ways();
	shell::Guard guard(place.lock);

	if (!place.used || place.epoch != epoch || place.question != question)
		return false;
	port = place.port;
	return true;
}

void PortMemory::note(const Question &question, const std::optional<Port> &port, u64 epoch)
{
	Place &place = place_of(question);
	// The reference that makes way goes without the lock.
	std::optional<Port> other = port;
	shell::Guard guard(place.lock);

	place.used = true;
	place.question = question;
	place.epoch = epoch;
	std::swap(place.port, other);
}

void PortMemory::forget(const smc_ib_device *device)
{
	for (Place &place : places_) {
		std::optional<Port> gone;
		shell::Guard guard(place.lock);

		if (!place.port || place.port->device.get() != device)
			continue;
		std::swap(place.port, gone);
		place.used = false;
	}
}

} // namespace smc::transport::rdma
