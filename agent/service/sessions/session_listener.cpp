// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/session_listener.h"

#include <array>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "kernel/startup_error.h"
#include "kernel/trusted_folder.h"
#include "service/log.h"
#include "service/predecessor.h"

namespace mrc::service
{

namespace
{

constexpr std::string_view usual_group = "mrc";
constexpr mode_t socket_mode = 0660;
constexpr std::chrono::milliseconds retry_interval{500}; // descriptors of the whole system: nobody tells of them

sockaddr_un socket_address(const std::string &path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path))
        kernel::fail_startup("socket path '" + path + "'", ENAMETOOLONG);
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    return address;
}

kernel::unique_fd session_socket()
{
    kernel::unique_fd socket{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!socket)
        kernel::fail_startup("cannot open the session socket");
    return socket;
}

std::optional<gid_t> find_group(const std::string &name)
{
    std::vector<char> room(1024);
    group entry{};
    group *found = nullptr;
    int error = 0;
    while ((error = ::getgrnam_r(name.c_str(), &entry, room.data(), room.size(), &found)) == ERANGE)
        room.resize(room.size() * 2);
    return error == 0 && found != nullptr ? std::optional{entry.gr_gid} : std::nullopt;
}

struct chosen_group {
    std::string name; // empty: root's only
    gid_t number = 0;
};

std::expected<chosen_group, std::string> group_for(const daemon_config &config)
{
    const std::string name = config.daemon.group.value_or(std::string{usual_group});
    if (const auto number = find_group(name))
        return chosen_group{.name = name, .number = *number};
    if (!config.daemon.group)
        return chosen_group{};
    return std::unexpected{
        config.origin
            .error_at("daemon.group",
                      fmt::format("found \"{}\", which is no group of this system; allowed is an existing "
                                  "group, or \"auto\"",
                                  name))
            .text()};
}

// The error of connect(), 0 for none. Whom a killed daemon had given its socket to owns it still, and root without
// CAP_DAC_OVERRIDE, as in the sandbox of the unit, may not connect to the socket of another user: it does as that user.
int connect_as_owner(int socket, const std::string &path)
{
    const sockaddr_un address = socket_address(path);
    struct stat about{};
    if (::lstat(path.c_str(), &about) != 0)
        return errno;
    const auto own = static_cast<uid_t>(::setfsuid(about.st_uid)); // of this thread alone
    const int result = ::connect(socket, reinterpret_cast<const sockaddr *>(&address), sizeof(address));
    const int error = errno;
    ::setfsuid(own);
    return result == 0 ? 0 : error;
}

// Its mode is there with the socket's file: nobody else changes it between its making and a chmod().
int bind_with_mode(int socket, const sockaddr_un &address)
{
    const mode_t before = ::umask(~socket_mode & 0777);
    const int result = ::bind(socket, reinterpret_cast<const sockaddr *>(&address), sizeof(address));
    const int error = errno;
    ::umask(before);
    errno = error;
    return result;
}

} // namespace

session_listener::session_listener(boost::asio::io_context &context, taker take)
    : socket_{context}, retry_{context}, take_{std::move(take)}
{
}

session_listener::~session_listener()
{
    if (path_.empty())
        return;
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
    std::filesystem::remove(std::filesystem::path{path_}.parent_path(), ignored); // only when empty
}

void session_listener::refuse_if_running(const daemon_config &config)
{
    const kernel::unique_fd probe = session_socket();
    const int error = connect_as_owner(probe.get(), config.daemon.socket);
    if (error == ECONNREFUSED || error == ENOENT || (error == 0 && await_end_of_listener(probe.get())))
        return;
    if (error != 0 && error != EAGAIN) // EAGAIN: its backlog is full
        kernel::fail_startup("cannot tell whether a daemon listens on '" + config.daemon.socket + "'", error);
    throw kernel::startup_error{"instance '" + config.daemon.instance + "' is running already on '" +
                                config.daemon.socket + "'"};
}

void session_listener::open(const daemon_config &config, const kernel::user_identity &user)
{
    const std::filesystem::path path{config.daemon.socket};
    const std::string folder = path.parent_path();
    const sockaddr_un address = socket_address(path);
    const auto claimed = kernel::claim_folder(folder, user.uid);
    if (!claimed)
        kernel::fail_startup("cannot create '" + folder + "'", claimed.error().value());
    std::error_code error;
    std::filesystem::remove(path, error); // left by a daemon that was killed
    kernel::unique_fd socket = session_socket();
    if (bind_with_mode(socket.get(), address) != 0)
        kernel::fail_startup("cannot listen on '" + path.string() + "'");
    path_ = path;
    // Nobody can connect before listen(), so nobody does under another group.
    if (const auto given = set_group(config); !given)
        throw kernel::startup_error{given.error()};
    if (user.uid != ::geteuid() && ::lchown(path_.c_str(), user.uid, static_cast<gid_t>(-1)) != 0)
        kernel::fail_startup("cannot give '" + path_ + "' to user '" + user.name + "' (CAP_CHOWN is needed)");
    if (*claimed)
        kernel::give_folder(folder, user);
    if (::listen(socket.get(), SOMAXCONN) != 0)
        kernel::fail_startup("cannot listen on '" + path_ + "'");
    socket_.assign(socket.release());
}

std::expected<void, std::string> session_listener::set_group(const daemon_config &config)
{
    const auto chosen = group_for(config);
    if (!chosen)
        return std::unexpected{chosen.error()};
    if (::lchown(path_.c_str(), static_cast<uid_t>(-1), chosen->number) != 0)
        return std::unexpected{fmt::format("cannot give '{}' to group '{}': {}; once it has started, a daemon can give "
                                           "it to groups that its user is in: restart it",
                                           path_, chosen->name, std::generic_category().message(errno))};
    group_name_ = chosen->name;
    return {};
}

void session_listener::start()
{
    wait();
}

void session_listener::wait()
{
    socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       [this](const boost::system::error_code &error) {
                           if (!error)
                               accept_one();
                       });
}

void session_listener::accept_one()
{
    kernel::unique_fd client{::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    const int reason = errno;
    if (!client && (reason == EMFILE || reason == ENFILE || reason == ENOBUFS || reason == ENOMEM)) {
        pause(reason);
        return;
    }
    paused_ = false;
    if (client && !turning_away_)
        take_(std::move(client));
    wait();
}

// The socket stays readable, so waiting for it would spin. Who is in the queue already waits there.
void session_listener::pause(int reason)
{
    if (!std::exchange(paused_, true))
        log::warn("no further clients for now: {}", std::generic_category().message(reason));
    retry_.expires_after(retry_interval);
    retry_.async_wait([this](const boost::system::error_code &) { accept_one(); });
}

void session_listener::resume()
{
    if (std::exchange(paused_, false))
        retry_.cancel(); // its handler accepts
}

std::uint64_t raise_descriptor_limit()
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
        ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

} // namespace mrc::service
