#include "engine/risk.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/file_kinds.h"
#include "engine/policy.h"
#include "engine/risk_words.h"

namespace reeve::engine {

namespace {

using model::Risk;
using model::RiskLevels;
using Rule = Risk RiskLevels::*;
using Source = RiskSubject::Source;

constexpr std::size_t max_named = 3;
constexpr std::size_t max_name_bytes = 100;
constexpr std::size_t max_reasons = 10;
// Strings read from the arguments of a call, at any depth.
constexpr std::size_t max_strings = 1'000;

struct FileRule {
  Rule rule;
  bool (*matches)(std::string_view path);
  std::string_view noun;
};
constexpr auto file_rules = std::to_array<FileRule>({
    {&RiskLevels::reeve_files, is_reeve_file, "Reeve's own files"},
    {&RiskLevels::agent_config, is_agent_config, "the configuration of an agent"},
    {&RiskLevels::ci_files, is_ci_file, "CI files"},
    {&RiskLevels::deploy_files, is_deploy_file, "deployment files"},
    {&RiskLevels::secrets, names_secret_file, "files that may contain secrets"},
});

std::string list_names(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), max_named); ++i) {
    text += i == 0 ? "" : ", ";
    text += base::visible(base::truncate_utf8(names[i], max_name_bytes));
  }
  if (names.size() > max_named) text += fmt::format(" and {} more", names.size() - max_named);
  return text;
}

void collect_strings(const base::Value& value, std::vector<std::string>& strings) {
  if (strings.size() >= max_strings) return;
  if (const std::string* text = value.as_string()) {
    strings.push_back(*text);
  } else if (const base::Value::Array* array = value.as_array()) {
    for (const base::Value& element : *array) collect_strings(element, strings);
  } else if (const base::Value::Object* object = value.as_object()) {
    for (const base::Member& member : *object) collect_strings(member.value, strings);
  }
}

// The rules that apply, each with its reason.
class Assessment {
 public:
  explicit Assessment(const RiskLevels& levels) : levels_(levels) {}

  void apply(Rule rule, std::string reason) { found_.push_back({levels_.*rule, std::move(reason)}); }

  void apply_to_files(const std::vector<std::string>& paths, std::string_view verb) {
    for (const FileRule& rule : file_rules) {
      std::vector<std::string> matching;
      std::ranges::copy_if(paths, std::back_inserter(matching), rule.matches);
      if (matching.empty()) continue;
      apply(rule.rule, fmt::format("{} {}: {}", verb, rule.noun, list_names(matching)));
    }
  }

  void apply_to_command(const RiskyWords& words, std::string_view verb) {
    if (words.has_push) apply(&RiskLevels::git_push, fmt::format("{} `git push`", verb));
    if (!words.deletes.empty()) apply(&RiskLevels::file_delete, fmt::format("{} `{}`", verb, words.deletes));
  }

  RiskVerdict take() {
    RiskVerdict verdict{.risk = std::ranges::max_element(found_, {}, &Found::risk)->risk, .reasons = {}};
    for (Found& found : found_) {
      const bool decides = found.risk == verdict.risk && verdict.reasons.size() < max_reasons;
      const bool is_new = std::ranges::find(verdict.reasons, found.reason) == verdict.reasons.end();
      if (decides && is_new) verdict.reasons.push_back(std::move(found.reason));
    }
    return verdict;
  }

 private:
  struct Found {
    Risk risk;
    std::string reason;
  };
  const RiskLevels& levels_;
  std::vector<Found> found_;
};

