// SPDX-License-Identifier: Apache-2.0
#include "fake_daemon.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "client/boundary.h"
#include "client/export.h"
#include "client/session_source.h"

namespace
{

using mrc::client::daemon_channel;
using mrc::client::daemon_instance;
using mrc::client::host_description;
using mrc::client::memory_keys;
using mrc::client::refused;
using mrc::client::result;

class fake_session;

enum class throws { nothing, unknown, bad_alloc };

struct fake_world {
    std::mutex mutex;
    int daemons = 1;
    bool named = false;
    bool up[FAKE_PORTS] = {true, true};
    int refusal = 0;
    throws exception = throws::nothing;
    std::set<fake_session *> sessions;
    int domains = 0;
    int regions = 0;
    std::uint32_t last_access = 0;
    std::uint64_t last_iova = 0;
};

fake_world &world()
{
    static auto *const only = new fake_world;
    return *only;
}

mrc_ip address(int family, const char *text)
{
    mrc_ip out{};
    if (family == AF_INET6) {
        ::inet_pton(AF_INET6, text, out.bytes);
    } else {
        out.bytes[10] = out.bytes[11] = 0xff;
        ::inet_pton(AF_INET, text, out.bytes + 12);
    }
    return out;
}

class fake_session : public daemon_channel
{
public:
    explicit fake_session(std::string name) : name_{std::move(name)}, events_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}
    {
        const std::lock_guard lock{world().mutex};
        world().sessions.insert(this);
    }
    ~fake_session() override
    {
        const std::lock_guard lock{world().mutex};
        world().sessions.erase(this);
        ::close(events_);
    }
    fake_session(const fake_session &) = delete;
    fake_session &operator=(const fake_session &) = delete;

    result<host_description> describe() override;
    result<std::uint32_t> allocate_pd() override;
    result<void> deallocate_pd(std::uint32_t pd) override;
    result<memory_keys> register_memory(std::uint32_t pd, void *where, std::uint64_t length, std::uint64_t iova,
                                        std::uint32_t access) override;
    result<void> deregister_memory(std::uint32_t lkey) override;
    [[nodiscard]] int event_fd() const override { return events_; }
    [[nodiscard]] bool gone() const override { return gone_; }

    void die()
    {
        gone_ = true;
        signal_event();
    }
    void signal_event() const
    {
        const std::uint64_t one = 1;
        (void)!::write(events_, &one, sizeof(one));
    }

private:
    // With the world locked: what stands in the way of any request.
    [[nodiscard]] result<void> hindrance() const
    {
        switch (std::exchange(world().exception, throws::nothing)) {
        case throws::bad_alloc:
            throw std::bad_alloc{};
        case throws::unknown:
            throw 1; // NOLINT(hicpp-exception-baseclass): whatever a library may throw
        case throws::nothing:
            break;
        }
        if (gone_)
            return refused(ECONNRESET, "the daemon has gone");
        if (const int code = std::exchange(world().refusal, 0); code != 0)
            return refused(code, "as the test asked");
        return {};
    }

    std::string name_;
    int events_;
    std::atomic<bool> gone_ = false;
    std::uint32_t next_pd_ = 1;
    std::uint32_t next_key_ = 0x100;
    std::set<std::uint32_t> domains_;
    std::set<std::pair<std::uint32_t, std::uint32_t>> regions_; // lkey, pd
};

