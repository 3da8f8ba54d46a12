#include "adapter/agent_http.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "agents/protocol/sse_reader.h"
#include "base/base64.h"
#include "base/error.h"
#include "client/http.h"

namespace reeve::adapter {

namespace {

constexpr std::string_view user = "opencode";
constexpr int ok_status = 200;

// The adapter ends.
struct Stopped {};

client::Headers make_headers(const std::string& password) {
  return {{"Authorization", "Basic " + base::encode_base64(fmt::format("{}:{}", user, password))},
          {"Content-Type", "application/json"}};
}

client::Connection connect(const client::Endpoint& endpoint, const std::stop_token& stop) {
  client::Connection connection(endpoint);
  connection.set_waiting([stop](base::Milliseconds) {
    if (stop.stop_requested()) throw Stopped();
  });
  return connection;
}

}  // namespace

AgentHttp::AgentHttp(std::string password, Mailbox& mailbox) : password_(std::move(password)), mailbox_(mailbox) {}

AgentHttp::~AgentHttp() {
  const std::lock_guard lock(mutex_);
  // No thread is added any more.
  is_lost_ = true;
  for (std::jthread& thread : threads_) thread.request_stop();
}

void AgentHttp::open(const std::string& address) {
  auto endpoint = client::parse_endpoint(address);
  const bool is_here = endpoint && endpoint->socket.empty() && endpoint->is_loopback() && !endpoint->is_encrypted;
  if (!is_here) return lose("the agent's server has an address that is not one of this machine");
  const std::lock_guard lock(mutex_);
  if (endpoint_) return;
  endpoint_ = std::move(*endpoint);
  threads_.emplace_back([this](const std::stop_token& stop) { follow_events(stop); });
}

void AgentHttp::lose(std::string why) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_lost_, true)) return;
    queue_.clear();
  }
  mailbox_.post(ServerLost{std::move(why)});
}

void AgentHttp::send(std::vector<agents::AgentRequest> requests) {
  for (agents::AgentRequest& request : requests) {
    std::unique_lock lock(mutex_);
    if (is_lost_) return;
    if (queue_.size() >= max_queued) {
      lock.unlock();
      return lose(fmt::format("over {} requests to the agent's server wait", max_queued));
    }
    queue_.push_back(std::move(request));
    // One thread follows the events.
    const bool needs_thread = is_open_ && queue_.size() > idle_threads_ && threads_.size() <= max_threads;
    if (needs_thread) threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
    changed_.notify_one();
  }
}

void AgentHttp::follow_events(const std::stop_token& stop) {
  try {
    client::Connection connection = connect(*endpoint_, stop);
    const client::Response head = connection.begin({.target = "/event", .headers = make_headers(password_)});
    if (head.status != ok_status) return lose(fmt::format("the agent's event stream answered {}", head.status));
    {
      const std::lock_guard lock(mutex_);
      if (is_lost_) return;
      is_open_ = true;
      // For what was asked before; send() adds more.
      const std::size_t needed = std::min(queue_.size(), max_threads);
      for (std::size_t i = 0; i < needed; ++i) {
        threads_.emplace_back([this](const std::stop_token& token) { work(token); });
      }
    }
    agents::SseReader reader;
    while (true) {
      const std::string bytes = connection.read();
      if (bytes.empty()) return lose("the agent's event stream has ended");
      for (std::string& event : reader.on_bytes(bytes)) {
        if (!mailbox_.post_event({std::move(event)}, stop)) return;
      }
      if (!reader.fault().empty()) return lose(reader.fault());
    }
  } catch (const client::ConnectionLost& lost) {
    lose(fmt::format("the agent's event stream broke: {}", lost.what));
  } catch (const base::Error& error) {
    lose(fmt::format("the agent's event stream broke: {}", error.message()));
  } catch (const Stopped&) {
    return;
  }
}

void AgentHttp::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_threads_;
    const bool has_work = changed_.wait(lock, stop, [this] { return !queue_.empty(); });
    --idle_threads_;
    if (!has_work) return;
    const agents::AgentRequest request = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    perform(request, stop);
    lock.lock();
  }
}

void AgentHttp::perform(const agents::AgentRequest& request, const std::stop_token& stop) {
  try {
    client::Connection connection = connect(*endpoint_, stop);
    client::Response answer = connection.ask(
        {.method = request.method, .target = request.target, .body = request.body, .headers = make_headers(password_)});
    if (answer.body.size() > max_response) return lose("a response of the agent's server is larger than 16 MiB");
    mailbox_.post(ServerResponse{request.number, answer.status, std::move(answer.body)});
  } catch (const client::ConnectionLost& lost) {
    lose(fmt::format("the agent's server did not answer: {}", lost.what));
  } catch (const base::Error& error) {
    lose(fmt::format("the agent's server did not answer: {}", error.message()));
  } catch (const Stopped&) {
    return;
  }
}

}  // namespace reeve::adapter
