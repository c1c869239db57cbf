// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <string_view>

// Messages of version 1, and of peers that know little more, from other implementations: our
// encoders and decoders must agree with them. In hex.
namespace smc::foreign {

// --- smc-go (github.com/hwipl/smc-go, ca917b025fe2, pkg/clc/*_test.go) ---------------------------
//
// Another implementation's reader; foreign_test.cc has the fields that it reads. The Confirm
// belongs to a first contact, as the Accept says, and does not repeat that, as in RFC 7609 (A.2.3,
// where the bit is reserved) and Linux before 5.10.

inline constexpr std::string_view kProposalIpv4 = "e2d4c3d901003410b1a098039babcdef"
						  "fe800000000000009a039bfffeabcdef"
						  "98039babcdef00007f00000008000000"
						  "e2d4c3d9";

inline constexpr std::string_view kProposalIpv6 = "e2d4c3d901004510394498039babcdef"
						  "fe800000000000009a039bfffeabcdef"
						  "98039babcdef00000000000000000001"
						  "00000000000000000000000000000001"
						  "80e2d4c3d9";

inline constexpr std::string_view kProposalSmcd = "e2d4c3c401005c11b1a098039babcdef"
						  "00000000000000000000000000000000"
						  "00000000000000280123456789abcdef"
						  "00000000000000000000000000000000"
						  "00000000000000000000000000000000"
						  "7f00000008000000e2d4c3c4";

inline constexpr std::string_view kProposalBothIpv4 = "e2d4c3d901005c13b1a098039babcdef"
						      "fe800000000000009a039bfffeabcdef"
						      "98039babcdef00280123456789abcdef"
						      "00000000000000000000000000000000"
						      "00000000000000000000000000000000"
						      "7f00000008000000e2d4c3d9";

inline constexpr std::string_view kProposalBothIpv6 = "e2d4c3d901006d13394498039babcdef"
						      "fe800000000000009a039bfffeabcdef"
						      "98039babcdef00280123456789abcdef"
						      "00000000000000000000000000000000"
						      "00000000000000000000000000000000"
						      "00000000000000010000000000000000"
						      "000000000000000180e2d4c3d9";

// Version 2, in which nothing is offered beyond version 1.
inline constexpr std::string_view kProposalNoV2Ipv4 = "e2d4c3d901005c2b394498039babcdef"
						      "fe800000000000009a039bfffeabcdef"
						      "98039babcdef00280123456789abcdef"
						      "12340000000000000000000000000000"
						      "00000000000000000000000000000000"
						      "7f00000008000000e2d4c3d9";

inline constexpr std::string_view kAcceptFirst = "e2d4c3d902004418b1a098039babcdef"
						 "fe800000000000009a039bfffeabcdef"
						 "98039babcdef0000e40000157d010000"
						 "0005230000000000f0a600000072f5fe"
						 "e2d4c3d9";

inline constexpr std::string_view kConfirmFirst = "e2d4c3d903004410b1a098039babcdef"
						  "fe800000000000009a039bfffeabcdef"
						  "98039babcdef0000e50000187f010000"
						  "0006230000000000f0a40000000d89a4"
						  "e2d4c3d9";

inline constexpr std::string_view kAcceptSmcd = "e2d4c3c4020030110123456789abcdef"
						"0123456789abcdefff100000ffffffff"
						"000000000000000000000000e2d4c3c4";

inline constexpr std::string_view kConfirmSmcd = "e2d4c3c4030030110123456789abcdef"
						 "0123456789abcdefff100000ffffffff"
						 "000000000000000000000000e2d4c3c4";

inline constexpr std::string_view kDecline = "e2d4c3d904001c102525252525252500"
					     "0303000000000000e2d4c3d9";

// Of version 2 and as short as one of version 1.
inline constexpr std::string_view kDeclineShortV2 = "e2d4c3d904001c202525252525252500"
						    "0303000020000000e2d4c3d9";

// --- Linux 5.10.262 (net/smc/smc_clc.h, smc_clc.c) -----------------------------------------------
//
// Its structures, compiled for this purpose and filled in the order of smc_clc_send_proposal(),
// smc_clc_send_confirm_accept() and smc_clc_send_decline(). Client 52:54:00:00:00:02, server
// 52:54:00:00:00:01, 10.9.0.0/24, fd09::/64.

inline constexpr std::string_view kProposal510 =
	"e2d4c3d901005c281f2e525400000002fe80000000000000505400fffe000002"
	"5254000000020028000000000000000000000000000000000000000000000000"
	"000000000000000000000000000000000a09000018000000e2d4c3d9";

inline constexpr std::string_view kProposal510Ipv6 =
	"e2d4c3d901006d281f2e525400000002fe80000000000000505400fffe000002"
	"5254000000020028000000000000000000000000000000000000000000000000"
	"000000000000000000000000000000000000000000000001fd09000000000000"
	"000000000000000040e2d4c3d9";

inline constexpr std::string_view kAccept510First =
	"e2d4c3d9020044183d4c525400000001fe80000000000000505400fffe000001"
	"52540000000100012300001a2b01000000072300000000011234000000abcdef"
	"e2d4c3d9";

inline constexpr std::string_view kAccept510Later =
	"e2d4c3d9020044103d4c525400000001fe80000000000000505400fffe000001"
	"52540000000100012300001a2b01000000072300000000011234000000abcdef"
	"e2d4c3d9";

inline constexpr std::string_view kConfirm510First =
	"e2d4c3d9030044181f2e525400000002fe80000000000000505400fffe000002"
	"52540000000200034500003c4d01000000092300000000025678000000123456"
	"e2d4c3d9";

inline constexpr std::string_view kConfirm510Later =
	"e2d4c3d9030044101f2e525400000002fe80000000000000505400fffe000002"
	"52540000000200034500003c4d01000000092300000000025678000000123456"
	"e2d4c3d9";

inline constexpr std::string_view kDecline510 =
	"e2d4c3d904001c101f2e5254000000020303000000000000e2d4c3d9";

inline constexpr std::string_view kDecline510OutOfSync =
	"e2d4c3d904001c181f2e5254000000020400000000000000e2d4c3d9";

inline constexpr std::string_view kDecline510V2 =
	"e2d4c3d904001c201f2e5254000000020201000020000000e2d4c3d9";

inline constexpr std::array kProposals = {
	kProposalIpv4,     kProposalIpv6,     kProposalSmcd, kProposalBothIpv4,
	kProposalBothIpv6, kProposalNoV2Ipv4, kProposal510,  kProposal510Ipv6,
};

inline constexpr std::array kAccepts = {kAcceptFirst, kAcceptSmcd, kAccept510First,
					kAccept510Later};

inline constexpr std::array kConfirms = {kConfirmFirst, kConfirmSmcd, kConfirm510First,
					 kConfirm510Later};

inline constexpr std::array kDeclines = {kDecline, kDeclineShortV2, kDecline510,
					 kDecline510OutOfSync, kDecline510V2};

} // namespace smc::foreign
