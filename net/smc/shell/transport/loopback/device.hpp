// SPDX-License-Identifier: GPL-2.0-only
//
// Device: the software ISM device of this kernel ("loopback-ism", CHID 0xFFFF). Both ends of a
// connection over it are ours: the client finds the server's end (WaitingEnd) by the token in its
// Accept. A token is random, waits for one client, once, and only as long as the server's handshake
// lasts; the Confirm then has to name the very end that was joined. So whoever shows our GID and is
// not in this kernel, or does not speak over that TCP connection, gets at nothing.
//
// Locking: lock_ (class LEAF) guards the table of those that wait.
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

// An end, as far as the device knows it: it may wait for its client under its token.
class WaitingEnd : public shell::ListNode<WaitingTag> {
public:
	[[nodiscard]] u64 token() const { return token_; }

protected:
	explicit WaitingEnd(u64 token) : token_(token) {}
	~WaitingEnd() = default;

	const u64 token_; // unguessable: who has it was told it by us
};

class Device {
public:
	Device();
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;

	[[nodiscard]] wire::IsmGid gid() const { return gid_; }
	[[nodiscard]] wire::IsmGid gid_extension() const { return gid_extension_; }
	// All connections are in one group, which is there as long as the module is.
	[[nodiscard]] static constexpr u32 group_id() { return 1; }
	[[nodiscard]] DmbPool &pool() { return pool_; }
	// What @net has in that group; false if that is nothing. Process.
	[[nodiscard]] bool snapshot_group(net *net, smc_smcd_lgr_info &info) const;

	// A server's end waits for its client, until forget() or claim(). Whoever has it has a
	// reference on it, and calls forget() before the last one goes. Any context.
	void add(WaitingEnd &end);
	// It waits no longer. Any context.
	void forget(WaitingEnd &end);
	// The end with @token, which is an End, if it waits; it does so no longer. Any context.
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

// May a connection from or to a socket of @net go by this device at all?
[[nodiscard]] bool usable_in(net *net);
// ... also with those of other namespaces?
[[nodiscard]] bool meets_others(net *net);

// Exists between setup and teardown.
[[nodiscard]] Device &device();
[[nodiscard]] bool set_up_device();
void tear_down_device();
// The namespace ends.
void leave_namespace(net *net);

} // namespace smc::transport::loopback
