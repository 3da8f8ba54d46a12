#include "view/approval_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "json/decode.h"
#include "json/encode.h"
#include "json/fields.h"
#include "view/call_text.h"
#include "view/patch_text.h"
#include "view/project_names.h"
#include "view/run_text.h"
#include "view/safe_text.h"
#include "view/status.h"

namespace reeve::view {

namespace {

using base::WallTime;
using model::Approval;
using model::ApprovalOption;
using model::ApprovalStatus;

constexpr std::size_t asker_columns = 24;
constexpr std::size_t question_columns = 50;
constexpr std::size_t options_columns = 30;
constexpr std::size_t key_columns = 14;
constexpr std::size_t max_context = 40;
constexpr std::size_t max_argument_lines = 400;

// Collapses blanks, so that no text is pushed out of view.
std::string on_one_line(std::string_view text) {
  std::string result;
  for (const std::string& line : safe_lines(text)) {
    for (const char c : line) {
      const bool is_blank = c == ' ' || c == '\t';
      if (!is_blank) {
        result += c;
      } else if (!result.empty() && result.back() != ' ') {
        result += ' ';
      }
    }
    if (!result.empty() && result.back() != ' ') result += ' ';
  }
  return std::string(base::trim(result));
}

std::string option_line(const ApprovalOption& option, std::size_t width) {
  std::string value = base::visible(option.value);
  const std::string label = on_one_line(option.label);
  const bool says_more = !label.empty() && base::to_ascii_lower(label) != base::to_ascii_lower(option.value);
  if (!says_more) return value;
  value.append(width - std::min(width, base::display_width(value)), ' ');
  return value + "  " + label;
}

std::size_t widest_value(const std::vector<ApprovalOption>& options) {
  constexpr std::size_t most = 24;
  std::size_t width = 0;
  for (const ApprovalOption& option : options)
    width = std::max(width, base::display_width(base::visible(option.value)));
  return std::min(width, most);
}

std::string_view delivery_text(const Approval& approval) {
  if (approval.asked_by) return "the caller reads it; nothing in Reeve waits for it";
  switch (approval.delivery) {
    case model::Delivery::rerun:
      return "the tool is restarted with the answer";
    case model::Delivery::live:
      return "the tool receives it on its socket";
    case model::Delivery::terminal:
      return "it is typed into the tool's terminal";
    case model::Delivery::node:
      return "the workflow continues";
    case model::Delivery::apply:
      return "the changes are applied to your checkout";
  }
  return "";
}

std::string decider_of(const Approval& approval) {
  std::string text(base::spell(approval.status));
  if (approval.decided_by) text += " by " + base::visible(*approval.decided_by);
  return text;
}

// One field per line, for `reeve show`.
class Fields {
 public:
  Fields(const Style& style, std::optional<WallTime> now) : style_(style), now_(now) {}

  void line(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    if (now_) {
      text_ += fmt::format("{}{}\n", head(key), base::visible(value));
    } else {
      text_ += fmt::format("{}\t{}\n", key, base::visible(value));
    }
  }
  // When piped, one line with escaped line ends.
  void lines(std::string_view key, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    if (!now_) return line(key, base::join(lines, "\n"));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      // Tabs are kept.
      text_ += fmt::format("{}{}\n", head(i == 0 ? key : ""), lines[i]);
    }
  }
  void time(std::string_view key, const std::optional<WallTime>& moment) {
    if (!moment) return;
    if (!now_) return line(key, base::format_time(*moment));
    const bool is_over = *moment <= *now_;
    line(key, fmt::format("{} ({}{}{})", base::format_time(*moment), is_over ? "" : "in ",
                          age_text(is_over ? *now_ - *moment : *moment - *now_), is_over ? " ago" : ""));
  }
  void title(std::string text) { text_ += std::move(text); }
  std::string take() { return std::move(text_); }

 private:
  std::string head(std::string_view key) const {
    const std::string padded = fmt::format("{:<{}}", key, key_columns);
    return key.empty() ? padded : style_.paint(Tint::dim, padded);
  }

