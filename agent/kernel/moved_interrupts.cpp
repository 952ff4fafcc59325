// SPDX-License-Identifier: Apache-2.0
#include "kernel/moved_interrupts.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace mrc::kernel
{

namespace
{

// The first line of the file, without its end. These files know no pread() and pwrite().
std::string read_line(int file)
{
    std::array<char, 4096> text{};
    const ssize_t got = ::lseek(file, 0, SEEK_SET) == 0 ? ::read(file, text.data(), text.size()) : -1;
    const std::string all{text.data(), got < 0 ? 0 : static_cast<std::size_t>(got)};
    return all.substr(0, all.find('\n'));
}

bool write_line(int file, const std::string &text)
{
    const std::string line = text + '\n';
    return ::lseek(file, 0, SEEK_SET) == 0 &&
           ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

} // namespace

moved_interrupts::~moved_interrupts()
{
    for (const one &interrupt : moved_)
        if (read_line(interrupt.file.get()) == interrupt.since)
            (void)write_line(interrupt.file.get(), interrupt.before);
}

std::optional<std::string> moved_interrupts::move(std::uint32_t number, const cpu_list &to, const std::string &root)
{
    const std::string path = root + "/proc/irq/" + std::to_string(number) + "/smp_affinity_list";
    one interrupt{.file = unique_fd{::open(path.c_str(), O_RDWR | O_CLOEXEC)}, .before = {}, .since = {}};
    if (!interrupt.file)
        return "cannot open '" + path + "': " + std::strerror(errno);
    interrupt.before = read_line(interrupt.file.get());
    if (!write_line(interrupt.file.get(), cpu_list_text(to)))
        return "cannot write '" + cpu_list_text(to) + "' to '" + path + "': " + std::strerror(errno);
    interrupt.since = read_line(interrupt.file.get());
    moved_.push_back(std::move(interrupt));
    return std::nullopt;
}

} // namespace mrc::kernel
