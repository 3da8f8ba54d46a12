#include "git/remote.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "git/git_context.h"
#include "git/repository.h"
#include "os/file.h"

namespace reeve::git {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;

constexpr base::Milliseconds short_limit = std::chrono::seconds(30);
constexpr base::Milliseconds long_limit = std::chrono::seconds(120);
constexpr std::size_t max_answer = base::limits::mib;
constexpr std::size_t longest_url = 4'096;
constexpr const char* fetched_ref = "refs/fetched/tip";

enum class Kind { local, network, unknown };

Kind kind_of(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  const std::size_t slash = url.find('/');
  const std::size_t colon = url.find(':');
  if (scheme_end != std::string_view::npos && scheme_end < slash) {
    const std::string_view scheme = url.substr(0, scheme_end);
    // A host that looks like an option would be taken as one by ssh.
    if (url.substr(scheme_end + 3).starts_with('-')) return Kind::unknown;
    if (scheme == "file") return Kind::local;
    constexpr auto known = std::to_array<std::string_view>({"https", "ssh", "git"});
    return std::ranges::find(known, scheme) != known.end() ? Kind::network : Kind::unknown;
  }
  if (colon == std::string_view::npos || slash < colon) return Kind::local;
  // "ext::…" names a program; "host:path" is ssh.
  return url.substr(colon).starts_with("::") ? Kind::unknown : Kind::network;
}

bool is_clean(std::string_view url) {
  const bool is_plain =
      std::ranges::none_of(url, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  return is_plain && !url.empty() && url.size() <= longest_url && !url.starts_with('-');
}

// "https://name:password@host/x" becomes "https://host/x".
std::string without_credentials(const std::string& url) {
  const std::size_t begin = url.find("://");
  if (begin == std::string::npos) return url;
  const std::size_t host = begin + 3;
  const std::size_t at = url.substr(0, url.find('/', host)).rfind('@');
  return at == std::string::npos || at < host ? url : url.substr(0, host) + url.substr(at + 1);
}

std::string replace_all(std::string text, const std::string& what, const std::string& by) {
  if (what.empty() || what == by) return text;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// The URL as git resolves it, including the user's URL rewrites. Reading executes nothing.
std::string resolve_name(const GitContext& context, const std::string& name) {
  if (is_clean(name)) {
    Call call = context.in_repository({"remote", "get-url", "--push", "--", name});
    call.config = ConfigOf::person;
    call.max_output = max_answer;
    const Outcome outcome = run(call);
    if (outcome.code == 0 && !outcome.is_cut) {
      const std::string_view first = base::split(outcome.output, '\n').front();
      return std::string(first);
    }
    const bool is_place = name.find_first_of("/:") != std::string::npos;
    if (is_place) return name;
  }
  throw Error(ErrorCode::git_no_remote,
              fmt::format("`worktree.remote` is {}, but {} has no remote of that name", base::quoted(name),
                          base::quoted(context.place().root.string())),
              fmt::format("list the remotes with `git remote -v`, or add one: git remote add {} URL", name));
}

}  // namespace

Remote Repository::open_remote(const std::string& name, Remote::Access access) {
  std::string url = resolve_name(*context_, name);
  const Kind kind = is_clean(url) ? kind_of(url) : Kind::unknown;
  if (kind == Kind::unknown) {
    throw Error(ErrorCode::git_unsafe_remote,
                fmt::format("the remote {} has the unsupported URL {}; use a path, file:, https:, ssh: or git:",
                            base::quoted(name), base::quoted(base::truncate_utf8(without_credentials(url), 200))),
                fmt::format("change its URL: git remote set-url {} URL", name));
  }
  const bool is_path = kind == Kind::local && !url.starts_with("file://");
  if (is_path && !url.starts_with('/')) url = (root() / url).lexically_normal().string();
  return {context_, std::move(url), std::move(access)};
}

Remote::Remote(std::shared_ptr<GitContext> context, std::string url, Access access)
    : context_(std::move(context)),
      url_(std::move(url)),
      shown_(without_credentials(url_)),
      access_(std::move(access)),
      is_local_(kind_of(url_) == Kind::local),
      folder_(context_->folder() / "wire") {
  read_person();
}

// A separate folder: its refs are private, and other git commands do not wait for a slow remote.
void Remote::set_up() const {
  const Call ours = context_->sandboxed({"version"});
  for (const char* name : {"refs", "info"}) os::create_folders(folder_ / name);
  std::error_code error;
  for (const char* name : {"objects", "shallow"}) {
    const fs::path target = context_->place().common / name;
    if (fs::read_symlink(folder_ / name, error) == target) continue;
    fs::remove(folder_ / name, error);
    fs::create_symlink(target, folder_ / name, error);
    if (error) {
      base::throw_errno(ErrorCode::os_failed, fmt::format("cannot write `{}`", folder_.string()), error.value());
    }
  }
  os::replace_file(folder_ / "HEAD", "ref: refs/heads/none\n");
  os::replace_file(folder_ / "config", os::read_file(ours.git_folder / "config", base::limits::mib));
}

// Records which commits this repository has, so that they are not transferred again.
void Remote::note_known() const {
  const std::string listed =
      demand(context_->in_repository({"for-each-ref", "--count=500", "--sort=-committerdate", "--format=%(objectname)",
                                      "refs/heads", "refs/remotes", "refs/reeve"}));
  std::string packed = "# pack-refs with: peeled fully-peeled sorted \n";
  int number = 0;
  const auto add = [&](std::string_view commit) {
    if (!commit.empty()) packed += fmt::format("{} refs/known/{:04}\n", commit, number++);
  };
  for (const std::string_view commit : base::split(listed, '\n')) add(commit);
  add(context_->resolve("HEAD").value_or(""));
  os::replace_file(folder_ / "packed-refs", packed);
}

// Reads only the user's own config, never a repository's.
void Remote::read_person() {
  if (is_local_) return;
  Call call =
      context_->in_repository({"config", "--global", "--includes", "-z", "--get-regexp", R"(^(credential|http)\..*)"});
  call.config = ConfigOf::person;
  call.max_output = max_answer;
  const Outcome outcome = run(call);
  if (outcome.code != 0 || outcome.is_cut) return;
  int count = 0;
  for (const std::string& entry : split_at_nul(outcome.output)) {
    const std::size_t end = entry.find('\n');
    if (end == std::string::npos) continue;
    const std::string name = entry.substr(0, end);
    const std::string value = entry.substr(end + 1);
    if (name.starts_with("credential.")) {
      if (name.find('=') == std::string::npos) settings_.push_back(fmt::format("{}={}", name, value));
      continue;
    }
    // Headers may be secrets, so they are not put on a command line.
    environment_.push_back(fmt::format("GIT_CONFIG_KEY_{}={}", count, name));
    environment_.push_back(fmt::format("GIT_CONFIG_VALUE_{}={}", count++, value));
  }
  if (count > 0) environment_.push_back(fmt::format("GIT_CONFIG_COUNT={}", count));
}

Call Remote::call(std::vector<std::string> words) const {
  set_up();
  Call call{.words = std::move(words), .git_folder = folder_, .said = folder_ / "said"};
  call.settings = settings_;
  // All or nothing: loose objects of a killed fetch would look complete.
  call.settings.insert(call.settings.end(), {"fetch.unpackLimit=1", "push.followTags=false", "push.gpgSign=false",
                                             "push.recurseSubmodules=no", "core.alternateRefsCommand=true"});
  call.environment = environment_;
  if (access_.ssh_agent.starts_with('/')) call.environment.push_back("SSH_AUTH_SOCK=" + access_.ssh_agent);
  call.reach = Reach::remotes;
  call.gives_up = access_.gives_up;
  call.limit = long_limit;
  call.max_output = max_answer;
  return call;
}

// On this machine the program runs locally with the config and hooks of that repository, so they are disabled; a server
// knows only the plain names.
std::string Remote::program(const char* side) const {
  if (!is_local_) return fmt::format("git-{}", side);
  return fmt::format(
      "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=true -c gc.auto=0 -c "
      "maintenance.auto=false -c receive.autogc=false -c receive.denyCurrentBranch=refuse -c "
      "receive.updateServerInfo=false {}",
      side);
}

void Remote::fail(const std::string& doing, const Outcome& outcome) const {
  std::string why = outcome.said;
  // The remote's own message: "!\tref:ref\t[remote rejected] (…)".
  for (const std::string_view line : base::split(outcome.output, '\n')) {
    if (line.starts_with("!\t")) why = base::visible(base::truncate_utf8(line.substr(line.rfind('\t') + 1), 300));
  }
  why = replace_all(std::move(why), url_, shown_);
  throw Error(ErrorCode::git_remote_failed,
              fmt::format("cannot {} the remote {}{}{}", doing, base::quoted(shown_), why.empty() ? "" : ": ", why),
              "check that it can be reached without a prompt: `git ls-remote` with BatchMode for ssh, or a "
              "credential helper in your own git config for https");
}

std::optional<std::string> Remote::find(const std::string& ref) {
  REEVE_ASSERT(ref.starts_with("refs/"));
  Call asked = call({"ls-remote", "--quiet", "--upload-pack=" + program("upload-pack"), "--", url_, ref});
  asked.limit = short_limit;
  const Outcome outcome = run(asked);
  if (outcome.code != 0) fail("read", outcome);
  for (const std::string_view line : base::split(outcome.output, '\n')) {
    const std::size_t tab = line.find('\t');
    if (tab != std::string_view::npos && line.substr(tab + 1) == ref) return std::string(line.substr(0, tab));
  }
  return std::nullopt;
}

bool Remote::push(const std::string& ref, const std::string& commit, const std::optional<std::string>& expected) {
  return send(ref, commit, expected);
}

bool Remote::remove(const std::string& ref, const std::string& expected) { return send(ref, "", expected); }

bool Remote::send(const std::string& ref, const std::string& source, const std::optional<std::string>& expected) {
  REEVE_ASSERT(ref.starts_with("refs/"));
  const Outcome outcome = run(call({"push", "--quiet", "--porcelain", "--no-verify", "--no-signed",
                                    fmt::format("--force-with-lease={}:{}", ref, expected.value_or("")),
                                    "--receive-pack=" + program("receive-pack"), "--", url_, source + ":" + ref}));
  if (outcome.code == 0) return true;
  // The push may have succeeded anyway, or another one came first.
  const auto now = find(ref);
  if (now.value_or("") == source) return true;
  if (now != expected) return false;
  fail("push to", outcome);
}

std::optional<std::string> Remote::fetch(const std::string& ref) {
  if (!find(ref)) return std::nullopt;
  Call asked = call({"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
                     "--no-auto-maintenance", "--refmap=", "--upload-pack=" + program("upload-pack"), "--", url_,
                     fmt::format("+{}:{}", ref, fetched_ref)});
  note_known();
  const Outcome outcome = run(asked);
  if (outcome.code != 0) fail("fetch from", outcome);
  Call read = context_->sandboxed({"rev-parse", "--verify", fetched_ref});
  read.git_folder = folder_;
  return std::string(base::trim(demand(read)));
}

}  // namespace reeve::git
