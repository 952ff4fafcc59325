// SPDX-License-Identifier: Apache-2.0
#include "nccl_plugin/plugin.h"

#include <array>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>

#include "messaging/failure.h"
#include "nccl_plugin/acceptor.h"
#include "nccl_plugin/connector.h"
#include "nccl_plugin/log.h"
#include "nccl_plugin/session.h"

namespace mrc::nccl_plugin::calls
{

namespace
{

// Half a round trip of a message of 8 bytes on an idle host (docs/performance.md).
constexpr float latency_us = 75;

struct device_text { // lives as long as the library: NCCL keeps the name's address
    std::mutex mutex;
    std::optional<device_description> described;
};

device_text &the_device()
{
    static device_text device;
    return device;
}

device_description device_of_host()
{
    device_text &device = the_device();
    const std::lock_guard held{device.mutex};
    if (!device.described)
        device.described = describe_device();
    return *device.described;
}

connector &the_connector()
{
    static auto *attempts = new connector; // threads of NCCL may outlive static objects
    return *attempts;
}

template <typename Call>
result guarded(Call call)
{
    try {
        return call();
    } catch (const messaging::messaging_failure &failure) {
        warn(failure.what());
        return result::system_error;
    } catch (const std::bad_alloc &) {
        warn("out of memory");
        return result::system_error;
    } catch (const std::exception &failure) {
        warn(std::string{"unexpected: "} + failure.what());
        return result::internal_error;
    }
}

result refuse(result outcome, const std::string &why)
{
    warn(why);
    return outcome;
}

result check_device(int device)
{
    return device == 0 ? result::success
                       : refuse(result::invalid_argument, "there is no device " + std::to_string(device));
}

} // namespace

result open_context(void **context, log_function log)
{
    log_to(log);
    return guarded([&] {
        const device_description device = device_of_host();
        auto made = std::make_unique<net_context>();
        inform(made->live()->endpoint.text() + ", " + std::to_string(device.speed_mbps) + " Mbit/s over all planes");
        *context = made.release();
        return result::success;
    });
}

result close_context(void *context)
{
    return guarded([&] {
        const std::unique_ptr<net_context> owned{static_cast<net_context *>(context)};
        return result::success;
    });
}

result devices(int *count)
{
    *count = 1;
    return result::success;
}

result describe(int device, properties_v12 &properties)
{
    return guarded([&] {
        if (const result known = check_device(device); known != result::success)
            return known;
        const device_description found = device_of_host();
        properties = {.name = the_device().described->name.data(),
                      .pci_path = nullptr,
                      .guid = found.guid,
                      .pointers = pointer_host,
                      .registration_is_global = 1,
                      .force_flush = 0,
                      .speed_mbps = found.speed_mbps,
                      .port = 1,
                      .latency_us = latency_us,
                      .max_connections = found.max_connections,
                      .max_grouped_receives = static_cast<int>(most_grouped),
                      .device_type = host_only,
                      .device_version = 0,
                      .merged = {.count = 1, .devices = {0}},
                      .max_p2p_bytes = most_message_bytes,
                      .max_collective_bytes = most_message_bytes,
                      .max_multi_request = 1,
                      // One device reaches all planes: NCCL must not keep it from any other host's.
                      .rail = 0,
                      .plane = 0};
        return result::success;
    });
}

result listen(void *context, int device, void *handle, void **listening)
{
    *listening = nullptr;
    return guarded([&] {
        if (const result known = check_device(device); known != result::success)
            return known;
        auto made = std::make_unique<acceptor>(static_cast<net_context *>(context)->live(), device_of_host().gid);
        made->handle().encode(std::span<std::byte, handle_bytes>{static_cast<std::byte *>(handle), handle_bytes});
        *listening = made.release();
        return result::success;
    });
}

result connect(void *context, int device, void *handle, void **sending)
{
    *sending = nullptr;
    return guarded([&] {
        if (const result known = check_device(device); known != result::success)
            return known;
        std::unique_ptr<sender> made;
        const result now = the_connector().connect(
            static_cast<net_context *>(context)->live(),
            std::span<std::byte, handle_bytes>{static_cast<std::byte *>(handle), handle_bytes}, made);
        *sending = static_cast<connection *>(made.release());
        return now;
    });
}

result accept(void *listening, void **receiving)
{
    *receiving = nullptr;
    return guarded([&] {
        std::unique_ptr<receiver> accepted;
        const result now = static_cast<acceptor *>(listening)->accept(accepted);
        *receiving = static_cast<connection *>(accepted.release());
        return now;
    });
}

result close_listen(void *listening)
{
    return guarded([&] {
        const std::unique_ptr<acceptor> owned{static_cast<acceptor *>(listening)};
        return result::success;
    });
}

result close(void *connected)
{
    return guarded([&] {
        const std::unique_ptr<connection> owned{static_cast<connection *>(connected)};
        return result::success;
    });
}

result register_memory(void *connected, void *data, std::size_t bytes, int pointer, void **memory)
{
    *memory = nullptr;
    return guarded([&] {
        if (pointer != pointer_host)
            return refuse(result::invalid_usage, "memory of a GPU cannot be registered: mrcd copies by the host");
        auto made = static_cast<connection *>(connected)->register_memory(data, bytes);
        if (!made)
            return refuse(result::system_error,
                          "cannot register " + std::to_string(bytes) + " bytes: " + messaging::failure_reason());
        *memory = made.release();
        return result::success;
    });
}

result release_memory(void *connected, void *memory)
{
    return guarded([&] {
        std::unique_ptr<memory_handle> owned{static_cast<memory_handle *>(memory)};
        if (owned)
            static_cast<connection *>(connected)->release_memory(std::move(owned));
        return result::success;
    });
}

result send(void *sending, void *data, std::size_t bytes, int tag, void *memory, void **request)
{
    *request = nullptr;
    return guarded([&] {
        if (bytes > most_message_bytes)
            return refuse(result::invalid_argument, "a send of " + std::to_string(bytes) + " bytes is too long");
        transfer_request *begun = nullptr;
        const result now = static_cast<sender *>(static_cast<connection *>(sending))
                               ->send(data, bytes, tag, static_cast<const memory_handle *>(memory), begun);
        *request = begun;
        return now;
    });
}

template <typename Size>
result receive(void *receiving, int count, void **data, const Size *bytes, const int *tags, void **memory,
               void **request)
{
    *request = nullptr; // whatever NCCL hints: data that is not complete proves nothing in MRC
    return guarded([&] {
        if (count < 1 || count > static_cast<int>(most_grouped))
            return refuse(result::invalid_argument, "a receive of " + std::to_string(count) + " buffers");
        std::array<wanted_buffer, most_grouped> wanted{};
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
            if (static_cast<std::size_t>(bytes[i]) > most_message_bytes)
                return refuse(result::invalid_argument,
                              "a receive of " + std::to_string(bytes[i]) + " bytes is too long");
            wanted.at(i) = {.data = data[i],
                            .bytes = static_cast<std::size_t>(bytes[i]),
                            .tag = tags[i],
                            .memory = static_cast<const memory_handle *>(memory[i])};
        }
        transfer_request *begun = nullptr;
        const result now = static_cast<receiver *>(static_cast<connection *>(receiving))
                               ->receive(std::span{wanted}.first(static_cast<std::size_t>(count)), begun);
        *request = begun;
        return now;
    });
}
template result receive<int>(void *, int, void **, const int *, const int *, void **, void **);
template result receive<std::size_t>(void *, int, void **, const std::size_t *, const int *, void **, void **);

result test(void *request, int *done, int *bytes)
{
    *done = 0;
    return guarded([&] {
        auto *asked = static_cast<transfer_request *>(request);
        bool is_done = false;
        const result now = asked->owner->test(*asked, is_done, bytes);
        *done = is_done ? 1 : 0;
        return now;
    });
}

} // namespace mrc::nccl_plugin::calls
