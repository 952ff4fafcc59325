// SPDX-License-Identifier: Apache-2.0
// mrc-nccl-rank TEST RANK SIZE FOLDER [ROUNDS]: one rank of a test of libnccl-net-mrc, which it loads and calls as NCCL
// does; tests/e2e/nccl_ranks.py runs them.
#include <exception>
#include <map>

#include "nccl/rank.h"

int main(int argc, char **argv)
{
    using namespace mrc::nccl_test;
    const std::map<std::string, void (*)(const rank_options &)> tests{{"messages", &test_messages},
                                                                      {"collectives", &test_collectives},
                                                                      {"busy", &test_busy},
                                                                      {"waiting", &test_waiting},
                                                                      {"leaver", &test_leaver}};
    const std::vector<std::string> words{argv + 1, argv + argc};
    if (words.size() < 4 || !tests.contains(words[0])) {
        std::fprintf(stderr,
                     "usage: mrc-nccl-rank messages|collectives|busy|waiting|leaver RANK SIZE FOLDER [ROUNDS]\n");
        return 2;
    }
    try {
        tests.at(words[0])({.rank = std::stoi(words[1]),
                            .size = std::stoi(words[2]),
                            .folder = words[3],
                            .count = words.size() > 4 ? std::stoi(words[4]) : 0});
        return 0;
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "FAIL: rank %s: %s\n", words[1].c_str(), failure.what());
        return 1;
    }
}
