#include "runtime/notify/notification_trial.h"

#include <utility>

#include <fmt/format.h>

#include "base/value.h"
#include "json/encode.h"

namespace reeve::runtime {

namespace {

NoticeMessage make_test_message(base::WallTime now) {
  NoticeMessage message{.text = describe_test(), .event = {}};
  base::Value event = base::Value::object();
  event.set("event", base::Value::string("notification_test"));
  event.set("timestamp", base::Value::string(base::format_time(now)));
  event.set("message", base::Value::string(message.text.body));
  message.event = json::encode(event);
  return message;
}

}  // namespace

NotificationTrial::NotificationTrial(Loop& loop, const base::Clock& clock,
                                     const std::vector<model::Notification>& entries, const SenderSettings& sender,
                                     Done done)
    : loop_(loop), done_(std::move(done)), open_(entries.size()) {
  const base::WallTime now = clock.wall_now();
  const NoticeMessage message = make_test_message(now);
  for (const model::Notification& entry : entries) {
    const std::size_t index = results_.size();
    results_.push_back({.entry = entry, .why = {}});
    auto plan = plan_delivery(entry, message, sender, now);
    if (!plan) {
      results_.back().why = plan.error();
      --open_;
      continue;
    }
    commands_.push_back(
        std::make_unique<HookCommand>(loop, std::move(*plan), [this, index](const HookCommand::End& end) {
          conclude(index, judge_delivery(results_[index].entry, end).why);
        }));
  }
  if (open_ == 0) empty_ = loop_.at(loop_.now(), [this] { done_(std::move(results_)); });
}

NotificationTrial::~NotificationTrial() = default;

void NotificationTrial::conclude(std::size_t index, std::string why) {
  results_[index].why = std::move(why);
  if (--open_ == 0) done_(std::move(results_));
}

}  // namespace reeve::runtime
