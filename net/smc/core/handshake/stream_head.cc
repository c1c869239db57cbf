// SPDX-License-Identifier: GPL-2.0-only
#include "core/handshake/stream_head.hpp"

namespace smc::handshake {

StreamHead stream_head(ByteSpan peeked, bool eof, std::optional<wire::ClcType> awaited)
{
	const wire::ClcFrame frame = wire::clc_frame(peeked);
	StreamHead found;

	switch (frame.state) {
	case wire::ClcFrame::State::kNeedMore:
		found.head = eof ? Head::kEnd : Head::kNothing;
		return found;
	case wire::ClcFrame::State::kNotClc: found.head = Head::kForeign; return found;
	case wire::ClcFrame::State::kComplete: break;
	}
	found.message = peeked.first(frame.length_bytes);
	if (frame.type == wire::ClcType::kDecline) {
		const auto decline = wire::decode_decline(found.message);

		found.head = decline ? Head::kDecline : Head::kForeign;
		if (decline)
			found.decline = *decline;
		return found;
	}
	found.head = frame.type == awaited ? Head::kAwaited : Head::kForeign;
	return found;
}

} // namespace smc::handshake
