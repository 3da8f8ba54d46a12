#include "runtime/tools/worktree_git.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "git/linked.h"
#include "os/file.h"
#include "runtime/tools/result_text.h"

namespace reeve::runtime {

namespace {

namespace fs = std::filesystem;

constexpr auto time_limit = std::chrono::seconds(60);
constexpr std::size_t max_listed_bytes = 16 * base::limits::mib;
constexpr std::size_t max_copied_bytes = 256 * base::limits::mib;
constexpr std::size_t max_revision_bytes = 200;
constexpr std::string_view call_folder = "call-";

// Folders of calls that a kill interrupted.
void sweep(const fs::path& scratch) {
  std::error_code error;
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(24);
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(scratch, error)) {
    const bool is_call = entry.path().filename().string().starts_with(call_folder);
    if (is_call && entry.last_write_time(error) < old) left.push_back(entry.path());
  }
  for (const fs::path& path : left) fs::remove_all(path, error);
}

// Without `:`, which searches messages and names files, and without anything that could be an option.
bool is_plain_revision(std::string_view text) {
  const auto is_plain = [](char c) {
    return base::is_ascii_letter(c) || base::is_ascii_digit(c) || std::string_view("._/@{}~^+-").contains(c);
  };
  return !text.empty() && text.size() <= max_revision_bytes && !text.starts_with('-') &&
         std::ranges::all_of(text, is_plain) && !text.contains("{/");
}

// False with errno set.
bool copy_bytes(int from, int to, std::size_t max_bytes) {
  std::size_t left = max_bytes;
  while (left > 0) {
    const ssize_t count = ::sendfile(to, from, nullptr, left);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) return true;
    left -= static_cast<std::size_t>(count);
  }
  errno = EFBIG;
  return false;
}

// The folder for that name, without following symlinks.
std::optional<os::Folder> make_parents(os::Folder at, std::string_view name) {
  for (std::size_t begin = 0, end = name.find('/'); end != std::string_view::npos; end = name.find('/', begin)) {
    const std::string part(name.substr(begin, end - begin));
    begin = end + 1;
    if (!at.make_folder(part)) return std::nullopt;
    auto next = at.open_folder(part);
    if (!next) return std::nullopt;
    at = std::move(*next);
  }
  return at;
}

}  // namespace

std::unique_ptr<WorktreeGit> WorktreeGit::open(const HostedCall& call, const ConfinedFolder& folder,
                                               std::stop_token stop) {
  auto place = git::find_confined_place(call.worktree);
  if (!place) return nullptr;
  sweep(call.scratch);
  const fs::path root = place->root;
  const fs::path scratch = fs::path(call.scratch) / fmt::format("{}{}", call_folder, base::random_hex(8));
  os::create_folders(scratch / "files");
  std::unique_ptr<WorktreeGit> opened(new WorktreeGit(folder, scratch, std::move(stop)));
  opened->context_ = std::make_shared<git::GitContext>(std::move(*place), scratch);
  const std::string inner = fs::canonical(call.worktree).lexically_relative(root).string();
  if (inner != ".") opened->prefix_ = inner + "/";
  return opened;
}

WorktreeGit::WorktreeGit(const ConfinedFolder& folder, fs::path scratch, std::stop_token stop)
    : folder_(folder),
      scratch_(std::move(scratch)),
      copies_(scratch_ / "files"),
      index_(scratch_ / "index"),
      stop_(std::move(stop)) {}

WorktreeGit::~WorktreeGit() {
  std::error_code error;
  fs::remove_all(scratch_, error);
}

std::expected<std::vector<std::string>, std::string> WorktreeGit::find_names(
    const std::vector<std::string>& paths) const {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    const auto relative = folder_.resolve(path);
    if (!relative) return std::unexpected(relative.error());
    names.push_back(*relative == "." ? prefix_ : prefix_ + *relative);
  }
  if (paths.empty()) names.push_back(prefix_);
  // git refuses an empty path.
  for (std::string& name : names) {
    if (name.empty()) name = ".";
  }
  return names;
}

git::Call WorktreeGit::limited(git::Call call) const {
  call.limit = time_limit;
  call.max_output = max_listed_bytes;
  call.gives_up = [stop = stop_] { return stop.stop_requested(); };
  // An agent may have written that file, and it decides what counts as an ancestor.
  call.settings.emplace_back("core.commitGraph=false");
  call.environment.emplace_back("GIT_LITERAL_PATHSPECS=1");
  return call;
}

// The common folder is given: the record of it in the checkout's own git folder could have been changed.
git::Call WorktreeGit::in_repository(std::vector<std::string> words) const {
  return limited(context_->in_repository_at(place().own, std::move(words)));
}

