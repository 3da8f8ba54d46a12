#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <re2/re2.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/limits.h"
#include "base/text.h"
#include "engine/call_path.h"
#include "runtime/tools/call_arguments.h"
#include "runtime/tools/confined_folder.h"
#include "runtime/tools/file_tools.h"
#include "runtime/tools/result_text.h"

namespace reeve::runtime {

namespace {

using base::limits::mib;

constexpr std::size_t max_entries = 200'000;
constexpr std::size_t max_folder_entries = 50'000;
constexpr std::size_t max_file_bytes = 8 * mib;
constexpr std::size_t max_total_bytes = 1024 * mib;
constexpr std::size_t max_line_bytes = 400;
constexpr std::int64_t default_results = 200;
constexpr std::int64_t max_pattern_memory = std::int64_t{4} << 20U;
constexpr auto max_duration = std::chrono::seconds(20);

// The whole file, or nothing if it is binary, too large or cannot be read.
std::optional<std::string> read_text(const ConfinedFolder::File& file) {
  std::string text;
  std::array<char, 65'536> block;
  while (true) {
    const ssize_t length = ::read(file.fd.get(), block.data(), block.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return std::nullopt;
    if (length == 0) return text;
    const std::string_view bytes(block.data(), static_cast<std::size_t>(length));
    // The size may grow while it is read.
    if (bytes.find('\0') != std::string_view::npos || text.size() + bytes.size() > max_file_bytes) return std::nullopt;
    text += bytes;
  }
}

class Search {
 public:
  Search(const ConfinedFolder& folder, const base::Value& arguments, std::stop_token stop, const re2::RE2& pattern)
      : folder_(folder),
        stop_(std::move(stop)),
        pattern_(pattern),
        glob_(find_text(arguments, "glob")),
        left_(find_number(arguments, "max_results").value_or(default_results)) {}

  // A file or a folder.
  std::optional<std::string> run(const std::string& start) {
    // The policy has judged the path of the call, not the files below it.
    may_read_secrets_ = engine::names_secret_file(start);
    const auto file = folder_.open_file(start);
    if (file) {
      search(start, *file);
      return std::nullopt;
    }
    if (!folder_.open_folder(start)) return file.error();
    open_.push_back({start == "." ? "" : start, 0});
    while (!open_.empty() && !is_over()) {
      const auto [name, depth] = std::move(open_.back());
      open_.pop_back();
      enter(name, depth);
    }
    return std::nullopt;
  }

  wire::CallResult finish() && {
    if (result_.is_empty()) result_.note("no line matches");
    if (reason_ != nullptr) result_.note(fmt::format("cut: {}", reason_));
    if (large_folders_ > 0) {
      result_.note(fmt::format("{} folders have more than {} entries; the others in them were not searched",
                               large_folders_, max_folder_entries));
    }
    if (secrets_ > 0) {
      result_.note(fmt::format("{} entries whose names suggest secrets were skipped; name one in `path` to search it",
                               secrets_));
    }
    if (unread_ > 0) {
      result_.note(
          fmt::format("{} files were skipped: binary, larger than {} MiB, unreadable or with several hard links",
                      unread_, max_file_bytes / mib));
    }
    return std::move(result_).finish();
  }

 private:
  struct OpenFolder {
    std::string name;
    std::size_t depth;
  };

  bool end(const char* reason) {
    if (reason_ == nullptr) reason_ = reason;
    return true;
  }
  bool is_over() {
    if (reason_ != nullptr) return true;
    if (stop_.stop_requested()) return end("the search was stopped");
    if (std::chrono::steady_clock::now() > deadline_) return end("the search took more than 20 s");
    if (entries_ > max_entries) return end("there are more than 200000 files; give a `path`");
    if (bytes_ > max_total_bytes) return end("more than 1 GiB was read; give a `path` or a `glob`");
    return false;
  }

  void enter(const std::string& name, std::size_t depth) {
    const auto listing = folder_.list(name.empty() ? "." : name, max_folder_entries);
    // Removed, or swapped for something else.
    if (!listing) return;
    large_folders_ += listing->is_cut ? 1 : 0;
    std::vector<OpenFolder> folders;
    for (const ConfinedFolder::Entry& entry : listing->entries) {
      ++entries_;
      if (is_over()) return;
      if (entry.name == ".git") continue;
      std::string path = name.empty() ? entry.name : name + "/" + entry.name;
      if (entry.type != S_IFDIR && entry.type != S_IFREG) continue;
      if (!may_read_secrets_ && engine::names_secret_file(path)) {
        ++secrets_;
      } else if (entry.type == S_IFDIR) {
        if (depth + 1 < max_path_depth) folders.push_back({std::move(path), depth + 1});
      } else if (is_wanted(path, entry.name)) {
        visit(path, entry);
      }
    }
    // The first one is searched next.
    open_.insert(open_.end(), std::make_move_iterator(folders.rbegin()), std::make_move_iterator(folders.rend()));
  }

  bool is_wanted(std::string_view path, std::string_view name) const {
    if (!glob_) return true;
    return base::matches_glob(*glob_, glob_->contains('/') ? path : name);
  }

  void visit(const std::string& path, const ConfinedFolder::Entry& entry) {
    if (entry.links > 1 || std::cmp_greater(entry.size, max_file_bytes)) {
      ++unread_;
      return;
    }
    if (auto file = folder_.open_file(path)) {
      search(path, *file);
    } else {
      ++unread_;
    }
  }

  void search(const std::string& path, const ConfinedFolder::File& file) {
    const auto text = read_text(file);
    if (!text) {
      ++unread_;
      return;
    }
    bytes_ += text->size();
    std::size_t number = 0;
    for (std::string_view rest = *text; !rest.empty();) {
      ++number;
      const std::size_t end_of_line = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end_of_line);
      rest.remove_prefix(std::min(end_of_line + 1, rest.size()));
      if (number % 1'000 == 0 && is_over()) return;
      if (!re2::RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), pattern_)) continue;
      if (!show(path, number, line)) return;
    }
  }

