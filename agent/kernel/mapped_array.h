// SPDX-License-Identifier: Apache-2.0
// An mmapable BPF array map, read and written without system calls (BPF_F_MMAPABLE, kernel 5.5).
#pragma once

#include <cstdint>
#include <string>

#include <bpf/bpf.h>

#include "kernel/startup_error.h"
#include "kernel/unique_fd.h"

namespace mrc::kernel
{

// Rows of `Row`; the mapping stays valid while this object lives, independent of the map's descriptor.
template <typename Row>
class mapped_array
{
public:
    mapped_array() = default;

    // Maps all `rows` rows of the array behind `map_fd`. Throws startup_error.
    mapped_array(int map_fd, std::size_t rows, const std::string &name) : rows_{rows}
    {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        const std::size_t bytes = (rows * sizeof(Row) + page - 1) / page * page;
        void *address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
        if (address == MAP_FAILED)
            fail_startup("cannot map BPF array " + name);
        memory_ = mapping{address, bytes};
    }

    [[nodiscard]] Row &operator[](std::size_t row) const { return static_cast<Row *>(memory_.get())[row]; }
    [[nodiscard]] std::size_t size() const { return rows_; }

private:
    static_assert(sizeof(Row) % 8 == 0, "array maps round values up to 8 bytes");
    mapping memory_;
    std::size_t rows_ = 0;
};

} // namespace mrc::kernel
