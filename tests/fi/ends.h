// SPDX-License-Identifier: Apache-2.0
// Two ends that are connected by libfabric's calls: each uses the mrcd of another host of a lab, both in this process,
// so that what one does and the other sees can be compared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>

namespace mrc::fi_test
{

// Names of two mrcd; each test's arguments.
struct instances {
    std::string one;
    std::string other;
};

// Ends the process, with these words, if it does not hold.
void check(bool condition, std::string_view what);

struct closed {
    template <typename T>
    void operator()(T *what) const
    {
        check(::fi_close(&what->fid) == 0, "an object that nobody uses closes");
    }
};
template <typename T>
using owned = std::unique_ptr<T, closed>;

struct info_freed {
    void operator()(fi_info *info) const { ::fi_freeinfo(info); }
};
using owned_info = std::unique_ptr<fi_info, info_freed>;

struct event {
    std::uint32_t kind = 0; // FI_CONNECTED…; 0: a failure, or nothing within the time
    owned_info info;
};

struct completion {
    std::uint64_t flags = 0;
    std::uint64_t data = 0;
    int error = 0; // above 0: it failed
};

// What one mrcd is used by.
class host
{
public:
    explicit host(const std::string &instance);

    [[nodiscard]] event next_event(int timeout_ms = 20000) const;
    // The next completion; the process ends if there is none within 20 s.
    [[nodiscard]] completion next() const;
    [[nodiscard]] bool has_none() const; // no completion that has not been read
    [[nodiscard]] owned<fid_pep> listen(sockaddr_in &address) const;
    [[nodiscard]] owned<fid_ep> endpoint(fi_info &by) const; // bound and enabled

    owned_info info;
    owned<fid_fabric> fabric;
    owned<fid_eq> events;
    owned<fid_domain> domain;
    owned<fid_cq> queue;
};

class ends
{
public:
    explicit ends(const instances &of);

    host one, other;
    owned<fid_pep> door;
    owned<fid_ep> from, to; // of one and of other
};

// Memory of an end, filled by a pattern, and registered.
class memory
{
public:
    memory(const host &of, std::size_t bytes, std::uint8_t first, std::uint64_t access);

    std::vector<std::uint8_t> bytes;
    owned<fid_mr> region;
    [[nodiscard]] std::uint64_t at(std::size_t offset) const
    {
        return reinterpret_cast<std::uintptr_t>(&bytes[offset]);
    }
    [[nodiscard]] std::uint64_t key() const { return ::fi_mr_key(region.get()); }
};

void test_memory(const instances &of);
void test_regions(const instances &of);
void test_credit(const instances &of);
void test_objects(const instances &of);
void test_requests(const instances &of);
void test_hints(const instances &of);
void test_hostile(const instances &of);

} // namespace mrc::fi_test
