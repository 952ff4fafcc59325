// SPDX-License-Identifier: Apache-2.0
// A running switch: program loaded, tables filled, maps pinned, attached to every port. All of it ends with the object.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "kernel/unique_fd.h"
#include "tools/mrc-switch/config.h"
#include "tools/mrc-switch/device.h"
#include "tools/mrc-switch/entry.h"
#include "tools/mrc-switch/pins.h"

struct switch_bpf;

namespace mrc::lab_switch
{

class running_switch
{
public:
    // Throws switch_error; nothing stays attached or pinned then.
    explicit running_switch(const switch_config &config);
    ~running_switch();
    running_switch(const running_switch &) = delete;
    running_switch &operator=(const running_switch &) = delete;

private:
    struct port_device {
        std::uint32_t ifindex;
        mac_address mac;
    };
    struct destroy_program {
        void operator()(switch_bpf *program) const;
    };

    static port_device find_device(const std::string &name);
    void load();
    void fill_info();
    void fill_ports();
    void fill_routes();
    void fill_transmit();
    void pin_maps();
    void attach();
    void attach_to(std::size_t port);

    const switch_config &config_;
    std::vector<port_device> devices_; // one per port of the configuration
    std::unique_ptr<switch_bpf, destroy_program> program_;
    std::unique_ptr<pin_directory> pins_;
    std::list<without_receive_offload> merging_nothing_; // given back after the programs are detached
    std::unique_ptr<shared_entry> entry_;                // of the configuration's `share`
    std::vector<kernel::unique_fd> links_;               // bpf_links, not pinned: the kernel detaches when they close
};

// Runs until SIGTERM, SIGINT or SIGHUP. Prints one line, READY and the switch's name, when packets are forwarded.
void run_switch(const switch_config &config);

} // namespace mrc::lab_switch
