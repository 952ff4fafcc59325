// SPDX-License-Identifier: Apache-2.0
// mrcctl: the operator's view of a running mrcd. See docs/mrcctl.8.
#include <cstdlib>
#include <exception>

#include <fmt/format.h>

#include "tools/mrcctl/commands.h"
#include "tools/mrcctl/device.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/instance.h"
#include "tools/mrcctl/maps.h"

int main(int argc, char **argv)
{
    using namespace mrc::ctl;
    invocation wanted;
    if (const auto status = parse_command_line(argc, argv, wanted))
        return *status;
    try {
        if (wanted.local)
            return wanted.local();
        if (wanted.control)
            return wanted.control(controller_device{wanted.instance});
        if (wanted.adopt)
            return wanted.adopt(adoption_line{wanted.instance});
        const char *environment = std::getenv("MRC_INSTANCE");
        const map_opener open = [&wanted, environment] {
            try {
                return host_maps{choose_instance(wanted.instance, environment == nullptr ? "" : environment)};
            } catch (const ctl_error &) {
                refuse_waiting(wanted.instance);
                throw;
            }
        };
        return wanted.serve ? wanted.serve(open) : wanted.run(open());
    } catch (const std::exception &error) {
        fmt::print(stderr, "mrcctl: {}\n", error.what());
        return EXIT_FAILURE;
    }
}
