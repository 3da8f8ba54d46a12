#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/text.h"
#include "view/approval_text.h"
#include "view/execution_text.h"
#include "view/overview_text.h"
#include "view/project_names.h"
#include "view/run_text.h"

namespace reeve::view {

namespace {

using model::Run;

std::string reason_of(const model::Patch& patch) {
  return patch.history.empty() ? std::string() : patch.history.back().reason.value_or("");
}

std::string maker_of(const model::Patch& patch) {
  return fmt::format("{}/{}", patch.execution_id.text(), base::visible(patch.node_id));
}

Table part_table(const News& news, const Style& style) {
  std::vector<Run> others;
  std::ranges::copy_if(news.runs, std::back_inserter(others),
                       [&](const Run& run) { return !waits_for(run, news.approvals); });
  Table table = runs_table({}, style, {});
  for (const model::Approval& approval : news.approvals) {
    table.add({approval.approval_id.text(), std::string(base::spell(approval.status)), asker_text(approval),
               base::format_time(approval.created_at), "", "", question_line(approval), path_text(approval.project)});
  }
  for (const model::Execution& execution : news.executions) {
    table.add({execution.execution_id.text(), std::string(base::spell(execution.status)), execution.workflow_name,
               base::format_time(execution.started_at), "", "", execution_note(execution),
               path_text(execution.project)});
  }
  for (const model::Patch& patch : news.patches) {
    table.add({patch.patch_id.text(), std::string(base::spell(patch.state)), maker_of(patch),
               base::format_time(patch.created_at), "", "", reason_of(patch), path_text(patch.project)});
  }
  add_runs(table, by_attention(std::move(others)), style, {});
  return table;
}

}  // namespace

Table overview_table(const std::vector<News>& parts, const Style& style) {
  Table table = runs_table({}, style, {});
  for (const News& news : parts) table.add_rows_of(part_table(news, style), news.prefix);
  return table;
}

}  // namespace reeve::view
