#include "git/git_context.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"
#include "os/file.h"

namespace reeve::git {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_attribute_bytes = base::limits::mib;
constexpr std::string_view unfinished = ".new-";

// The target may have moved since the last start: an outdated link is replaced.
void link_to(const fs::path& target, const fs::path& link) {
  std::error_code error;
  if (fs::read_symlink(link, error) == target) return;
  fs::remove(link, error);
  fs::create_symlink(target, link, error);
  if (error) {
    base::throw_errno(base::ErrorCode::os_failed, fmt::format("cannot write `{}`", link.string()), error.value());
  }
}

// Removes indexes left by a kill long ago.
void sweep_indexes(const fs::path& folder) {
  std::error_code error;
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const bool is_unfinished = entry.path().filename().string().find(unfinished) != std::string::npos;
    if (is_unfinished && entry.last_write_time(error) < old) left.push_back(entry.path());
  }
  for (const fs::path& path : left) fs::remove(path, error);
}

// git's default for the user's global ignore file.
std::string find_ignore_file(const std::map<std::string, std::string>& config) {
  const char* home = std::getenv("HOME");
  if (const auto named = config.find("core.excludesfile"); named != config.end()) {
    if (!named->second.starts_with("~/")) return named->second;
    return home == nullptr ? "" : home + named->second.substr(1);
  }
  const char* folder = std::getenv("XDG_CONFIG_HOME");
  if (folder != nullptr && *folder != '\0') return fmt::format("{}/git/ignore", folder);
  return home == nullptr ? "" : fmt::format("{}/.config/git/ignore", home);
}

std::string without_breaks(std::string text) {
  std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '<' || c == '>'; });
  return text;
}

}  // namespace

GitContext::GitContext(Place place, const fs::path& scratch)
    : place_(std::move(place)), folder_(fs::absolute(scratch) / base::sha256_hex(place_.own.string()).substr(0, 16)) {
  read_settings();
  write_config();
  sweep_indexes(folder_ / "indexes");
}

void GitContext::set_up() const {
  std::error_code error;
  if (fs::exists(folder_ / "config", error)) return;
  for (const char* name : {"refs", "info", "indexes", "attributes"}) os::create_folders(folder_ / name);
  fs::permissions(folder_.parent_path(), fs::perms::owner_all, error);
  link_to(place_.common / "objects", folder_ / "objects");
  link_to(place_.common / "shallow", folder_ / "shallow");
  link_to(place_.common / "info" / "exclude", folder_ / "info" / "exclude");
  link_to(place_.own / "info" / "sparse-checkout", folder_ / "info" / "sparse-checkout");
  os::replace_file(folder_ / "HEAD", "ref: refs/heads/none\n");
  write_config();
}

void GitContext::write_config() const {
  const bool is_default = object_format_.empty() || object_format_ == "sha1";
  os::replace_file(folder_ / "config",
                   fmt::format("[core]\n\trepositoryformatversion = {}\n\tbare = false\n{}", is_default ? 0 : 1,
                               is_default ? "" : "[extensions]\n\tobjectFormat = sha256\n"));
}

// Reads the config once, as the user's own git would see it here. Reading executes nothing; only these names are used,
// and none of them names a program.
void GitContext::read_settings() {
  constexpr std::string_view wanted =
      R"(^(user\.(name|email)|core\.(autocrlf|eol|filemode|symlinks|ignorecase|excludesfile|sparsecheckout|sparsecheckoutcone)|extensions\.objectformat)$)";
  Call call = in_repository({"config", "--includes", "-z", "--get-regexp", std::string(wanted)});
  call.config = ConfigOf::person;
  call.max_output = base::limits::mib;
  const Outcome outcome = run(call);
  // 1 means no match.
  if (outcome.code != 0 && outcome.code != 1) fail(call, outcome);
  std::map<std::string, std::string> config;
  for (const std::string& entry : split_at_nul(outcome.output)) {
    const std::size_t end = entry.find('\n');
    config[entry.substr(0, end)] = end == std::string::npos ? "true" : entry.substr(end + 1);
  }
  for (const char* name : {"core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase"}) {
    if (const auto found = config.find(name); found != config.end()) {
      settings_.push_back(fmt::format("{}={}", name, found->second));
    }
  }
  for (const char* name : {"core.sparsecheckout", "core.sparsecheckoutcone"}) {
    if (const auto found = config.find(name); found != config.end()) {
      sparse_settings_.push_back(fmt::format("{}={}", name, found->second));
    }
  }
  const std::string ignored = find_ignore_file(config);
  settings_.push_back("core.excludesFile=" + (ignored.starts_with('/') ? ignored : "/dev/null"));
  object_format_ = config["extensions.objectformat"];

  std::string name = without_breaks(config["user.name"]);
  std::string email = without_breaks(config["user.email"]);
  if (base::trim(name).empty() || base::trim(email).empty()) {
    name = "Reeve";
    email = "reeve@localhost";
  }
  identity_ = {"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + email, "GIT_COMMITTER_NAME=" + name,
               "GIT_COMMITTER_EMAIL=" + email};
}

