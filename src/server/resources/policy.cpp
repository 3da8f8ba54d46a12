#include "engine/policy.h"

#include <deque>
#include <filesystem>
#include <utility>

#include <climits>

#include "json/decode.h"
#include "json/describe.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/own_project.h"
#include "wire/settings.h"

// /api/policy: rules for agents' tool calls (TOOL-1).
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;

namespace fs = std::filesystem;

void show(SharedExchange exchange) {
  exchange->send(200, json::to_value(wire::PolicyTable{
                          .policies = load_config(*exchange).policies,
                          .defaults = {.tools = model::default_policies(), .roles = model::default_role_policies()}}));
}

// Resolves an absolute path like the kernel: `..` after a link is relative to its target, and dangling links are
// followed. Empty if that is not possible.
std::string follow_links(const std::string& path) {
  constexpr int max_links = 40;
  fs::path at = "/";
  std::deque<fs::path> rest;
  const auto put_first = [&](const fs::path& parts) { rest.insert(rest.begin(), parts.begin(), parts.end()); };
  put_first(fs::path(path).relative_path());
  for (int links = 0; !rest.empty();) {
    const fs::path part = rest.front();
    rest.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      at = at.parent_path();
      continue;
    }
    std::error_code error;
    const fs::file_status status = fs::symlink_status(at / part, error);
    if (status.type() == fs::file_type::none) return {};
    if (!fs::is_symlink(status)) {
      at /= part;
      continue;
    }
    const fs::path target = fs::read_symlink(at / part, error);
    if (error || ++links > max_links) return {};
    if (target.is_absolute()) at = "/";
    put_first(target.relative_path());
  }
  return at.string();
}

// Applies to paths that are written as if inside the project; others are not resolved.
engine::CallPlace look_at_paths(const fs::path& project, const base::Value& arguments) {
  // Enough for the paths of a call; any beyond count as outside.
  constexpr std::size_t max_looked_at = 64;
  engine::CallPlace place{.folder = project.string(), .real_folder = {}, .real_paths = {}};
  const auto paths = engine::find_paths(arguments);
  if (project.empty() || !paths) return place;
  place.real_folder = follow_links(project.string());
  for (const std::string& path : *paths) {
    if (!engine::locate_path(place, path).beneath) continue;
    const bool looks = place.real_paths.size() < max_looked_at && path.size() < PATH_MAX;
    const std::string written = path.starts_with('/') ? path : project.string() + "/" + path;
    place.real_paths.emplace(path, looks ? follow_links(written) : std::string());
  }
  return place;
}

// Evaluates the rules; nothing is asked or run.
void check(SharedExchange exchange) {
  const auto question = json::from_value<wire::PolicyQuestion>(exchange->body());
  if (!question) throw Error(ErrorCode::api_bad_request, question.error());
  if (question->tool.empty())
    throw Error(ErrorCode::api_bad_request, "`tool` is required: the name of a tool, such as file_write");
  const base::Value arguments = question->arguments.value_or(base::Value::object());
  if (arguments.as_object() == nullptr) throw Error(ErrorCode::api_bad_request, "`arguments` must be an object");
  const std::filesystem::path named = named_project(*exchange, question->project);
  const model::Config config = load_config_around(*exchange, named);
  const std::filesystem::path folder = named.empty() ? own_project(exchange->daemon) : named;
  auto verdict = engine::resolve_policy(config.policies, question->role.value_or(""), question->tool, arguments,
                                        look_at_paths(folder, arguments));
  exchange->send(200, json::to_value(wire::PolicyAnswer{.tool = question->tool,
                                                        .role = question->role,
                                                        .policy = verdict.policy,
                                                        .source = std::move(verdict.source)}));
}

}  // namespace

std::vector<Operation> policy_operations(json::Schemas& schemas) {
  return {{.method = "GET",
           .path = "/api/policy",
           .handle = show,
           .name = "getPolicy",
           .inside = InRunAccess::refused,
           .summary = "Get the policy rules of the config and the defaults (TOOL-1)",
           .query = {project_parameter()},
           .replies = {{200, schemas.of<wire::PolicyTable>()}},
           .errors = {ErrorCode::config_invalid},
           .is_tagged = true},
          {.method = "POST",
           .path = "/api/policy/check",
           .handle = check,
           .name = "checkPolicy",
           .inside = InRunAccess::refused,
           .summary = "Evaluate the policy for a tool call and name the deciding rule; nothing is asked or run",
           .body = schemas.of_request<wire::PolicyQuestion>({"tool"}),
           .replies = {{200, schemas.of<wire::PolicyAnswer>()}},
           .errors = {ErrorCode::config_invalid}}};
}

}  // namespace reeve::server
