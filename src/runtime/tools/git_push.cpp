#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "git/repository.h"
#include "runtime/tools/call_arguments.h"
#include "runtime/tools/git_tools.h"
#include "runtime/tools/result_text.h"

namespace reeve::runtime {

namespace {

constexpr std::string_view branch_prefix = "refs/heads/";

bool has_only(std::string_view text, std::string_view others) {
  return std::ranges::all_of(
      text, [&](char c) { return base::is_ascii_letter(c) || base::is_ascii_digit(c) || others.contains(c); });
}

// A name, never a URL or path: those contain a colon or slash.
bool is_remote_name(std::string_view name) {
  return !name.empty() && has_only(name, "._-") && !name.starts_with('-') && !name.starts_with('.');
}

// No options, refspecs, wildcards or forcing `+`.
bool is_branch_name(std::string_view name) {
  if (name.empty() || name == "HEAD" || name.starts_with("refs/") || !has_only(name, "._-/+#=") ||
      name.starts_with('+') || name.contains("..")) {
    return false;
  }
  return std::ranges::all_of(base::split(name, '/'), [](std::string_view part) {
    return !part.empty() && !part.starts_with('.') && !part.starts_with('-') && !part.ends_with('.') &&
           !part.ends_with(".lock");
  });
}

struct Push {
  std::string remote;
  std::string ref;
  std::string commit;
};

std::expected<Push, std::string> find_push(const WorktreeGit& git, const base::Value& arguments) {
  Push push{.remote = find_text(arguments, "remote").value_or("origin"), .ref = {}, .commit = {}};
  if (!is_remote_name(push.remote)) {
    return std::unexpected(fmt::format("{} is not the name of a remote", shown(push.remote)));
  }
  const auto branch = find_text(arguments, "branch");
  const auto current = branch ? std::optional(std::string(branch_prefix) + *branch) : git.find_branch_ref();
  if (!current) return std::unexpected("HEAD is detached; give `branch`");
  push.ref = *current;
  const std::string_view name = std::string_view(push.ref).substr(std::min(branch_prefix.size(), push.ref.size()));
  if (!push.ref.starts_with(branch_prefix) || !is_branch_name(name)) {
    return std::unexpected(fmt::format("{} is not a plain branch name", shown(branch.value_or(push.ref))));
  }
  auto commit = git.find_commit(push.ref);
  if (!commit) return std::unexpected(fmt::format("there is no branch {}", shown(name)));
  push.commit = std::move(*commit);
  return push;
}

// Whether moving the remote's branch there only adds commits.
bool is_forward(const WorktreeGit& git, const std::string& from, const std::string& to) {
  // 1: it does not; 128: the commit is not known here.
  return git::run(git.in_copies({"merge-base", "--is-ancestor", from, to})).code == 0;
}

}  // namespace

wire::CallResult git_push_tool(WorktreeGit& git, const HostedCall& call, const std::stop_token& stop) {
  const auto push = find_push(git, call.arguments);
  if (!push) return make_failure("cannot push: " + push.error());
  git::Remote::Access access{.ssh_agent = call.ssh_agent, .gives_up = [stop] { return stop.stop_requested(); }};
  try {
    git::Remote remote = git::Repository::open(git.context()).open_remote(push->remote, std::move(access));
    const auto done = [&](std::string_view what) {
      return wire::CallResult{.is_error = false,
                              .content = fmt::format("{}: {} at {} ({}) is at {}\n", what, shown(push->ref),
                                                     shown(push->remote), shown(remote.shown()), push->commit),
                              .hint = {}};
    };
    const auto found = remote.find(push->ref);
    if (found == push->commit) return done("up to date");
    if (found && !is_forward(git, *found, push->commit)) {
      return make_failure("cannot push: the remote's branch has commits that this one does not have; merge them first");
    }
    // Only if the remote's branch is still what was compared.
    if (!remote.push(push->ref, push->commit, found)) {
      return make_failure("cannot push: the remote's branch was moved meanwhile");
    }
    return done("pushed");
  } catch (const base::Error& error) {
    if (!error.is(base::ErrorCode::git_no_remote)) throw;
    return make_failure(fmt::format("cannot push: there is no remote {}", shown(push->remote)));
  }
}

}  // namespace reeve::runtime
