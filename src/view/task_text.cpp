#include "view/task_text.h"

#include <fmt/format.h>

#include "base/enum.h"
#include "base/text.h"
#include "view/project_names.h"
#include "view/status.h"

namespace reeve::view {

std::string task_details(const model::Task& task, const Style& style, std::optional<base::WallTime> now) {
  constexpr std::size_t key_columns = 14;
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) {
    if (value.empty()) return;
    if (now) {
      const std::string padded = fmt::format("{:<{}}", key, key_columns);
      text += fmt::format("{}{}\n", style.paint(Tint::dim, padded), base::visible(value));
    } else {
      text += fmt::format("{}\t{}\n", key, base::visible(value));
    }
  };
  const auto time = [&](std::string_view key, const std::optional<base::WallTime>& at) {
    if (!at) return;
    line(key, now ? fmt::format("{} ({} ago)", base::format_time(*at), age_text(*now - *at)) : base::format_time(*at));
  };
  const std::string status(base::spell(task.status));
  if (now) {
    text +=
        fmt::format("{}  {}  {}\n\n", style.paint(Tint::bold, task.task_id.text()), base::visible(task.title), status);
  } else {
    line("task_id", task.task_id.text());
    line("title", task.title);
    line("status", status);
  }
  line("project", path_text(task.project));
  line("description", task.description.value_or(""));
  line("role", task.role.value_or(""));
  line("priority", fmt::format("{}", task.priority));
  std::vector<std::string> after;
  for (const base::TaskId id : task.after) after.push_back(id.text());
  line("after", base::join(after, " "));
  line("agent_id", task.agent_id ? task.agent_id->text() : "");
  line("execution_id", task.execution_id ? task.execution_id->text() : "");
  time("created_at", task.created_at);
  time("completed_at", task.completed_at);
  return text;
}

}  // namespace reeve::view
