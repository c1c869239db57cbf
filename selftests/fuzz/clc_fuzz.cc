// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/clc.hpp"
#include "support.hpp"

using namespace smc;
using namespace smc::wire;

namespace {

// Framing of a stream that arrives byte by byte: a refusal is final, it never asks for bytes that
// it has, and every prefix of a message is accepted.
void frame(ByteSpan stream)
{
	const ClcFrame whole = clc_frame(stream);
	bool refused = false;
	for (std::size_t seen = 0; seen <= stream.size() && seen <= kClcMessageSizeMax; seen++) {
		const ClcFrame part = clc_frame(stream.first(seen));
		switch (part.state) {
		case ClcFrame::State::kNeedMore:
			fuzz::demand(!refused && part.length_bytes > seen);
			break;
		case ClcFrame::State::kNotClc: refused = true; break;
		case ClcFrame::State::kComplete:
			fuzz::demand(!refused && part.length_bytes <= seen);
			fuzz::demand(whole.state == ClcFrame::State::kComplete &&
				     whole.length_bytes == part.length_bytes);
			break;
		}
	}
	fuzz::demand(refused == (whole.state == ClcFrame::State::kNotClc));
}

template <class Decode>
void decode(ByteSpan message, Decode decoder)
{
	const auto decoded = decoder(message);
	if (decoded)
		fuzz::demand_round_trip(*decoded, decoder);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const ByteSpan bytes = fuzz::input(data, size);
	frame(bytes);
	decode(bytes, decode_proposal);
	decode(bytes, decode_accept);
	decode(bytes, decode_confirm);
	decode(bytes, decode_decline);
	return 0;
}
