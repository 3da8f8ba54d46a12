#include "git/checkout_update_journal.h"

#include <cerrno>
#include <chrono>
#include <map>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "git/linked.h"
#include "os/file.h"

namespace reeve::git {

namespace {

using base::ErrorCode;

namespace fs = std::filesystem;

constexpr const char* marker_name = "forward";
constexpr std::size_t max_marker_bytes = 16 * base::limits::kib;
constexpr std::size_t max_compared_bytes = 64 * base::limits::mib;
constexpr auto lock_timeout = std::chrono::seconds(3);
constexpr int lock_pause_milliseconds = 20;

fs::path lock_of(const GitContext& context) { return context.place().own / "index.lock"; }

// git's own lock on the checkout's index. It is created with its content, so that its owner can always be identified.
class IndexLock {
 public:
  IndexLock(const GitContext& context, const std::string& mark) : path_(lock_of(context)) {
    const fs::path unlinked = path_.string() + ".reeve";
    os::replace_file(unlinked, mark);
    const auto until = std::chrono::steady_clock::now() + lock_timeout;
    while (::link(unlinked.c_str(), path_.c_str()) != 0) {
      const int error = errno;
      if (error == EEXIST && std::chrono::steady_clock::now() < until) {
        ::poll(nullptr, 0, lock_pause_milliseconds);
        continue;
      }
      ::unlink(unlinked.c_str());
      if (error != EEXIST) {
        base::throw_errno(ErrorCode::os_failed, fmt::format("cannot create `{}`", path_.string()), error);
      }
      throw base::Error(ErrorCode::git_index_locked,
                        fmt::format("another git process is working in the checkout: `{}` exists", path_.string()),
                        "wait for it to finish; if no git process is running there, one was killed: remove that file");
    }
    ::unlink(unlinked.c_str());
  }
  ~IndexLock() { ::unlink(path_.c_str()); }
  IndexLock(const IndexLock&) = delete;
  IndexLock& operator=(const IndexLock&) = delete;

 private:
  fs::path path_;
};

// A copy of the checkout's index to work on.
class IndexCopy {
 public:
  explicit IndexCopy(const GitContext& context)
      : original_(context.place().own / "index"), path_(context.make_index_name("checkout")) {
    std::error_code error;
    if (fs::exists(original_, error)) copy_index(original_, path_);
  }
  ~IndexCopy() {
    std::error_code error;
    fs::remove(path_, error);
  }
  IndexCopy(const IndexCopy&) = delete;
  IndexCopy& operator=(const IndexCopy&) = delete;

  Call call(const GitContext& context, const std::string& head, std::vector<std::string> words) const {
    Call made = context.sandboxed_in_checkout(head, std::move(words));
    made.index = path_;
    made.limit = std::chrono::minutes(10);
    return made;
  }
  // read-tree treats a file whose time differs from the index as changed. Errors are left for read-tree to report.
  void refresh(const GitContext& context, const std::string& head) const {
    run(call(context, head, {"update-index", "-q", "--refresh"}));
  }
  void put_in_place() const {
    std::error_code error;
    const auto kind = fs::status(original_, error);
    if (!error && fs::exists(kind)) fs::permissions(path_, kind.permissions(), error);
    copy_index(path_, original_);
  }

 private:
  fs::path original_;
  fs::path path_;
};

struct Change {
  std::string old_mode;
  std::string new_mode;
  std::string old_hash;
  std::string new_hash;
  bool is_added = false;
};

std::map<std::string, Change> list_changes(const GitContext& context, const CheckoutUpdateJournal& journal) {
  // Two fields per change: ":MODE MODE HASH HASH STATUS" and the path.
  const auto words = split_at_nul(demand(context.sandboxed(
      {"diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", journal.from, journal.to})));
  std::map<std::string, Change> changes;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const auto fields = base::split(words[i], ' ');
    if (fields.size() != 5 || fields[0].empty()) continue;
    changes.emplace(words[i + 1], Change{.old_mode = std::string(fields[0].substr(1)),
                                         .new_mode = std::string(fields[1]),
                                         .old_hash = std::string(fields[2]),
                                         .new_hash = std::string(fields[3]),
                                         .is_added = fields[4] == "A"});
  }
  return changes;
}

// Whether a file is in a state left by a git that was killed while writing: the old version, the new one, missing, or
// the beginning of the new one.
class Leftover {
 public:
  Leftover(const GitContext& context, const CheckoutUpdateJournal& journal, const IndexCopy& index)
      : context_(context), journal_(journal), index_(index) {}

  bool is_ours(const std::string& name, const Change& change) const {
    constexpr std::string_view link_mode = "120000";
    const fs::path path = context_.place().root / name;
    std::error_code error;
    const auto status = fs::symlink_status(path, error);
    if (!fs::exists(status)) return true;
    if (fs::is_symlink(status)) {
      const std::string target = fs::read_symlink(path, error).string();
      return (change.old_mode == link_mode && target == content_of(change.old_hash)) ||
             (change.new_mode == link_mode && target == content_of(change.new_hash));
    }
    if (!fs::is_regular_file(status)) return false;
    const std::string hash(base::trim(ask({"hash-object", "--", name})));
    return hash == change.old_hash || hash == change.new_hash || is_beginning(path, name);
  }

