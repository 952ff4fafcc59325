// SPDX-License-Identifier: Apache-2.0
#include "fi_provider/endpoint_options.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <rdma/fi_errno.h>

#include "fi_provider/info.h"
#include "fi_provider/refusals.h"

namespace mrc::fi_provider
{

int tell_address(const messaging::socket_address &address, void *into, std::size_t *bytes)
{
    sockaddr_storage stored{};
    const std::size_t needed = address.store(stored);
    const std::size_t room = std::exchange(*bytes, needed);
    std::memcpy(into, &stored, std::min(room, needed));
    return room < needed ? -FI_ETOOSMALL : 0;
}

int get_option(fid_t /*of*/, int level, int name, void *into, std::size_t *bytes)
{
    if (level != FI_OPT_ENDPOINT || name != FI_OPT_CM_DATA_SIZE)
        return -FI_ENOPROTOOPT;
    if (*bytes < sizeof(std::size_t))
        return -FI_ETOOSMALL;
    std::memcpy(into, &connect_data_bytes, sizeof(std::size_t));
    *bytes = sizeof(std::size_t);
    return 0;
}

fi_ops_ep endpoint_options{.size = sizeof(fi_ops_ep),
                           .cancel = MRC_FI_REFUSED(fi_ops_ep, cancel),
                           .getopt = get_option,
                           .setopt = MRC_FI_REFUSED(fi_ops_ep, setopt),
                           .tx_ctx = MRC_FI_REFUSED(fi_ops_ep, tx_ctx),
                           .rx_ctx = MRC_FI_REFUSED(fi_ops_ep, rx_ctx),
                           .rx_size_left = MRC_FI_REFUSED(fi_ops_ep, rx_size_left),
                           .tx_size_left = MRC_FI_REFUSED(fi_ops_ep, tx_size_left)};

} // namespace mrc::fi_provider
