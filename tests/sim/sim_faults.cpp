// SPDX-License-Identifier: Apache-2.0
#include "sim_faults.h"

namespace mrc::sim
{

using namespace protocol;

void garble(data_packet &data, random_source &random)
{
    const std::uint32_t bit = random.below(16);
    const std::uint32_t flip = 1u << bit;
    switch (random.below(6)) {
    case 0:
        data.sequence = psn{data.sequence.value() ^ flip};
        break;
    case 1:
        data.opcode = static_cast<std::uint8_t>(data.opcode ^ (flip & 7u));
        break;
    case 2:
        data.msn = static_cast<std::uint16_t>(data.msn ^ flip);
        break;
    case 3:
        data.tx_timestamp = static_cast<std::uint16_t>(data.tx_timestamp.value_or(0) ^ flip);
        break;
    case 4:
        data.va ^= flip;
        break;
    default:
        data.retransmission = !data.retransmission;
    }
}

} // namespace mrc::sim
