#include "client/agent_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <system_error>

#include <fmt/format.h>

#include "json/decode.h"
#include "json/encode.h"
#include "json/parse.h"
#include "os/unix_socket.h"

namespace reeve::client {

namespace {

using wire::HookReply;

constexpr base::Milliseconds check_interval(250);

std::unexpected<std::string> broken(std::string_view doing, int error) {
  return std::unexpected(
      fmt::format("cannot {} the agent's adapter: {}", doing, std::generic_category().message(error)));
}

// Empty once the socket is ready for the event; otherwise why the wait ended.
std::string wait_for(int fd, short event, const AskTerms& terms) {
  while (true) {
    if (terms.stop.stop_requested()) return "cancelled: the agent's adapter did not answer";
    const auto left = std::chrono::ceil<base::Milliseconds>(terms.deadline - base::SystemClock().boot_now());
    if (left <= base::Milliseconds(0)) return "the agent's adapter did not answer in time";
    pollfd state{fd, event, 0};
    if (::poll(&state, 1, static_cast<int>(std::min(left, check_interval).count())) > 0) return {};
  }
}

std::expected<void, std::string> send_line(int fd, std::string_view line, const AskTerms& terms) {
  while (!line.empty()) {
    if (std::string end = wait_for(fd, POLLOUT, terms); !end.empty()) return std::unexpected(std::move(end));
    const ssize_t sent = ::send(fd, line.data(), line.size(), MSG_NOSIGNAL);
    if (sent > 0) line.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EINTR && errno != EAGAIN) return broken("ask", errno);
  }
  return {};
}

std::expected<std::string, std::string> receive_line(int fd, const AskTerms& terms) {
  std::string text;
  std::array<char, 4096> part{};
  while (true) {
    if (std::string end = wait_for(fd, POLLIN, terms); !end.empty()) return std::unexpected(std::move(end));
    const ssize_t got = ::recv(fd, part.data(), part.size(), 0);
    if (got == 0) return std::unexpected("the agent's adapter closed the connection");
    if (got < 0 && errno != EINTR && errno != EAGAIN) return broken("hear from", errno);
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    if (const std::size_t newline = text.find('\n'); newline != std::string::npos) return text.substr(0, newline);
    if (text.size() > max_hook_reply) return std::unexpected("the adapter's answer is too long");
  }
}

std::expected<HookReply, std::string> read_reply(std::string_view line) {
  const auto malformed = [](std::string_view why) {
    return std::unexpected(fmt::format("the adapter's answer is malformed: {}", why));
  };
  const auto document = json::parse(line);
  if (!document) return malformed(document.error().text());
  const base::Value* decision = document->find("decision");
  if (decision == nullptr || decision->as_string() == nullptr) return malformed("it has no decision");
  auto reply = json::from_value<HookReply>(*document);
  if (!reply) return malformed(reply.error());
  return std::move(*reply);
}

}  // namespace

std::expected<HookReply, std::string> ask_adapter(const std::filesystem::path& socket, const wire::CallRequest& request,
                                                  const AskTerms& terms) {
  const std::string line = json::encode(json::to_value(request, json::Defaults::omit)) + "\n";
  if (line.size() > max_hook_request) return std::unexpected("the call is larger than 16 MiB");
  const auto connection = os::connect_to(socket.string(), os::SocketKind::stream);
  if (!connection) return broken("reach", errno);
  if (const auto sent = send_line(connection->get(), line, terms); !sent) return std::unexpected(sent.error());
  const auto reply = receive_line(connection->get(), terms);
  if (!reply) return std::unexpected(reply.error());
  return read_reply(*reply);
}

}  // namespace reeve::client
