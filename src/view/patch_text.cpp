#include "view/patch_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/enum.h"
#include "base/text.h"
#include "view/project_names.h"

namespace reeve::view {

using base::WallTime;
using model::Patch;
using model::PatchFile;
using model::PatchState;

namespace {

constexpr std::size_t key_columns = 16;
constexpr std::size_t short_hash = 12;
constexpr std::size_t node_columns = 24;
constexpr std::size_t note_columns = 48;

std::string with_tabs(std::string_view line) {
  std::string text;
  for (const std::string_view part : base::split(line, '\t')) {
    if (!text.empty() || part.data() != line.data()) text += '\t';
    text += base::visible(part);
  }
  return text;
}

std::optional<Tint> tint_of(std::string_view line) {
  if (line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ") || line.starts_with("index ")) {
    return Tint::bold;
  }
  if (line.starts_with("@@")) return Tint::cyan;
  if (line.starts_with('+')) return Tint::green;
  if (line.starts_with('-')) return Tint::red;
  return std::nullopt;
}

std::string brief(const std::optional<std::string>& commit) { return commit ? commit->substr(0, short_hash) : ""; }

}  // namespace

Look look_of(PatchState state) noexcept {
  switch (state) {
    case PatchState::created:
    case PatchState::validated:
      return {"○", ".", Tint::dim};
    case PatchState::queued:
    case PatchState::applied:
    case PatchState::verified:
      return {"●", ">", Tint::cyan};
    case PatchState::committed:
      return {"✓", "+", Tint::green};
    case PatchState::apply_failed:
    case PatchState::conflicted:
    case PatchState::rejected:
      return {"✗", "x", Tint::red};
    case PatchState::quarantined:
      return {"▲", "!", Tint::magenta};
    case PatchState::rolled_back:
    case PatchState::dropped:
      return {"⊘", "-", Tint::dim};
  }
  return {"?", "?", Tint::dim};
}

std::string status_text(PatchState state, const Style& style) {
  const Look look = look_of(state);
  return style.paint(look.tint, fmt::format("{} {}", style.pick(look.sign, look.ascii), base::spell(state)));
}

std::string size_text(const std::vector<PatchFile>& files) {
  std::int64_t added = 0;
  std::int64_t removed = 0;
  for (const PatchFile& file : files) {
    added += file.added;
    removed += file.removed;
  }
  return fmt::format("{} file{} +{} -{}", files.size(), files.size() == 1 ? "" : "s", added, removed);
}

std::vector<std::string> file_lines(const std::vector<PatchFile>& files, const Style& style) {
  std::vector<std::string> lines;
  for (const PatchFile& file : files) {
    lines.push_back(fmt::format("{} {}  {}{}",
                                style.paint(Tint::green, fmt::format("{:>6}", fmt::format("+{}", file.added))),
                                style.paint(Tint::red, fmt::format("{:>6}", fmt::format("-{}", file.removed))),
                                base::visible(file.path), file.is_deleted ? " (deleted)" : ""));
  }
  return lines;
}

std::string diff_text(std::string_view diff, const Style& style) {
  std::string text;
  if (diff.ends_with('\n')) diff.remove_suffix(1);
  if (diff.empty()) return text;
  for (const std::string_view line : base::split(diff, '\n')) {
    const auto tint = tint_of(line);
    const std::string safe = with_tabs(line);
    text += tint ? style.paint(*tint, safe) : safe;
    text += '\n';
  }
  return text;
}

Table patches_table(const std::vector<Patch>& patches, const Style& style, std::optional<WallTime> now) {
  if (!now) {
    Table table({"ID", "STATE", "EXECUTION", "NODE", "FILES", "ADDED", "REMOVED", "CREATED", "REASON", "PROJECT"});
    for (const Patch& patch : patches) {
      std::int64_t added = 0;
      std::int64_t removed = 0;
      for (const PatchFile& file : patch.files) {
        added += file.added;
        removed += file.removed;
      }
      const std::string reason = patch.history.empty() ? "" : patch.history.back().reason.value_or("");
      table.add({patch.patch_id.text(), std::string(base::spell(patch.state)), patch.execution_id.text(), patch.node_id,
                 fmt::format("{}", patch.files.size()), fmt::format("{}", added), fmt::format("{}", removed),
                 base::format_time(patch.created_at), reason, path_text(patch.project)});
    }
    return table;
  }
  Table table({"ID", "STATE", "NODE", "CHANGES", "AGE", "NOTE", "PROJECT"});
  ProjectNames projects;
  projects.add_all(patches);
  for (const Patch& patch : patches) {
    const Look look = look_of(patch.state);
    const std::string reason = patch.history.empty() ? "" : patch.history.back().reason.value_or("");
    const std::string node = fmt::format("{}/{}", patch.execution_id.text(), base::visible(patch.node_id));
    table.add({{patch.patch_id.text()},
               {fmt::format("{} {}", style.pick(look.sign, look.ascii), base::spell(patch.state)), look.tint},
               {base::fit_width(node, node_columns, style.ascii)},
               {size_text(patch.files)},
               {age_text(*now - patch.created_at)},
               {base::fit_width(base::visible(reason), note_columns, style.ascii)},
               {projects.of(patch.project)}});
  }
  return table;
}

std::string patch_details(const Patch& patch, const Style& style, std::optional<WallTime> now) {
  std::string text;
  const auto line = [&](std::string_view key, std::string_view value) {
    if (value.empty()) return;
    if (now) {
      const std::string padded = fmt::format("{:<{}}", key, key_columns);
      text += fmt::format("{}{}\n", style.paint(Tint::dim, padded), value);
    } else {
      text += fmt::format("{}\t{}\n", key, value);
    }
  };
  if (now) {
    text += fmt::format("{}  {}/{}  {}\n\n", style.paint(Tint::bold, patch.patch_id.text()), patch.execution_id.text(),
                        base::visible(patch.node_id), status_text(patch.state, style));
  } else {
    line("patch_id", patch.patch_id.text());
    line("state", base::spell(patch.state));
    line("execution_id", patch.execution_id.text());
    line("node_id", base::visible(patch.node_id));
  }
  line("project", base::visible(path_text(patch.project)));
  const bool has_root = patch.root_id != patch.execution_id;
  line("root_id", has_root ? patch.root_id.text() : "");
  line("iteration", fmt::format("{}", patch.iteration));
  line("attempt", fmt::format("{}", patch.attempt));
  line("base_commit", now ? brief(patch.base_commit) : patch.base_commit);
  line("commit", now ? brief(patch.commit) : patch.commit);
  line("branch_commit", now ? brief(patch.branch_commit) : patch.branch_commit.value_or(""));
  line("applied_commit", now ? brief(patch.applied_commit) : patch.applied_commit.value_or(""));
  for (const model::PatchStep& step : patch.history) {
    const std::string when = now ? age_text(*now - step.at) + " ago" : base::format_time(step.at);
    const std::string why = step.reason ? ": " + base::visible(*step.reason) : "";
    line(&step == &patch.history.front() || !now ? "history" : " ",
         fmt::format("{} {}{}", when, base::spell(step.state), why));
  }
  if (!now) {
    for (const PatchFile& file : patch.files) {
      line("file", fmt::format("{}\t{}\t{}", base::visible(file.path), file.added, file.removed));
    }
    line("diff", base::visible(patch.diff));
    return text;
  }
  line("changes", size_text(patch.files));
  for (const std::string& file : file_lines(patch.files, style)) text += file + '\n';
  if (!patch.diff.empty()) text += '\n' + diff_text(patch.diff, style);
  return text;
}

}  // namespace reeve::view
