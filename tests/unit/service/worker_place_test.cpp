// SPDX-License-Identifier: Apache-2.0
#include "service/worker_place.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "kernel/moved_interrupts.h"
#include "kernel/startup_error.h"

namespace mrc::service
{
namespace
{

using kernel::cpu_list;

// Two nodes of four CPUs, the last of which is offline; one port on each node.
host_cpus two_nodes()
{
    return {.layout = {.present = {0, 1, 2, 3, 4, 5, 6, 7},
                       .online = {0, 1, 2, 3, 4, 5, 6},
                       .nodes = {{0, {0, 1, 2, 3}}, {1, {4, 5, 6}}}},
            .usual = {0, 1, 2, 4, 5, 6},
            .permitted = {0, 1, 2, 4, 5, 6},
            .ports = {}};
}

host_cpus::port port_on(int node, std::vector<kernel::probes::interrupt> interrupts = {})
{
    return {.device = "eth" + std::to_string(node), .place = {.node = node, .interrupts = std::move(interrupts)}};
}

worker_config workers_on(const affinity_option &cpus, interrupt_places interrupts = interrupt_places::leave)
{
    worker_config wanted;
    wanted.affinity = cpus;
    wanted.interrupts = interrupts;
    return wanted;
}

std::string refusal_of(const affinity_option &wanted, const host_cpus &host)
{
    try {
        (void)place_worker(workers_on(wanted), host);
    } catch (const kernel::startup_error &error) {
        return error.what();
    }
    return "";
}

TEST(worker_place, is_near_the_ports_where_the_host_has_several_nodes)
{
    host_cpus host = two_nodes();
    host.ports = {port_on(1), port_on(-1)};
    const worker_place place = place_worker(workers_on(cpus_of_ports{}), host);
    EXPECT_EQ(place.cpus, (cpu_list{4, 5, 6}));
    EXPECT_EQ(place.reason, "CPUs 4-6: of NUMA node 1, where the ports are");
    EXPECT_TRUE(place.advice.empty());
    host.usual = {0, 5};
    EXPECT_EQ(place_worker(workers_on(cpus_of_ports{}), host).cpus, cpu_list{5})
        << "taskset has taken the others from the process";
}

TEST(worker_place, is_the_schedulers_where_nothing_tells_a_better_one)
{
    host_cpus host = two_nodes();
    const auto reason = [&] {
        const worker_place place = place_worker(workers_on(cpus_of_ports{}), host);
        EXPECT_TRUE(place.cpus.empty());
        return place.reason;
    };
    EXPECT_EQ(reason(), "CPUs 0-2,4-6: no port tells its NUMA node");
    host.ports = {port_on(0), port_on(1)};
    EXPECT_EQ(reason(), "CPUs 0-2,4-6: the ports are on NUMA nodes 0, 1");
    host.ports = {port_on(1)};
    host.usual = {0, 1};
    EXPECT_EQ(reason(), "CPUs 0-1: the process has none of NUMA node 1, where the ports are");
    host.layout.nodes.erase(1);
    EXPECT_EQ(reason(), "CPUs 0-1: the host has one NUMA node");
    EXPECT_TRUE(place_worker(workers_on(any_cpu{}), host).cpus.empty());
}

TEST(worker_place, a_cpu_that_cannot_be_had_is_named_with_those_that_can)
{
    const host_cpus host = two_nodes();
    EXPECT_EQ(place_worker(workers_on(cpu_list{2, 4}), host).cpus, (cpu_list{2, 4}));
    EXPECT_EQ(refusal_of(cpu_list{2, 9}, host), "worker.affinity: CPU 9 does not exist on this host; allowed are "
                                                "\"auto\", \"none\", or some of 0-2,4-6");
    EXPECT_NE(refusal_of(cpu_list{7}, host).find("CPU 7 is offline; allowed"), std::string::npos);
    EXPECT_NE(refusal_of(cpu_list{3}, host).find("CPU 3 is not among those that the cpuset"), std::string::npos);
}

TEST(worker_place, what_is_on_another_node_is_named)
{
    host_cpus host = two_nodes();
    host.ports = {
        port_on(1, {{.number = 40, .cpus = {4}}, {.number = 41, .cpus = {0, 1}}, {.number = 42, .cpus = {1}}})};
    worker_place place = place_worker(workers_on(cpus_of_ports{}), host);
    ASSERT_EQ(place.advice.size(), 1U);
    EXPECT_EQ(place.advice[0], "interrupts 41, 42 of eth1 are served by CPUs of another NUMA node than the worker's: "
                               "worker.interrupts = \"near\" moves them, where irqbalance leaves them alone");
    EXPECT_TRUE(place.moves.empty());
    place = place_worker(workers_on(cpu_list{0}), host);
    ASSERT_EQ(place.advice.size(), 2U);
    EXPECT_EQ(place.advice[0], "eth1 is on NUMA node 1, and the worker on CPU 0: packets cross from one to the other; "
                               "worker.affinity = \"4-6\" avoids it");
    EXPECT_NE(place.advice[1].find("interrupts 40 of eth1"), std::string::npos);
}

TEST(worker_place, is_of_a_node_where_all_its_cpus_are)
{
    host_cpus host = two_nodes();
    EXPECT_EQ(place_worker(workers_on(cpu_list{1, 2}), host).node, 0);
    EXPECT_EQ(place_worker(workers_on(cpu_list{5}), host).node, 1);
    EXPECT_EQ(place_worker(workers_on(cpu_list{2, 4}), host).node, -1);
    EXPECT_EQ(place_worker(workers_on(any_cpu{}), host).node, -1);
    host.layout.nodes.erase(1);
    EXPECT_EQ(place_worker(workers_on(cpu_list{1}), host).node, -1) << "there is no other one";
}

TEST(worker_place, far_interrupts_go_to_other_cpus_of_its_node)
{
    host_cpus host = two_nodes();
    host.ports = {port_on(1, {{.number = 40, .cpus = {4}},
                              {.number = 41, .cpus = {0, 1}},
                              {.number = 42, .cpus = {1, 4}},
                              {.number = 43, .cpus = {}}})};
    worker_place place = place_worker(workers_on(cpu_list{4}, interrupt_places::near), host);
    EXPECT_TRUE(place.advice.empty());
    ASSERT_EQ(place.moves.size(), 1U);
    EXPECT_EQ(place.moves[0].device, "eth1");
    EXPECT_EQ(place.moves[0].numbers, (std::vector<std::uint32_t>{41}));
    EXPECT_EQ(place.moves[0].to, (cpu_list{5, 6}));
    place = place_worker(workers_on(cpus_of_ports{}, interrupt_places::near), host);
    ASSERT_EQ(place.moves.size(), 1U);
    EXPECT_EQ(place.moves[0].to, (cpu_list{4, 5, 6})) << "the workers have all of them";
}

// As the kernel writes it.
class written_host
{
public:
    written_host()
    {
        std::string name = ::testing::TempDir() + "mrc-cpus-XXXXXX";
        const char *made = ::mkdtemp(name.data());
        EXPECT_NE(made, nullptr);
        root_ = made == nullptr ? "" : made;
    }
    ~written_host() { std::filesystem::remove_all(root_); }
    written_host(const written_host &) = delete;
    written_host &operator=(const written_host &) = delete;

