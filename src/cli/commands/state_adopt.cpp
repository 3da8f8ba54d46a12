#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/commands/stop_daemon.h"
#include "cli/connect.h"
#include "cli/live/ask_person.h"
#include "cli/state_survey.h"
#include "json/describe.h"
#include "project/state_folder.h"
#include "project/state_identity.h"
#include "view/table.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

namespace fs = std::filesystem;

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

base::Value to_record(const fs::path& folder, const StateSurvey& survey, bool has_database) {
  base::Value record = base::Value::object();
  record.set("state", base::Value::string(folder.string()));
  record.set("has_database", base::Value::boolean(has_database));
  record.set("live_runs", base::Value::integer(survey.runs));
  record.set("open_executions", base::Value::integer(survey.executions));
  record.set("pending_approvals", base::Value::integer(survey.approvals));
  record.set("tokens", base::Value::integer(survey.tokens));
  return record;
}

void print_survey(const Call& call, const fs::path& folder, const StateSurvey& survey, bool has_database) {
  if (!has_database) {
    print_aside("{} has no database. Its other contents are moved aside, and it starts with an empty database.\n",
                base::visible(folder.string()));
    return;
  }
  print_aside("a daemon started in {} would resume {}, {} and {}, and accept {} at its port.\n",
              base::visible(folder.string()), plural(survey.runs, "run"), plural(survey.executions, "execution"),
              plural(survey.approvals, "approval"), plural(survey.tokens, "token"));
  view::Table table({"id", "status", "what"});
  for (const StateSurvey::Entry& entry : survey.entries) {
    table.add({base::visible(entry.id), base::visible(entry.status), base::visible(entry.what)});
  }
  if (!survey.entries.empty()) print_aside("{}", table.for_terminal(call.err));
}

bool may_adopt(const Call& call) {
  if (call.arguments.has("--yes")) return true;
  if (!can_ask()) {
    throw base::Error(ErrorCode::cli_usage, "cannot ask for confirmation here; the folder was not accepted",
                      "review it, then run this again with --yes");
  }
  print_aside("Accept it? Its runs, questions and tokens will then act as yours. [y/N] ");
  std::string line;
  std::getline(std::cin, line);
  const std::string_view word = base::trim(line);
  return word == "y" || word == "Y" || word == "yes";
}

// A folder that is known and intact needs no confirmation.
bool is_known(const fs::path& folder) {
  try {
    project::check_database_files(project::check_state_folder(folder));
    return true;
  } catch (const base::Error& error) {
    if (error.is(ErrorCode::state_moved)) throw;
    return false;
  }
}

ExitCode run(const Call& call) {
  refuse_host(call, "state adopt");
  if (is_inside_run()) {
    throw base::Error(ErrorCode::project_denied, "a process inside a run cannot accept a state folder",
                      "run it in your own shell");
  }
  const fs::path folder = fs::absolute(call.arguments.positional(0)).lexically_normal();
  const fs::path root = folder.filename().empty() ? folder.parent_path() : folder;
  project::check_state_place(root);
  project::refuse_links(root, 3);
  if (const auto holder = find_holder({.folder = root, .socket = project::StateFolder{root}.socket()})) {
    throw base::Error(ErrorCode::daemon_already_running,
                      fmt::format("a daemon (pid {}) is running in {}", *holder, base::quoted(root.string())),
                      fmt::format("reeve stop --state {}", root.string()));
  }
  if (is_known(root)) {
    if (call.is_json) {
      print_json(call, to_record(root, {}, true));
    } else {
      fmt::print("{} is already accepted\n", base::visible(root.string()));
    }
    return ExitCode::done;
  }
  const bool has_database = fs::exists(root / "reeve.db");
  const StateSurvey survey = has_database ? survey_state(root / "reeve.db") : StateSurvey();
  print_survey(call, root, survey, has_database);
  if (!may_adopt(call)) throw base::Error(ErrorCode::cli_given_up, "cancelled; nothing was accepted");
  // First, because it refuses a folder that is not a state folder before anything in it is moved.
  project::adopt_state_folder(root);
  if (!has_database) project::set_state_aside(root);
  if (call.is_json) {
    print_json(call, to_record(root, survey, has_database));
  } else {
    fmt::print("{} is now accepted\n", base::visible(root.string()));
  }
  return ExitCode::done;
}

}  // namespace

Command make_state_adopt() {
  return {
      .name = "state adopt",
      .summary = "Accept a state folder that Reeve did not create here",
      .about =
          R"(Reeve starts a daemon only in state folders that it created itself; one that came with a clone, an archive
or an older Reeve is refused, because its database could make a daemon run commands. This command shows what
is pending in such a folder, without starting or changing anything, asks for confirmation and registers it.

A folder without a database is accepted as an empty one: its other contents are moved into `before-…`.

Exit codes: 0 accepted, now or earlier; 2 no terminal to ask at and no --yes; 4 a daemon is running in it;
5 called from inside a run; 6 a link, another user's folder, or moved or copied; 130 declined.)",
      .examples = {{"reeve state adopt .reeve/state", "review it and confirm"},
                   {"reeve state adopt /srv/reeve --yes", "in a script"}},
      .positionals = {{.name = "DIR", .help = "the state folder"}},
      .options = {{.name = "--yes", .help = "accept without asking"}},
      .run = run,
  };
}

}  // namespace reeve::cli
