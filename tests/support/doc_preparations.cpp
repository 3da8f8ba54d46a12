#include "tests/support/doc_preparations.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tests/support/files.h"

namespace reeve::testing {

namespace {

// One command of a block, found by its beginning; the first that fits.
struct PreparedLine {
  std::string_view begins;
  // Shell: sets the variables for ids.
  std::string before;
  // What a person types at the terminal where the command asks, for `printf %b`; may name these variables.
  std::string_view typed = {};
  int exit_code = 0;
};

struct Preparation {
  std::string_view name;
  // Shell, in a new project, before the first command.
  std::string_view before = {};
  std::vector<PreparedLine> lines = {};
};

constexpr std::string_view mistaken_workflow = R"(cat > release.yaml <<'END'
id: release
name: Release
entry_point: write
edges: []
nodes:
  - id: write
    label: Write
    type: taks
    task_config: {role: coder, task_template: "{input}"}
END
)";

constexpr std::string_view pipelines = R"(cat > .reeve/pipelines.yaml <<'END'
agents:
  writer: {role: coder, prompt: "true # {input}"}
pipelines:
  feature: {steps: [{agent: writer}]}
  reviewed: {steps: [{type: approval, description: Is that all?}, {agent: writer}]}
END
)";

constexpr std::string_view agents =
    R"(mkdir bin; printf '#!/bin/sh\necho "$0 $*"\n' > bin/claude; chmod +x bin/claude; PATH=$PWD/bin:$PATH)";

// With the functions of doc_preparations.sh.
const std::vector<Preparation>& preparations() {
  const std::string push = R"('{"command":"git push"}' )";
  const std::string status = R"(make_calls '{"command":"git status"}')";
  static const std::vector<Preparation> all = {
      {.name = "runs",
       .lines = {{"reeve runs", "make_failed_run"},
                 {"reeve logs -f", "make_ended_run"},
                 {"reeve logs EX", "make_failed_flow"},
                 {"reeve wait TR", "make_ended_run"},
                 {"reeve wait EX", "make_question"},
                 {"reeve rerun", "make_ended_run"},
                 {"reeve seen", "make_failed_run"},
                 {"reeve ", "make_live_run"}}},
      {.name = "approvals",
       .lines = {{"reeve approve AP-7 --choice", "make_question choose"},
                 {"reeve answer", "make_prompt", "y"},
                 {"reeve ", "make_question"}}},
      {.name = "flows",
       .lines = {{"reeve flow validate", ""},
                 {"reeve flow graph", ""},
                 {"reeve flow run", ""},
                 {"reeve flow list", "make_failed_flow"},
                 {"reeve flow retry", "make_failed_flow"},
                 {"reeve flow cancel", "make_question"},
                 {"reeve ", "have_change"}}},
      {.name = "a mistake", .before = mistaken_workflow, .lines = {{"reeve flow validate", "", "", 2}}},
      {.name = "patches",
       .lines = {{"reeve patch rollback", "make_applied_change"},
                 {"reeve patch apply", "make_change"},
                 {"reeve patch drop", "make_change"},
                 {"reeve ", "have_change"}}},
      {.name = "pipelines",
       .before = pipelines,
       .lines = {{"reeve pipeline list", ""}, {"reeve pipeline start", ""}, {"reeve ", "make_waiting_pipeline"}}},
      {.name = "folders",
       .lines = {{"reeve state adopt", "make_foreign_state", "y"},
                 {"reeve project moved", "make_moved_project"},
                 {"reeve project copied", "make_copied_project"},
                 {"reeve state move", "make_own_state", "y"}}},
      {.name = "a port", .lines = {{"curl", "open_port"}}},
      {.name = "another machine", .before = "open_port; APP=$PWD"},
      {.name = "tool calls",
       .lines = {{"reeve approve AP-4 --equal", "make_calls " + push + push, "$AP"},
                 {"reeve approve", "make_calls " + push, "$AP"},
                 {"reeve ", "make_calls " + push}}},
      {.name = "grants",
       .lines = {{"reeve approve AP-4 --always --match 'path", "make_write_in_flow", "y\\ny"},
                 {"reeve approve AP-4 --always --match", status, "$AP\\ny"},
                 {"reeve approve", status, "$AP"},
                 {"reeve ", "make_grant"}}},
      {.name = "an agent",
       .before = agents,
       .lines = {{"reeve run", ""},
                 {"reeve logs", "make_ended_run"},
                 {"reeve cancel", "make_live_run"},
                 {"reeve ", "make_failed_run"}}},
      {.name = "agents", .before = agents, .lines = {{"reeve run", ""}, {"reeve ", "", "y"}}},
      {.name = "an old database", .before = "make_old_database .worktrees/pipeline_state.db"},
      {.name = "a resource", .before = "make_question; find_tag"},
      {.name = "two people",
       .lines = {{"reeve show", "make_prompt"},
                 {"reeve approve AP-4 --comment", "make_question"},
                 {"reeve approve AP-4", "", "", 4}}}};
  return all;
}

