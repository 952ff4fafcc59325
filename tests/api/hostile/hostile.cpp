// SPDX-License-Identifier: Apache-2.0
// hostile ATTACK SEED MILLISECONDS, with MRC_INSTANCE=attacked,other: one attack on the first daemon.
#include <array>
#include <csignal>
#include <string_view>

#include <sys/resource.h>

#include "attacks.h"

namespace
{

using namespace mrc::hostile;

struct attack {
    std::string_view name;
    void (*run)(const attack_terms &);
};

constexpr std::array attacks{
    attack{"noise", send_noise},
    attack{"unread", never_read},
    attack{"rings", rewrite_rings},
    attack{"endless", post_without_end},
    attack{"wake_ups", steal_wake_ups},
    attack{"memory", take_memory_away},
    attack{"one_file", share_one_file},
    attack{"files", offer_any_file},
    attack{"descriptors", use_up_descriptors},
    attack{"everything", take_everything},
    attack{"lingering", leave_lingering},
    attack{"neighbours", reach_for_neighbours},
    attack{"storm", storm},
    attack{"death", die},
};

targets targets_from(const std::string &instances)
{
    const auto comma = instances.find(',');
    REQUIRE(comma != std::string::npos);
    const auto socket_of = [](const std::string &instance) { return "/run/mrc/" + instance + "/mrcd.sock"; };
    return {.attacked = socket_of(instances.substr(0, comma)), .other = socket_of(instances.substr(comma + 1))};
}

} // namespace

int main(int argc, char **argv)
{
    REQUIRE(argc == 4);
    const char *instances = std::getenv("MRC_INSTANCE");
    REQUIRE(instances != nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    rlimit descriptors{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &descriptors) == 0);
    descriptors.rlim_cur = descriptors.rlim_max;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &descriptors) == 0);
    const attack_terms terms{.where = targets_from(instances),
                             .seed = std::stoull(argv[2]),
                             .time = std::chrono::milliseconds{std::stoll(argv[3])}};
    for (const attack &one : attacks)
        if (one.name == argv[1]) {
            one.run(terms);
            return 0;
        }
    std::fprintf(stderr, "hostile: no attack '%s'\n", argv[1]);
    return 2;
}
