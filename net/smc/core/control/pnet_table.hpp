// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "core/control/device_name.hpp"
#include "core/control/pnet_id.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace smc::control {

// Longest names: IFNAMSIZ and IB_DEVICE_NAME_MAX without the final NUL.
inline constexpr std::size_t kEthNameMax = 15;
inline constexpr std::size_t kIbNameMax = 63;
inline constexpr std::uint8_t kIbPortMax = 2;

// What an entry names: a network device, or one port of an RDMA device (by its own name or by the
// name of the device it sits on). Neither has to exist yet.
class PnetTarget {
public:
	// nullopt: the name is empty or too long, or there is no such port number.
	[[nodiscard]] static std::optional<PnetTarget> eth(std::string_view name);
	[[nodiscard]] static std::optional<PnetTarget> ib(std::string_view name, std::uint8_t port);

	[[nodiscard]] bool is_ib() const { return port_ != 0; }
	[[nodiscard]] std::string_view name() const { return name_.view(); }
	// 1 .. kIbPortMax, 0 for a network device.
	[[nodiscard]] std::uint8_t port() const { return port_; }

	friend bool operator==(const PnetTarget &a, const PnetTarget &b)
	{
		return a.port_ == b.port_ && a.name() == b.name();
	}

private:
	PnetTarget(const DeviceName<kIbNameMax> &name, std::uint8_t port) : name_(name), port_(port)
	{
	}

	DeviceName<kIbNameMax> name_;
	std::uint8_t port_;
};

// One row. The caller provides the memory and gets it back through PnetTable::take().
class PnetEntry {
public:
	PnetEntry(const PnetId &id, const PnetTarget &target) : id_(id), target_(target) {}
	PnetEntry(const PnetEntry &) = delete;
	PnetEntry &operator=(const PnetEntry &) = delete;

	[[nodiscard]] const PnetId &id() const { return id_; }
	[[nodiscard]] const PnetTarget &target() const { return target_; }
	// Position in the table for good: from 1, growing, never reused.
	[[nodiscard]] std::uint64_t serial() const { return serial_; }

private:
	friend class PnetTable;

	PnetId id_;
	PnetTarget target_;
	std::uint64_t serial_ = 0;
	PnetEntry *next_ = nullptr;
};

// The PNET table of one network namespace, in order of arrival. A device has at most one entry, so
// a second one with another ID is refused: first delete, then add. No lock: the caller's.
class PnetTable {
public:
	static constexpr std::size_t kCapacity = 1024;

	enum class Added {
		kYes,
		kExists, // the device has an entry, with this ID or another
		kFull,
	};

	PnetTable() = default;
	PnetTable(const PnetTable &) = delete;
	PnetTable &operator=(const PnetTable &) = delete;

	// kYes: @entry must stay where it is until take() hands it out. Else it is untouched.
	[[nodiscard]] Added add(PnetEntry &entry);
	[[nodiscard]] bool contains(const PnetTarget &target) const;
	[[nodiscard]] std::size_t size() const { return size_; }
	[[nodiscard]] std::size_t room() const { return kCapacity - size_; }

	// Takes the first entry with @id (nullptr: any) out; nullptr when none is left.
	[[nodiscard]] PnetEntry *take(const PnetId *id);
	// First entry behind serial @after with @id (nullptr: any).
	[[nodiscard]] const PnetEntry *next(std::uint64_t after, const PnetId *id) const;

	[[nodiscard]] const PnetId *of_eth(std::string_view name) const;
	// @parent may be empty. The oldest entry that names the device either way wins.
	[[nodiscard]] const PnetId *of_ib(std::string_view name, std::string_view parent,
					  std::uint8_t port) const;

private:
	PnetEntry *head_ = nullptr;
	PnetEntry **tail_ = &head_;
	std::size_t size_ = 0;
	std::uint64_t last_serial_ = 0;
};

} // namespace smc::control
