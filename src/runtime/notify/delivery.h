#pragma once

#include <expected>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/config.h"
#include "runtime/notify/hook_command.h"
#include "runtime/notify/notice.h"
#include "runtime/notify/webhook.h"

// One notification for one entry of `notify`: the program that sends it.
namespace reeve::runtime {

struct NoticeMessage {
  NoticeText text;
  // The event as JSON, without a line break.
  std::string event;
  std::int64_t seq = 0;
};

struct SenderSettings {
  // Values by the variable names that `secret_env` may use.
  std::map<std::string, std::string> secrets;
  // Environment of the programs.
  std::vector<std::string> environment;
};

// Reads the key in `secret_file`, so that a replaced file takes effect with the next delivery. An error if the webhook
// should be signed and its key is missing: it is never sent unsigned then.
std::expected<HookCommand::Plan, std::string> plan_delivery(const model::Notification& entry,
                                                            const NoticeMessage& message, const SenderSettings& sender,
                                                            base::WallTime now);
// Failed commands are not retried, because they may have done part of their work.
WebhookVerdict judge_delivery(const model::Notification& entry, const HookCommand::End& end);

// The program or the masked address, quoted, for messages.
std::string name_of(const model::Notification& entry);

}  // namespace reeve::runtime
