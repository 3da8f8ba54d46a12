#include "runtime/executions/apply_gates.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "ledger/claims.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/run_outputs.h"
#include "runtime/settings/gate_results.h"
#include "store/runs.h"

namespace reeve::runtime {

namespace {

using base::Error;
using model::Run;

struct Found {
  std::optional<ExecutionSettings> settings;
  std::vector<Run> runs;
};

std::string describe_unasked(const std::string& gate, const Error& error) {
  std::string text = fmt::format("gate {} could not be run: {}", base::quoted(gate), error.message());
  if (!error.fix().empty()) text += " (" + error.fix() + ")";
  return text;
}

}  // namespace

void ApplyGates::ask(Isolation::GateCheck wanted, Answer answer) {
  const auto check = std::make_shared<Check>(Check{.wanted = std::move(wanted), .answer = std::move(answer)});
  checks_.insert_or_assign(check->wanted.name, check);
  ask_store(
      parts_.context.ledger, parts_.context.loop,
      [root = check->wanted.root, folder = parts_.context.folder](ledger::Transaction& transaction) {
        Found found{.settings = read_settings(folder, root), .runs = ledger::find_gate_runs(transaction, root)};
        const auto config = ledger::find_root(transaction, root).config;
        if (!found.settings && config) found.settings = decode_public(*config);
        return found;
      },
      [this, check](std::expected<Found, Error> found) {
        const Isolation::GateCheck& asked = check->wanted;
        if (!found) return fail(check, asked.gates.front(), found.error());
        if (!found->settings) return refuse(check, "the config it was started with is lost");
        check->settings = std::move(*found->settings);
        if (check->settings.environment.empty()) check->settings.environment = parts_.context.environment;
        auto ordered = order_gates(check->settings, asked.gates);
        if (!ordered) return refuse(check, describe_unasked(asked.gates.front(), ordered.error()));
        std::erase_if(*ordered, [&](const std::string& gate) {
          return std::ranges::find(asked.gates, gate) == asked.gates.end();
        });
        check->gates = std::move(*ordered);
        for (const Run& run : found->runs) {
          const bool is_its = find_word(run, judged_key) == judged_merge && find_word(run, apply_key) == asked.name &&
                              find_word(run, tree_key) == asked.tree;
          if (is_its && !is_final(run.status)) check->begun.insert_or_assign(find_word(run, gate_key), run.tool_run_id);
        }
        next(check);
      });
}

void ApplyGates::next(const SharedCheck& check) {
  if (check->is_cancelled) return refuse(check, "its execution was cancelled");
  if (check->at == check->gates.size()) return end(check, Isolation::GateVerdict{});
  const std::string& gate = check->gates[check->at];
  if (const auto begun = check->begun.extract(gate)) return follow(check, begun.mapped());
  parts_.isolation.check_out_merge(make_isolation_settings(check->settings), check->wanted, gate,
                                   [this, check, gate](const std::expected<Isolation::Checkout, Error>& made) {
                                     if (!made) return fail(check, gate, made.error());
                                     check->folder = made->folder;
                                     start(check);
                                   });
}

void ApplyGates::start(const SharedCheck& check) {
  if (check->is_cancelled) return refuse(check, "its execution was cancelled");
  const std::string& gate = check->gates[check->at];
  auto plan = plan_gate(check->settings, gate, check->folder);
  if (!plan) return refuse(check, describe_unasked(gate, plan.error()));
  if (auto error = check_gate_folder(check->settings, gate, check->folder)) {
    return refuse(check, describe_unasked(gate, *error));
  }
  plan->execution = check->wanted.root;
  plan->metadata = {{gate_key, gate},
                    {tree_key, check->wanted.tree},
                    {commit_key, check->wanted.commit},
                    {judged_key, judged_merge},
                    {apply_key, check->wanted.name}};
  if (plan->profile.sandbox != model::Sandbox::guard) return launch(check, *plan);
  parts_.sandbox.ask(plan->cwd, [this, check, gate, plan = *plan](const std::optional<Error>& error) {
    if (error) return refuse(check, describe_unasked(gate, *error));
    launch(check, plan);
  });
}

void ApplyGates::launch(const SharedCheck& check, const RunPlan& plan) {
  parts_.context.crash_point("gates.before_start");
  parts_.supervisor.start(
      plan, [](ledger::Transaction&, base::RunId) {},
      [this, check](const std::expected<Run, Error>& run) {
        if (!run) return fail(check, check->gates[check->at], run.error());
        follow(check, run->tool_run_id);
        if (check->is_cancelled) cancel(check->wanted.name);
      });
}

// Waits for the run before reading it, because it may end in between.
void ApplyGates::follow(const SharedCheck& check, base::RunId run) {
  check->run = run;
  followed_.emplace(run, check);
  ask_store(
      parts_.context.ledger, parts_.context.loop,
      [run](ledger::Transaction& transaction) { return store::find_run(transaction.session(), run); },
      [this](const std::expected<std::optional<store::RunRow>, Error>& row) {
        if (row && *row) on_run_changed((*row)->run);
      });
}

void ApplyGates::on_run_changed(const Run& run) {
  if (!is_final(run.status)) return;
  std::vector<SharedCheck> ended;
  const auto [first, last] = followed_.equal_range(run.tool_run_id);
  for (auto at = first; at != last; ++at) ended.push_back(at->second);
  followed_.erase(first, last);
  for (const SharedCheck& check : ended) on_gate_end(check, run);
}

void ApplyGates::on_gate_end(const SharedCheck& check, const Run& run) {
  parts_.context.crash_point("gates.after_end");
  check->run.reset();
  // For a run begun by an earlier daemon, only the run knows its folder.
  const std::string folder = check->folder.empty() ? run.cwd : check->folder;
  parts_.isolation.discard(make_isolation_settings(check->settings), folder);
  check->folder.clear();
  const std::string& gate = check->gates[check->at];
  if (read_gate_word(run) != GateWord::yes) return refuse(check, describe_refusal(gate, run));
  ++check->at;
  next(check);
}

void ApplyGates::cancel(const std::string& name) {
  const auto found = checks_.find(name);
  if (found == checks_.end()) return;
  const SharedCheck check = found->second;
  check->is_cancelled = true;
  if (check->run) {
    parts_.supervisor.cancel(*check->run, {.by = "reeve", .reason = "its execution was cancelled"},
                             [](const std::expected<Run, Error>&) {});
  }
}

void ApplyGates::refuse(const SharedCheck& check, const std::string& why) {
  end(check, Isolation::GateVerdict{.refusal = why});
}

// The store was unreachable, so there is no verdict: the check is repeated.
void ApplyGates::fail(const SharedCheck& check, const std::string& gate, const Error& error) {
  if (error.is_in(base::ErrorArea::store)) return end(check, std::unexpected(error));
  refuse(check, describe_unasked(gate, error));
}

void ApplyGates::end(const SharedCheck& check, const std::expected<Isolation::GateVerdict, Error>& verdict) {
  if (std::exchange(check->is_over, true)) return;
  const auto found = checks_.find(check->wanted.name);
  if (found != checks_.end() && found->second == check) checks_.erase(found);
  if (!check->folder.empty()) parts_.isolation.discard(make_isolation_settings(check->settings), check->folder);
  check->answer(verdict);
}

}  // namespace reeve::runtime
