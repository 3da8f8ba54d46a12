#include "client/event_feed.h"

#include <charconv>

#include "client/refusal.h"

namespace reeve::client {

namespace {

std::int64_t parse_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) throw_bad_answer("no event number");
  return number;
}

}  // namespace

EventFeed::EventFeed(Daemon& daemon) : daemon_(daemon) { open(); }

void EventFeed::open() {
  lines_.clear();
  constexpr int max_tries = 5;
  for (int i = 0;; ++i) {
    connection_.emplace(daemon_.connect());
    try {
      const Response head = connection_->begin(
          {.target = since_ ? fmt::format("/api/events?follow=1&since={}", *since_) : "/api/events?follow=1"});
      if (head.status != 200) throw make_refusal(head);
      if (!since_) since_ = parse_number(head.header("Reeve-Since").value_or(""));
      return;
    } catch (const ConnectionLost& lost) {
      if (i == max_tries) {
        throw base::Error(base::ErrorCode::daemon_unavailable, "the daemon keeps disconnecting: " + lost.what);
      }
    }
  }
}

std::vector<base::Value> EventFeed::take() {
  std::vector<base::Value> events;
  try {
    const std::string bytes = connection_->read();
    if (bytes.empty()) throw ConnectionLost{"the daemon has disconnected"};
    lines_.add(bytes);
    while (auto event = lines_.next()) {
      const base::Value* number = event->find("seq");
      if (number != nullptr && number->as_integer() != nullptr) since_ = *number->as_integer();
      events.push_back(std::move(*event));
    }
  } catch (const ConnectionLost&) {
    open();
  }
  return events;
}

}  // namespace reeve::client
