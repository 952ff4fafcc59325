// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "service/log.h"

namespace mrc::test
{

// What is logged during a test.
class log_text
{
public:
    log_text() = default;
    log_text(const log_text &) = delete;
    log_text &operator=(const log_text &) = delete;
    ~log_text() { (void)service::log::replace_logger(before_); }

    [[nodiscard]] unsigned count(const std::string &what) const
    {
        unsigned found = 0;
        const std::string all = text_.str();
        for (std::size_t at = all.find(what); at != std::string::npos; at = all.find(what, at + 1))
            ++found;
        return found;
    }

private:
    std::ostringstream text_;
    std::shared_ptr<spdlog::logger> before_ = service::log::replace_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_st>(text_)));
};

} // namespace mrc::test
