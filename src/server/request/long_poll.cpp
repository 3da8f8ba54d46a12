#include "server/request/long_poll.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantity.h"

namespace reeve::server {

namespace {

constexpr std::string_view default_timeout = "60s";
constexpr base::Milliseconds max_timeout = std::chrono::minutes(5);

}  // namespace

base::Milliseconds parse_poll_timeout(const Request& request) {
  const auto found = request.query.find("timeout");
  const auto timeout = base::parse_duration(found != request.query.end() ? found->second : default_timeout);
  if (!timeout) {
    throw base::Error(base::ErrorCode::api_bad_request, fmt::format("`timeout` must be {}", base::duration_forms));
  }
  return std::min(*timeout, max_timeout);
}

std::shared_ptr<LongPoll> LongPoll::begin(runtime::Loop& loop, Responder& responder) {
  const std::shared_ptr<LongPoll> poll(new LongPoll(loop));
  responder.on_closed([poll] { poll->end(); });
  return poll;
}

void LongPoll::keep(runtime::Loop::Hold subscription) {
  subscription_ = std::move(subscription);
  if (is_over_) release_later();
}

void LongPoll::expire_after(base::Milliseconds timeout, std::function<void()> expired) {
  if (is_over_) return;
  timeout_ = loop_.at(loop_.now() + timeout, once(std::move(expired)));
}

void LongPoll::read_after(base::Milliseconds pause, std::function<void()> read) {
  if (is_over_) return;
  pause_ = loop_.at(loop_.now() + pause, [self = shared_from_this(), read = std::move(read)] {
    if (!self->is_over_) read();
  });
}

bool LongPoll::end() {
  if (std::exchange(is_over_, true)) return false;
  release_later();
  return true;
}

void LongPoll::release_later() {
  loop_.post([self = shared_from_this()] {
    self->subscription_ = {};
    self->timeout_ = {};
    self->pause_ = {};
  });
}

}  // namespace reeve::server
