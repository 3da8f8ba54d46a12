#include "cli/live/confirm.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/live/ask_person.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "view/approval_text.h"
#include "view/call_text.h"

namespace reeve::cli {

namespace {

using base::Error;
using base::ErrorCode;
using model::Risk;

// Lines of the screen shown above a question; `reeve show` shows all.
constexpr std::size_t max_context = 12;
constexpr std::size_t max_call_lines = 24;

bool is_given(const Confirmation& given, const model::Approval& approval) {
  if (approval.risk == Risk::low) return true;
  if (std::ranges::find(given.ids, approval.approval_id) != given.ids.end()) return true;
  return approval.risk == Risk::medium && given.says_yes;
}

// "Approve AP-7 with `2` (Yes, always)".
std::string action_text(const Call& call, const model::Approval& approval, const client::Verdict& verdict) {
  const std::string id = shown_id(call, approval.approval_id.text());
  if (verdict.answer) return fmt::format("Answer {} with {}", id, base::quoted(*verdict.answer));
  if (!verdict.choice) return fmt::format("Approve {}", id);
  const auto option = std::ranges::find(approval.options, *verdict.choice, &model::ApprovalOption::value);
  const bool has_label = option != approval.options.end() && !option->label.empty() && option->label != option->value;
  return fmt::format("Approve {} with {}{}", id, base::quoted(*verdict.choice),
                     has_label ? fmt::format(" ({})", base::visible(option->label)) : std::string());
}

Error confirmation_needed(const Call& call, const model::Approval& approval) {
  const std::string id = shown_id(call, approval.approval_id.text());
  return {
      ErrorCode::cli_confirmation_needed,
      fmt::format("{} needs a confirmation: {}. Nothing was decided", id, view::risk_text(approval)),
      fmt::format("read it with `reeve show {}`, then add `{}`", id, base::trim(confirming_option(call, approval)))};
}

// The first lines of what would run.
void print_lines(const Call& call, const std::string& id, const std::vector<std::string>& lines) {
  const std::size_t shown = std::min(lines.size(), max_call_lines);
  for (std::size_t i = 0; i < shown; ++i) print_aside("  {}\n", lines[i]);
  const std::size_t cut = lines.size() - shown;
  if (cut == 0) return;
  print_aside("  {}\n",
              call.err.paint(view::Tint::dim, fmt::format("{} {} more line{}: reeve show {}", call.err.pick("…", "..."),
                                                          cut, cut == 1 ? "" : "s", id)));
}

void show(const Call& call, const model::Approval& approval) {
  const std::string id = shown_id(call, approval.approval_id.text());
  const std::vector<std::string> all = view::context_lines(approval, call.err, std::string::npos);
  const std::size_t cut = all.size() > max_context ? all.size() - max_context : 0;
  if (cut > 0) {
    const std::string note =
        fmt::format("{} {} more line{}: reeve show {}", call.err.pick("…", "..."), cut, cut == 1 ? "" : "s", id);
    print_aside("  {}\n", call.err.paint(view::Tint::dim, note));
  }
  for (std::size_t i = cut; i < all.size(); ++i) print_aside("  {}\n", call.err.paint(view::Tint::dim, all[i]));
  if (approval.kind != model::ApprovalKind::tool_call) {
    return print_aside("{} {} asks: {}\n  {}\n", id, view::origin_text(approval), view::question_line(approval),
                       view::risk_text(approval));
  }
  print_aside("{} {} asks:\n", id, view::origin_text(approval));
  print_lines(call, id, view::question_lines(approval));
  if (approval.arguments) {
    print_lines(call, id, view::argument_lines(*approval.arguments, call.err, std::string::npos));
  }
  print_aside("  {}\n", view::risk_text(approval));
}

}  // namespace

std::vector<Option> confirmation_options() {
  return {
      {.name = "--yes", .help = "confirm an approval of medium risk"},
      {.name = "--confirm", .value = "ID", .help = "confirm this approval, also of high risk", .is_repeatable = true}};
}

Confirmation read_confirmation(const Call& call) {
  Confirmation given{.says_yes = call.arguments.has("--yes")};
  for (const std::string& word : call.arguments.values("--confirm")) {
    // Written as the call names its approval; all ids of a call are of one state folder.
    const auto split = split_prefixed_id(word);
    const auto id = base::ApprovalId::parse(split ? split->second : word);
    if (!id || (split && split->first != call.prefix)) {
      throw Error(ErrorCode::cli_usage, fmt::format("--confirm: {} is not an approval id", base::quoted(word)),
                  "give the id that you have read, such as --confirm=AP-4");
    }
    given.ids.push_back(*id);
  }
  return given;
}

void confirm(const Call& call, const Confirmation& given, const model::Approval& approval,
             const client::Verdict& verdict) {
  if (is_given(given, approval)) return;
  if (!can_ask()) throw confirmation_needed(call, approval);
  show(call, approval);
  const std::string action = action_text(call, approval, verdict);
  const auto typed = ask_line(approval.risk == Risk::high ? fmt::format("{}? Type {} to confirm: ", action,
                                                                        shown_id(call, approval.approval_id.text()))
                                                          : fmt::format("{}? [y/N] ", action));
  if (typed && is_confirmation(approval, without_prefix(std::string(base::trim(*typed))))) return;
  throw Error(ErrorCode::cli_given_up,
              fmt::format("cancelled; {} was not answered", shown_id(call, approval.approval_id.text())));
}

std::string confirming_option(const Call& call, const model::Approval& approval) {
  switch (approval.risk) {
    case Risk::low:
      break;
    case Risk::medium:
      return " --yes";
    case Risk::high:
      return fmt::format(" --confirm={}", shown_id(call, approval.approval_id.text()));
  }
  return {};
}

bool is_confirmation(const model::Approval& approval, std::string_view line) {
  const std::string_view word = base::trim(line);
  if (approval.risk == Risk::high) return base::ApprovalId::parse(word) == approval.approval_id;
  const std::string lower = base::to_ascii_lower(word);
  return lower == "y" || lower == "yes";
}

}  // namespace reeve::cli
