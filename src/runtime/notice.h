#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ledger/unit.h"
#include "model/config.h"

// What people are told of (SPEC §7 `notify`), and in which words.
namespace reeve::runtime {

struct Notice {
  // Of its event.
  std::int64_t seq = 0;
  model::NotifyOn on = model::NotifyOn::failed;
};

// Asked for every event there is: looks at the text, parses nothing.
std::optional<Notice> find_notice(const ledger::StoredEvent& event);

// What the placeholders of a command stand for. Tools have a say in these words: they are one line each, bounded, and
// without anything that a terminal would act on.
struct NoticeText {
  std::string summary;
  std::string event;
  // Of the approval, else of the run.
  std::string id;
  std::string run;
  std::string question;
};
NoticeText describe_notice(const Notice& notice, const ledger::StoredEvent& event);

// Each word with its `{summary}`, `{event}`, `{id}`, `{run}` and `{question}` replaced, other braces as they are: a
// word stays one word, and what is put in is never read for placeholders. A word that the put-in text would make an
// option has a blank before it.
std::vector<std::string> expand_command(const std::vector<std::string>& command, const NoticeText& text);

}  // namespace reeve::runtime
