#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/time.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/enum.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/approvals.h"
#include "client/calls.h"
#include "client/executions.h"
#include "client/grants.h"
#include "client/patches.h"
#include "client/runs.h"
#include "project/project.h"
#include "project/workflows.h"
#include "view/call_text.h"

namespace reeve::cli {

namespace {

// The user waits at the prompt: what is not known by then is not offered (UX: 50 ms with the start of the program).
#ifdef REEVE_SANITIZED
constexpr long limit_us = 900'000;
#else
constexpr long limit_us = 40'000;
#endif
constexpr std::size_t max_live = 100;
constexpr std::size_t max_recent = 20;
constexpr std::string_view workflow_kind = "workflow";

// The program ends in time and prints nothing, even if the daemon hangs or another program answers at its address.
void end_in_time() {
  std::signal(SIGALRM, [](int) { ::_exit(0); });
  itimerval timer{};
  timer.it_value.tv_usec = limit_us;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

class IdListing {
 public:
  void add(std::string id, std::string_view about) {
    if (std::ranges::find(ids_, id, &Row::first) != ids_.end()) return;
    // One line without terminal sequences, because a shell shows it as it is.
    ids_.emplace_back(std::move(id), base::visible(base::truncate_utf8(about, 60)));
  }

  void print(const Call& call) const {
    base::Value records = base::Value::array();
    std::string text;
    for (const auto& [id, about] : ids_) {
      text += fmt::format("{}\t{}\n", id, about);
      records.as_array()->push_back(
          base::Value::object({{"id", base::Value::string(id)}, {"about", base::Value::string(about)}}));
    }
    if (call.is_json) return print_json(call, records);
    fmt::print("{}", text);
  }

 private:
  using Row = std::pair<std::string, std::string>;
  std::vector<Row> ids_;
};

void list_runs(client::Daemon& daemon, IdListing& ids) {
  const std::vector<std::string> alive = {"running", "stalled", "waiting_approval", "queued"};
  for (const bool is_live : {true, false}) {
    const auto runs =
        client::list_runs(daemon, is_live ? alive : std::vector<std::string>(), is_live ? max_live : max_recent);
    for (const client::RunRecord& record : runs) {
      ids.add(record.run.tool_run_id.text(),
              fmt::format("{} {}", record.run.tool_name, base::spell(record.run.status)));
    }
  }
}

void list_executions(client::Daemon& daemon, IdListing& ids) {
  const std::vector<std::string> alive = {"running", "waiting_approval"};
  for (const bool is_live : {true, false}) {
    client::ExecutionSelection selection;
    if (is_live) selection.statuses = alive;
    for (const auto& record : client::list_executions(daemon, selection, is_live ? max_live : max_recent)) {
      ids.add(record.execution.execution_id.text(),
              fmt::format("{} {}", record.execution.workflow_name, base::spell(record.execution.status)));
    }
  }
}

void list_ids(client::Daemon& daemon, const std::string& kind, IdListing& ids) {
  if (kind == base::ApprovalId::prefix) {
    for (const auto& record : client::list_approvals(daemon, {}, max_live)) {
      ids.add(record.approval.approval_id.text(), record.approval.question);
    }
  } else if (kind == base::RunId::prefix) {
    list_runs(daemon, ids);
  } else if (kind == base::ExecutionId::prefix) {
    list_executions(daemon, ids);
  } else if (kind == base::PatchId::prefix) {
    for (const auto& record : client::list_patches(daemon, {}, max_recent)) {
      ids.add(record.patch.patch_id.text(), base::spell(record.patch.state));
    }
  } else if (kind == base::CallId::prefix) {
    for (const auto& record : client::list_calls(daemon, {}, max_recent)) {
      ids.add(record.call.call_id.text(),
              fmt::format("{} {}", record.call.tool, view::call_subject(record.call.arguments)));
    }
  } else if (kind == base::GrantId::prefix) {
    for (const auto& record : client::list_grants(daemon, {}, max_live)) {
      ids.add(record.grant.grant_id.text(), record.grant.describes);
    }
  }
}

// The names that `flow run` takes, read from the project's folder.
void list_workflows(IdListing& ids) {
  std::error_code error;
  const auto project = project::find_project(std::filesystem::current_path(error));
  if (!project) return;
  for (const std::filesystem::path& file : project::list_workflow_files(*project)) {
    const std::string name = file.stem().string();
    // Others would need quotes.
    constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    if (name.find_first_not_of(plain) == std::string::npos) ids.add(name, file.lexically_relative(*project).string());
  }
}

ExitCode run(const Call& call) {
  end_in_time();
  IdListing ids;
  try {
    const std::vector<std::string>& kinds = call.arguments.positionals();
    if (std::ranges::find(kinds, workflow_kind) != kinds.end()) list_workflows(ids);
    client::DaemonPlace place = daemon_place(call);
    place.no_start = "completion starts none";
    client::Daemon daemon(std::move(place));
    for (const std::string& kind : kinds) {
      if (daemon.is_running()) list_ids(daemon, kind, ids);
    }
  } catch (const base::Error&) {
    // A shell completes without ids; the command itself will report the error.
  }
  ids.print(call);
  return ExitCode::done;
}

}  // namespace

Command make_completion_ids() {
  return {
      .name = "completion ids",
      .summary = "Print what a command could take, for completion scripts",
      .about =
          R"(Prints a line for each pending approval (AP), live or recent run (TR) and execution (EX), recent patch (PA)
and tool call (TC), standing grant (GR), or workflow of the project (workflow): what to type, a tab, and what it is. It starts no daemon, and prints no ids if the
daemon does not answer within 40 ms.)",
      .examples = {{"reeve completion ids AP TR", "pending approvals, then runs"}},
      .positionals = {{.name = "KIND",
                       .help = "AP, TR, EX, PA, TC, GR or workflow",
                       .choices = {"AP", "TR", "EX", "PA", "TC", "GR", workflow_kind},
                       .is_repeatable = true}},
      .options = {},
      .run = run,
      .is_internal = true,
  };
}

}  // namespace reeve::cli
