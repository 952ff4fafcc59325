// SPDX-License-Identifier: Apache-2.0
#include "client/control/requests.h"

#include <cerrno>

namespace mrc::client
{

namespace
{

std::vector<std::byte> packet_of(const mrc::session::control_request &request, std::span<const std::byte> array)
{
    std::vector<std::byte> packet(sizeof(request) + array.size());
    std::memcpy(packet.data(), &request, sizeof(request));
    if (!array.empty())
        std::memcpy(packet.data() + sizeof(request), array.data(), array.size());
    return packet;
}

result<control_answer> answer_of(const result<std::vector<std::byte>> &bytes, std::size_t reply_element)
{
    if (!bytes)
        return std::unexpected{bytes.error()};
    control_answer answer;
    if (bytes->size() < sizeof(answer.reply))
        return refused(EIO, "a short reply to a controller's request");
    std::memcpy(static_cast<void *>(&answer.reply), bytes->data(), sizeof(answer.reply));
    answer.reply.text[sizeof(answer.reply.text) - 1] = '\0';
    answer.array.assign(bytes->begin() + sizeof(answer.reply), bytes->end());
    if (answer.array.size() != answer.reply.count * reply_element)
        return refused(EIO, "a reply of another length than it says");
    return answer;
}

} // namespace

mrc::session::control_request control_request_of(mrc::session::control_kind kind, std::uint64_t id, std::uint32_t mask)
{
    mrc::session::control_request request;
    request.kind = kind;
    request.id = id;
    request.mask = mask;
    return request;
}

result<control_answer> ask(daemon_session &daemon, const mrc::session::control_request &request,
                           std::span<const std::byte> array, std::size_t reply_element)
{
    return answer_of(daemon.control(packet_of(request, array)), reply_element);
}

result<control_answer> ask(const control_line &line, const mrc::session::control_request &request,
                           std::span<const std::byte> array, std::size_t reply_element)
{
    return answer_of(line.control(packet_of(request, array)), reply_element);
}

result<void> outcome_of(const control_answer &answer)
{
    if (answer.reply.error != 0)
        return refused(answer.reply.error, answer.reply.text);
    return {};
}

result<void> check_context(const mrc_context *context)
{
    if (context == nullptr)
        return refused(EINVAL, "no context");
    return check_owner(context);
}

void end_subscription(const mrc_cq &cq)
{
    (void)ask(*cq.context->daemon,
              control_request_of(mrc::session::control_kind::unsubscribe_events, cq.subscription, 0));
}

} // namespace mrc::client
