// SPDX-License-Identifier: Apache-2.0
// One rank of a test: Gloo's own context over libmrc-gloo, and checks that name themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>

#include "gloo_adapter/create_device.h"

namespace mrc::gloo_test
{

struct rank_options {
    int rank = 0;
    int size = 0;
    std::string folder; // of Gloo's file store
    int count = 0;      // rounds, or milliseconds
};

inline void check(bool condition, const std::string &what)
{
    if (condition)
        return;
    std::fprintf(stderr, "FAIL: %s\n", what.c_str());
    std::exit(1);
}

// A line for whoever runs the ranks.
inline void say(const std::string &what)
{
    std::printf("%s\n", what.c_str());
    std::fflush(stdout);
}

inline std::shared_ptr<gloo::rendezvous::Context> connected(const rank_options &options,
                                                            std::shared_ptr<gloo::transport::Device> device,
                                                            std::chrono::milliseconds timeout,
                                                            const std::string &name = "all")
{
    gloo::rendezvous::FileStore files{options.folder};
    gloo::rendezvous::PrefixStore store{name, files};
    auto context = std::make_shared<gloo::rendezvous::Context>(options.rank, options.size);
    context->setTimeout(timeout);
    context->connectFullMesh(store, device);
    return context;
}

// Byte `at` of what `from` sends to `to` for a purpose `what`.
inline std::uint8_t pattern(int from, int to, std::uint64_t what, std::size_t at)
{
    return static_cast<std::uint8_t>(static_cast<std::size_t>(from) * 131 + static_cast<std::size_t>(to) * 31 +
                                     what * 17 + at * 7 + at / 251);
}

inline std::vector<std::uint8_t> filled(int from, int to, std::uint64_t what, std::size_t bytes)
{
    std::vector<std::uint8_t> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        made[i] = pattern(from, to, what, i);
    return made;
}

void test_messages(const rank_options &options);
void test_collectives(const rank_options &options);
void test_failures(const rank_options &options);
// Until a rank is killed, which the others survive.
void test_survivor(const rank_options &options);
// The same; this rank's mrcd has ended, and it stays until its standard input ends.
void test_orphan(const rank_options &options);

} // namespace mrc::gloo_test
