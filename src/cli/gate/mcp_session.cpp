#include "cli/gate/mcp_session.h"

#include <array>
#include <cerrno>
#include <unistd.h>
#include <utility>

namespace reeve::cli {

McpSession::McpSession(std::string version, Perform perform, Write write)
    : perform_(std::move(perform)), write_(std::move(write)), server_(std::move(version)) {}

McpSession::~McpSession() {
  {
    const std::lock_guard lock(mutex_);
    queue_.clear();
    for (auto& [ticket, source] : open_) source.request_stop();
  }
  for (std::jthread& thread : threads_) thread.request_stop();
}

void McpSession::on_line(std::string_view line) {
  const std::lock_guard lock(mutex_);
  react(server_.on_line(line));
}

void McpSession::on_long_line(std::string_view beginning) {
  const std::lock_guard lock(mutex_);
  react(agents::McpServer::on_long_line(beginning));
}

void McpSession::react(const agents::McpReaction& reaction) {
  for (const std::string& line : reaction.lines) write_(line);
  for (const agents::McpWork& work : reaction.work) {
    open_.try_emplace(work.ticket);
    queue_.push_back(work);
    const bool needs_thread = queue_.size() > idle_threads_ && threads_.size() < max_threads;
    if (needs_thread) threads_.emplace_back([this](const std::stop_token& stop) { this->work(stop); });
    changed_.notify_all();
  }
  for (const std::uint64_t ticket : reaction.cancelled) {
    if (const auto found = open_.find(ticket); found != open_.end()) found->second.request_stop();
  }
}

void McpSession::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_threads_;
    const bool has_work = changed_.wait(lock, stop, [this] { return !queue_.empty(); });
    --idle_threads_;
    if (!has_work) return;
    const agents::McpWork next = std::move(queue_.front());
    queue_.pop_front();
    const std::stop_token token = open_.at(next.ticket).get_token();
    lock.unlock();
    // A cancelled call is not begun.
    const agents::McpOutcome outcome =
        token.stop_requested() ? agents::McpOutcome(agents::McpToolResult{.is_error = true}) : perform_(next, token);
    lock.lock();
    open_.erase(next.ticket);
    if (const auto line = server_.finish(next.ticket, outcome); line && !stop.stop_requested()) write_(*line);
    changed_.notify_all();
  }
}

void McpSession::drain(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [this] { return open_.empty(); });
}

namespace {

// Of a line that is too long.
constexpr std::size_t long_beginning = 64UZ * 1024;

}  // namespace

void read_lines(int fd, std::size_t max_bytes, const std::function<void(std::string_view)>& on_line,
                const std::function<void(std::string_view)>& on_long) {
  std::array<char, 64UZ * 1024> part{};
  std::string line;
  bool is_dropped = false;
  while (true) {
    const ssize_t got = ::read(fd, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    std::string_view rest(part.data(), static_cast<std::size_t>(got));
    while (!rest.empty()) {
      const std::size_t newline = rest.find('\n');
      if (!is_dropped) line += rest.substr(0, newline);
      if (line.size() > max_bytes) {
        on_long(std::string_view(line).substr(0, long_beginning));
        is_dropped = true;
        line = std::string();
      }
      if (newline == std::string_view::npos) break;
      if (!is_dropped) on_line(line);
      is_dropped = false;
      line.clear();
      rest.remove_prefix(newline + 1);
    }
  }
}

}  // namespace reeve::cli