git::Call WorktreeGit::in_copies(std::vector<std::string> words) const {
  return limited(context_->sandboxed_in(copies_, index_, std::move(words)));
}

git::Call WorktreeGit::in_private_copies(std::vector<std::string> words) const {
  const fs::path objects = scratch_ / "objects";
  os::create_folders(objects / "info");
  os::replace_file(objects / "info" / "alternates", (place().common / "objects").string() + "\n");
  git::Call call = in_copies(std::move(words));
  call.environment.push_back("GIT_OBJECT_DIRECTORY=" + objects.string());
  return call;
}

git::Call WorktreeGit::in_worktree(std::vector<std::string> words) const {
  git::Call call = limited(context_->sandboxed_in_checkout(find_commit("HEAD"), std::move(words)));
  call.index = index_;
  return call;
}

std::optional<std::string> WorktreeGit::find_commit(const std::string& revision) const {
  if (!is_plain_revision(revision)) return std::nullopt;
  const git::Call call =
      in_repository({"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  const git::Outcome outcome = git::run(call);
  if (outcome.code == 0) return std::string(base::trim(outcome.output));
  // 128: of another kind, or ambiguous.
  if (outcome.code == 1 || outcome.code == 128) return std::nullopt;
  git::fail(call, outcome);
}

std::optional<std::string> WorktreeGit::find_branch_ref() const {
  const git::Call call = in_repository({"symbolic-ref", "--quiet", "HEAD"});
  const git::Outcome outcome = git::run(call);
  if (outcome.code == 1) return std::nullopt;
  if (outcome.code != 0) git::fail(call, outcome);
  return std::string(base::trim(outcome.output));
}

void WorktreeGit::copy_index() const {
  std::error_code error;
  if (fs::exists(place().own / "index", error)) {
    git::copy_index(place().own / "index", index_,
                    {.max_bytes = max_copied_bytes, .gives_up = [this] { return stop_.stop_requested(); }});
  }
  // 1: some are changed.
  git::run(in_worktree({"update-index", "-q", "--refresh", "--ignore-submodules"}));
}

WorktreeGit::Copies WorktreeGit::copy_files(const std::vector<std::string>& names) {
  Copies copies;
  for (const std::string& name : names) {
    if (stop_.stop_requested()) throw base::Error(base::ErrorCode::git_timeout, "the call was stopped");
    if (const std::string fault = copy_file(name); fault.empty()) {
      copies.names.push_back(name);
    } else {
      copies.refused.push_back(fault);
    }
  }
  return copies;
}

std::string WorktreeGit::copy_file(const std::string& name) {
  const auto refuse = [&](const std::string& why) { return fmt::format("{} was left out: {}", shown(name), why); };
  if (!name.starts_with(prefix_)) return refuse("it is outside the worktree");
  const auto relative = folder_.resolve(name.substr(prefix_.size()));
  if (!relative) return refuse(relative.error());
  const auto status = folder_.find_status(*relative);
  if (!status) {
    // Gone, or now behind a symlink: git treats both as a deletion.
    const bool is_gone = status.error() == ENOENT || status.error() == ENOTDIR || status.error() == ELOOP;
    return is_gone ? "" : refuse(explain_refusal(status.error()));
  }
  if (S_ISDIR(status->st_mode)) return "";
  // A symlink among the copies must not redirect another copy, so these are made by descriptor as well.
  const auto parent = make_parents(os::Folder::open(copies_.string()), name);
  const std::string last = name.substr(name.rfind('/') + 1);
  if (!parent) return refuse("its folder changed meanwhile");
  if (S_ISLNK(status->st_mode)) {
    const auto target = folder_.read_link(*relative);
    if (!target) return refuse(target.error());
    return ::symlinkat(target->c_str(), parent->fd(), last.c_str()) == 0 ? "" : refuse(explain_refusal(errno));
  }
  const auto file = folder_.open_file(*relative);
  if (!file) return refuse(file.error());
  const auto size = static_cast<std::size_t>(file->status.st_size);
  if (size >= max_copied_bytes - copied_bytes_) return refuse("the files are too large");
  const mode_t mode = (file->status.st_mode & S_IXUSR) != 0 ? 0700 : 0600;
  const auto to = parent->open_file(last, O_WRONLY | O_CREAT | O_EXCL, mode);
  if (!to || !copy_bytes(file->fd.get(), to->get(), max_copied_bytes - copied_bytes_)) {
    return refuse(explain_refusal(to ? errno : to.error()));
  }
  copied_bytes_ += size;
  return "";
}

}  // namespace reeve::runtime