  const Style& style_;
  std::optional<WallTime> now_;
  std::string text_;
};

void describe_risk(const Approval& approval, Fields& fields, bool is_terminal) {
  std::vector<std::string> reasons;
  for (const std::string& reason : approval.risk_reasons) reasons.push_back(safe_line(reason));
  const std::string risk(base::spell(approval.risk));
  if (!is_terminal) {
    fields.line("risk", risk);
    return fields.lines("risk_reasons", reasons);
  }
  if (reasons.empty()) reasons.emplace_back();
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    const std::string head = i == 0 ? risk : std::string(risk.size(), ' ');
    reasons[i] = reasons[i].empty() ? head : head + "  " + reasons[i];
  }
  fields.lines("risk", reasons);
}

void describe_question(const Approval& approval, Fields& fields, const Style& style, bool is_terminal) {
  fields.lines("question", question_lines(approval));
  if (is_terminal) fields.lines("context", context_lines(approval, style, max_context));
  describe_risk(approval, fields, is_terminal);
  std::vector<std::string> options;
  const std::size_t width = widest_value(approval.options);
  for (const ApprovalOption& option : approval.options) {
    std::string line = option_line(option, width);
    const bool is_default = approval.default_value == option.value;
    if (is_default || !approves(option)) {
      line += fmt::format("  ({}{}{})", is_default ? "default" : "", is_default && !approves(option) ? ", " : "",
                          approves(option) ? "" : "rejects");
    }
    options.push_back(std::move(line));
  }
  fields.lines("options", options);
  if (approval.secret) fields.line("secret", "asks for a secret, which is typed into the tool and never stored");
  if (approval.advisory) {
    const std::string_view why = approval.asked_by ? "outside of runs: the caller could approve its own request"
                                                   : "no sandbox: the tool could approve its own request";
    fields.line("advisory", is_terminal ? why : "true");
  }
}

// ISO-4: the patches, next to the question whether to apply them to the checkout.
void describe_change(const base::Value& arguments, Fields& fields, const Style& style) {
  fields.line("branch", json::text_of(arguments, "branch"));
  const base::Value* patches = arguments.find("patches");
  if (patches != nullptr) {
    const auto ids = json::from_value<std::vector<std::string>>(*patches);
    if (ids) fields.line("patches", base::join(*ids, ", "));
  }
  const base::Value* files = arguments.find("files");
  if (files == nullptr) return;
  const auto changed = json::from_value<std::vector<model::PatchFile>>(*files);
  if (changed) fields.lines("changes", file_lines(*changed, style));
}

// The inputs that a human node shows with its question (GRF-12). Their names come from a tool, so they are kept apart
// from the approval's own fields.
void describe_node(const base::Value& arguments, Fields& fields) {
  const auto text_of = [](const base::Value& value) {
    const std::string* text = value.as_string();
    return text != nullptr ? *text : json::encode(value);
  };
  if (const base::Value* description = arguments.find("description")) {
    fields.lines("description", safe_lines(text_of(*description)));
  }
  const base::Value* inputs = arguments.find("inputs");
  if (inputs == nullptr || inputs->as_object() == nullptr) return;
  std::vector<std::string> lines;
  for (const base::Member& member : *inputs->as_object()) {
    const std::vector<std::string> words = safe_lines(text_of(member.value));
    if (member.value.is_null() || words.empty()) continue;
    const std::string name = base::visible(member.key);
    lines.push_back(words.size() == 1 ? fmt::format("{}: {}", name, words.front()) : name + ":");
    if (words.size() == 1) continue;
    for (const std::string& line : words) lines.push_back("  " + line);
  }
  fields.lines("inputs", lines);
}

void describe_action(const Approval& approval, const std::optional<model::Run>& run, Fields& fields, const Style& style,
                     bool is_terminal) {
  const bool is_change = is_terminal && approval.delivery == model::Delivery::apply;
  // A decided or expired question has no pending consequence.
  const bool is_open = approval.status == ApprovalStatus::pending;
  const bool is_call = approval.kind == model::ApprovalKind::tool_call;
  // A call is described by its arguments; the command of its run would be taken for it.
  if (run && !is_call) {
    // A tool that lives reads the answer; nothing is started.
    const bool would_run = is_open && approval.delivery == model::Delivery::rerun;
    fields.line(would_run ? "would run" : "command", command_text(run->argv));
    fields.line("cwd", run->cwd);
  }
  const bool is_of_node = approval.delivery == model::Delivery::node;
  if (approval.arguments && is_of_node) describe_node(*approval.arguments, fields);
  if (approval.arguments && is_call && is_terminal) {
    fields.lines("arguments", argument_lines(*approval.arguments, style, max_argument_lines));
  } else if (approval.arguments && !is_of_node && !is_change) {
    fields.line("arguments", json::encode(*approval.arguments));
  }
  fields.line("digest", approval.digest.value_or(""));
  if (is_open) fields.line("then", is_call ? "the agent receives the answer" : delivery_text(approval));
}

}  // namespace