result<host_description> fake_session::describe()
{
    const std::lock_guard lock{world().mutex};
    if (auto hindered = hindrance(); !hindered)
        return std::unexpected{hindered.error()};
    host_description host{.instance = name_,
                          .addresses = {address(AF_INET6, FAKE_IPV6), address(AF_INET, FAKE_IPV4)},
                          .payload_bytes = FAKE_PAYLOAD,
                          .ports = {},
                          .max_qps = 1000,
                          .max_regions = FAKE_MAX_REGIONS,
                          .max_region_bytes = std::uint64_t{1} << 40,
                          .max_cqs = 2000,
                          .max_cq_entries = 1U << 20,
                          .max_work_requests = 1U << 14};
    std::memcpy(&host.guid, FAKE_GUID_BYTES, sizeof(host.guid));
    for (const bool up : world().up)
        host.ports.push_back({.up = up, .enabled = true, .mtu = 3400, .bits_per_second = 100'000'000'000});
    return host;
}

result<std::uint32_t> fake_session::allocate_pd()
{
    const std::lock_guard lock{world().mutex};
    if (auto hindered = hindrance(); !hindered)
        return std::unexpected{hindered.error()};
    ++world().domains;
    domains_.insert(next_pd_);
    return next_pd_++;
}

result<void> fake_session::deallocate_pd(std::uint32_t pd)
{
    const std::lock_guard lock{world().mutex};
    if (auto hindered = hindrance(); !hindered)
        return hindered;
    for (const auto &[lkey, owner] : regions_)
        if (owner == pd)
            return refused(EBUSY, "regions use it");
    if (domains_.erase(pd) == 0)
        return refused(EINVAL, "no such domain");
    --world().domains;
    return {};
}

result<memory_keys> fake_session::register_memory(std::uint32_t pd, void *where, std::uint64_t /*length*/,
                                                  std::uint64_t iova, std::uint32_t access)
{
    const std::lock_guard lock{world().mutex};
    if (auto hindered = hindrance(); !hindered)
        return std::unexpected{hindered.error()};
    if (!domains_.contains(pd))
        return refused(EINVAL, "no such domain");
    if (where == nullptr)
        return refused(EFAULT, "not mapped");
    if (regions_.size() == FAKE_MAX_REGIONS)
        return refused(ENOMEM, "over the limit");
    ++world().regions;
    world().last_access = access;
    world().last_iova = iova;
    regions_.emplace(next_key_, pd);
    const std::uint32_t key = next_key_++;
    return memory_keys{.lkey = key, .rkey = key | 0x80000000U};
}

result<void> fake_session::deregister_memory(std::uint32_t lkey)
{
    const std::lock_guard lock{world().mutex};
    if (auto hindered = hindrance(); !hindered)
        return hindered;
    if (std::erase_if(regions_, [&](const auto &region) { return region.first == lkey; }) == 0)
        return refused(EINVAL, "no such region");
    --world().regions;
    return {};
}

std::vector<daemon_instance> find()
{
    const std::lock_guard lock{world().mutex};
    std::vector<daemon_instance> found;
    found.reserve(static_cast<std::size_t>(world().daemons));
    for (int i = 0; i < world().daemons; ++i)
        found.push_back(
            {.name = std::string(1, static_cast<char>('a' + i)), .socket = "nowhere", .is_named = world().named});
    return found;
}

result<std::shared_ptr<daemon_channel>> open(const daemon_instance &where)
{
    {
        const std::lock_guard lock{world().mutex};
        if (const int code = std::exchange(world().refusal, 0); code != 0)
            return refused(code, "as the test asked");
        if (where.name[0] - 'a' >= world().daemons)
            return refused(ECONNREFUSED, "nobody there");
    }
    return std::make_shared<fake_session>(where.name);
}

std::vector<result<host_description>> describe(std::span<const daemon_instance> all)
{
    std::vector<result<host_description>> hosts;
    for (const daemon_instance &each : all) {
        const auto opened = open(each);
        hosts.push_back(opened ? (*opened)->describe() : std::unexpected{opened.error()});
    }
    return hosts;
}

// Before main(): programs see nothing but the fake.
const bool installed = [] {
    mrc::client::replace_session_source({.find = &find, .describe = &describe, .open = &open});
    return true;
}();

template <typename Change>
void change(const Change &what)
{
    const std::lock_guard lock{world().mutex};
    what(world());
}

template <typename Value>
auto read(Value fake_world::*what)
{
    const std::lock_guard lock{world().mutex};
    return world().*what;
}

void tell_all(const fake_world &all)
{
    for (const fake_session *each : all.sessions)
        each->signal_event();
}

} // namespace

extern "C" {

MRC_EXPORT void fake_reset(void)
{
    change([](fake_world &all) {
        all.daemons = 1;
        all.named = false;
        all.up[0] = all.up[1] = true;
        all.refusal = 0;
        all.exception = throws::nothing;
        all.domains = all.regions = 0;
    });
}

MRC_EXPORT void fake_daemons(int count)
{
    change([&](fake_world &all) { all.daemons = count; });
}

MRC_EXPORT void fake_name_instances(void)
{
    change([](fake_world &all) { all.named = true; });
}

MRC_EXPORT void fake_port(int port, int up)
{
    change([&](fake_world &all) {
        all.up[port - 1] = up != 0;
        tell_all(all);
    });
}

MRC_EXPORT void fake_flap(int /*port*/)
{
    change([](const fake_world &all) { tell_all(all); });
}

MRC_EXPORT void fake_die(void)
{
    change([](const fake_world &all) {
        for (fake_session *each : all.sessions)
            each->die();
    });
}

MRC_EXPORT void fake_refuse(int code)
{
    change([&](fake_world &all) { all.refusal = code; });
}

MRC_EXPORT void fake_throw(int bad_alloc)
{
    change([&](fake_world &all) { all.exception = bad_alloc != 0 ? throws::bad_alloc : throws::unknown; });
}

MRC_EXPORT int fake_sessions(void)
{
    const std::lock_guard lock{world().mutex};
    return static_cast<int>(world().sessions.size());
}

MRC_EXPORT int fake_domains(void)
{
    return read(&fake_world::domains);
}

MRC_EXPORT int fake_regions(void)
{
    return read(&fake_world::regions);
}

MRC_EXPORT unsigned int fake_last_access(void)
{
    return read(&fake_world::last_access);
}

MRC_EXPORT unsigned long long fake_last_iova(void)
{
    return read(&fake_world::last_iova);
}

} // extern "C"