const Preparation& find_preparation(const DocBlock& block) {
  const auto found = std::ranges::find(preparations(), block.prepared, &Preparation::name);
  if (found == preparations().end()) {
    throw std::out_of_range(fmt::format("{}: there is no preparation `{}`", block.place(), block.prepared));
  }
  return *found;
}

// "reeve show TR-17" becomes "reeve show $TR".
std::string with_made_ids(std::string_view line) {
  std::string result;
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  while (!line.empty()) {
    bool is_id = false;
    for (const std::string_view kind : {"TR", "EX", "AP", "PA", "TC", "GR"}) {
      is_id = line.size() > 3 && line.starts_with(kind) && line[2] == '-' && is_digit(line[3]);
      if (!is_id) continue;
      result += fmt::format("${}", kind);
      line.remove_prefix(3);
      while (!line.empty() && is_digit(line.front())) line.remove_prefix(1);
      break;
    }
    if (is_id) continue;
    result += line.front();
    line.remove_prefix(1);
  }
  return result;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

std::string made(const std::string& line) {
  std::string text = with_made_ids(line);
  // A port that is free, which the daemon chooses; and the other machine is this one.
  replace_all(text, "--http 127.0.0.1:7433", "--http 127.0.0.1:0");
  replace_all(text, "127.0.0.1:7433", "$ADDRESS");
  replace_all(text, "https://build.example:7433", "http://$ADDRESS");
  replace_all(text, "/srv/app", "\"$APP\"");
  replace_all(text, "…/api", "--unix-socket ~/.local/state/reeve/reeve.sock http://localhost/api");
  replace_all(text, R"('If-Match: "5f0c3b9e6d1a4c2f8e7b9a0d3c6f1e52"')", R"("If-Match: $ETAG")");
  return text;
}

}  // namespace

bool shows_what_is_printed(const DocBlock& block) { return block.prepared == "a mistake"; }

std::string preparation_prelude() { return read_text(source_folder() / "tests/support/doc_preparations.sh"); }

std::string prepared_script(const DocBlock& block) {
  const Preparation& preparation = find_preparation(block);
  std::string folder(preparation.name);
  std::ranges::replace(folder, ' ', '-');
  std::string script = fmt::format("(\ntrap end_all EXIT\nnew_project '{}'\n{}\n", folder, preparation.before);
  for (const std::string& line : block.commands()) {
    const auto found =
        std::ranges::find_if(preparation.lines, [&](const PreparedLine& one) { return line.starts_with(one.begins); });
    const PreparedLine how = found != preparation.lines.end() ? *found : PreparedLine();
    script += fmt::format("{}\ncode=0\n", how.before);
    std::string command = made(line);
    if (!how.typed.empty()) {
      replace_all(command, "'", "'\\''");
      script +=
          fmt::format("{{ printf '%b\\n' \"{}\" | script -qec '{}' /dev/null; }} || code=$?\n", how.typed, command);
    } else {
      script += fmt::format("{{\n{}\n}} || code=$?\n", command);
    }
    script += fmt::format("[ $code = {} ]\n", how.exit_code);
  }
  return script + ")\n";
}

}  // namespace reeve::testing
