// SPDX-License-Identifier: Apache-2.0
#include "nccl/net.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include <dlfcn.h>

namespace mrc::nccl_test
{

namespace
{

using nccl_plugin::nccl_log_level;

std::mutex log_mutex;
std::string warned;

void take_line(nccl_log_level level, unsigned long /*about*/, const char * /*file*/, int /*line*/, const char *format,
               ...)
{
    std::array<char, 1024> words{};
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(words.data(), words.size(), format, arguments);
    va_end(arguments);
    const std::lock_guard held{log_mutex};
    if (level == nccl_log_level::warn)
        warned = words.data();
    std::fprintf(stderr, "NCCL %s %s\n", level == nccl_log_level::warn ? "WARN" : "INFO", words.data());
}

// As NCCL does: the name itself, then as the middle of a library's.
void *open_library()
{
    const char *chosen = std::getenv("NCCL_NET_PLUGIN");
    const std::string name{chosen == nullptr ? "" : chosen};
    void *found = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (found == nullptr)
        found = ::dlopen(("libnccl-net-" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (found == nullptr)
        throw std::runtime_error{std::string{"no plug-in: "} + ::dlerror()};
    return found;
}

void need(result code, const char *call)
{
    if (code != result::success)
        throw net_failure{code, call};
}

template <typename Table>
void look_up(void *library, const char *name, const Table *&into)
{
    into = static_cast<const Table *>(::dlsym(library, name));
    if (into == nullptr)
        throw std::runtime_error{std::string{"the plug-in has no "} + name};
}

template <typename Properties>
net_properties of(const Properties &from)
{
    net_properties found{.name = from.name,
                         .pointers = from.pointers,
                         .global = from.registration_is_global,
                         .speed_mbps = from.speed_mbps,
                         .most_connections = from.max_connections,
                         .most_grouped = from.max_grouped_receives};
    if constexpr (requires { from.rail; }) {
        found.rail = from.rail;
        found.plane = from.plane;
    }
    return found;
}

} // namespace

net_failure::net_failure(result which, const std::string &call)
    : std::runtime_error{call + " returns " + std::to_string(static_cast<int>(which)) + ": " + last_warning()},
      code{which}
{
}

std::string last_warning()
{
    const std::lock_guard held{log_mutex};
    return warned;
}

template <typename Call>
result net::with_table(Call call) const
{
    if (version_ == 8)
        return call(*v8_);
    return version_ == 11 ? call(*v11_) : call(*v12_);
}

net::net(int version) : version_{version}, library_{open_library()}
{
    int devices = 0;
    if (version == 8) {
        look_up(library_, "ncclNetPlugin_v8", v8_);
        need(v8_->init(&take_line), "init");
    } else {
        nccl_plugin::communicator_config config{.traffic_class = -1};
        if (version == 11)
            look_up(library_, "ncclNetPlugin_v11", v11_);
        else
            look_up(library_, "ncclNetPlugin_v12", v12_);
        need(version == 11 ? v11_->init(&context_, 1, &config, &take_line, nullptr)
                           : v12_->init(&context_, 1, &config, &take_line, nullptr),
             "init");
    }
    need(with_table([&](const auto &table) { return table.devices(&devices); }), "devices");
    if (devices != 1)
        throw std::runtime_error{"not one device"};
}

net::~net()
{
    if (version_ == 11)
        (void)v11_->finalize(context_);
    if (version_ == 12)
        (void)v12_->finalize(context_);
    ::dlclose(library_);
}

net_properties net::properties(int device) const
{
    if (version_ == 8) {
        nccl_plugin::properties_v8 found{};
        need(v8_->get_properties(device, &found), "getProperties");
        return of(found);
    }
    if (version_ == 11) {
        nccl_plugin::properties_v11 found{};
        need(v11_->get_properties(device, &found), "getProperties");
        return of(found);
    }
    nccl_plugin::properties_v12 found{};
    need(v12_->get_properties(device, &found), "getProperties");
    return of(found);
}

void *net::listen(connect_handle &handle) const
{
    void *made = nullptr;
    need(with_table([&](const auto &table) {
             if constexpr (requires { table.finalize; })
                 return table.listen(context_, 0, handle.data(), &made);
             else
                 return table.listen(0, handle.data(), &made);
         }),
         "listen");
    return made;
}

void *net::connect(connect_handle &handle) const
{
    void *made = nullptr;
    void *on_gpu = nullptr;
    need(with_table([&](const auto &table) {
             if constexpr (requires { table.finalize; })
                 return table.connect(context_, 0, handle.data(), &made, &on_gpu);
             else
                 return table.connect(0, handle.data(), &made, &on_gpu);
         }),
         "connect");
    return made;
}

void *net::accept(void *listener) const
{
    void *made = nullptr;
    void *on_gpu = nullptr;
    need(with_table([&](const auto &table) { return table.accept(listener, &made, &on_gpu); }), "accept");
    return made;
}

void *net::register_memory(void *connection, void *data, std::size_t bytes, int pointer) const
{
    void *made = nullptr;
    need(with_table([&](const auto &table) { return table.reg_mr(connection, data, bytes, pointer, &made); }), "regMr");
    return made;
}

void net::deregister(void *connection, void *memory) const
{
    need(with_table([&](const auto &table) { return table.dereg_mr(connection, memory); }), "deregMr");
}

void *net::send(void *sender, const void *data, std::size_t bytes, int tag, void *memory) const
{
    void *request = nullptr;
    auto *from = const_cast<void *>(data); // NCCL's interface
    need(with_table([&](const auto &table) {
             if constexpr (requires { table.finalize; })
                 return table.isend(sender, from, bytes, tag, memory, nullptr, &request);
             else
                 return table.isend(sender, from, static_cast<int>(bytes), tag, memory, &request);
         }),
         "isend");
    return request;
}

void *net::receive(void *receiver, std::span<const receive_order> orders) const
{
    std::vector<void *> data;
    std::vector<std::size_t> bytes;
    std::vector<int> short_bytes;
    std::vector<int> tags;
    std::vector<void *> memory;
    for (const receive_order &order : orders) {
        data.push_back(order.data);
        bytes.push_back(order.bytes);
        short_bytes.push_back(static_cast<int>(order.bytes));
        tags.push_back(order.tag);
        memory.push_back(order.memory);
    }
    const int count = static_cast<int>(orders.size());
    void *request = reinterpret_cast<void *>(std::uintptr_t{version_ == 8 ? 0U : 1U}); // NCCL's hint for LL
    need(with_table([&](const auto &table) {
             if constexpr (requires { table.finalize; })
                 return table.irecv(receiver, count, data.data(), bytes.data(), tags.data(), memory.data(), nullptr,
                                    &request);
             else
                 return table.irecv(receiver, count, data.data(), short_bytes.data(), tags.data(), memory.data(),
                                    &request);
         }),
         "irecv");
    return request;
}

bool net::test(void *request, int *bytes) const
{
    int done = -1;
    need(with_table([&](const auto &table) { return table.test(request, &done, bytes); }), "test");
    return done == 1;
}

void net::flush(void *receiver, const receive_order &order) const
{
    void *data = order.data;
    void *memory = order.memory;
    int bytes = static_cast<int>(order.bytes);
    void *request = this->library_;
    need(with_table([&](const auto &table) { return table.iflush(receiver, 1, &data, &bytes, &memory, &request); }),
         "iflush");
    if (request != nullptr)
        throw std::runtime_error{"a flush of host memory is a request"};
}

void net::close_send(void *sender) const
{
    need(with_table([&](const auto &table) { return table.close_send(sender); }), "closeSend");
}

void net::close_recv(void *receiver) const
{
    need(with_table([&](const auto &table) { return table.close_recv(receiver); }), "closeRecv");
}

void net::close_listen(void *listener) const
{
    need(with_table([&](const auto &table) { return table.close_listen(listener); }), "closeListen");
}

} // namespace mrc::nccl_test
