// SPDX-License-Identifier: Apache-2.0
// The host's BPF programs: loaded, connected through shared maps, attached by unpinned links that vanish with the
// process, maps pinned for bpftool and mrcctl.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernel/host_tables.h"
#include "kernel/privileges.h"
#include "kernel/probes/libbpf_warnings.h"
#include "kernel/probes/xdp_attach.h"
#include "kernel/tap_device.h"
#include "kernel/unique_fd.h"
#include "mrc/abi/maps.h"

struct bpf_object;
struct host_rx_bpf;
struct host_push_bpf;
struct host_tx_bpf;

namespace mrc::kernel
{

struct port_attachment {
    std::string device;
    int ifindex = 0;
    xdp_mode mode = xdp_mode::automatic;
    bool multi_buffer = false; // frames longer than one buffer can arrive
    mrc_rx_config config{};
};

// Rows of maps whose size the configuration gives.
struct table_sizes {
    std::uint32_t peers = MRC_USUAL_PEERS * MRC_RX_ADDRESSES; // their addresses
    std::uint32_t paths = MRC_USUAL_PATHS;                    // with row 0
    std::uint32_t loops = 1;
};

struct host_programs_options {
    std::string pin_dir;                          // made, given to the user, emptied at the end
    user_identity user;                           // that the process is at its end
    unsigned workers = 1;                         // 1…MRC_MAX_WORKERS, each with a host_push
    std::string scratch_device;                   // names of the TAPs that these sit on, with a %d
    std::uint8_t overlay_dscp = MRC_DSCP_NO_TRIM; // of the outer header of ordinary traffic
    bool mrc_from_sockets = false;                // host_tx lets UDP to MRC's ports pass
    table_sizes tables;
    std::vector<port_attachment> ports;
    std::map<std::string, int> pinned_beside; // maps of socket_programs, by name; borrowed
};

class host_programs final : public peer_rows, public client_rows
{
public:
    // Loads and pins; attach_port and attach_overlay switch things on. Throws startup_error.
    explicit host_programs(host_programs_options options);
    host_programs(const host_programs &) = delete;
    host_programs &operator=(const host_programs &) = delete;
    ~host_programs() override;

    // Attaches host_rx to all ports whose device is there, after the sockets stand in `xsks`; in the place of the
    // program that `held` has on the port already, where it has one. Returns "native" or "generic" per port, empty for
    // none.
    std::vector<std::string> attach_ports(std::vector<kernel::probes::xdp_attachment> held = {});
    // Attaches a worker's host_push to its scratch device anew: the kernel's XDP dispatcher may have a place for it now
    // and had none. False when that fails; then nothing holds it in the dispatcher.
    [[nodiscard]] bool attach_push_again(unsigned worker);
    // Attaches host_rx to the device that a port has now, after its sockets stand in `xsks`; `port` counts those of the
    // options. Returns "native" or "generic". Throws startup_error. Needs no capability but CAP_NET_ADMIN.
    std::string attach_again(std::size_t port, int ifindex);
    // Puts host_tx on the overlay's egress; the device's end removes it.
    void attach_overlay(int ifindex);

    [[nodiscard]] int map_fd(const std::string &name) const; // throws startup_error on an unknown name
    [[nodiscard]] unsigned workers() const { return static_cast<unsigned>(push_.size()); }
    [[nodiscard]] int push_program_fd(unsigned worker) const;
    // The device that the first host_push sits on: there as long as this object is.
    [[nodiscard]] const std::string &scratch_device() const { return push_.front().scratch->name(); }

    host_tables &tables() { return tables_; }
    mapped_array<mrc_host_row> &host() { return tables_.host; }
    mapped_array<mrc_port_row> &ports() { return tables_.ports; }
    mapped_array<mrc_next_hop_row> &next_hops() { return tables_.next_hops; }
    mapped_array<mrc_path_row> &paths() { return tables_.paths; }
    mapped_array<mrc_signal_row> &signals() { return tables_.signals; }
    mapped_array<mrc_qp_row> &qps() { return tables_.qps; }
    mapped_array<mrc_overlay_row> &overlay() { return tables_.overlay; }

    void set_socket(std::uint32_t port, std::uint32_t queue, std::uint32_t worker, int socket_fd);
    [[nodiscard]] bool set_peer(const mrc_ip &address, const mrc_peer_row &peer) override;
    void remove_peer(const mrc_ip &address) override;
    void set_peer_planes(const mrc_ip &address, std::uint8_t planes) override;
    bool set_paths(std::uint32_t first_row, const mrc_paths_in_use &paths) override;
    void remove_paths(std::uint32_t first_row) override;
    [[nodiscard]] bool set_client(std::uint32_t session, const mrc_client_row &client) override;
    void remove_client(std::uint32_t session) override;
    bool set_queue_pair(std::uint32_t row, const mrc_qp_in_use &qp) override;
    void remove_queue_pair(std::uint32_t row) override;
    // Lets the transmit engine redirect to the port. False when the device has just gone.
    [[nodiscard]] bool set_transmit_port(std::uint32_t port, int ifindex);

private:
    void size_maps(bpf_object *object) const;
    void share_maps(bpf_object *object);
    void adopt_maps(bpf_object *object);
    void load(bpf_object *object, const std::string &what);
    void pin_maps();
    void refuse_other_owners() const;
    void unlink_pins();
    void load_receive(const port_attachment &port);
    void load_transmit();
    void load_push(unsigned worker);
    [[nodiscard]] kernel::probes::xdp_attachment attach_port(std::size_t port, kernel::probes::xdp_attachment held);
    std::string keep(std::size_t port, kernel::probes::xdp_attachment attachment);
    void release();

    kernel::probes::libbpf_warnings quiet_; // libbpf prints nothing beside the errors thrown here
    host_programs_options options_;
    std::map<std::string, int> maps_; // borrowed from the objects that created them
    std::vector<host_rx_bpf *> receive_;
    // A program that is attached nowhere makes the kernel rebuild its dispatcher on each call.
    struct attached_push {
        host_push_bpf *object = nullptr;
        std::unique_ptr<tap_device> scratch{};
        unique_fd link{};
    };
    std::vector<attached_push> push_; // by worker
    host_tx_bpf *overlay_ = nullptr;
    std::vector<unique_fd> links_; // by port

    host_tables tables_;
    bool pins_ = false; // from when on what lies in the folder is ours
};

} // namespace mrc::kernel
