// SPDX-License-Identifier: Apache-2.0
// mrc-fi-ends TEST INSTANCE INSTANCE: a test of libmrc-fi, which libfabric loads, between two mrcd;
// tests/e2e/libfabric_ends.py runs it.
#include <cstdio>
#include <exception>
#include <map>

#include "fi/ends.h"

int main(int argc, char **argv)
{
    using namespace mrc::fi_test;
    const std::map<std::string, void (*)(const instances &)> tests{
        {"memory", &test_memory},     {"regions", &test_regions}, {"credit", &test_credit},  {"objects", &test_objects},
        {"requests", &test_requests}, {"hints", &test_hints},     {"hostile", &test_hostile}};
    const std::vector<std::string> words{argv + 1, argv + argc};
    if (words.size() != 3 || !tests.contains(words[0])) {
        std::fprintf(stderr,
                     "usage: mrc-fi-ends memory|regions|credit|objects|requests|hints|hostile INSTANCE INSTANCE\n");
        return 2;
    }
    try {
        tests.at(words[0])({.one = words[1], .other = words[2]});
        std::printf("%s complete\n", words[0].c_str());
        return 0;
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "FAIL: %s\n", failure.what());
        return 1;
    }
}