std::string asker_text(const Approval& approval) {
  if (approval.asked_by) return base::visible(*approval.asked_by);
  if (approval.execution_id && approval.node_id) {
    return fmt::format("{}/{}", approval.execution_id->text(), base::visible(*approval.node_id));
  }
  if (approval.execution_id && !approval.tool_run_id && !approval.tool_name) return approval.execution_id->text();
  std::string text = approval.tool_name ? base::visible(*approval.tool_name) : std::string();
  if (approval.tool_run_id) text += (text.empty() ? "" : " ") + approval.tool_run_id->text();
  return text;
}

std::string origin_text(const Approval& approval) {
  std::string text = asker_text(approval);
  const std::string run = approval.tool_run_id ? approval.tool_run_id->text() : std::string();
  if (!run.empty() && !text.ends_with(run)) text += ", " + run;
  if (approval.project) text += fmt::format(" ({})", base::visible(approval.project->name));
  return text;
}

std::string risk_text(const Approval& approval) {
  std::vector<std::string> reasons;
  for (const std::string& reason : approval.risk_reasons) reasons.push_back(safe_line(reason));
  std::string text = fmt::format("{} risk", base::spell(approval.risk));
  if (!reasons.empty()) text += ": " + base::join(reasons, "; ");
  return text;
}

std::vector<std::string> context_lines(const Approval& approval, const Style& style, std::size_t most) {
  std::vector<std::string> lines = safe_lines(approval.context.value_or(""));
  if (lines.size() > most) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
  const std::string bar = fmt::format("{} ", style.pick("│", "|"));
  for (std::string& line : lines) line.insert(0, bar);
  return lines;
}

std::vector<std::string> question_lines(const Approval& approval) {
  return approval.kind == model::ApprovalKind::tool_call ? exact_lines(approval.question)
                                                         : safe_lines(approval.question);
}

std::string question_line(const Approval& approval) {
  if (approval.kind == model::ApprovalKind::tool_call) return base::join(question_lines(approval), "; ");
  return on_one_line(approval.question);
}

std::string options_text(const Approval& approval) {
  std::string text;
  for (const ApprovalOption& option : approval.options) {
    text += text.empty() ? "" : ", ";
    text += base::visible(option.value);
    if (approval.default_value == option.value) text += '*';
  }
  return text;
}

std::string answer_command(const Approval& approval) {
  const std::string id = approval.approval_id.text();
  return model::takes_text(approval) ? fmt::format("reeve answer {} TEXT", id) : fmt::format("reeve approve {}", id);
}

std::string until_text(const Approval& approval, WallTime now) {
  return approval.expires_at ? fmt::format("until {}, then reject", clock_text(*approval.expires_at, now)) : "";
}

std::string decision_text(const Approval& approval, WallTime now) {
  if (approval.status == ApprovalStatus::pending) return {};
  std::string text = decider_of(approval);
  if (approval.comment && !approval.comment->empty()) text += ": " + on_one_line(*approval.comment);
  if (approval.decided_at) text += fmt::format(" ({} ago)", age_text(now - *approval.decided_at));
  return text;
}

