#include "adapter/hook_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/text.h"
#include "client/agent_socket.h"
#include "json/decode.h"
#include "json/encode.h"
#include "json/parse.h"
#include "os/unix_socket.h"

namespace reeve::adapter {

namespace {

constexpr std::size_t max_reason = 4'096;

std::expected<wire::CallRequest, std::string> parse_question(std::string_view line) {
  const auto document = json::parse(line, {.bytes = client::max_hook_request});
  if (!document) return std::unexpected(document.error().text());
  auto request = json::from_value<wire::CallRequest>(*document);
  if (!request) return request;
  if (request->call.empty() || request->tool.empty()) return std::unexpected("it has no call or no tool");
  if (request->arguments.as_object() == nullptr) return std::unexpected("its arguments are not an object");
  return request;
}

// A reply is smaller than what a socket takes at once; a hook that does not read it gets none.
void send_reply(int fd, const wire::HookReply& reply) {
  wire::HookReply bounded = reply;
  bounded.reason = base::replace_invalid_utf8(base::truncate_utf8(reply.reason, max_reason));
  const std::string line = json::encode(json::to_value(bounded)) + "\n";
  static_cast<void>(::send(fd, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

}  // namespace

HookSocket::HookSocket(const std::string& path) : listener_(os::listen_at(path, os::SocketKind::stream)) {}

void HookSocket::add_to(std::vector<pollfd>& polled) const {
  // A full table waits; the kernel keeps the others in its queue.
  const short listens = connections_.size() < max_connections ? POLLIN : short{0};
  polled.push_back({listener_.get(), listens, 0});
  for (const auto& [number, connection] : connections_) polled.push_back({connection.fd.get(), POLLIN, 0});
}

std::optional<base::BootTime> HookSocket::next_time() const {
  std::optional<base::BootTime> next;
  for (const auto& [number, connection] : connections_) {
    if (!connection.has_asked && (!next || connection.deadline < *next)) next = connection.deadline;
  }
  return next;
}

HookSocket::News HookSocket::handle(std::span<const pollfd> polled, base::BootTime now) {
  News news;
  const auto is_ready = [&](int fd) {
    return std::ranges::any_of(polled, [fd](const pollfd& one) { return one.fd == fd && one.revents != 0; });
  };
  for (auto entry = connections_.begin(); entry != connections_.end();) {
    auto& [number, connection] = *entry;
    bool is_open = true;
    if (is_ready(connection.fd.get())) is_open = read(number, connection, news);
    if (is_open && !connection.has_asked && now >= connection.deadline) {
      refuse(connection, "the question did not arrive in time");
      is_open = false;
    }
    entry = is_open ? std::next(entry) : connections_.erase(entry);
  }
  if (is_ready(listener_.get())) accept(now);
  return news;
}

void HookSocket::accept(base::BootTime now) {
  while (connections_.size() < max_connections) {
    os::Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    if (os::peer_of(fd.get()).uid != ::geteuid()) continue;
    connections_.emplace(
        ++last_, Connection{.fd = std::move(fd), .text = {}, .deadline = now + question_time, .has_asked = false});
  }
}

bool HookSocket::read(std::uint64_t number, Connection& connection, News& news) {
  std::array<char, 64UZ * 1024> part{};
  const ssize_t got = ::recv(connection.fd.get(), part.data(), part.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) {
    if (connection.has_asked) news.gone.push_back(number);
    return false;
  }
  // One connection is one question; whatever follows it is not read as another.
  if (connection.has_asked) return true;
  connection.text.append(part.data(), static_cast<std::size_t>(got));
  const std::size_t newline = connection.text.find('\n');
  if (newline == std::string::npos) {
    const bool fits = connection.text.size() <= client::max_hook_request && buffered() <= max_buffered;
    if (!fits) refuse(connection, "the question is too large");
    return fits;
  }
  auto request = parse_question(std::string_view(connection.text).substr(0, newline));
  connection.text = std::string();
  if (!request) {
    refuse(connection, "the question is malformed: " + request.error());
    return false;
  }
  connection.has_asked = true;
  news.questions.push_back({number, std::move(*request)});
  return true;
}

void HookSocket::refuse(Connection& connection, std::string_view why) {
  send_reply(connection.fd.get(), {.decision = wire::HookDecision::deny, .reason = std::string(why), .call_id = {}});
}

std::size_t HookSocket::buffered() const {
  std::size_t bytes = 0;
  for (const auto& [number, connection] : connections_) bytes += connection.text.size();
  return bytes;
}

void HookSocket::answer(std::uint64_t connection, const wire::HookReply& reply) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  send_reply(found->second.fd.get(), reply);
  connections_.erase(found);
}

}  // namespace reeve::adapter
