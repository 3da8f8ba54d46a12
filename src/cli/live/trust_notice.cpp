#include "cli/live/trust_notice.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/connect.h"
#include "json/encode.h"
#include "project/project.h"
#include "project/state_folder.h"
#include "project/trust.h"

namespace reeve::cli {

namespace {

constexpr std::size_t max_named = 20;

void tell_ignored(const spec::ProjectTrust& trust) {
  std::vector<std::string> names;
  for (const spec::IgnoredValue& value : trust.ignored) names.push_back(base::visible(value.path));
  if (names.empty()) return;
  const std::size_t more = names.size() - std::min(names.size(), max_named);
  names.resize(names.size() - more);
  const std::string rest = more > 0 ? fmt::format(", and {} more", more) : std::string();
  if (trust.is_trusted) {
    return print_aside("warning[config.not_yours]: ignored in the project's config, allowed only in your own: {}{}\n",
                       base::join(names, ", "), rest);
  }
  print_aside("warning[config.not_trusted]: this project's config is not trusted; ignored: {}{}\n",
              base::join(names, ", "), rest);
  print_aside("  = `reeve config trust` shows these keys and lets you trust them\n");
}

void tell_commands(const std::filesystem::path& project, const spec::ProjectTrust& trust) {
  if (trust.is_trusted || trust.commands.empty()) return;
  if (project::were_commands_shown(project, trust.commands_digest)) return;
  print_aside("note: this project is not trusted; its config defines these commands (shown once):\n");
  for (const spec::ProjectValue& value : trust.commands) {
    print_aside("  {}: {}\n", base::visible(value.path), base::visible(json::encode(value.value)));
  }
  project::record_commands_shown(project, trust.commands_digest);
}

}  // namespace

void tell_trust(const std::filesystem::path& folder, Brings brings) try {
  if (is_inside_run()) return;
  const auto project = project::find_project(folder);
  if (!project) return;
  // Keys that the daemon refuses are not ignored: trusting them would not help.
  const auto state = project::find_any_state_folder(std::nullopt, *project);
  const project::FoundConfig found = project::load_config(project, {}, project::judge_daemon_keys(*project, state));
  if (!found.has_project_file || !found.loaded) return;
  tell_ignored(found.loaded->project_trust());
  if (brings == Brings::commands) tell_commands(*project, found.loaded->project_trust());
} catch (const base::Error&) {
  // Config errors are reported by the daemon, which reads it too.
}

}  // namespace reeve::cli
