// SPDX-License-Identifier: Apache-2.0
// The library is built with hidden visibility: what mrc.h and mrc_ctl.h declare bears this at its definition.
#pragma once

#define MRC_EXPORT __attribute__((visibility("default")))
