// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/tcp_option.hpp"

#include "core/base/check.hpp"
#include "kernel/abi/callbacks/tcp.h"

using namespace smc;

static_assert(SMC_TCP_OPTION_BYTES == wire::kTcpOptionPaddedSize);

bool smc_op_tcp_option_is_there(const u8 *options, size_t length)
{
	return wire::find_tcp_option(std::as_bytes(std::span(options, length))).has_value();
}

bool smc_op_tcp_options_are_signed(const u8 *options, size_t length)
{
	return wire::has_tcp_signature(std::as_bytes(std::span(options, length)));
}

void smc_op_tcp_option_write(u8 *out)
{
	const std::size_t written = wire::encode_tcp_option(
		std::as_writable_bytes(std::span(out, SMC_TCP_OPTION_BYTES)));

	expects(written == SMC_TCP_OPTION_BYTES);
}
