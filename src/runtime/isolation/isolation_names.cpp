#include "runtime/isolation/isolation_names.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "engine/file_kinds.h"

namespace reeve::runtime {

namespace {

constexpr std::string_view shared_mark = "w-";
constexpr std::string_view throwaway_mark = "g-";

std::string make_safe(std::string_view words) {
  constexpr std::size_t max_length = 40;
  constexpr std::size_t digits = 8;
  std::string safe;
  for (const char c : words.substr(0, max_length)) {
    const bool is_plain = base::is_ascii_letter(c) || base::is_ascii_digit(c) || c == '-' || c == '_';
    safe += is_plain ? c : '_';
  }
  if (safe == words && !safe.empty()) return safe;
  return fmt::format("{}-{}", safe, base::sha256_hex(words).substr(0, digits));
}

}  // namespace

std::string branch_name(base::ExecutionId root) { return "reeve/" + root.text(); }
std::string branch_ref(base::ExecutionId root) { return "refs/heads/" + branch_name(root); }
std::string kept_ref(base::ExecutionId root, std::string_view what) {
  return fmt::format("refs/reeve/{}/{}", root.text(), what);
}
std::string patch_ref(const model::Patch& patch) { return kept_ref(patch.root_id, patch.patch_id.text()); }
std::string lock_reason(base::ExecutionId root) { return "reeve " + root.text(); }

std::string worktree_folder(base::ExecutionId root, std::string_view name) {
  return name.empty() ? root.text() : fmt::format("{}.{}", root.text(), name);
}
std::string shared_name(std::string_view worktree_id) {
  return fmt::format("{}{}", shared_mark, make_safe(worktree_id));
}
std::string throwaway_name(std::string_view words) { return fmt::format("{}{}", throwaway_mark, make_safe(words)); }
bool is_throwaway(std::string_view folder_name) {
  const std::size_t dot = folder_name.find('.');
  return dot != std::string_view::npos && base::ExecutionId::parse(folder_name.substr(0, dot)) &&
         folder_name.substr(dot + 1).starts_with(throwaway_mark);
}

bool is_sensitive(std::string_view path) { return engine::is_reeve_file(path) || engine::is_agent_config(path); }

std::vector<std::string> find_sensitive(const std::vector<model::PatchFile>& files) {
  std::vector<std::string> found;
  for (const model::PatchFile& file : files) {
    if (is_sensitive(file.path)) found.push_back(file.path);
  }
  return found;
}

bool waits_on_branch(const model::Patch& patch) {
  using enum model::PatchState;
  const bool is_open =
      patch.state == validated || patch.state == queued || patch.state == apply_failed || patch.state == conflicted;
  return is_open && patch.branch_commit;
}

std::string list_all(const std::vector<std::string>& paths) {
  std::vector<std::string> shown;
  for (const std::string& path : paths) shown.push_back(base::visible(path));
  return base::join(shown, ", ");
}

std::string list_some(const std::vector<std::string>& paths) {
  constexpr std::size_t max_shown = 10;
  std::vector<std::string> shown;
  for (const std::string& path : paths) {
    if (shown.size() == max_shown) {
      shown.push_back(fmt::format("{} more", paths.size() - max_shown));
      break;
    }
    shown.push_back(base::visible(path));
  }
  return base::join(shown, ", ");
}

std::string merge_manually(base::ExecutionId root) {
  return fmt::format("`git merge {}` applies it manually", branch_name(root));
}

std::string describe_size(const std::vector<model::PatchFile>& files) {
  std::int64_t added = 0;
  std::int64_t removed = 0;
  for (const model::PatchFile& file : files) {
    added += file.added;
    removed += file.removed;
  }
  return fmt::format("{} file{}, +{} -{}", files.size(), files.size() == 1 ? "" : "s", added, removed);
}

}  // namespace reeve::runtime
