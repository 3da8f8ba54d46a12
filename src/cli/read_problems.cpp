#include "cli/read_problems.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "base/limits.h"
#include "json/fields.h"
#include "os/file.h"
#include "project/project.h"

namespace reeve::cli {

namespace {

using base::Value;

std::size_t number_of(const Value& record, std::string_view key) {
  return static_cast<std::size_t>(std::max<std::int64_t>(json::integer_of(record, key).value_or(0), 0));
}

std::shared_ptr<const spec::Source> open_source(const std::string& file, Files files) {
  const bool is_here = files == Files::here && std::filesystem::path(file).is_absolute();
  auto text = is_here ? os::find_file(file, base::limits::spec_file_bytes) : std::nullopt;
  // Piped in, removed, or on another machine: only its name and line are shown.
  if (!text) return std::make_shared<const spec::Source>(file, "");
  return std::make_shared<const spec::Source>(project::shown_path(file), std::move(*text));
}

base::Problem read_problem(const Value& record) {
  base::Problem problem;
  problem.severity = json::text_of(record, "severity") == "warning" ? base::Severity::warning : base::Severity::error;
  problem.code = base::AnyErrorCode::received(json::text_of(record, "code"));
  problem.message = json::text_of(record, "message");
  problem.hint = json::text_of(record, "hint");
  problem.allowed = json::text_of(record, "allowed");
  problem.fix = json::text_of(record, "fix");
  return problem;
}

}  // namespace

base::Problems read_problems(const Value* list, Files files, std::shared_ptr<const spec::Source> sent) {
  base::Problems problems;
  std::map<std::string, std::shared_ptr<const spec::Source>> sources;
  if (sent) sources.emplace(sent->name(), std::move(sent));
  if (list == nullptr || list->as_array() == nullptr) return problems;
  for (const Value& record : *list->as_array()) {
    base::Problem problem = read_problem(record);
    const std::string file = json::text_of(record, "file");
    if (!file.empty()) {
      auto& source = sources[file];
      if (!source) source = open_source(file, files);
      problem.place =
          source->place(number_of(record, "line"), number_of(record, "column"), number_of(record, "length"));
    }
    problems.add(std::move(problem));
  }
  return problems;
}

}  // namespace reeve::cli
