#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ledger/event.h"
#include "model/config.h"

// Notifications (SPEC §7 `notify`) and their wording.
namespace reeve::runtime {

struct Notice {
  // Number of the event.
  std::int64_t seq = 0;
  model::NotifyOn on = model::NotifyOn::failed;
};

// Reads the text only of an event without facts.
std::optional<Notice> find_notice(const ledger::StoredEvent& event);

// Values of the placeholders in a command. They contain text from tools, so each is a single line of limited length,
// without terminal control sequences.
// Only the body may have several lines.
struct NoticeText {
  std::string summary;
  std::string title;
  std::string body;
  std::string event;
  // Id of the approval, otherwise of the run or execution.
  std::string id;
  std::string run;
  std::string execution;
  std::string question;
};
NoticeText describe_notice(const Notice& notice, const ledger::StoredEvent& event);

// The text of `reeve notify test`.
NoticeText describe_test();

// Replaces the names of model::notify_placeholders in braces, such as `{summary}`, in each argument; other braces and
// `${name}` are kept. An argument stays one argument, and inserted text is not expanded again. An argument that the
// inserted text would turn into an option gets a leading space.
std::vector<std::string> expand_command(const std::vector<std::string>& command, const NoticeText& text);

}  // namespace reeve::runtime
