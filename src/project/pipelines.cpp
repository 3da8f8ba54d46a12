#include "project/pipelines.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "os/file.h"
#include "spec/pipelines_file.h"

namespace reeve::project {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;

[[noreturn]] void throw_unknown(const std::string& name, const model::Pipelines& pipelines, const fs::path& path) {
  std::vector<std::string> names;
  for (const auto& [known, _] : pipelines.pipelines) names.push_back(known);
  const auto meant = base::find_closest(name, names);
  throw Error(ErrorCode::pipeline_not_found,
              fmt::format("there is no pipeline {} in {}", base::quoted(name), base::visible(path.string())),
              meant           ? fmt::format("did you mean `{}`?", *meant)
              : names.empty() ? "add it under `pipelines:`"
                              : fmt::format("available: {}", base::visible(base::join(names, ", "))));
}

}  // namespace

fs::path pipelines_path(const fs::path& project) { return project / ".reeve" / "pipelines.yaml"; }

base::Result<model::Pipelines> load_pipelines(const fs::path& project, const model::Config* config,
                                              const std::string& started) {
  const fs::path path = pipelines_path(project);
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw Error(ErrorCode::pipeline_no_file, fmt::format("there is no {}", base::visible(path.string())),
                "create it: `agents: {coder: {tool: TOOL}}` and `pipelines: {NAME: {steps: [{agent: coder}]}}`");
  }
  auto parsed = spec::parse_pipelines(
      std::make_shared<const spec::Source>(path.string(), os::read_file(path, base::limits::spec_file_bytes)), config,
      started);
  if (parsed && !started.empty() && !parsed->pipelines.contains(started)) throw_unknown(started, *parsed, path);
  return parsed;
}

}  // namespace reeve::project
