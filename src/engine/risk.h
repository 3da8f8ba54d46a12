#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "engine/call_path.h"
#include "model/risk.h"

// The risk of an approval (APR-3).
namespace reeve::engine {

// What is known about the action that an approval permits. Text from a tool can raise the risk, never lower it: a low
// risk follows only from `source`, the files and `call`, which Reeve determines itself.
struct RiskSubject {
  enum class Source {
    // A tool asked, by any channel.
    question,
    // A prompt on a tool's terminal.
    prompt,
    tool_call,
    // A human node of a workflow.
    workflow,
    // Whether to apply changes to the user's checkout.
    changes,
  };
  Source source = Source::question;
  // The question, its options, its description.
  std::vector<std::string> words = {};
  // What the screen shows around the question.
  std::string screen = {};
  // The argument vector that approval starts again.
  std::vector<std::string> command = {};
  // The changed files that the question is about, as far as they are known.
  std::vector<std::string> files = {};
  // Those of them that the change deletes.
  std::vector<std::string> deleted_files = {};
  bool knows_all_files = false;
  struct Call {
    // Reeve's name of the tool.
    std::string tool;
    // An object.
    base::Value arguments;
    CallPlace place;
  };
  std::optional<Call> call = {};
  bool is_sandboxed = false;
};

struct RiskVerdict {
  model::Risk risk = model::Risk::medium;
  // Short sentences without control characters; at least one, at most ten, of limited length.
  std::vector<std::string> reasons;
};

// The highest level of the rules that apply. Whatever is unknown is at least of the level of its source.
RiskVerdict assess_risk(const RiskSubject& subject, const model::RiskLevels& levels);

}  // namespace reeve::engine
