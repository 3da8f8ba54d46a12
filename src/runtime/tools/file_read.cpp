#include <array>
#include <cerrno>
#include <cstring>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "runtime/tools/call_arguments.h"
#include "runtime/tools/confined_folder.h"
#include "runtime/tools/file_tools.h"
#include "runtime/tools/result_text.h"

namespace reeve::runtime {

namespace {

// Read to find the lines asked for.
constexpr std::int64_t max_scanned_bytes = std::int64_t{256} * 1024 * 1024;
constexpr std::size_t max_listed = 2'000;

// Passes on the lines from `first` to `last`, block by block: a line may be longer than memory.
class LineWindow {
 public:
  LineWindow(std::int64_t first, std::int64_t last) : first_(first), last_(last) {}

  // False once nothing more is wanted.
  bool feed(std::string_view block, ResultText& result) {
    while (!block.empty()) {
      if (line_ > last_) return false;
      const std::size_t end = block.find('\n');
      const std::size_t length = end == std::string_view::npos ? block.size() : end + 1;
      if (line_ >= first_ && !add(block.substr(0, length), result)) return false;
      if (end != std::string_view::npos) ++line_;
      block.remove_prefix(length);
    }
    return true;
  }
  // A character may be split between two blocks.
  bool finish(ResultText& result) { return pending_.empty() || result.add(pending_); }
  // The line that comes next, or that was cut.
  std::int64_t line() const noexcept { return line_; }
  bool has_shown() const noexcept { return has_shown_; }

 private:
  bool add(std::string_view part, ResultText& result) {
    has_shown_ = true;
    pending_ += part;
    // Whole lines end whole characters.
    const std::size_t kept = pending_.ends_with('\n') ? 0 : std::min<std::size_t>(pending_.size(), 3);
    const std::size_t ready = find_character_start(pending_, pending_.size() - kept);
    const bool fits = result.add(std::string_view(pending_).substr(0, ready));
    pending_.erase(0, ready);
    return fits;
  }
  // The last position up to `at` at which a character may begin.
  static std::size_t find_character_start(std::string_view text, std::size_t at) noexcept {
    const auto is_inside = [&](std::size_t i) {
      return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U;
    };
    std::size_t start = at;
    for (int steps = 0; steps < 3 && start > 0 && is_inside(start); ++steps) --start;
    return is_inside(start) ? at : start;
  }

  std::int64_t first_;
  std::int64_t last_;
  std::int64_t line_ = 1;
  std::string pending_;
  bool has_shown_ = false;
};

std::string_view name_of_type(mode_t type) {
  switch (type) {
    case S_IFDIR:
      return "/";
    case S_IFLNK:
      return "@";
    case S_IFIFO:
      return "|";
    case S_IFSOCK:
      return "=";
    case S_IFREG:
      return "";
    default:
      return "%";
  }
}

wire::CallResult read_lines(const ConfinedFolder::File& file, const std::string& path, const HostedCall& call,
                            const std::stop_token& stop) {
  const std::int64_t first = find_number(call.arguments, "offset").value_or(1);
  const std::int64_t count = find_number(call.arguments, "limit").value_or(INT32_MAX);
  LineWindow window(first, first + count - 1);
  ResultText result;
  std::array<char, 65'536> block;
  std::int64_t scanned = 0;
  bool is_complete = false;
  bool is_first = true;
  while (!is_complete && scanned < max_scanned_bytes) {
    if (stop.stop_requested()) return make_failure("file_read: stopped");
    const ssize_t length = ::read(file.fd.get(), block.data(), block.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return make_failure(fmt::format("cannot read {}: {}", shown(path), std::strerror(errno)));
    const std::string_view bytes(block.data(), static_cast<std::size_t>(length));
    if (is_first && bytes.find('\0') != std::string_view::npos) {
      return make_failure(fmt::format("{} is a binary file of {} bytes", shown(path), file.status.st_size));
    }
    is_first = false;
    scanned += length;
    is_complete = length == 0;
    if (!window.feed(bytes, result)) break;
  }
  if (!result.is_full()) window.finish(result);
  if (!is_complete && scanned >= max_scanned_bytes && !result.is_full()) {
    result.note(fmt::format("only the first {} MiB of the file were read", max_scanned_bytes / (1024 * 1024)));
  } else if (!is_complete && result.is_full()) {
    const bool is_one_line = window.line() == first;
    result.note(fmt::format("cut in line {}; the file has {} bytes; continue with offset {}", window.line(),
                            file.status.st_size, window.line() + (is_one_line ? 1 : 0)));
  } else if (!is_complete) {
    result.note(fmt::format("cut: the file has {} bytes; continue with offset {}", file.status.st_size, window.line()));
  } else if (!window.has_shown()) {
    result.note(file.status.st_size == 0 ? "the file is empty" : fmt::format("the file has no line {}", first));
  }
  return std::move(result).finish();
}

}  // namespace

wire::CallResult read_file_tool(const HostedCall& call, const std::stop_token& stop) {
  const auto folder = ConfinedFolder::open(call.worktree);
  if (!folder) return make_failure(folder.error());
  const auto path = folder->resolve(find_text(call.arguments, "path").value_or(""));
  if (!path) return make_failure(path.error());
  const auto file = folder->open_file(*path);
  return file ? read_lines(*file, *path, call, stop) : make_failure(file.error());
}

wire::CallResult list_directory_tool(const HostedCall& call) {
  const auto folder = ConfinedFolder::open(call.worktree);
  if (!folder) return make_failure(folder.error());
  const auto path = folder->resolve(find_text(call.arguments, "path").value_or("."));
  if (!path) return make_failure(path.error());
  const auto listing = folder->list(*path, max_listed);
  if (!listing) return make_failure(listing.error());
  ResultText result;
  for (const ConfinedFolder::Entry& entry : listing->entries) {
    if (entry.name == ".git") continue;
    // Names may contain anything; each stays on its line.
    std::string line = base::visible(entry.name) + std::string(name_of_type(entry.type));
    if (entry.type == S_IFREG) line += fmt::format("  {} bytes", entry.size);
    if (!result.add_whole(line + "\n")) break;
  }
  if (listing->is_cut || result.is_full()) {
    result.note(fmt::format("cut: the folder has more entries than the {} that are listed", max_listed));
  } else if (result.is_empty()) {
    result.note("the folder is empty");
  }
  return std::move(result).finish();
}

}  // namespace reeve::runtime
