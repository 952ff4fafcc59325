// SPDX-License-Identifier: Apache-2.0
// MRC packets between values (protocol/packet.h) and bytes (mrc/abi/wire.h).
#pragma once

#include "codec/frame_builder.h"
#include "codec/frame_parser.h"
#include "codec/icrc.h"
#include "codec/outer_header.h"
