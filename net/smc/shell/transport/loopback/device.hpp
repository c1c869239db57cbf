// SPDX-License-Identifier: GPL-2.0-only
//
// Device: the software ISM device of this kernel ("loopback-ism", CHID 0xFFFF). Both ends of a
// connection over it are ours: the client finds the server's end by the token in its Accept. A
// token is random, waits for one client, once, and only as long as the server's handshake lasts;
// the Confirm then has to name the very end that was joined. So whoever shows our GID and is not
// in this kernel, or does not speak over that TCP connection, gets at nothing.
//
// Locking: lock_ (class LEAF) guards the table of those that wait.
#pragma once

#include <array>

#include "core/handshake/effect.hpp"
#include "core/wire/clc.hpp"
#include "core/wire/decline_reason.hpp"
#include "kernel/abi/control.h"
#include "shell/base/list.hpp"
#include "shell/base/lock.hpp"
#include "shell/base/ref.hpp"
#include "shell/transport/loopback/dmb.hpp"
#include "shell/transport/loopback/loopback_endpoint.hpp"

namespace smc::transport::loopback {

struct Acquired {
	shell::Ref<LoopbackEndpoint> endpoint; // or empty, and why:
	wire::DeclineReason reason = wire::DeclineReason::kNone;
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

	// A server's end, which waits for a client. Process.
	[[nodiscard]] Acquired open(struct sock *sk);
	// A client's end, joined to the one that waits as @peer says. Process.
	[[nodiscard]] Acquired attach(struct sock *sk, const wire::SmcdEndpoint &peer);
	// It waits no longer. Any context.
	void forget(LoopbackEndpoint &endpoint);

private:
	static constexpr u32 kBuckets = 64;
	using Waiting = shell::List<LoopbackEndpoint, WaitingTag>;

	[[nodiscard]] Waiting &bucket_locked(u64 token) SMC_REQUIRES(lock_)
	{
		return waiting_[token % kBuckets];
	}
	[[nodiscard]] Acquired make_end(shell::Ref<Pair> pair, Side side, struct sock *sk);
	[[nodiscard]] shell::Ref<LoopbackEndpoint> claim(u64 token);

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
