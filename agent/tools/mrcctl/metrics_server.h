// SPDX-License-Identifier: Apache-2.0
// Serves GET /metrics by HTTP/1.1 to whoever scrapes. Not for the open network: it knows neither TLS nor users.
#pragma once

#include <functional>
#include <string>

#include <boost/asio/ip/tcp.hpp>

namespace mrc::ctl
{

// Until SIGINT or SIGTERM. A connection has one request of at most 8 KiB and 5 s, and there are at most 8 at a time;
// others wait in the kernel. `render` is called for each scrape; what it throws is the answer, with status 503.
// `on_listening` is told where it listens, once it does. Throws std::runtime_error when it cannot.
void serve_metrics(const boost::asio::ip::tcp::endpoint &at, const std::function<std::string()> &render,
                   const std::function<void(const boost::asio::ip::tcp::endpoint &)> &on_listening);

} // namespace mrc::ctl
