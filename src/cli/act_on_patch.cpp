#include "cli/act_on_patch.h"

#include <iostream>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/ask_person.h"
#include "cli/connect.h"
#include "cli/exit_code.h"
#include "client/patches.h"
#include "client/refusal.h"
#include "view/patch_text.h"
#include "view/problem_text.h"
#include "wire/problem.h"

namespace reeve::cli {

namespace {

void confirm(const Call& call, const PatchDeed& deed) {
  const bool must_ask = !deed.asks.empty() && !call.arguments.has("--yes") && can_ask();
  if (!must_ask) return;
  const std::string ids = base::visible(base::join(call.arguments.positionals(), ", "));
  print_aside("{} {}? [y/N] ", deed.asks, ids);
  std::string line;
  std::getline(std::cin, line);
  const std::string word = base::to_ascii_lower(base::trim(line));
  if (word != "y" && word != "yes") throw base::Error("cli.given_up", fmt::format("{} stays as it is", ids));
}

void print_done(const Call& call, const model::Patch& patch) {
  if (call.out_is_terminal) {
    fmt::print("{}  {}  {}\n", patch.patch_id.text(), view::status_text(patch.state, call.out),
               view::size_text(patch.files));
  } else {
    fmt::print("{}\t{}\n", patch.patch_id.text(), base::spell(patch.state));
  }
}

// Which of the newest was probably meant.
base::Error with_meant(client::Daemon& daemon, base::PatchId id, const client::Refusal& refusal) {
  std::vector<std::string> known;
  for (const auto& record : client::list_patches(daemon, {}, 100)) known.push_back(record.patch.patch_id.text());
  const auto meant = base::find_closest(id.text(), known);
  if (!meant) return refusal;
  return {refusal.code(), refusal.message(), fmt::format("did you mean `{}`?", *meant)};
}

}  // namespace

ExitCode act_on_patches(const Call& call, const PatchDeed& deed) {
  confirm(call, deed);
  client::Daemon daemon(daemon_place(call));
  ExitCode code = ExitCode::done;
  base::Value::Array wire;
  const auto refuse = [&](const base::Error& error, base::Value document, ExitCode exit) {
    if (code == ExitCode::done) code = exit;
    if (!call.is_json) print_aside("{}", view::error_text(error, call.err));
    wire.push_back(std::move(document));
  };
  for (const std::string& word : call.arguments.positionals()) {
    const base::PatchId id = find_patch(daemon, word);
    try {
      client::PatchRecord record = client::act_on_patch(daemon, id, deed.action);
      if (!call.is_json) print_done(call, record.patch);
      wire.push_back(std::move(record.wire));
    } catch (const client::Refusal& refusal) {
      const bool is_unknown = refusal.code() == "patch.not_found";
      const base::Error error = is_unknown ? with_meant(daemon, id, refusal) : static_cast<base::Error>(refusal);
      refuse(error, is_unknown ? wire::problem_document(error) : refusal.document(), exit_code_of(refusal));
    }
  }
  if (call.is_json) print_json(call, wire.size() == 1 ? std::move(wire.front()) : base::Value::array(std::move(wire)));
  return code;
}

std::vector<Positional> patch_positionals() {
  return {{.name = "ID", .help = "PA-3, or @last for the newest", .is_repeatable = true}};
}

}  // namespace reeve::cli
