// SPDX-License-Identifier: Apache-2.0
#include "nccl/rank.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace mrc::nccl_test
{

void publish(const rank_options &options, const std::string &name, std::span<const std::byte> content)
{
    const std::filesystem::path path = std::filesystem::path{options.folder} / name;
    const std::filesystem::path draft = path.string() + ".draft";
    std::ofstream{draft, std::ios::binary}.write(reinterpret_cast<const char *>(content.data()),
                                                 static_cast<std::streamsize>(content.size()));
    std::filesystem::rename(draft, path);
}

bool published(const rank_options &options, const std::string &name)
{
    return ::access((std::filesystem::path{options.folder} / name).c_str(), R_OK) == 0;
}

void wait_for(const rank_options &options, const std::string &name)
{
    until([&] { return published(options, name); });
}

buffer::buffer(const net &by, void *connection, std::size_t bytes) : net_{by}, connection_{connection}, bytes_(bytes)
{
    memory_ = net_.register_memory(connection_, bytes_.data(), bytes_.size());
}

buffer::~buffer()
{
    net_.deregister(connection_, memory_);
}

void buffer::fill(std::uint64_t what)
{
    for (std::size_t i = 0; i < bytes_.size(); ++i)
        bytes_[i] = std::byte{pattern(what, i)};
}

bool buffer::holds(std::uint64_t what, std::size_t bytes) const
{
    for (std::size_t i = 0; i < bytes; ++i)
        if (bytes_[i] != std::byte{pattern(what, i)})
            return false;
    return std::ranges::all_of(bytes_.begin() + static_cast<std::ptrdiff_t>(bytes), bytes_.end(),
                               [](std::byte byte) { return byte == std::byte{0}; });
}

mesh::mesh(const net &by, const rank_options &options, const std::string &name, int channels) : net_{by}
{
    const auto file = [&](int from, int to, int channel) {
        return name + "-" + std::to_string(from) + "-" + std::to_string(to) + "-" + std::to_string(channel);
    };
    std::map<place, void *> listeners;
    std::map<place, connect_handle> handles;
    for (int peer = 0; peer < options.size; ++peer)
        for (int channel = 0; channel < channels && peer != options.rank; ++channel) {
            connect_handle handle{};
            listeners[{peer, channel}] = net_.listen(handle);
            publish(options, file(peer, options.rank, channel), handle);
        }
    until([&] {
        for (const auto &[where, listener] : listeners) {
            const auto &[peer, channel] = where;
            const std::string theirs = file(options.rank, peer, channel);
            if (!handles.contains(where) && published(options, theirs)) {
                std::ifstream from{std::filesystem::path{options.folder} / theirs, std::ios::binary};
                from.read(reinterpret_cast<char *>(handles[where].data()), nccl_plugin::handle_bytes);
            }
            if (handles.contains(where) && !senders_.contains(where))
                if (void *made = net_.connect(handles[where]); made != nullptr)
                    senders_[where] = made;
            if (!receivers_.contains(where))
                if (void *made = net_.accept(listener); made != nullptr)
                    receivers_[where] = made;
        }
        return senders_.size() == listeners.size() && receivers_.size() == listeners.size();
    });
    for (const auto &[where, listener] : listeners)
        net_.close_listen(listener);
}

mesh::~mesh()
{
    for (const auto &[where, sender] : senders_)
        net_.close_send(sender);
    for (const auto &[where, receiver] : receivers_)
        net_.close_recv(receiver);
}

bool transfer::progress(const net &by)
{
    while (under_way.size() < steps && posted < bytes) {
        const std::size_t now = std::min(slice, bytes - posted);
        std::byte *data = memory->at(offset + posted);
        const receive_order order{.data = data, .bytes = now, .tag = tag, .memory = memory->memory()};
        void *request =
            sends ? by.send(connection, data, now, tag, memory->memory()) : by.receive(connection, {&order, 1});
        if (request == nullptr) {
            ++refused;
            break;
        }
        under_way.emplace_back(request, now);
        posted += now;
    }
    int done = -1;
    while (!under_way.empty() && by.test(under_way.front().first, &done)) {
        check(static_cast<std::size_t>(done) == under_way.front().second, "a slice has its size");
        under_way.pop_front();
    }
    return !under_way.empty() || posted < bytes;
}

void complete(const net &by, std::vector<transfer> all)
{
    until([&] {
        bool more = false;
        for (transfer &one : all)
            more = one.progress(by) || more;
        return !more;
    });
}

} // namespace mrc::nccl_test
