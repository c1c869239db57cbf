// SPDX-License-Identifier: GPL-2.0-only
//
// The steps of a Handshake's machine, and how its effects are performed.
#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "kernel/abi/stats.h"
#include "kernel/abi/trace.h"
#include "shell/control/fallback.hpp"
#include "shell/socket/handshake.hpp"
#include "shell/socket/rendezvous.hpp"

namespace smc::shell {

void Handshake::take_answer(const transport::Setup::Answer &answer)
{
	if (!answer)
		return;
	if (answer_)
		smc_warn_bug("too many answers in one handshake step");
	answer_ = answer;
}

void Handshake::take_tcp_error(int error)
{
	tcp_error_ = error;
	tcp_failed_ = true;
}

void Handshake::step(const handshake::Event &event)
{
	step_once(event);
	proceed();
}

void Handshake::proceed()
{
	for (;;) {
		while (stalled()) {
			if (!perform(effects_[performed_]))
				return;
			performed_++;
		}
		if (finished_)
			return;
		// First: it ends the handshake, whatever the answer is.
		if (std::exchange(tcp_failed_, false)) {
			step_once(handshake::TcpError{tcp_error_});
		} else if (answer_) {
			step_once(*answer_);
			answer_.reset();
		} else {
			return;
		}
	}
}

// The effects are made where they stay: they are too large for the stack, and for a copy.
void Handshake::step_once(const handshake::Event &event)
{
	performed_ = 0;
	effects_.~Effects();
	if (auto *client = std::get_if<handshake::ClientHandshake>(&machine_))
		::new (&effects_) handshake::Effects(client->step(event, smc_now_ms()));
	else if (auto *server = std::get_if<handshake::ServerHandshake>(&machine_))
		::new (&effects_) handshake::Effects(server->step(event, smc_now_ms()));
	else
		::new (&effects_) handshake::Effects();
}

// Not std::visit(): that makes a function for each alternative, with all alternatives in its name.
// For a name of more than 511 characters the kernel's backtrace writes in front of its buffer.
template <std::size_t... kIndices>
__attribute__((always_inline)) inline bool
Handshake::perform_alternative(const handshake::Effect &effect, std::index_sequence<kIndices...>)
{
	bool done = true;

	(void)((effect.index() == kIndices &&
		(done = carry_out(effect, *std::get_if<kIndices>(&effect)), true)) ||
	       ...);
	return done;
}

template <class Wanted>
__attribute__((always_inline)) inline bool Handshake::carry_out(const handshake::Effect &effect,
								const Wanted &wanted)
{
	if constexpr (!requires { on(wanted); }) {
		ask_setup(effect);
		return true;
	} else if constexpr (std::is_void_v<decltype(on(wanted))>) {
		on(wanted);
		return true;
	} else {
		return on(wanted);
	}
}

// Not inlined: only this needs room for an answer, and perform() runs for each effect.
__attribute__((noinline)) void Handshake::ask_setup(const handshake::Effect &effect)
{
	take_answer(setup_.perform(effect));
}

bool Handshake::perform(const handshake::Effect &effect)
{
	return perform_alternative(
		effect, std::make_index_sequence<std::variant_size_v<handshake::Effect>>());
}

bool Handshake::send_as_segment(ByteSpan message)
{
	if (!lock_sock())
		return false;
	// Else it was left before.
	if (!alone_)
		smc_trace_clc(sk_, true, message.data(), message.size());
	const int ret = smc_tcp_send(sk_, message.data(), message.size());
	turn_at_sock_.give();
	if (ret != 0)
		take_tcp_error(-ret);
	return true;
}

bool Handshake::on(const handshake::SendClc &send)
{
	if (alone_ && rendezvous().leave(near_clc_, send.bytes)) {
		smc_trace_clc(sk_, true, send.bytes.data(), send.bytes.size());
		return true;
	}
	switch (rendezvous().send(near_clc_, send.bytes)) {
	case Rendezvous::Sent::kDelivered:
		smc_trace_clc(sk_, true, send.bytes.data(), send.bytes.size());
		break;
	case Rendezvous::Sent::kNotHere: return send_as_segment(send.bytes);
	case Rendezvous::Sent::kNoRoom:
		smc_warn_bug("a handshake's messages are not read");
		take_tcp_error(ENOBUFS);
		break;
	}
	return true;
}

bool Handshake::on(const handshake::ConsumeTcp &consume)
{
	const auto trace = [&] {
		smc_trace_clc(sk_, false, given_.data(), std::min(consume.bytes, given_.size()));
	};

	if (from_near_) {
		trace();
		rendezvous().consume(near_clc_, consume.bytes);
		return true;
	}
	if (!lock_sock())
		return false;
	trace();
	const int ret = smc_tcp_drop(sk_, consume.bytes);
	turn_at_sock_.give();
	if (ret != 0)
		take_tcp_error(-ret);
	return true;
}

void Handshake::on(const handshake::WantBytes &)
{
	look_due_ = true;
}

void Handshake::on(const handshake::SetTimer &timer)
{
	deadline_ms_ = timer.deadline_ms;
}

void Handshake::on(const handshake::StopTimer &)
{
	deadline_ms_ = 0;
}

// If TCP's connection has died, or could not carry the last message, the outcome is Fail; the
// machine is not told any more. But a child whose peer is not known to speak SMC goes to the user
// with its error, as TCP would hand it over.
handshake::Finished Handshake::outcome_on_tcp(const handshake::Finished &finished)
{
	const auto *tcp = std::get_if<handshake::FallBack>(&finished.outcome);

	if (tcp_error_ == 0 || std::holds_alternative<handshake::Fail>(finished.outcome))
		return finished;
	if (tcp != nullptr && tcp->reason == wire::DeclineReason::kPeerNoSmc) {
		smc_sk_report_error(sk_, tcp_error_);
		return finished;
	}
	const bool again = role_ == Role::kClient && !crossed_;
	return {handshake::Fail{tcp_error_,
				again ? handshake::Again::kMaybeServer : handshake::Again::kNo}};
}

bool Handshake::on(const handshake::Finished &wanted)
{
	if (!lock_sock())
		return false;
	saved_.rcvlowat = owner_->clc_ends(saved_.rcvlowat);
	smc_tcp_clc_end(sk_, &saved_);
	turn_at_sock_.give();
	const handshake::Finished finished = outcome_on_tcp(wanted);

	rendezvous().part(near_clc_);
	const auto *smc = std::get_if<handshake::UseSmc>(&finished.outcome);
	if (smc == nullptr)
		setup_.give_back(false);
	else
		setup_.established(*smc->agreement);
	deadline_ms_ = 0;
	finished_ = finished;
	if (!cancelled_.load(std::memory_order_relaxed))
		count_outcome();
	return true;
}

void Handshake::count_outcome()
{
	const bool server = role_ == Role::kServer;

	if (const auto *smc = std::get_if<handshake::UseSmc>(&finished_->outcome)) {
		const u32 v1 = server ? SMC_TS_SRV_V1 : SMC_TS_CLNT_V1;
		const u32 v2 = server ? SMC_TS_SRV_V2 : SMC_TS_CLNT_V2;

		const smc_tech tech = smc->agreement->smcd ? SMC_TECH_D : SMC_TECH_R;

		smc_stat_inc(net_, SMC_STAT_OF(tech, smc->agreement->version == 1 ? v1 : v2));
	} else if (const auto *tcp = std::get_if<handshake::FallBack>(&finished_->outcome)) {
		control::count_fallback(sk_, static_cast<u32>(tcp->reason), server);
		if (server && tcp->reason == wire::DeclineReason::kCnfErr)
			count_violation(SMC_STAT_CLC_MALFORMED);
		else if (server && tcp->reason == wire::DeclineReason::kPeerNoSmc && !timed_out_)
			count_violation(SMC_STAT_CLC_UNEXPECTED);
	} else {
		const auto *failure = std::get_if<handshake::Fail>(&finished_->outcome);

		if (failure->again == handshake::Again::kNo)
			smc_stat_inc(net_, server ? SMC_STAT_SRV_HS_ERR : SMC_STAT_CLNT_HS_ERR);
		if (failure->error == handshake::kConnectionReset && !timed_out_)
			count_violation(SMC_STAT_CLC_UNEXPECTED);
	}
	if (timed_out_)
		smc_stat_inc(net_, SMC_STAT_CLC_TIMEOUT);
	if (met())
		smc_stat_inc(net_, SMC_STAT_CLC_NEAR);
}

bool Handshake::met() const
{
	return rendezvous().met(near_clc_);
}

void Handshake::count_violation(u32 kind)
{
	smc_stat_inc(net_, SMC_STAT_VIOLATION);
	smc_stat_inc(net_, kind);
}

} // namespace smc::shell
