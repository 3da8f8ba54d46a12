#include "runtime/settings/gate_results.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "runtime/runs/run_outputs.h"

namespace reeve::runtime {

namespace {

using model::Run;

std::string describe_broken(const std::string& gate, const Run& run) {
  std::string text = fmt::format("gate {} gave no result: ", base::quoted(gate));
  // A plain failure is obvious from the text; a timeout or cancellation is not.
  const bool is_plain = run.status == model::RunStatus::failed && run.reason;
  if (!is_plain) text += base::spell(run.status);
  if (run.reason) text += (is_plain ? "" : ", ") + *run.reason;
  if (run.last_error && run.last_error != run.reason) text += ": " + *run.last_error;
  return text;
}

}  // namespace

std::string find_word(const Run& run, const char* key) {
  const auto found = run.metadata.find(key);
  return found != run.metadata.end() ? found->second : std::string();
}

bool only_warns(const model::Gate& gate) {
  return gate.severity == model::GateSeverity::warning || gate.on_fail == model::OnGateFail::warn;
}

std::string describe_refusal(const std::string& gate, const Run& run) {
  if (read_gate_word(run) == GateWord::broken) return describe_broken(gate, run);
  std::string text = fmt::format("gate {} did not pass", base::quoted(gate));
  if (run.exit_code) text += fmt::format(" (exit code {})", *run.exit_code);
  return text;
}

std::vector<std::string> find_gates_to_ask(const std::vector<Run>& runs,
                                           const std::map<std::string, model::Gate>& gates, const std::string& tree) {
  std::vector<std::string> asked;
  std::set<std::string> passed;
  std::set<std::string> passed_here;
  const auto set = [](std::set<std::string>& names, const std::string& name, bool is_in) {
    if (is_in) {
      names.insert(name);
    } else {
      names.erase(name);
    }
  };
  for (const Run& run : runs) {
    const std::string gate = find_word(run, gate_key);
    const std::string judged_tree = find_word(run, tree_key);
    if (judged_tree.empty() || !is_final(run.status)) continue;
    const GateWord word = read_gate_word(run);
    if (judged_tree == tree) set(passed_here, gate, word == GateWord::yes);
    const std::string judged = find_word(run, judged_key);
    if (judged == judged_merge) continue;
    if (std::ranges::find(asked, gate) == asked.end()) asked.push_back(gate);
    if (word == GateWord::yes || judged == judged_branch) set(passed, gate, word == GateWord::yes);
  }
  std::erase_if(asked, [&](const std::string& gate) {
    const auto terms = gates.find(gate);
    const bool is_mild = terms != gates.end() && only_warns(terms->second);
    return is_mild || !passed.contains(gate) || passed_here.contains(gate);
  });
  return asked;
}

std::optional<std::string> find_refusal(const std::vector<Run>& runs, const std::string& apply) {
  const auto is_its = [&](const Run& run) {
    return find_word(run, judged_key) == judged_merge && find_word(run, apply_key) == apply;
  };
  const auto last = std::find_if(runs.rbegin(), runs.rend(), is_its);
  if (last == runs.rend() || !is_final(last->status) || read_gate_word(*last) == GateWord::yes) return std::nullopt;
  return describe_refusal(find_word(*last, gate_key), *last);
}

}  // namespace reeve::runtime
