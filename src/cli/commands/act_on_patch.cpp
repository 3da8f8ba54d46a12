#include "cli/commands/act_on_patch.h"

#include <iostream>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/connect.h"
#include "cli/exit_code.h"
#include "cli/live/ask_person.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/patches.h"
#include "client/refusal.h"
#include "view/patch_text.h"
#include "view/problem_text.h"
#include "wire/problem.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

struct Wanted {
  base::PatchId id;
  // The record before the action; empty if there is no such patch.
  std::optional<model::Patch> before = {};
};

// Resolves all ids first, so that an invalid one prevents every change and `@last` stays the same patch.
std::vector<Wanted> find_wanted(const Call& call, client::Daemon& daemon) {
  std::vector<Wanted> wanted;
  for (const std::string& word : call.arguments.positionals()) {
    Wanted& one = wanted.emplace_back(find_patch(daemon, word));
    try {
      one.before = client::get_patch(daemon, one.id).patch;
    } catch (const client::Refusal& refusal) {
      // Reported in its turn.
      if (!refusal.is(ErrorCode::patch_not_found)) throw;
    }
  }
  return wanted;
}

std::string describe(const Wanted& wanted) {
  if (!wanted.before) return wanted.id.text();
  const model::Patch& patch = *wanted.before;
  return fmt::format("{} of {}/{}, {}", wanted.id.text(), patch.execution_id.text(), base::visible(patch.node_id),
                     view::size_text(patch.files));
}

void confirm(const Call& call, const PatchCommand& action, const std::vector<Wanted>& wanted) {
  const bool must_ask = !action.asks.empty() && !call.arguments.has("--yes") && can_ask();
  if (!must_ask) return;
  std::vector<std::string> ids;
  std::vector<std::string> shown;
  for (const Wanted& one : wanted) {
    ids.push_back(one.id.text());
    shown.push_back(describe(one));
  }
  print_aside("{} {}? [y/N] ", action.asks, base::join(shown, "; "));
  std::string line;
  std::getline(std::cin, line);
  const std::string word = base::to_ascii_lower(base::trim(line));
  if (word != "y" && word != "yes") {
    throw base::Error(ErrorCode::cli_given_up, fmt::format("cancelled; {} {} not changed", base::join(ids, ", "),
                                                           ids.size() == 1 ? "was" : "were"));
  }
}

void print_done(const Call& call, const Wanted& wanted, const model::Patch& patch) {
  // Repeating an action changes nothing.
  const bool is_again = wanted.before && wanted.before->state == patch.state;
  if (is_again) {
    print_aside("{} was already {}. Nothing changed.\n", patch.patch_id.text(), base::spell(patch.state));
  }
  if (is_again && call.out_is_terminal) return;
  if (call.out_is_terminal) {
    fmt::print("{}  {}  {}\n", patch.patch_id.text(), view::status_text(patch.state, call.out),
               view::size_text(patch.files));
  } else {
    fmt::print("{}\t{}\n", patch.patch_id.text(), base::spell(patch.state));
  }
}

// Suggests the most similar id among the newest.
base::Error with_meant(const Call& call, client::Daemon& daemon, base::PatchId id, const client::Refusal& refusal) {
  std::vector<std::string> known;
  if (std::string elsewhere = find_elsewhere(call, id.text()); !elsewhere.empty()) {
    return {refusal.error_code(), refusal.message(), std::move(elsewhere)};
  }
  for (const auto& record : client::list_patches(daemon, {}, 100)) known.push_back(record.patch.patch_id.text());
  const auto meant = base::find_closest(id.text(), known);
  if (!meant) return refusal;
  return {refusal.error_code(), refusal.message(), fmt::format("did you mean `{}`?", *meant)};
}

}  // namespace

ExitCode act_on_patches(const Call& call, const PatchCommand& action) {
  client::Daemon daemon(daemon_place(call));
  const std::vector<Wanted> wanted = find_wanted(call, daemon);
  confirm(call, action, wanted);
  ExitCode code = ExitCode::done;
  base::Value::Array wire;
  const auto refuse = [&](const base::Error& error, base::Value document, ExitCode exit) {
    if (code == ExitCode::done) code = exit;
    if (!call.is_json) print_aside("{}", with_prefix(call, view::error_text(error, call.err)));
    wire.push_back(std::move(document));
  };
  for (const Wanted& one : wanted) {
    try {
      client::PatchRecord record = client::act_on_patch(daemon, one.id, action.action);
      if (!call.is_json) print_done(call, one, record.patch);
      wire.push_back(std::move(record.wire));
    } catch (const client::Refusal& refusal) {
      const bool is_unknown = refusal.is(ErrorCode::patch_not_found);
      const base::Error error =
          is_unknown ? with_meant(call, daemon, one.id, refusal) : static_cast<base::Error>(refusal);
      refuse(error, is_unknown ? wire::problem_document(error) : refusal.document(), exit_code_of(refusal));
    }
  }
  if (call.is_json) print_json(call, wire.size() == 1 ? std::move(wire.front()) : base::Value::array(std::move(wire)));
  return code;
}

std::vector<Positional> patch_positionals() {
  return {{.name = "ID", .help = "PA-3, or @last for the newest", .is_repeatable = true, .is_id = true}};
}

}  // namespace reeve::cli