void assess_call(const RiskSubject::Call& call, bool is_sandboxed, Assessment& assessment) {
  const std::string tool = base::visible(base::truncate_utf8(call.tool, max_name_bytes));
  if (only_reads(call.tool, call.arguments, call.place)) {
    assessment.apply(&RiskLevels::reading, fmt::format("{} only reads, inside the worktree", tool));
  } else {
    assessment.apply(&RiskLevels::tool_call, fmt::format("{} may change something", tool));
  }
  const bool pushes = call.tool == "git_push" || call.tool == "force_push";
  const bool deletes = call.tool == "file_delete" || call.tool == "delete";
  if (pushes) assessment.apply(&RiskLevels::git_push, fmt::format("{} pushes commits to a remote", tool));
  if (deletes) assessment.apply(&RiskLevels::file_delete, fmt::format("{} deletes files", tool));
  if (call.tool == "shell_execute" && !is_sandboxed) {
    assessment.apply(&RiskLevels::shell_without_sandbox, "runs a shell command outside a sandbox");
  }
  std::vector<std::string> strings;
  collect_strings(call.arguments, strings);
  RiskyWords words = find_risky_words(base::join(strings, "\n"));
  // Every argument may be a path, also one with blanks.
  std::ranges::copy_if(strings, std::back_inserter(words.paths),
                       [](const std::string& text) { return text.find('\n') == std::string::npos; });
  assessment.apply_to_command(words, "names");
  assessment.apply_to_files(words.paths, "names");
}

void assess_words(const RiskSubject& subject, Assessment& assessment) {
  const RiskyWords words = find_risky_words(base::join(subject.words, "\n"));
  assessment.apply_to_command(words, "the question names");
  assessment.apply_to_files(words.paths, "the question names");
  RiskyWords screen = find_risky_words(subject.screen);
  // What the question names as well is said once.
  screen.has_push = screen.has_push && !words.has_push;
  if (screen.deletes == words.deletes) screen.deletes.clear();
  std::erase_if(screen.paths,
                [&](const std::string& path) { return std::ranges::find(words.paths, path) != words.paths.end(); });
  assessment.apply_to_command(screen, "the screen names");
  assessment.apply_to_files(screen.paths, "the screen names");
  const bool is_of_tool = subject.source == Source::question || subject.source == Source::prompt;
  if (is_of_tool && (words.has_shell || screen.has_shell) && !subject.is_sandboxed) {
    assessment.apply(&RiskLevels::shell_without_sandbox, "asks to run a shell command outside a sandbox");
  }
}

void assess_source(const RiskSubject& subject, Assessment& assessment) {
  switch (subject.source) {
    case Source::question:
      return assessment.apply(&RiskLevels::question, "Reeve cannot tell what the tool does next");
    case Source::prompt:
      return assessment.apply(&RiskLevels::prompt, "Reeve cannot tell what the tool does next");
    case Source::tool_call:
      if (!subject.call) assessment.apply(&RiskLevels::tool_call, "an unknown tool call");
      return;
    case Source::workflow:
    case Source::changes:
      break;
  }
  const std::size_t count = subject.files.size();
  if (count > 0 || (subject.knows_all_files && subject.source == Source::changes)) {
    assessment.apply(&RiskLevels::changes, fmt::format("changes {} file{}", count, count == 1 ? "" : "s"));
  } else if (!subject.knows_all_files) {
    assessment.apply(&RiskLevels::changes, "files may have changed; Reeve cannot tell which");
  } else {
    assessment.apply(&RiskLevels::workflow_question, "a workflow asks; no files have changed");
  }
}

}  // namespace

RiskVerdict assess_risk(const RiskSubject& subject, const RiskLevels& levels) {
  Assessment assessment(levels);
  assess_source(subject, assessment);
  if (subject.call) assess_call(*subject.call, subject.is_sandboxed, assessment);
  assessment.apply_to_files(subject.files, "changes");
  if (!subject.deleted_files.empty()) {
    assessment.apply(&RiskLevels::file_delete, fmt::format("deletes {}", list_names(subject.deleted_files)));
  }
  const RiskyWords command = find_risky_command(subject.command);
  assessment.apply_to_command(command, "runs");
  assessment.apply_to_files(command.paths, "runs a script that names");
  assess_words(subject, assessment);
  return assessment.take();
}

}  // namespace reeve::engine
