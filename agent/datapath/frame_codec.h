// SPDX-License-Identifier: Apache-2.0
// MRC packets between values (protocol/packet.h) and bytes (mrc/wire.h).
#pragma once

#include "datapath/frame_builder.h"
#include "datapath/frame_parser.h"
#include "datapath/icrc.h"
#include "datapath/outer_header.h"
