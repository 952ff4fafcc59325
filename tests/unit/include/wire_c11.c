// SPDX-License-Identifier: Apache-2.0
// The shared headers are plain C11: this file exists to be compiled, by the C compiler and by clang for BPF. Their
// static assertions check the layouts; the functions below are what wire_test.cpp compares across languages.
#include "mrc/abi/maps.h"
#include "mrc/abi/srv6.h"
#include "mrc/abi/wire.h"

__u32 mrc_c11_ev(__u32 flow_label, __u16 udp_source);
__u32 mrc_c11_24_bits(__u32 value);
void mrc_c11_shift(struct mrc_carrier *carrier);
__u32 mrc_c11_sizes(void);

__u32 mrc_c11_ev(__u32 flow_label, __u16 udp_source)
{
    return mrc_ev_from_packet(flow_label, udp_source);
}

__u32 mrc_c11_24_bits(__u32 value)
{
    __u8 bytes[3];

    mrc_put24(bytes, value);
    return mrc_get24(bytes);
}

void mrc_c11_shift(struct mrc_carrier *carrier)
{
    mrc_usid_shift(carrier, MRC_USID_USUAL_BLOCK);
}

__u32 mrc_c11_sizes(void)
{
    return sizeof(struct mrc_bth) + sizeof(struct mrc_seth) + sizeof(struct mrc_cc_state) + sizeof(struct mrc_eeth) +
           sizeof(struct mrc_path_row) + sizeof(struct mrc_qp_row);
}
