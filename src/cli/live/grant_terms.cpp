#include "cli/live/grant_terms.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/live/ask_person.h"
#include "cli/shown_id.h"
#include "client/grants.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

using base::Error;
using base::ErrorCode;

// `exact`, `program` or `path=GLOB`.
void read_match(const std::string& word, wire::GrantTerms& terms) {
  constexpr std::string_view by_path = "path=";
  if (word.starts_with(by_path) && word.size() > by_path.size()) {
    terms.match = model::GrantMatch::path;
    terms.path = word.substr(by_path.size());
    return;
  }
  const auto match = base::find_enum<model::GrantMatch>(word);
  if (!match || *match == model::GrantMatch::path) {
    throw Error(ErrorCode::cli_usage, fmt::format("{} is not a valid match", base::quoted(word)),
                "use exact, program, or path=GLOB, relative to the worktree");
  }
  terms.match = *match;
}

bool is_given(const Confirmation& given, const model::Approval& approval) {
  if (std::ranges::find(given.ids, approval.approval_id) != given.ids.end()) return true;
  return approval.risk != model::Risk::high && given.says_yes;
}

Error confirmation_needed(const std::string& id, const model::Approval& approval, const wire::GrantPreview& preview) {
  const std::string option =
      approval.risk == model::Risk::high ? fmt::format("--confirm={}", id) : std::string("--yes");
  return {ErrorCode::cli_confirmation_needed,
          fmt::format("a standing grant from {} also allows: {}. Nothing was decided", id,
                      base::join(preview.also_allows, "; ")),
          fmt::format("add `{}`, or make it narrower: --match exact --for run", option)};
}

}  // namespace

std::vector<Option> grant_options() {
  return {{.name = "--always", .help = "also allow such tool calls from now on, without asking"},
          {.name = "--for",
           .value = "SCOPE",
           .help = "with --always: for which calls (default run)",
           .choices = {"run", "execution", "project"}},
          {.name = "--match",
           .value = "MATCH",
           .help = "with --always: exact (default), program (with its subcommand), or path=GLOB"},
          {.name = "--expires", .value = "TIME", .help = "with --always: for how long (default 8h, at most 30d)"}};
}

std::optional<wire::GrantTerms> read_grant_terms(const Call& call) {
  if (!call.arguments.has("--always")) {
    for (const std::string_view option : {"--for", "--match", "--expires"}) {
      if (call.arguments.has(option)) {
        throw Error(ErrorCode::cli_usage, fmt::format("`{}` belongs to `--always`", option), "add `--always`");
      }
    }
    return std::nullopt;
  }
  wire::GrantTerms terms;
  if (const auto scope = call.arguments.value("--for")) {
    terms.scope = base::find_enum<model::GrantScope>(*scope).value_or(model::GrantScope::run);
  }
  if (const auto match = call.arguments.value("--match")) read_match(*match, terms);
  if (const auto expires = call.arguments.value("--expires")) {
    const auto time = base::parse_duration(*expires);
    if (!time || *time < std::chrono::seconds(1)) {
      throw Error(ErrorCode::cli_usage, fmt::format("--expires: {} is not a valid time", base::quoted(*expires)),
                  fmt::format("use {}", base::duration_forms));
    }
    terms.expires_in_seconds = std::chrono::duration_cast<std::chrono::seconds>(*time).count();
  }
  return terms;
}

void confirm_grant(const Call& call, const Confirmation& given, client::Daemon& daemon, const model::Approval& approval,
                   wire::GrantTerms& terms) {
  const wire::GrantPreview preview = client::preview_grant(daemon, approval.approval_id, terms);
  // What is confirmed is what was shown: the daemon compares it.
  terms.confirmed = preview.confirm;
  if (!preview.confirm || is_given(given, approval)) return;
  const std::string id = shown_id(call, approval.approval_id.text());
  if (!can_ask()) throw confirmation_needed(id, approval, preview);
  print_aside("A standing grant: {}\n", base::visible(preview.describes));
  for (const std::string& line : preview.also_allows) {
    print_aside("  {} {}\n", call.err.paint(view::Tint::yellow, "this also allows:"), base::visible(line));
  }
  const auto typed = ask_line(
      fmt::format("Grant this until {}? [y/N] ", view::clock_text(preview.expires_at, base::SystemClock().wall_now())));
  const std::string word = base::to_ascii_lower(base::trim(typed.value_or("")));
  if (word == "y" || word == "yes") return;
  throw Error(ErrorCode::cli_given_up, fmt::format("cancelled; {} was not answered", id),
              fmt::format("to allow it only once: reeve approve {}", id));
}

}  // namespace reeve::cli
