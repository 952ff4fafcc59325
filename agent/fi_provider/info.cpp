// SPDX-License-Identifier: Apache-2.0
#include "fi_provider/info.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include <netdb.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

#include "fi_provider/domain.h"
#include "messaging/failure.h"
#include "messaging/open_device.h"

namespace mrc::fi_provider
{

namespace
{

constexpr std::uint64_t message_caps = FI_SEND | FI_RECV;
constexpr std::uint64_t memory_caps = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
constexpr std::uint64_t both_ways = FI_LOCAL_COMM | FI_REMOTE_COMM;
constexpr std::uint64_t all_caps = FI_MSG | FI_RMA | message_caps | memory_caps | both_ways;
// Messages arrive in the order in which they were sent, and after WRITEs before them.
constexpr std::uint64_t order = FI_ORDER_SAS | FI_ORDER_WAW | FI_ORDER_WAS | FI_ORDER_RMA_WAW;
constexpr int needed_registration = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;

using info_owner = std::unique_ptr<fi_info, decltype(&::fi_freeinfo)>;

bool registers_as_needed(const fi_domain_attr &wanted)
{
    return wanted.mr_mode == FI_MR_BASIC || (wanted.mr_mode & needed_registration) == needed_registration;
}

// Who asks for none gets what there is, without memory if it registers in another way.
std::uint64_t caps_for(const fi_info *hints)
{
    const std::uint64_t wanted = hints == nullptr ? 0 : hints->caps;
    if (wanted == 0 && hints != nullptr && hints->domain_attr != nullptr && !registers_as_needed(*hints->domain_attr))
        return FI_MSG | message_caps | both_ways;
    if (wanted == 0)
        return all_caps;
    std::uint64_t caps = wanted | both_ways;
    if ((caps & FI_MSG) != 0 && (caps & message_caps) == 0)
        caps |= message_caps;
    if ((caps & FI_RMA) != 0 && (caps & memory_caps) == 0)
        caps |= memory_caps;
    return caps;
}

// Why these hints cannot be met; null if they can.
const char *objection(const fi_info &hints)
{
    if ((hints.caps & ~all_caps) != 0)
        return "capabilities: FI_MSG and FI_RMA are what there is";
    if (hints.addr_format != FI_FORMAT_UNSPEC && hints.addr_format != FI_SOCKADDR &&
        hints.addr_format != FI_SOCKADDR_IN && hints.addr_format != FI_SOCKADDR_IN6)
        return "address format: it is FI_SOCKADDR_IN or FI_SOCKADDR_IN6";
    if (const fi_ep_attr *of = hints.ep_attr; of != nullptr) {
        if (of->type != FI_EP_UNSPEC && of->type != FI_EP_MSG)
            return "endpoint type: it is FI_EP_MSG; FI_EP_RDM is ofi_rxm's, above it";
        if (of->rx_ctx_cnt == FI_SHARED_CONTEXT || of->tx_ctx_cnt == FI_SHARED_CONTEXT)
            return "shared contexts: there are none";
        if (of->protocol != FI_PROTO_UNSPEC || of->max_msg_size > most_bytes)
            return "protocol or size of messages";
    }
    if (const fi_tx_attr *of = hints.tx_attr; of != nullptr)
        if ((of->msg_order & ~order) != 0 || of->comp_order != FI_ORDER_NONE || of->inject_size > inject_bytes ||
            of->size > most_transfers || of->iov_limit > 1 || of->rma_iov_limit > 1 || (of->caps & ~all_caps) != 0)
            return "transmit attributes";
    if (const fi_rx_attr *of = hints.rx_attr; of != nullptr)
        if ((of->msg_order & ~order) != 0 || of->size > most_transfers || of->iov_limit > 1 ||
            (of->caps & ~all_caps) != 0)
            return "receive attributes";
    if (const fi_domain_attr *of = hints.domain_attr; of != nullptr) {
        if ((caps_for(&hints) & FI_RMA) != 0 && !registers_as_needed(*of))
            return "memory registration: FI_MR_VIRT_ADDR, FI_MR_ALLOCATED and FI_MR_PROV_KEY are needed";
        if ((of->caps & ~both_ways) != 0)
            return "capabilities of the domain: FI_LOCAL_COMM and FI_REMOTE_COMM are what there is";
    }
    return nullptr;
}

template <typename Attributes>
bool other_name(const Attributes *wanted, const std::string &name)
{
    return wanted != nullptr && wanted->name != nullptr && name != wanted->name;
}

struct addrinfo_freed {
    void operator()(addrinfo *what) const { ::freeaddrinfo(what); }
};

int family_of(std::uint32_t format)
{
    return format == FI_SOCKADDR_IN ? AF_INET : format == FI_SOCKADDR_IN6 ? AF_INET6 : AF_UNSPEC;
}

std::optional<messaging::socket_address> resolve(const char *node, const char *service, std::uint64_t flags, int family)
{
    addrinfo wanted{};
    wanted.ai_family = family;
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags =
        ((flags & FI_NUMERICHOST) != 0 ? AI_NUMERICHOST : 0) | ((flags & FI_SOURCE) != 0 ? AI_PASSIVE : 0);
    addrinfo *all = nullptr;
    if (::getaddrinfo(node, service, &wanted, &all) != 0)
        return std::nullopt;
    const std::unique_ptr<addrinfo, addrinfo_freed> owner{all};
    return messaging::socket_address::from(all->ai_addr);
}

std::optional<messaging::socket_address> given(const void *address)
{
    return messaging::socket_address::from(static_cast<const sockaddr *>(address));
}

struct ends {
    messaging::socket_address source;
    std::optional<messaging::socket_address> destination;
};

// nullopt: a name or an address cannot be found.
std::optional<ends> find_ends(const char *node, const char *service, std::uint64_t flags, const fi_info *hints)
{
    const int family = hints == nullptr ? AF_UNSPEC : family_of(hints->addr_format);
    std::optional<messaging::socket_address> source;
    std::optional<messaging::socket_address> destination;
    if (hints != nullptr && hints->src_addr != nullptr)
        source = given(hints->src_addr);
    if (hints != nullptr && hints->dest_addr != nullptr)
        destination = given(hints->dest_addr);
    const bool is_source = (flags & FI_SOURCE) != 0;
    if (node != nullptr || (service != nullptr && !is_source)) {
        auto &end = is_source ? source : destination;
        end = resolve(node, service, flags, family);
        if (!end)
            return std::nullopt;
    }
    messaging::socket_address any{.family = family == AF_INET ? AF_INET : AF_INET6}; // of this host's
    if (is_source && service != nullptr)
        any.port = static_cast<std::uint16_t>(std::strtoul(service, nullptr, 10));
    return ends{.source = source.value_or(any), .destination = destination};
}

void fill(fi_info &info, std::uint64_t caps, const messaging::opened_device &device)
{
    info.caps = caps;
    *info.tx_attr = {.caps = caps & (FI_MSG | FI_RMA | FI_SEND | FI_READ | FI_WRITE),
                     .mode = 0,
                     .op_flags = 0,
                     .msg_order = order,
                     .comp_order = FI_ORDER_NONE,
                     .inject_size = inject_bytes,
                     .size = most_transfers,
                     .iov_limit = 1,
                     .rma_iov_limit = 1,
                     .tclass = FI_TC_UNSPEC};
    *info.rx_attr = {.caps = caps & (FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE),
                     .mode = 0,
                     .op_flags = 0,
                     .msg_order = order,
                     .comp_order = FI_ORDER_STRICT,
                     .total_buffered_recv = 0,
                     .size = most_transfers,
                     .iov_limit = 1};
    fi_ep_attr &endpoint = *info.ep_attr;
    endpoint.type = FI_EP_MSG;
    endpoint.protocol = FI_PROTO_UNSPEC;
    endpoint.protocol_version = 1;
    endpoint.max_msg_size = most_bytes;
    endpoint.max_order_waw_size = most_bytes;
    endpoint.tx_ctx_cnt = endpoint.rx_ctx_cnt = 1;
    fi_domain_attr &domain = *info.domain_attr;
    domain.name = ::strdup(device.text.substr(0, device.text.find(' ')).c_str());
    domain.threading = FI_THREAD_SAFE;
    domain.control_progress = domain.data_progress = FI_PROGRESS_AUTO;
    domain.resource_mgmt = FI_RM_ENABLED;
    domain.av_type = FI_AV_UNSPEC;
    domain.mr_mode = needed_registration;
    domain.mr_key_size = sizeof(std::uint64_t);
    domain.cq_data_size = sizeof(std::uint64_t);
    domain.cq_cnt = domain.ep_cnt = domain.tx_ctx_cnt = domain.rx_ctx_cnt = most_transfers;
    domain.max_ep_tx_ctx = domain.max_ep_rx_ctx = 1;
    domain.mr_iov_limit = 1;
    domain.mr_cnt = most_transfers;
    domain.caps = both_ways;
    info.fabric_attr->name = ::strdup("MRC");
    info.fabric_attr->prov_version = provider().version;
}

// What hints leave open is answered in their own words (fi_getinfo(3), fi_domain(3)): progress by hand is made by calls
// that need not be made; modes of registration that messages do not need are left out.
void adapt(fi_info &info, const fi_info &hints)
{
    if (hints.tx_attr != nullptr)
        info.tx_attr->op_flags = hints.tx_attr->op_flags;
    if (hints.rx_attr != nullptr)
        info.rx_attr->op_flags = hints.rx_attr->op_flags;
    info.handle = hints.handle;
    const fi_domain_attr *wanted = hints.domain_attr;
    if (wanted == nullptr)
        return;
    fi_domain_attr &domain = *info.domain_attr;
    if (wanted->control_progress != FI_PROGRESS_UNSPEC)
        domain.control_progress = wanted->control_progress;
    if (wanted->data_progress != FI_PROGRESS_UNSPEC)
        domain.data_progress = wanted->data_progress;
    if (wanted->mr_mode == FI_MR_BASIC)
        domain.mr_mode = FI_MR_BASIC;
    else if ((info.caps & FI_RMA) == 0)
        domain.mr_mode &= wanted->mr_mode;
}

} // namespace

std::optional<messaging::socket_address> own_address(int family, const messaging::gid_bytes &gid)
{
    const auto interfaces = messaging::running_interfaces();
    char *chosen = nullptr;
    const bool named = fi_param_get_str(&provider(), "iface", &chosen) == 0;
    const auto overlay = std::ranges::find_if(interfaces, [&](const messaging::host_interface &one) {
        return one.address.family == AF_INET6 && one.address.bytes == gid;
    });
    if (!named && family != AF_INET && overlay != interfaces.end())
        return overlay->address;
    const char *of = family == AF_INET ? "AF_INET" : family == AF_INET6 ? "AF_INET6" : "";
    const auto found = messaging::choose_interface(interfaces, named ? "=" + std::string{chosen} : "", of);
    if (!found)
        return std::nullopt;
    return found->address;
}

void *allocated_copy(const messaging::socket_address &address, std::size_t &bytes)
{
    sockaddr_storage stored{};
    bytes = address.store(stored);
    void *copy = std::malloc(bytes); // freed by fi_freeinfo()
    if (copy != nullptr)
        std::memcpy(copy, &stored, bytes);
    return copy;
}

::fi_provider &provider()
{
    static ::fi_provider made{.version = FI_VERSION(1, 0),
                              // Of the library that loads it: a program that asks for a newer interface than a
                              // provider's is not offered it. What versions add stands at the ends of structures.
                              .fi_version = ::fi_version(),
                              .context = {},
                              .name = provider_name,
                              .getinfo = get_info,
                              .fabric = open_fabric,
                              .cleanup = [] {}};
    return made;
}

int get_info(std::uint32_t version, const char *node, const char *service, std::uint64_t flags, const fi_info *hints,
             fi_info **found)
{
    const auto none = [](const std::string &why) {
        FI_INFO(&provider(), FI_LOG_CORE, "%s\n", why.c_str());
        return -FI_ENODATA;
    };
    if (hints != nullptr)
        if (const char *why = objection(*hints); why != nullptr)
            return none(std::string{"not what is asked for: "} + why);
    try {
        const messaging::opened_device device = messaging::open_device();
        if (hints != nullptr && (other_name(hints->fabric_attr, "MRC") ||
                                 other_name(hints->domain_attr, device.text.substr(0, device.text.find(' ')))))
            return none("another fabric or domain is asked for");
        const std::optional<ends> at = find_ends(node, service, flags, hints);
        if (!at)
            return none("the address cannot be found");
        info_owner made{::fi_allocinfo(), &::fi_freeinfo};
        if (!made)
            return -FI_ENOMEM;
        fill(*made, caps_for(hints), device);
        made->fabric_attr->api_version = version;
        made->addr_format = at->source.family == AF_INET ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6;
        made->src_addr = allocated_copy(at->source, made->src_addrlen);
        if (at->destination)
            made->dest_addr = allocated_copy(*at->destination, made->dest_addrlen);
        if (hints != nullptr)
            adapt(*made, *hints);
        *found = made.release();
        return 0;
    } catch (const messaging::messaging_failure &failure) {
        return none(failure.what());
    }
}

} // namespace mrc::fi_provider