    void write(const std::string &file, const std::string &line) const
    {
        const std::filesystem::path path = root_ / file;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream{path} << line << "\n";
    }
    [[nodiscard]] std::string line_of(const std::string &file) const
    {
        std::string line;
        std::ifstream in{root_ / file};
        std::getline(in, line);
        return line;
    }
    [[nodiscard]] std::string root() const { return root_; }

private:
    std::filesystem::path root_;
};

TEST(worker_place, cpus_and_nodes_are_read)
{
    const written_host host;
    host.write("sys/devices/system/cpu/present", "0-7");
    host.write("sys/devices/system/cpu/online", "0-2,4-7");
    host.write("sys/devices/system/node/node0/cpulist", "0-2");
    host.write("sys/devices/system/node/node10/cpulist", "4-7");
    host.write("sys/devices/system/node/node2/cpulist", ""); // memory only
    host.write("sys/devices/system/node/has_cpu", "0,10");
    const kernel::probes::cpu_layout found = kernel::probes::read_cpu_layout(host.root());
    EXPECT_EQ(found.present.size(), 8U);
    EXPECT_EQ(found.online, (cpu_list{0, 1, 2, 4, 5, 6, 7}));
    EXPECT_EQ(found.nodes, (std::map<int, cpu_list>{{0, {0, 1, 2}}, {10, {4, 5, 6, 7}}}));
    EXPECT_EQ(found.node_of(5), 10);
    EXPECT_EQ(found.node_of(3), -1);
    EXPECT_TRUE(kernel::probes::read_cpu_layout(host.root() + "/nowhere").nodes.empty());
}

TEST(worker_place, node_and_interrupts_of_a_device_are_read)
{
    const written_host host;
    const std::string device = "sys/bus/pci/devices/0000:3b:00.0/";
    host.write(device + "numa_node", "1");
    host.write(device + "msi_irqs/41", "msix");
    host.write(device + "msi_irqs/9", "msix");
    host.write(device + "msi_irqs/50", "msix");
    host.write("proc/irq/9/effective_affinity_list", "3");
    host.write("proc/irq/9/smp_affinity_list", "0-3");
    host.write("proc/irq/41/smp_affinity_list", "0-1"); // a kernel without effective ones
    host.write("proc/irq/50/effective_affinity_list", "3");
    host.write("proc/irq/50/smp_affinity_list", "0"); // moved, and has not come since
    const kernel::probes::device_place found = kernel::probes::read_device_place("0000:3b:00.0", host.root());
    EXPECT_EQ(found.node, 1);
    ASSERT_EQ(found.interrupts.size(), 3U);
    EXPECT_EQ(found.interrupts[0].number, 9U);
    EXPECT_EQ(found.interrupts[0].cpus, cpu_list{3});
    EXPECT_EQ(found.interrupts[1].cpus, (cpu_list{0, 1}));
    EXPECT_EQ(found.interrupts[2].cpus, cpu_list{0});
    for (const char *other : {"", "0000:3b:00.1", "../../etc"})
        EXPECT_EQ(kernel::probes::read_device_place(other, host.root()).node, -1) << other;
}

TEST(worker_place, interrupts_go_back_unless_somebody_else_has_moved_them)
{
    const written_host host;
    for (const char *file : {"proc/irq/9/smp_affinity_list", "proc/irq/41/smp_affinity_list"})
        host.write(file, "0-3,7");
    {
        kernel::moved_interrupts moved;
        for (const std::uint32_t number : {9U, 41U})
            EXPECT_FALSE(moved.move(number, {4, 5}, host.root())) << number;
        EXPECT_EQ(host.line_of("proc/irq/9/smp_affinity_list"), "4-5");
        const auto refusal = moved.move(12, {4}, host.root());
        ASSERT_TRUE(refusal);
        EXPECT_NE(refusal->find("/proc/irq/12/smp_affinity_list': No such file"), std::string::npos) << *refusal;
        host.write("proc/irq/41/smp_affinity_list", "6");
    }
    EXPECT_EQ(host.line_of("proc/irq/9/smp_affinity_list"), "0-3,7");
    EXPECT_EQ(host.line_of("proc/irq/41/smp_affinity_list"), "6");
}

TEST(worker_place, this_host_has_what_this_process_may_use)
{
    port_options port;
    port.device = "lo";
    const host_cpus host = find_host_cpus({port});
    EXPECT_FALSE(host.usual.empty());
    EXPECT_TRUE(kernel::cpus_without(host.usual, host.permitted).empty());
    EXPECT_TRUE(kernel::cpus_without(host.permitted, host.layout.online).empty());
    EXPECT_EQ(host.ports.at(0).place.node, -1);
    EXPECT_EQ(place_worker(workers_on(cpu_list{host.permitted.front()}), host).cpus, cpu_list{host.permitted.front()});
}

} // namespace
} // namespace mrc::service
