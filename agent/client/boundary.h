// SPDX-License-Identifier: Apache-2.0
// Where C calls in: no exception leaves, results become what verbs promise.
#pragma once

#include <cerrno>
#include <concepts>
#include <new>

#include "client/daemon_channel.h"
#include "client/failure_text.h"

namespace mrc::client
{

// For errno, the words kept for mrc_failure_text(). Never 0: that would read as success.
inline int code_of(const session_error &error)
{
    remember_failure(error.text);
    return error.code != 0 ? error.code : EIO;
}

// Of the exception that is being handled: EIO, or ENOMEM.
inline int code_of_exception() noexcept
{
    try {
        throw;
    } catch (const std::bad_alloc &) {
        remember_failure("out of memory");
        return ENOMEM;
    } catch (...) {
        remember_failure({});
        return EIO;
    }
}

// body() -> result<T>; its value, or `failure` with errno.
template <typename Value, std::invocable Body>
Value value_or_errno(Value failure, const Body &body) noexcept
{
    try {
        if (auto made = body())
            return *made;
        else
            errno = code_of(made.error());
    } catch (...) {
        errno = code_of_exception();
    }
    return failure;
}

// body() -> result<void>; 0, or the errno value, which is in errno as well.
template <std::invocable Body>
int code_of(const Body &body) noexcept
{
    try {
        const result<void> done = body();
        if (done)
            return 0;
        errno = code_of(done.error());
    } catch (...) {
        errno = code_of_exception();
    }
    return errno;
}

// The same for functions that return -1 with errno.
template <std::invocable Body>
int minus_one_of(const Body &body) noexcept
{
    return code_of(body) == 0 ? 0 : -1;
}

// Of a call that came to nothing, for result<…>.
inline std::unexpected<session_error> refused(int code, const char *text)
{
    return std::unexpected{session_error{code, text}};
}

} // namespace mrc::client
