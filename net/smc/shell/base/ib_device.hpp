// SPDX-License-Identifier: GPL-2.0-only
//
// IbDevice: a counted reference to one of the kernel's RDMA devices, and the device's attributes.
#pragma once

#include <optional>
#include <utility>

#include "kernel/abi/verbs.h"

namespace smc::shell {

class IbDevice {
public:
	IbDevice() = default;
	// Takes over the caller's reference; nullptr is allowed.
	[[nodiscard]] static IbDevice adopt(smc_ib_device *device)
	{
		IbDevice ref;
		ref.device_ = device;
		return ref;
	}
	// Takes one more.
	[[nodiscard]] static IbDevice share(smc_ib_device *device)
	{
		if (device != nullptr)
			smc_ib_device_get(device);
		return adopt(device);
	}
	IbDevice(const IbDevice &other) : IbDevice(share(other.device_)) {}
	IbDevice(IbDevice &&other) noexcept : device_(std::exchange(other.device_, nullptr)) {}
	IbDevice &operator=(IbDevice other) noexcept
	{
		std::swap(device_, other.device_);
		return *this;
	}
	~IbDevice()
	{
		if (device_ != nullptr)
			smc_ib_device_put(device_);
	}

	[[nodiscard]] smc_ib_device *get() const { return device_; }
	explicit operator bool() const { return device_ != nullptr; }

	[[nodiscard]] u8 ports() const { return smc_ib_device_ports(device_); }
	[[nodiscard]] bool iwarp() const { return smc_ib_device_iwarp(device_); }
	// Process.
	[[nodiscard]] struct smc_ib_device_info info() const
	{
		struct smc_ib_device_info info = {};

		smc_ib_device_info(device_, &info);
		return info;
	}
	// None if the device has gone, or has no such port. With @net a netdev of another namespace
	// counts as none. Process.
	[[nodiscard]] std::optional<struct smc_ib_port_info> port(u8 number,
								  const net *net = nullptr) const
	{
		struct smc_ib_port_info info = {};

		if (smc_ib_port_info(device_, number, net, &info) != 0)
			return std::nullopt;
		return info;
	}

private:
	smc_ib_device *device_ = nullptr;
};

// The first device, in the order of their arrival, that @fits; none if no device does. Process.
template <class Fits>
[[nodiscard]] IbDevice find_ib_device(Fits &&fits)
{
	smc_ib_device *device = nullptr;

	// Each call takes over the reference to the device before.
	while ((device = smc_ib_device_next(device)) != nullptr && !fits(device)) {}
	return IbDevice::adopt(device);
}

} // namespace smc::shell