 private:
  std::string ask(std::vector<std::string> words) const {
    Call call = index_.call(context_, journal_.from, std::move(words));
    call.max_output = max_compared_bytes;
    return run(call).output;
  }
  std::string content_of(const std::string& hash) const { return ask({"cat-file", "blob", hash}); }
  bool is_beginning(const fs::path& path, const std::string& name) const {
    std::error_code error;
    if (fs::file_size(path, error) > max_compared_bytes || error) return false;
    const std::string written = os::read_file(path, max_compared_bytes);
    // Compared as checked out: line ends may differ from the stored blob.
    return written.empty() || ask({"cat-file", "--filters", journal_.to + ":" + name}).starts_with(written);
  }

  const GitContext& context_;
  const CheckoutUpdateJournal& journal_;
  const IndexCopy& index_;
};

// Also removes folders that become empty.
void remove_added(const fs::path& root, const std::string& name) {
  std::error_code error;
  fs::remove(root / name, error);
  for (fs::path above = fs::path(name).parent_path(); !above.empty(); above = above.parent_path()) {
    // Fails if the folder is not empty.
    if (::rmdir((root / above).c_str()) != 0) return;
  }
}

}  // namespace

CheckoutUpdateJournal make_journal(std::string from, std::string to, bool is_back) {
  return {.from = std::move(from), .to = std::move(to), .mark = "reeve " + base::random_hex(12), .is_back = is_back};
}

std::optional<CheckoutUpdateJournal> find_journal(const GitContext& context) {
  std::error_code error;
  const fs::path path = context.folder() / marker_name;
  if (!fs::exists(path, error)) return std::nullopt;
  const std::string text = os::read_file(path, max_marker_bytes);
  const auto lines = base::split(text, '\n');
  if (lines.size() < 5) return std::nullopt;
  return CheckoutUpdateJournal{.from = std::string(lines[0]),
                               .to = std::string(lines[1]),
                               .mark = std::string(lines[2]),
                               .is_back = lines[3] == "back"};
}

void write_journal(const GitContext& context, const CheckoutUpdateJournal& journal) {
  os::replace_file(context.folder() / marker_name,
                   fmt::format("{}\n{}\n{}\n{}\n{}", journal.from, journal.to, journal.mark,
                               journal.is_back ? "back" : "forth", context.place().root.string()));
}

void forget_forward(const GitContext& context) {
  std::error_code error;
  fs::remove(context.folder() / marker_name, error);
}

std::vector<fs::path> list_forwards(const fs::path& scratch) {
  std::vector<fs::path> roots;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(scratch, error)) {
    const fs::path marker = entry.path() / marker_name;
    std::error_code missing;
    if (!fs::is_regular_file(marker, missing)) continue;
    const std::string text = os::read_file(marker, max_marker_bytes);
    // The path is the rest of the file, which may contain line breaks.
    std::size_t at = 0;
    for (int line = 0; line < 4 && at != std::string::npos; ++line) {
      at = text.find('\n', at);
      if (at != std::string::npos) ++at;
    }
    if (at != std::string::npos) roots.emplace_back(text.substr(at));
  }
  return roots;
}

void move_files(const GitContext& context, const CheckoutUpdateJournal& journal) {
  const IndexLock lock(context, journal.mark);
  const IndexCopy index(context);
  index.refresh(context, journal.from);
  demand(index.call(context, journal.from, {"read-tree", "-m", "-u", journal.from, journal.to}));
  index.put_in_place();
}

void take_back_files(const GitContext& context, const CheckoutUpdateJournal& journal) {
  const IndexLock lock(context, journal.mark);
  const IndexCopy index(context);
  index.refresh(context, journal.from);
  const auto changes = list_changes(context, journal);
  const Leftover leftover(context, journal, index);
  // Files that existed before are rewritten from the index. Added files are removed first, because one may be in the
  // place of a folder.
  std::error_code error;
  for (const auto& [name, change] : changes) {
    const bool is_there = change.is_added && fs::exists(fs::symlink_status(context.place().root / name, error));
    if (is_there && leftover.is_ours(name, change)) remove_added(context.place().root, name);
  }
  std::vector<std::string> changed;
  for (std::string& name : split_at_nul(demand(index.call(
           context, journal.from, {"diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all"})))) {
    const auto known = changes.find(name);
    if (known != changes.end() && leftover.is_ours(name, known->second)) changed.push_back(std::move(name));
  }
  if (changed.empty()) return;
  Call write = index.call(context, journal.from, {"checkout-index", "-f", "-q", "-z", "--stdin"});
  write.input = join_with_nul(changed);
  demand(write);
}

std::optional<Side> find_side(const GitContext& context, const CheckoutUpdateJournal& journal) {
  const IndexCopy index(context);
  const auto is_at = [&](const std::string& commit) {
    const Call call = index.call(
        context, commit, {"diff-index", "--cached", "--quiet", "--no-renames", "--ignore-submodules=all", commit});
    const Outcome outcome = run(call);
    if (outcome.code > 1) fail(call, outcome);
    return outcome.code == 0;
  };
  if (is_at(journal.to)) return Side::to;
  if (is_at(journal.from)) return Side::from;
  return std::nullopt;
}

void remove_stale_lock(const GitContext& context, const CheckoutUpdateJournal& journal) {
  const fs::path lock = lock_of(context);
  std::error_code error;
  fs::remove(lock.string() + ".reeve", error);
  if (!fs::is_regular_file(fs::symlink_status(lock, error))) return;
  if (fs::file_size(lock, error) != journal.mark.size() || error) return;
  if (os::read_file(lock, max_marker_bytes) == journal.mark) fs::remove(lock, error);
}

}  // namespace reeve::git
