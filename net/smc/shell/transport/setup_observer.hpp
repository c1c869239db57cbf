// SPDX-License-Identifier: GPL-2.0-only
//
// SetupObserver: gets results of a transport while a connection is set up.
#pragma once

#include "core/wire/decline_reason.hpp"
#include "shell/base/list.hpp"

namespace smc::transport {

enum class SetupResult : u8 {
	kLinkConnected,
	kLinkConnectFailed,
	kRkeyAnnounced,
	kRkeyAnnounceFailed,
	kLinkConfirmed,
	kLinkConfirmFailed,
	kGroupSettled, // a group that was forming has become active, or has failed: ask again
};

struct ObserverTag;

class SetupObserver : public shell::ListNode<ObserverTag> {
public:
	// Called under the transport's locks, in any context: only note it and queue work.
	virtual void on_setup_result(SetupResult result, wire::DeclineReason reason) = 0;

protected:
	~SetupObserver() = default;
};

} // namespace smc::transport
