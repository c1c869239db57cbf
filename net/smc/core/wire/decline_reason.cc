// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/decline_reason.hpp"

namespace smc::wire {

using namespace std::string_view_literals;

std::string_view name(DeclineReason reason)
{
	switch (reason) {
	case DeclineReason::kNone: return "NONE"sv;
	case DeclineReason::kMem: return "MEM"sv;
	case DeclineReason::kTimeoutCl: return "TIMEOUT_CL"sv;
	case DeclineReason::kTimeoutAl: return "TIMEOUT_AL"sv;
	case DeclineReason::kCnfErr: return "CNFERR"sv;
	case DeclineReason::kPeerNoSmc: return "PEERNOSMC"sv;
	case DeclineReason::kIpsec: return "IPSEC"sv;
	case DeclineReason::kNoSmcDev: return "NOSMCDEV"sv;
	case DeclineReason::kNoSmcdDev: return "NOSMCDDEV"sv;
	case DeclineReason::kNoSmcrDev: return "NOSMCRDEV"sv;
	case DeclineReason::kNoIsm2Supp: return "NOISM2SUPP"sv;
	case DeclineReason::kNoV2Ext: return "NOV2EXT"sv;
	case DeclineReason::kNoV2dExt: return "NOV2DEXT"sv;
	case DeclineReason::kNoSeid: return "NOSEID"sv;
	case DeclineReason::kNoSmcd2Dev: return "NOSMCD2DEV"sv;
	case DeclineReason::kNoUeid: return "NOUEID"sv;
	case DeclineReason::kReleaseErr: return "RELEASEERR"sv;
	case DeclineReason::kMaxConnErr: return "MAXCONNERR"sv;
	case DeclineReason::kMaxLinkErr: return "MAXLINKERR"sv;
	case DeclineReason::kModeUnsupp: return "MODEUNSUPP"sv;
	case DeclineReason::kRmbeEc: return "RMBE_EC"sv;
	case DeclineReason::kOptUnsupp: return "OPTUNSUPP"sv;
	case DeclineReason::kDiffPrefix: return "DIFFPREFIX"sv;
	case DeclineReason::kGetVlanErr: return "GETVLANERR"sv;
	case DeclineReason::kIsmVlanErr: return "ISMVLANERR"sv;
	case DeclineReason::kNoActLink: return "NOACTLINK"sv;
	case DeclineReason::kNoSrvLink: return "NOSRVLINK"sv;
	case DeclineReason::kVersMismat: return "VERSMISMAT"sv;
	case DeclineReason::kMaxDmb: return "MAX_DMB"sv;
	case DeclineReason::kNoRoute: return "NOROUTE"sv;
	case DeclineReason::kNoIndirect: return "NOINDIRECT"sv;
	case DeclineReason::kSyncErr: return "SYNCERR"sv;
	case DeclineReason::kPeerDecl: return "PEERDECL"sv;
	case DeclineReason::kIntErr: return "INTERR"sv;
	case DeclineReason::kErrRtok: return "ERR_RTOK"sv;
	case DeclineReason::kErrRdyLnk: return "ERR_RDYLNK"sv;
	case DeclineReason::kErrRegBuf: return "ERR_REGBUF"sv;
	}
	return "UNKNOWN"sv;
}

} // namespace smc::wire