Call GitContext::in_repository(std::vector<std::string> words) const {
  set_up();
  return {.words = std::move(words), .git_folder = place_.own, .said = folder_ / "said", .environment = identity_};
}

Call GitContext::in_repository_at(const fs::path& own, std::vector<std::string> words) const {
  Call call = in_repository(std::move(words));
  call.git_folder = own;
  call.environment.push_back("GIT_COMMON_DIR=" + place_.common.string());
  return call;
}

Call GitContext::sandboxed(std::vector<std::string> words) const {
  set_up();
  return {.words = std::move(words),
          .git_folder = folder_,
          .said = folder_ / "said",
          .settings = settings_,
          .environment = identity_};
}

Call GitContext::sandboxed_in(const fs::path& work_tree, const fs::path& index, std::vector<std::string> words) const {
  Call call = sandboxed(std::move(words));
  call.work_tree = work_tree;
  call.index = index;
  return call;
}

Call GitContext::sandboxed_in_checkout(const std::optional<std::string>& head, std::vector<std::string> words) const {
  Call call = sandboxed_in(place_.root, place_.own / "index", std::move(words));
  os::replace_file(folder_ / "HEAD", (head ? *head : "ref: refs/heads/none") + "\n");
  // The shared part of a split index is searched for in the git folder.
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(place_.own, error)) {
    const fs::path name = entry.path().filename();
    if (name.string().starts_with("sharedindex.")) link_to(entry.path(), folder_ / name);
  }
  call.settings.insert(call.settings.end(), sparse_settings_.begin(), sparse_settings_.end());
  return call;
}

Call GitContext::sandboxed_like(const std::string& commit, std::vector<std::string> words) const {
  set_up();
  write_attributes(commit);
  return sandboxed_in(folder_ / "attributes", folder_ / "attributes" / "index", std::move(words));
}

// Only those of the top folder, where they nearly always are.
void GitContext::write_attributes(const std::string& commit) const {
  Call call = sandboxed({"cat-file", "blob", commit + ":.gitattributes"});
  call.max_output = max_attribute_bytes;
  const Outcome found = run(call);
  os::replace_file(folder_ / "attributes" / ".gitattributes", found.code == 0 ? found.output : "");
}

std::optional<std::string> GitContext::resolve(const std::string& revision) const {
  const Call call = in_repository({"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  const Outcome outcome = run(call);
  if (outcome.code == 1) return std::nullopt;
  if (outcome.code != 0) fail(call, outcome);
  return std::string(base::trim(outcome.output));
}

std::string GitContext::tree_of(const std::string& commit) const {
  return std::string(base::trim(demand(sandboxed({"rev-parse", "--verify", commit + "^{tree}"}))));
}

std::string GitContext::commit_tree(const std::string& tree, const std::vector<std::string>& parents,
                                    const std::string& message) const {
  Call call = sandboxed({"commit-tree", tree, "-F", "-"});
  for (const std::string& parent : parents) call.words.insert(call.words.end(), {"-p", parent});
  call.input = base::replace_invalid_utf8(message);
  std::erase(call.input, '\0');
  if (!call.input.ends_with('\n')) call.input.push_back('\n');
  return std::string(base::trim(demand(call)));
}

fs::path GitContext::index_of(const std::string& name) const { return folder_ / "indexes" / name; }

fs::path GitContext::make_index_name(const std::string& name) const {
  return folder_ / "indexes" / fmt::format("{}{}{}", name, unfinished, base::random_hex(8));
}

}  // namespace reeve::git