Table approvals_table(const std::vector<Approval>& approvals, const Style& style, std::optional<WallTime> now) {
  if (!now) {
    Table table(
        {"ID", "STATUS", "WHO", "QUESTION", "OPTIONS", "SINCE", "UNTIL", "CHOSEN", "BY", "ADVISORY", "PROJECT"});
    for (const Approval& approval : approvals) {
      table.add({approval.approval_id.text(), std::string(base::spell(approval.status)), asker_text(approval),
                 question_line(approval), options_text(approval), base::format_time(approval.created_at),
                 approval.expires_at ? base::format_time(*approval.expires_at) : "", approval.chosen_value.value_or(""),
                 approval.decided_by.value_or(""), approval.advisory ? "advisory" : "", path_text(approval.project)});
    }
    return table;
  }
  Table table({"ID", "STATUS", "WHO", "QUESTION", "OPTIONS", "AGE", "NOTE", "PROJECT"});
  ProjectNames projects;
  projects.add_all(approvals);
  table.shorten_first(4);
  // When the terminal is narrow, the end of the question's time matters more than its options.
  constexpr std::size_t columns_for_options = 100;
  const bool is_narrow = now && style.columns > 0 && style.columns < columns_for_options;
  const auto fit = [&](const std::string& text, std::size_t columns) {
    return base::fit_width(text, columns, style.ascii);
  };
  for (const Approval& approval : approvals) {
    const Look look = look_of(approval.status);
    const bool is_pending = approval.status == ApprovalStatus::pending;
    std::string note = is_pending ? until_text(approval, *now) : fit(decision_text(approval, *now), question_columns);
    if (is_pending && approval.advisory) note += note.empty() ? "advisory" : "; advisory";
    table.add({{approval.approval_id.text()},
               {fmt::format("{} {}", style.pick(look.sign, look.ascii), base::spell(approval.status)), look.tint},
               {fit(asker_text(approval), asker_columns)},
               {fit(question_line(approval), question_columns)},
               {is_narrow ? std::string() : fit(options_text(approval), options_columns)},
               {age_text(*now - approval.created_at)},
               {note},
               {projects.of(approval.project)}});
  }
  return table;
}

std::string approval_details(const Approval& approval, const std::optional<model::Run>& run, const Style& style,
                             std::optional<WallTime> now) {
  Fields fields(style, now);
  if (now) {
    fields.title(fmt::format("{}  {}  {}\n\n", style.paint(Tint::bold, approval.approval_id.text()),
                             asker_text(approval), status_text(approval.status, style)));
  } else {
    fields.line("approval_id", approval.approval_id.text());
    fields.line("status", base::spell(approval.status));
    fields.line("tool_name", approval.tool_name.value_or(""));
  }
  describe_question(approval, fields, style, now.has_value());
  if (!now) fields.line("context", approval.context.value_or(""));
  const bool is_change = now && approval.delivery == model::Delivery::apply && approval.arguments;
  if (is_change) describe_change(*approval.arguments, fields, style);
  describe_action(approval, run, fields, style, now.has_value());
  fields.line("project", path_text(approval.project));
  fields.line("tool_run_id", approval.tool_run_id ? approval.tool_run_id->text() : "");
  fields.line("execution_id", approval.execution_id ? approval.execution_id->text() : "");
  fields.line("node_id", approval.node_id.value_or(""));
  fields.line("agent_id", approval.agent_id ? approval.agent_id->text() : "");
  fields.line("tool_ref", approval.tool_ref.value_or(""));
  fields.line("asked_by", approval.asked_by.value_or(""));
  fields.line("attempt", fmt::format("{}", approval.attempt));
  fields.time("created_at", approval.created_at);
  fields.time("expires_at", approval.expires_at);
  if (now && !approval.expires_at) fields.line("expires_at", "never");
  const std::string diff = is_change ? diff_text(json::text_of(*approval.arguments, "diff"), style) : std::string();
  if (!diff.empty() && approval.status == ApprovalStatus::pending) fields.title("\n" + diff);
  if (approval.status == ApprovalStatus::pending) return fields.take();
  if (now) fields.line("decision", decider_of(approval));
  if (!now) fields.line("decided_by", approval.decided_by.value_or(""));
  fields.line("chosen_value", approval.chosen_value.value_or(""));
  if (approval.answer) fields.line("answer", base::quoted(*approval.answer));
  fields.lines("comment", safe_lines(approval.comment.value_or("")));
  fields.time("decided_at", approval.decided_at);
  // A node uses the answer directly, without a grant.
  const bool is_grant = approval.status == ApprovalStatus::approved && approval.delivery != model::Delivery::node;
  if (is_grant) fields.line("use", base::spell(approval.use));
  return fields.take();
}

std::string numbered_options(const std::vector<ApprovalOption>& options, const Style& style) {
  std::string text;
  const std::size_t width = widest_value(options);
  for (std::size_t i = 0; i < options.size(); ++i) {
    text +=
        fmt::format("  {}  {}\n", style.paint(Tint::bold, fmt::format("{}", i + 1)), option_line(options[i], width));
  }
  return text;
}

}  // namespace reeve::view
