#include "runtime/tools/tool_table.h"

#include <algorithm>

namespace reeve::runtime {

namespace {

using Kind = ArgumentKind;
using base::limits::kib;

constexpr std::int64_t max_line = 1'000'000'000;

std::vector<ToolShape> make_reading_tools() {
  constexpr std::string_view folder = "Folder in the worktree; default: the worktree itself.";
  return {
      {"file_read",
       "Reads a text file of the worktree.",
       {{"path", Kind::text, true, "File in the worktree, relative to it or absolute."},
        {.name = "offset",
         .kind = Kind::number,
         .is_required = false,
         .description = "First line, from 1; default: 1.",
         .min = 1,
         .max = max_line},
        {.name = "limit",
         .kind = Kind::number,
         .is_required = false,
         .description = "Number of lines; default: as many as fit into the result.",
         .min = 1,
         .max = max_line}}},
      {"list_directory",
       "Lists a folder of the worktree: folders end with a slash, symlinks with an at sign.",
       {{"path", Kind::text, false, folder}}},
      {"search_files",
       "Searches text files of the worktree for a regular expression, line by line. Binary files, `.git` and files "
       "whose "
       "names suggest secrets are skipped.",
       {{.name = "pattern",
         .kind = Kind::text,
         .is_required = true,
         .description = "Regular expression in the syntax of RE2.",
         .max_bytes = kib},
        {"path", Kind::text, false, "File or folder in the worktree; default: the worktree itself."},
        {.name = "glob",
         .kind = Kind::text,
         .is_required = false,
         .description = "Only files that match: `*.cpp` by name, `src/**/*.h` by path relative to the worktree.",
         .max_bytes = kib},
        {.name = "max_results",
         .kind = Kind::number,
         .is_required = false,
         .description = "Number of lines to return; default: 200.",
         .min = 1,
         .max = 2'000}}},
  };
}

std::vector<ToolShape> make_git_reading_tools() {
  return {
      {"git_diff",
       "Shows changes as a patch: of the files against the index, of the index with `staged`, or of either against a "
       "commit with `against`. New files appear once they are added.",
       {{"paths", Kind::texts, false, "Only these files and folders of the worktree."},
        {"staged", Kind::flag, false, "Compare the index instead of the files."},
        {.name = "against",
         .kind = Kind::text,
         .is_required = false,
         .description = "A commit: hash, branch, tag, `HEAD~2`. Default: the index, with `staged` HEAD.",
         .max_bytes = 200}}},
      {"git_log",
       "Lists commits, newest first: hash, date, author and message.",
       {{"path", Kind::text, false, "Only commits that changed this file or folder of the worktree."},
        {.name = "limit",
         .kind = Kind::number,
         .is_required = false,
         .description = "Number of commits; default: 20.",
         .min = 1,
         .max = 500}}},
      {"git_blame",
       "Shows for each line of a file in HEAD which commit last changed it.",
       {{"path", Kind::text, true, "File in the worktree."},
        {.name = "from",
         .kind = Kind::number,
         .is_required = false,
         .description = "First line, from 1; default: 1.",
         .min = 1,
         .max = max_line},
        {.name = "to",
         .kind = Kind::number,
         .is_required = false,
         .description = "Last line; default: the last one.",
         .min = 1,
         .max = max_line}}},
  };
}

std::vector<ToolShape> make_writing_tools() {
  return {
      {"file_write",
       "Creates or replaces a file of the worktree with this text.",
       {{"path", Kind::text, true, "File in the worktree; not in a `.git` or `.reeve` folder."},
        {.name = "content",
         .kind = Kind::text,
         .is_required = true,
         .description = "The whole new text, at most 2 MiB.",
         .max_bytes = max_written_bytes},
        {"create_folders", Kind::flag, false, "Create missing parent folders; default: false."}}},
      {"shell_execute",
       "Runs a command in the worktree as a supervised run. Give either `command` or `argv`.",
       {{.name = "command",
         .kind = Kind::text,
         .is_required = false,
         .description = "Text for /bin/sh.",
         .max_bytes = 64 * kib},
        {.name = "argv",
         .kind = Kind::texts,
         .is_required = false,
         .description = "Program and arguments, run without a shell.",
         .max_bytes = 64 * kib},
        {.name = "timeout_seconds",
         .kind = Kind::number,
         .is_required = false,
         .description = "The command is ended after this time; default: 10 minutes.",
         .min = 1,
         .max = 86'400}}},
      {"git_add",
       "Stages files and deletions. Ignored files are not added.",
       {{"paths", Kind::texts, true, "Files and folders of the worktree."}}},
      {"git_commit",
       "Commits what is staged, with the configured identity, without hooks and signature.",
       {{.name = "message",
         .kind = Kind::text,
         .is_required = true,
         .description = "The commit message.",
         .max_bytes = 64 * kib}}},
      {"git_push",
       "Pushes a branch to the branch of the same name at a configured remote, never by force.",
       {{.name = "remote",
         .kind = Kind::text,
         .is_required = false,
         .description = "Name of a configured remote; default: origin.",
         .max_bytes = 200},
        {.name = "branch",
         .kind = Kind::text,
         .is_required = false,
         .description = "A local branch; default: the current one.",
         .max_bytes = 200}}},
  };
}

std::vector<ToolShape> make_table() {
  std::vector<ToolShape> table = make_reading_tools();
  for (auto* make : {make_git_reading_tools, make_writing_tools}) {
    for (ToolShape& tool : make()) table.push_back(std::move(tool));
  }
  return table;
}

}  // namespace

const std::vector<ToolShape>& tool_table() {
  static const std::vector<ToolShape> table = make_table();
  return table;
}

const ToolShape* find_tool_shape(std::string_view tool) noexcept {
  const auto found = std::ranges::find(tool_table(), tool, &ToolShape::name);
  return found == tool_table().end() ? nullptr : &*found;
}

}  // namespace reeve::runtime
