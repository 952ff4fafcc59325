// SPDX-License-Identifier: Apache-2.0
// How arrays of the controller's requests are read, and replies built.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "session/control_protocol.h"

namespace mrc::service::control
{

// A reply and its array.
struct controller_answer {
    session::control_reply reply;
    std::vector<std::byte> array;

    controller_answer() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): an outcome is an answer
    controller_answer(const session::outcome<> &result)
    {
        if (!result)
            fail(result.error());
    }
    controller_answer(int code, const std::string &text) { fail({code, text}); }

    [[nodiscard]] bool ok() const { return reply.error == 0; }
    void fail(const session::refusal &why)
    {
        reply.error = why.code;
        why.text.copy(reply.text, sizeof(reply.text) - 1);
    }
    template <class T>
    void set_array(std::span<const T> elements)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        reply.count = static_cast<std::uint32_t>(elements.size());
        const auto bytes = std::as_bytes(elements);
        array.assign(bytes.begin(), bytes.end());
    }
    // The piece of an array of `total` elements that the request asks for; false: E2BIG, the caller has no room for
    // all.
    [[nodiscard]] bool take_piece(const session::control_request &request, std::size_t total, std::uint32_t most,
                                  std::size_t &first, std::size_t &count)
    {
        reply.total = static_cast<std::uint32_t>(total);
        if (request.capacity < total) {
            fail({E2BIG, "the array is too short: " + std::to_string(request.capacity) + " elements, needed are " +
                             std::to_string(total)});
            return false;
        }
        first = std::min<std::size_t>(request.first, total);
        count = std::min<std::size_t>(most, total - first);
        return true;
    }
};

// Copied out: the packet's bytes have no alignment.
template <class T>
[[nodiscard]] std::vector<T> elements_of(std::span<const std::byte> array)
{
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> elements(array.size() / sizeof(T));
    if (!elements.empty())
        std::memcpy(elements.data(), array.data(), elements.size() * sizeof(T));
    return elements;
}

} // namespace mrc::service::control
