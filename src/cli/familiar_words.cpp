#include "cli/familiar_words.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/id.h"
#include "base/text.h"

namespace reeve::cli {

namespace {

struct FamiliarWord {
  std::string_view word;
  // With {} or {0} for the id, or the run's placeholder.
  std::string_view for_run;
  // If an execution needs another command.
  std::string_view for_execution = {};
};

constexpr std::string_view removal =
    "records are kept: `reeve cancel {0}` ends a live one, `reeve seen {0}` dismisses a failure, `reeve prune` removes "
    "old ones";

constexpr std::string_view removal_of_flow =
    "executions are kept: `reeve cancel {0}` ends a live one, `reeve prune` removes old ones";

constexpr std::array familiar_words = {
    FamiliarWord{"ps", "`reeve runs` lists runs; `reeve` alone shows what needs you now"},
    FamiliarWord{"ls", "`reeve runs` lists runs, `reeve flow list` executions"},
    FamiliarWord{"list", "`reeve runs` lists runs, `reeve flow list` executions"},
    FamiliarWord{"status", "`reeve show {}` shows one; `reeve` alone shows what needs you now",
                 "`reeve flow show {}` shows it; `reeve` alone shows what needs you now"},
    FamiliarWord{"top", "`reeve` alone shows what needs you now; `reeve web` opens the page"},
    FamiliarWord{"kill", "`reeve cancel {}` ends it; with `--kill`, without a grace period"},
    FamiliarWord{"abort", "`reeve cancel {}`"},
    FamiliarWord{"retry", "`reeve rerun {}`; for an execution: `reeve flow retry EX`", "`reeve flow retry {}`"},
    FamiliarWord{"restart", "`reeve rerun {}`; for an execution: `reeve flow retry EX`", "`reeve flow retry {}`"},
    FamiliarWord{"watch", "`reeve logs -f {0}` follows its output; `reeve attach {0}` also types into it",
                 "`reeve wait {}` shows it until it ends"},
    FamiliarWord{"tail", "`reeve logs -f {}`"},
    FamiliarWord{"inbox", "`reeve approvals` lists the questions that wait for you"},
    FamiliarWord{"questions", "`reeve approvals` lists the questions that wait for you"},
    FamiliarWord{"allow", "`reeve approve AP`"},
    FamiliarWord{"accept", "`reeve approve AP`"},
    FamiliarWord{"rm", removal},
    FamiliarWord{"delete", removal},
    FamiliarWord{"history", "`reeve runs` lists runs, `reeve flow list` executions, `reeve audit list` decisions"},
    FamiliarWord{"dashboard", "`reeve` alone shows what needs you now; `reeve web` opens the page"},
    FamiliarWord{"dismiss", "`reeve seen {}`"},
    FamiliarWord{"exec", "`reeve run -- COMMAND`"},
    FamiliarWord{"start", "`reeve run -- COMMAND` runs a command, `reeve flow run FILE` a workflow"},
    FamiliarWord{"diff", "`reeve flow diff EX` shows what an execution changed, `reeve patch show PA` one patch",
                 "`reeve flow diff {}`"},
    FamiliarWord{"tutorial", "`reeve demo` shows what Reeve does in half a minute; TUTORIAL.md takes ten minutes"},
    FamiliarWord{"docs", "`man reeve` or `reeve help COMMAND`; `reeve demo` shows what Reeve does"},
    FamiliarWord{"guide", "`man reeve` or `reeve help COMMAND`; `reeve demo` shows what Reeve does"},
};

// After `reeve flow`.
constexpr std::array words_of_flow = {
    FamiliarWord{"ls", "`reeve flow list`"},
    FamiliarWord{"ps", "`reeve flow list --status running`"},
    FamiliarWord{"history", "`reeve flow list`; `reeve flow show EX` shows the steps of one", "`reeve flow show {}`"},
    FamiliarWord{"status", "`reeve flow show EX`", "`reeve flow show {}`"},
    FamiliarWord{"logs", "`reeve logs EX` shows the output of all its runs", "`reeve logs {}`"},
    FamiliarWord{"watch", "`reeve wait EX` shows it until it ends", "`reeve wait {}` shows it until it ends"},
    FamiliarWord{"rm", removal_of_flow},
    FamiliarWord{"delete", removal_of_flow},
};

}  // namespace

std::string find_familiar(std::string_view group, std::string_view word, const std::vector<std::string>& rest) {
  const std::string lower = base::to_ascii_lower(word);
  const bool is_of_flow = group == "flow";
  if (!group.empty() && !is_of_flow) return {};
  const std::span<const FamiliarWord> words =
      is_of_flow ? std::span<const FamiliarWord>(words_of_flow) : std::span<const FamiliarWord>(familiar_words);
  const auto found = std::ranges::find(words, lower, &FamiliarWord::word);
  if (found == words.end()) return {};
  for (const std::string& given : rest) {
    const auto execution = base::ExecutionId::parse(given);
    const auto run = base::RunId::parse(given);
    if (!execution && !run) continue;
    const bool has_own = execution && !found->for_execution.empty();
    return fmt::format(fmt::runtime(has_own ? found->for_execution : found->for_run),
                       execution ? execution->text() : run->text());
  }
  return fmt::format(fmt::runtime(found->for_run), is_of_flow ? "EX" : "TR");
}

}  // namespace reeve::cli
