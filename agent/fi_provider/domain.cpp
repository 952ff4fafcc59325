// SPDX-License-Identifier: Apache-2.0
#include "fi_provider/domain.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <rdma/providers/fi_log.h>

#include "fi_provider/active_endpoint.h"
#include "fi_provider/info.h"
#include "fi_provider/passive_endpoint.h"
#include "fi_provider/queues.h"
#include "fi_provider/refusals.h"

namespace mrc::fi_provider
{

namespace
{

// A ring's slot takes the largest packet of ofi_rxm.
constexpr messaging::ring_shape messages{.slots = 64, .slot_bytes = inject_bytes + 128};
static_assert(messages.slot_bytes >= inject_bytes + transfer_head::encoded_bytes);

domain &domain_of(fid *of)
{
    return *static_cast<domain *>(reinterpret_cast<fid_domain *>(of));
}

template <typename Make>
int made_or_failed(const char *what, Make make)
{
    try {
        make();
        return 0;
    } catch (const std::exception &failure) {
        return failure_code(what, failure);
    }
}

int close_region(fid *of)
{
    const std::unique_ptr<memory_region> region{static_cast<memory_region *>(reinterpret_cast<fid_mr *>(of))};
    const auto held = region->of->endpoint.lock();
    region->of->regions.erase(region.get());
    region->range.reset();
    return 0;
}

fi_ops region_ops{.size = sizeof(fi_ops),
                  .close = close_region,
                  .bind = refuse_bind,
                  .control = refuse_control,
                  .ops_open = refuse_ops,
                  .tostr = nullptr,
                  .ops_set = nullptr};

int register_memory(fid *of, const void *data, std::size_t bytes, std::uint64_t access, std::uint64_t /*offset*/,
                    std::uint64_t /*requested_key*/, std::uint64_t flags, fid_mr **made, void *context)
{
    if (flags != 0)
        return -FI_EBADFLAGS;
    if (bytes == 0)
        return -FI_EINVAL;
    domain &in = domain_of(of);
    auto region = std::make_unique<memory_region>(memory_region{
        {.fid = {.fclass = FI_CLASS_MR, .context = context, .ops = &region_ops}, .mem_desc = nullptr, .key = 0},
        &in,
        reinterpret_cast<std::uintptr_t>(data),
        bytes,
        access,
        {},
        use_of{in}});
    const auto held = in.endpoint.lock();
    if ((access & FI_REMOTE_WRITE) != 0) {
        region->range = in.endpoint.register_apart(data, bytes);
        if (!region->range)
            return -errno;
    }
    region->mem_desc = region.get();
    region->key = region->range ? region->range->rkey : in.next_key++;
    in.regions.insert(region.get());
    *made = region.release();
    return 0;
}

fi_ops_mr registration_ops{
    .size = sizeof(fi_ops_mr),
    .reg = register_memory,
    .regv =
        [](fid *of, const iovec *parts, std::size_t count, std::uint64_t access, std::uint64_t offset,
           std::uint64_t key, std::uint64_t flags, fid_mr **made, void *context) {
            if (count != 1)
                return -FI_EINVAL;
            return register_memory(of, parts->iov_base, parts->iov_len, access, offset, key, flags, made, context);
        },
    .regattr =
        [](fid *of, const fi_mr_attr *wanted, std::uint64_t flags, fid_mr **made) {
            if (wanted->iov_count != 1)
                return -FI_EINVAL;
            return register_memory(of, wanted->mr_iov->iov_base, wanted->mr_iov->iov_len, wanted->access,
                                   wanted->offset, wanted->requested_key, flags, made, wanted->context);
        }};

int open_completion_queue(fid_domain *of, fi_cq_attr *attributes, fid_cq **made, void *context)
{
    const bool waits = attributes->wait_obj == FI_WAIT_UNSPEC || attributes->wait_obj == FI_WAIT_FD;
    if (!waits && attributes->wait_obj != FI_WAIT_NONE)
        return -FI_ENOSYS;
    return made_or_failed("completion queue", [&] {
        auto &in = *static_cast<domain *>(of);
        *made = new completion_queue{in, in.endpoint, *attributes, context};
    });
}

int open_endpoint(fid_domain *of, fi_info *info, fid_ep **made, void *context)
{
    return made_or_failed("endpoint", [&] { *made = new active_endpoint{*static_cast<domain *>(of), *info, context}; });
}

fi_ops domain_ops{.size = sizeof(fi_ops),
                  .close = [](fid *of) { return close_unused(&domain_of(of)); },
                  .bind = [](fid *, fid *, std::uint64_t) { return 0; }, // events of registration: it is done at once
                  .control = refuse_control,
                  .ops_open = refuse_ops,
                  .tostr = nullptr,
                  .ops_set = nullptr};

fi_ops_domain objects_of_domain{.size = sizeof(fi_ops_domain),
                                .av_open = MRC_FI_REFUSED(fi_ops_domain, av_open),
                                .cq_open = open_completion_queue,
                                .endpoint = open_endpoint,
                                .scalable_ep = MRC_FI_REFUSED(fi_ops_domain, scalable_ep),
                                .cntr_open = MRC_FI_REFUSED(fi_ops_domain, cntr_open),
                                .poll_open = MRC_FI_REFUSED(fi_ops_domain, poll_open),
                                .stx_ctx = MRC_FI_REFUSED(fi_ops_domain, stx_ctx),
                                .srx_ctx = MRC_FI_REFUSED(fi_ops_domain, srx_ctx),
                                .query_atomic = MRC_FI_REFUSED(fi_ops_domain, query_atomic),
                                .query_collective = MRC_FI_REFUSED(fi_ops_domain, query_collective),
                                .endpoint2 = nullptr};

fabric &fabric_of(fid_fabric *of)
{
    return *static_cast<fabric *>(of);
}

// Whether one may sleep by the descriptors of these.
int try_wait(fid_fabric * /*of*/, fid **waited, int count)
{
    for (int i = 0; i < count; ++i) {
        fid *one = waited[i];
        auto *queue =
            one->fclass == FI_CLASS_CQ ? static_cast<completion_queue *>(reinterpret_cast<fid_cq *>(one)) : nullptr;
        if (queue != nullptr)
            queue->stop_polling(); // before it is looked at: what comes later makes its descriptor ready
        const bool empty =
            queue != nullptr
                ? queue->empty()
                : one->fclass != FI_CLASS_EQ || static_cast<fi_event_queue *>(reinterpret_cast<fid_eq *>(one))->empty();
        if (!empty)
            return -FI_EAGAIN;
    }
    return 0;
}

fi_ops fabric_ops{.size = sizeof(fi_ops),
                  .close = [](fid *of) { return close_unused(&fabric_of(reinterpret_cast<fid_fabric *>(of))); },
                  .bind = refuse_bind,
                  .control = refuse_control,
                  .ops_open = refuse_ops,
                  .tostr = nullptr,
                  .ops_set = nullptr};

fi_ops_fabric objects_of_fabric{
    .size = sizeof(fi_ops_fabric),
    .domain =
        [](fid_fabric *of, fi_info *, fid_domain **made, void *context) {
            return made_or_failed("domain", [&] { *made = new domain{fabric_of(of), context}; });
        },
    .passive_ep =
        [](fid_fabric *of, fi_info *info, fid_pep **made, void *context) {
            return made_or_failed("passive endpoint",
                                  [&] { *made = new passive_endpoint{fabric_of(of), *info, context}; });
        },
    .eq_open =
        [](fid_fabric *of, fi_eq_attr *, fid_eq **made, void *context) {
            return made_or_failed("event queue", [&] { *made = new fi_event_queue{fabric_of(of), context}; });
        },
    .wait_open = MRC_FI_REFUSED(fi_ops_fabric, wait_open),
    .trywait = try_wait,
    .domain2 = nullptr};

} // namespace

fabric::fabric(std::uint32_t version, void *context)
    : fid_fabric{.fid = {.fclass = FI_CLASS_FABRIC, .context = context, .ops = &fabric_ops},
                 .ops = &objects_of_fabric,
                 .api_version = version}
{
}

domain::domain(fabric &parent, void *context)
    : fid_domain{.fid = {.fclass = FI_CLASS_DOMAIN, .context = context, .ops = &domain_ops},
                 .ops = &objects_of_domain,
                 .mr = &registration_ops},
      in{parent}, fabric_use{parent}, endpoint{messages}
{
}

bool domain::readable(std::uint64_t address, std::uint64_t bytes, std::uint64_t key) const
{
    return std::ranges::any_of(regions, [&](const memory_region *one) {
        return one->key == key && (one->access & FI_REMOTE_READ) != 0 && one->begin <= address && bytes <= one->bytes &&
               address - one->begin <= one->bytes - bytes;
    });
}

int open_fabric(fi_fabric_attr *attributes, fid_fabric **made, void *context)
{
    return made_or_failed("fabric", [&] { *made = new fabric{attributes->api_version, context}; });
}

int failure_code(const char *what, const std::exception &failure)
{
    FI_WARN(&provider(), FI_LOG_CORE, "%s: %s\n", what, failure.what());
    return dynamic_cast<const std::bad_alloc *>(&failure) != nullptr ? -FI_ENOMEM : -FI_EIO;
}

} // namespace mrc::fi_provider
