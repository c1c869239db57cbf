// SPDX-License-Identifier: GPL-2.0-only
//
// Device: the software ISM device of this kernel ("loopback-ism", CHID 0xFFFF). Both ends of a
// connection over it are in this kernel: the client finds the server's end (WaitingEnd) by the
// token in its Accept. A token is random, valid for one client, once, and only during the server's
// handshake; the Confirm then has to name the end that was joined. So a host elsewhere that shows
// our GID, or one that does not speak over that TCP connection, reaches nothing.
//
// Locking: lock_ (class LEAF) guards the table of waiting ends.
#pragma once

#include <array>

#include "core/wire/ids.hpp"
#include "kernel/abi/control.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/base/ref.hpp"
#include "shell/transport/loopback/dmb.hpp"

namespace smc::transport::loopback {

struct WaitingTag;

// An end, as the device knows it: a server's waits for its client under its token.
class WaitingEnd : public shell::ListNode<WaitingTag> {
public:
	[[nodiscard]] u64 token() const { return token_; }

protected:
	explicit WaitingEnd(u64 token) : token_(token) {}
	~WaitingEnd() = default;

	const u64 token_; // unguessable: only our Accept names it
};

class Device {
public:
	Device();
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;

	[[nodiscard]] wire::IsmGid gid() const { return gid_; }
	[[nodiscard]] wire::IsmGid gid_extension() const { return gid_extension_; }
	// All connections are in one group, which exists as long as the module.
	[[nodiscard]] static constexpr u32 group_id() { return 1; }
	[[nodiscard]] DmbPool &pool() { return pool_; }
	// The share of @net in that group; false if it has none. Process.
	[[nodiscard]] bool snapshot_group(net *net, smc_smcd_lgr_info &info) const;

	// A server's end waits for its client, until forget() or claim(). The caller has a
	// reference to it, and calls forget() before the last one goes. Any context.
	void add(WaitingEnd &end);
	// It does not wait any more. Any context.
	void forget(WaitingEnd &end);
	// The waiting end with @token, which is an End; it does not wait any more. None if there is
	// none. Any context.
	template <class End>
	[[nodiscard]] shell::Ref<End> claim(u64 token)
	{
		shell::Guard guard(lock_);
		return shell::Ref<End>::share(static_cast<End *>(take_locked(token)));
	}

private:
	static constexpr u32 kBuckets = 64;
	using Waiting = shell::List<WaitingEnd, WaitingTag>;

	[[nodiscard]] Waiting &bucket_locked(u64 token) SMC_REQUIRES(lock_)
	{
		return waiting_[token % kBuckets];
	}
	[[nodiscard]] WaitingEnd *take_locked(u64 token) SMC_REQUIRES(lock_);

	wire::IsmGid gid_;
	wire::IsmGid gid_extension_;
	DmbPool pool_;
	shell::SpinLock lock_{SMC_LOCK_LEAF};
	std::array<Waiting, kBuckets> waiting_ SMC_GUARDED_BY(lock_);
};

// True if connections of sockets of @net may use this device at all.
[[nodiscard]] bool usable_in(net *net);
// True if they may also have their peer in other namespaces.
[[nodiscard]] bool meets_others(net *net);

// Exists between setup and teardown.
[[nodiscard]] Device &device();
[[nodiscard]] bool set_up_device();
void tear_down_device();
// The namespace ends.
void leave_namespace(net *net);

} // namespace smc::transport::loopback
