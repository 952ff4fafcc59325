// SPDX-License-Identifier: Apache-2.0
#include "messaging/verbs_calls.h"

#include <string>

#include <dlfcn.h>

#include "messaging/failure.h"

namespace mrc::messaging
{

namespace
{

template <typename Function>
void find(void *library, const char *name, Function &into, const char *version = "IBVERBS_1.1")
{
    void *found = ::dlvsym(library, name, version);
    if (found == nullptr)
        throw messaging_failure{std::string{"libmrc has no "} + name};
    into = reinterpret_cast<Function>(found);
}

verbs_calls find_all()
{
    void *library = ::dlopen("libmrc.so.1", RTLD_NOW | RTLD_LOCAL); // linked, so loaded; never closed
    if (library == nullptr)
        throw messaging_failure{std::string{"libmrc is not loaded: "} + ::dlerror()};
    verbs_calls all{};
    find(library, "ibv_get_device_list", all.get_device_list);
    find(library, "ibv_free_device_list", all.free_device_list);
    find(library, "ibv_get_device_name", all.get_device_name);
    find(library, "ibv_open_device", all.open_device);
    find(library, "ibv_close_device", all.close_device);
    find(library, "ibv_alloc_pd", all.alloc_pd);
    find(library, "ibv_dealloc_pd", all.dealloc_pd);
    find(library, "ibv_reg_mr", all.reg_mr);
    find(library, "ibv_dereg_mr", all.dereg_mr);
    find(library, "ibv_query_device", all.query_device);
    find(library, "ibv_query_port_speed", all.query_port_speed, "IBVERBS_1.16");
    find(library, "ibv_query_gid", all.query_gid);
    find(library, "ibv_get_async_event", all.get_async_event);
    return all;
}

} // namespace

const verbs_calls &verbs()
{
    static const verbs_calls all = find_all();
    return all;
}

} // namespace mrc::messaging