  bool show(const std::string& path, std::size_t number, std::string_view line) {
    if (left_-- == 0) return !end("there are more lines than `max_results`");
    const std::string_view fitting = base::truncate_utf8(line, max_line_bytes);
    const char* more = fitting.size() < line.size() ? " […]" : "";
    std::string clean = base::replace_invalid_utf8(fitting);
    // A line of the file must not look like another result.
    std::ranges::replace(clean, '\r', ' ');
    const std::string found = fmt::format("{}:{}: {}{}\n", base::visible(path), number, clean, more);
    return result_.add_whole(found) || !end("the result is too large");
  }

  const ConfinedFolder& folder_;
  std::stop_token stop_;
  const re2::RE2& pattern_;
  std::optional<std::string> glob_;
  std::int64_t left_;
  bool may_read_secrets_ = false;
  std::vector<OpenFolder> open_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + max_duration;
  std::size_t entries_ = 0;
  std::size_t bytes_ = 0;
  std::size_t secrets_ = 0;
  std::size_t unread_ = 0;
  std::size_t large_folders_ = 0;
  const char* reason_ = nullptr;
  ResultText result_;
};

}  // namespace

wire::CallResult search_files_tool(const HostedCall& call, const std::stop_token& stop) {
  const auto folder = ConfinedFolder::open(call.worktree);
  if (!folder) return make_failure(folder.error());
  const auto path = folder->resolve(find_text(call.arguments, "path").value_or("."));
  if (!path) return make_failure(path.error());
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(max_pattern_memory);
  const std::string text = find_text(call.arguments, "pattern").value_or("");
  const re2::RE2 pattern(text, options);
  if (!pattern.ok()) return make_failure(fmt::format("invalid pattern {}: {}", shown(text), pattern.error()));
  Search search(*folder, call.arguments, stop, pattern);
  if (const auto fault = search.run(*path)) return make_failure(*fault);
  return std::move(search).finish();
}

}  // namespace reeve::runtime
