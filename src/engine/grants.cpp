#include "engine/grants.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/glob.h"
#include "base/text.h"
#include "engine/file_kinds.h"
#include "engine/policy.h"
#include "engine/shell_call.h"
#include "engine/shell_command.h"
#include "model/program_kinds.h"

namespace reeve::engine {

namespace {

using model::GrantMatch;
using model::GrantScope;

constexpr std::string_view shell_tool = "shell_execute";
constexpr std::size_t max_shown_command = 300;
constexpr std::size_t max_glob = 1'024;

bool fits_glob(std::string_view glob, const CallSubject& subject) {
  const auto paths = find_paths(subject.arguments);
  if (!paths || paths->empty()) return false;
  while (glob.starts_with("./")) glob.remove_prefix(2);
  return std::ranges::all_of(*paths, [&](const std::string& path) {
    return std::ranges::all_of(locate_all(subject.place, path), [&](const CallPath& each) {
      return each.beneath && base::matches_glob(glob, *each.beneath) && !is_sensitive_file(*each.beneath);
    });
  });
}

// A folder or pattern whose files may hold secrets: the glob fits its name, not theirs.
bool reads_many(const CallSubject& subject) {
  const auto paths = find_paths(subject.arguments);
  return paths && std::ranges::any_of(
                      *paths, [&](const std::string& path) { return subject.place.may_hold_secrets.contains(path); });
}

// The resolved program and its subcommand; empty if the call is not one simple command. The name that it is called by
// is not stored: find_shell_objection() accepts no other than that of the file.
std::vector<std::string> program_of(const CallSubject& subject) {
  const auto argv = find_call_argv(subject.arguments);
  if (!argv || !subject.program) return {};
  std::vector<std::string> program = {subject.program->path};
  if (const std::string_view subcommand = model::find_subcommand(*argv); !subcommand.empty())
    program.emplace_back(subcommand);
  return program;
}

// "/usr/bin/git status", for people: which program it is.
std::string show_program(const std::vector<std::string>& program) { return base::visible(base::join(program, " ")); }

std::string show_call(const CallSubject& subject) {
  std::string text;
  if (const base::Value* command = subject.arguments.find("command")) {
    if (command->as_string() != nullptr) text = *command->as_string();
  } else if (const auto argv = find_call_argv(subject.arguments)) {
    text = format_simple_command(*argv).value_or(base::join(*argv, " "));
  }
  if (subject.tool != shell_tool || text.empty()) {
    const auto paths = find_paths(subject.arguments);
    text = paths && !paths->empty() ? fmt::format("{} {}", subject.tool, base::join(*paths, " ")) : subject.tool;
  }
  const std::string shown = base::visible(base::truncate_utf8(text, max_shown_command));
  return text.size() > max_shown_command ? shown + "…" : shown;
}

std::optional<std::string> find_program_grant_objection(const CallSubject& subject) {
  if (subject.tool != shell_tool) return "`program` applies to shell commands; use `exact` or `path`";
  const std::string found = find_shell_objection(subject, ShellExtent::program);
  if (found.empty()) return std::nullopt;
  std::string_view objection = found;
  // What a rule can say instead is another word than a grant's.
  if (objection.ends_with(model::exact_instead)) {
    objection.remove_suffix(model::exact_instead.size());
    if (objection.ends_with("; ")) objection.remove_suffix(2);
  }
  return fmt::format("not by program: {}; use `exact`", objection);
}

std::optional<std::string> find_path_grant_objection(const CallSubject& subject, std::string_view glob) {
  if (subject.tool == shell_tool) return "`path` does not apply to shell commands; use `exact` or `program`";
  if (!is_file_tool(subject.tool)) {
    return fmt::format("what {} does with other arguments than paths is not known; use `exact`",
                       base::quoted(base::truncate_utf8(subject.tool, max_shown_command)));
  }
  const bool is_relative = !glob.empty() && glob.size() <= max_glob && !glob.starts_with('/') && !glob.starts_with('~');
  const std::vector<std::string_view> parts = base::split(glob, '/');
  if (!is_relative || std::ranges::find(parts, "..") != parts.end() || base::find_invalid_utf8(glob)) {
    return "the pattern must be relative to the worktree, such as `src/**`";
  }
  if (!fits_glob(glob, subject) || reads_many(subject)) {
    return "the pattern does not cover this call; files of git, Reeve and agents and files that may hold secrets are "
           "never covered";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_grant_objection(const model::Policies& policies, const CallSubject& subject,
                                                const GrantTerms& terms) {
  const PolicyVerdict found = resolve_policy(policies, subject);
  if (found.policy == model::Policy::deny) {
    return fmt::format("{} denies the call; a grant never overrides that", base::visible(found.source));
  }
  if (terms.match == GrantMatch::exact) return std::nullopt;
  if (found.may_be_denied) return "a rule that denies may cover other such calls; use `exact`";
  return terms.match == GrantMatch::program ? find_program_grant_objection(subject)
                                            : find_path_grant_objection(subject, terms.path);
}

model::Grant make_grant(const CallSubject& subject, const std::string& digest, const GrantTerms& terms) {
  model::Grant grant;
  grant.agent = subject.agent;
  grant.tool = subject.tool;
  grant.scope = terms.scope;
  grant.match = terms.match;
  switch (terms.match) {
    case GrantMatch::exact:
      grant.digest = digest;
      grant.describes = fmt::format("exactly this call: {}", show_call(subject));
      break;
    case GrantMatch::program:
      grant.program = program_of(subject);
      REEVE_ASSERT(!grant.program.empty());
      grant.describes = fmt::format("{} in any folder of the worktree", show_program(grant.program));
      break;
    case GrantMatch::path:
      grant.path = terms.path;
      grant.describes = fmt::format("{} of {} in the worktree", base::visible(subject.tool), base::visible(terms.path));
      break;
  }
  return grant;
}

std::vector<std::string> describe_extent(const model::Grant& grant) {
  std::vector<std::string> lines;
  switch (grant.match) {
    case GrantMatch::exact:
      break;
    case GrantMatch::program:
      lines.push_back(
          fmt::format("{} with any other arguments, also on files outside the worktree", show_program(grant.program)));
      lines.emplace_back("whatever that program starts or changes by its own settings");
      break;
    case GrantMatch::path:
      lines.push_back(fmt::format("{} of every file in the worktree that matches {}, with any content",
                                  base::visible(grant.tool), base::visible(grant.path.value_or(""))));
      break;
  }
  if (grant.scope == GrantScope::execution) {
    lines.push_back(fmt::format("the same in every run of {} in this execution", base::visible(grant.agent)));
  } else if (grant.scope == GrantScope::project) {
    lines.push_back(fmt::format("the same in every run of {} in this project", base::visible(grant.agent)));
  }
  return lines;
}

bool covers(const model::Grant& grant, const CallSubject& subject, const std::string& digest) {
  if (grant.tool != subject.tool) return false;
  switch (grant.match) {
    case GrantMatch::exact:
      return grant.digest && !digest.empty() && *grant.digest == digest;
    case GrantMatch::program:
      return subject.tool == shell_tool && !grant.program.empty() && program_of(subject) == grant.program &&
             find_shell_objection(subject, ShellExtent::program).empty();
    case GrantMatch::path:
      return is_file_tool(subject.tool) && grant.path && !reads_many(subject) && fits_glob(*grant.path, subject);
  }
  return false;
}

}  // namespace reeve::engine
