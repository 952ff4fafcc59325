// SPDX-License-Identifier: Apache-2.0
// What the server answers: the page, the model as JSON, and orders to the lab.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "tools/http/server.h"
#include "tools/mrc-view/model.h"
#include "tools/mrc-view/page_files.h"

namespace mrc::view
{

//   GET /                               the page
//   GET /page/NAME, /lib/chart.js       its files
//   GET /snapshot                       hosts, nodes and links at the last look
//   GET /history?points=N&events=M      points of the time lines and events after these numbers
//   GET /links/PLANE/A/B                who uses a link, and why it is blamed
//   POST /lab                           an order to the lab: lab/order.h
class view_service
{
public:
    // The model and the coroutines of the server are one thread's.
    view_service(view_model &model, page_files page, std::optional<page_file> charts, std::filesystem::path mrc_lab);

    // Where the server listens, once it does.
    void set_address(const boost::asio::ip::tcp::endpoint &listening) { listening_ = listening; }

    [[nodiscard]] boost::asio::awaitable<tools::http::response> answer(tools::http::request asked,
                                                                       boost::asio::ip::tcp::endpoint from);

private:
    [[nodiscard]] tools::http::response answer_get(const std::string &target) const;
    [[nodiscard]] tools::http::response file(const std::string &name) const;
    [[nodiscard]] tools::http::response link(const std::string &rest) const;
    [[nodiscard]] boost::asio::awaitable<tools::http::response> order(tools::http::request asked,
                                                                      boost::asio::ip::tcp::endpoint from);

    view_model &model_;
    page_files page_;
    std::optional<page_file> charts_;
    std::filesystem::path mrc_lab_;
    std::string token_;
    std::string order_{}; // that is being carried out; empty: none
    boost::asio::ip::tcp::endpoint listening_{};
};

} // namespace mrc::view
