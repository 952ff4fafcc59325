// SPDX-License-Identifier: Apache-2.0
// What libfabric may call of an object and this provider does not have.
#pragma once

#include <cstdint>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

namespace mrc::fi_provider
{

inline int refuse_bind(fid * /*of*/, fid * /*what*/, std::uint64_t /*flags*/)
{
    return -FI_ENOSYS;
}

inline int refuse_control(fid * /*of*/, int /*command*/, void * /*argument*/)
{
    return -FI_ENOSYS;
}

inline int refuse_ops(fid * /*of*/, const char * /*name*/, std::uint64_t /*flags*/, void ** /*ops*/, void * /*context*/)
{
    return -FI_ENOSYS;
}

// Any other function of libfabric's tables.
template <typename Result, typename... Arguments>
constexpr auto refused(Result (*)(Arguments...))
{
    return +[](Arguments...) -> Result { return -FI_ENOSYS; };
}
#define MRC_FI_REFUSED(table, function) refused(decltype(table::function){})

} // namespace mrc::fi_provider
