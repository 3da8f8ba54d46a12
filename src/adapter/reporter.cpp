#include "adapter/reporter.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "json/describe.h"
#include "json/encode.h"

namespace reeve::adapter {

namespace {

// A daemon that restarts is back within this time; then the next post gets its turn.
constexpr std::chrono::seconds delivery_time(30);
// A session and a withdrawal decide what another attempt does.
constexpr std::chrono::minutes important_delivery_time(10);

}  // namespace

Reporter::Reporter(std::filesystem::path socket, Mailbox& mailbox)
    : socket_(std::move(socket)), mailbox_(mailbox), thread_([this](const std::stop_token& stop) { work(stop); }) {}

Reporter::~Reporter() {
  thread_.request_stop();
  changed_.notify_all();
}

void Reporter::add(const PostSession& post) {
  add(Post{.kind = Kind::session, .target = "/api/session", .body = json::to_value(post.report, json::Defaults::omit)});
}

void Reporter::add(const PostResult& post) {
  add(Post{.kind = Kind::result,
           .target = fmt::format("/api/tool-calls/{}/result", post.call.text()),
           .body = json::to_value(post.report)});
}

void Reporter::add(const PostEvent& post) {
  add(Post{.kind = post.is_essential ? Kind::event : Kind::heartbeat,
           .target = "/api/report",
           .body = post.event,
           .is_essential = post.is_essential});
}

void Reporter::add(const WithdrawCall& post) {
  add(Post{.kind = Kind::withdrawal,
           .target = fmt::format("/api/tool-calls/{}/withdraw", post.call.text()),
           .body = base::Value::object()});
}

void Reporter::add(Post post) {
  const std::lock_guard lock(mutex_);
  const bool replaces = post.kind == Kind::session || post.kind == Kind::heartbeat;
  if (replaces && posts_.size() > 1) {
    std::erase_if(posts_,
                  [&, first = &posts_.front()](const Post& one) { return &one != first && one.kind == post.kind; });
  }
  if (posts_.size() >= max_posts) {
    const auto least =
        std::find_if(posts_.begin() + 1, posts_.end(), [](const Post& one) { return one.kind == Kind::result; });
    if (least != posts_.end()) posts_.erase(least);
  }
  if (posts_.size() < max_posts) posts_.push_back(std::move(post));
  changed_.notify_all();
}

void Reporter::work(const std::stop_token& stop) {
  client::RunSocket socket(socket_, {.deadline = base::SystemClock().boot_now()});
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !posts_.empty(); })) {
    const Post post = posts_.front();
    lock.unlock();
    const bool is_done = deliver(socket, post, stop);
    lock.lock();
    // Essential reports are printed in the end.
    const bool is_kept = !is_done && (post.is_essential || stop.stop_requested());
    if (is_kept && stop.stop_requested()) return;
    if (!is_kept) {
      posts_.pop_front();
    } else {
      // Tried again after the others.
      posts_.push_back(std::move(posts_.front()));
      posts_.pop_front();
    }
    changed_.notify_all();
  }
}

bool Reporter::deliver(client::RunSocket& socket, const Post& post, const std::stop_token& stop) {
  const bool is_important = post.kind == Kind::session || post.kind == Kind::withdrawal;
  const auto time = is_important ? important_delivery_time : delivery_time;
  const base::BootTime deadline = base::SystemClock().boot_now() + time;
  socket.set_terms({.deadline = deadline, .stop = stop});
  const auto answer = socket.post(post.target, post.body);
  if (answer && post.kind == Kind::session) mailbox_.post(SessionStored{});
  const bool was_answered = !stop.stop_requested() && base::SystemClock().boot_now() < deadline;
  return answer.has_value() || was_answered;
}

std::vector<std::string> Reporter::finish(base::Milliseconds timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [this] { return posts_.empty(); });
  lock.unlock();
  thread_.request_stop();
  changed_.notify_all();
  thread_.join();
  std::vector<std::string> lines;
  for (const Post& post : posts_) {
    if (post.is_essential) lines.push_back(json::encode(post.body));
  }
  return lines;
}

}  // namespace reeve::adapter
