// SPDX-License-Identifier: Apache-2.0
// mrc-gloo-rank TEST RANK SIZE FOLDER [COUNT]: one rank of a test of libmrc-gloo; tests/e2e/gloo_ranks.py runs them.
#include <exception>
#include <map>

#include "gloo/rank.h"

int main(int argc, char **argv)
{
    using namespace mrc::gloo_test;
    const std::map<std::string, void (*)(const rank_options &)> tests{{"messages", &test_messages},
                                                                      {"collectives", &test_collectives},
                                                                      {"failures", &test_failures},
                                                                      {"survivor", &test_survivor},
                                                                      {"orphan", &test_orphan}};
    const std::vector<std::string> words{argv + 1, argv + argc};
    if (words.size() < 4 || !tests.contains(words[0])) {
        std::fprintf(stderr,
                     "usage: mrc-gloo-rank messages|collectives|failures|survivor|orphan RANK SIZE FOLDER [COUNT]\n");
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
