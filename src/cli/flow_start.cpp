#include "cli/flow_start.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/connect.h"
#include "cli/environment.h"
#include "cli/flow_changes.h"
#include "cli/flow_follow.h"
#include "cli/question_teller.h"
#include "cli/read_problems.h"
#include "cli/trust_notice.h"
#include "cli/watching.h"
#include "client/refusal.h"
#include "json/parse.h"
#include "os/file.h"
#include "project/project.h"
#include "project/workflows.h"

namespace reeve::cli {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Value;

constexpr base::Milliseconds long_wait = std::chrono::seconds(30);

Value parse_json(std::string_view text, const std::string& where) {
  auto value = json::parse(text);
  if (!value) throw Error("cli.usage", fmt::format("{} is no JSON: {}", where, value.error().text()));
  return std::move(*value);
}

Value read_inputs_file(const std::string& name) {
  const std::string text = name == "-" ? os::read_standard_input(base::limits::spec_file_bytes)
                                       : os::read_file(name, base::limits::spec_file_bytes, os::Pipes::read);
  Value inputs = parse_json(text, base::quoted(name));
  if (inputs.as_object() == nullptr) {
    throw Error("cli.usage", fmt::format("{} must hold a JSON object, not {}", base::quoted(name), inputs.kind()));
  }
  return inputs;
}

void put(Value& object, const std::string& key, Value value) {
  for (base::Member& member : *object.as_object()) {
    if (member.key != key) continue;
    member.value = std::move(value);
    return;
  }
  object.set(key, std::move(value));
}

// "name=text", or "name:=json".
void add_input(Value& inputs, const std::string& word) {
  const std::size_t equals = word.find('=');
  const bool is_json = equals != std::string::npos && equals > 0 && word[equals - 1] == ':';
  const std::string key = word.substr(0, equals == std::string::npos ? 0 : equals - (is_json ? 1 : 0));
  if (key.empty()) {
    throw Error("cli.usage", fmt::format("{} is not a value for `--input`", base::quoted(word)),
                "write it as NAME=TEXT, or NAME:=JSON");
  }
  const std::string text = word.substr(equals + 1);
  if (base::find_invalid_utf8(word)) throw Error("cli.usage", fmt::format("{} is not UTF-8", base::quoted(word)));
  put(inputs, key, is_json ? parse_json(text, fmt::format("the value of {}", base::quoted(key))) : Value::string(text));
}

Value inputs_of(const Call& call) {
  Value inputs = Value::object();
  if (const auto file = call.arguments.value("--inputs")) inputs = read_inputs_file(*file);
  for (const std::string& word : call.arguments.values("--input")) add_input(inputs, word);
  return inputs;
}

// Without the slash at the end that "." leaves.
std::string absolute_path(const fs::path& path) {
  const fs::path made = fs::absolute(path).lexically_normal();
  return (made.has_filename() ? made : made.parent_path()).string();
}

Value make_wish(const Call& call, const std::string& file, const std::optional<std::string>& label) {
  Value wish = Value::object();
  fs::path start = ".";
  if (project::is_workflow_file(file)) {
    wish.set("source", Value::string(project::read_source(file)->text()));
    // What lies beside it on this machine is not there on another.
    if (file != "-" && !is_elsewhere(daemon_place(call))) {
      const std::string path = absolute_path(file);
      wish.set("file", Value::string(path));
      start = fs::path(path).parent_path();
    }
  } else {
    wish.set("workflow", Value::string(file));
  }
  wish.set("inputs", inputs_of(call));
  if (label) wish.set("label", Value::string(*label));
  if (const auto phase = call.arguments.value("--phase")) wish.set("phase_name", Value::string(*phase));
  wish.set("metadata", read_pairs(call, "--meta"));
  set_ground(call, wish, start);
  return wish;
}

client::ExecutionRecord wait_for(const Call& call, client::Daemon& daemon, base::ExecutionId id, client::Until until) {
  const Watching watching(parting_of(id));
  std::optional<QuestionTeller> teller;
  if (until == client::Until::final) teller.emplace(call, daemon.place(), Subjects{.executions = {id}});
  while (true) {
    auto record = client::wait_execution(daemon, id, until, long_wait);
    const bool waits = record.execution.status == model::ExecutionStatus::waiting_approval;
    if (model::is_over(record.execution.status) || (waits && until == client::Until::final_or_waiting)) return record;
  }
}

// Starts it, and says what of the project it does not see.
client::ExecutionRecord create(const Call& call, client::Daemon& daemon, const StartTerms& terms) {
  constexpr std::size_t most_named = 3;
  client::StartedExecution started = terms.create(daemon);
  const std::size_t count = started.dirty.size();
  if (count > 0 && !call.is_json) {
    started.dirty.resize(std::min(count, most_named));
    print_aside("note: {} changed file{} not committed and no part of it: {}{}\n", count, count == 1 ? " is" : "s are",
                base::visible(base::join(started.dirty, ", ")), count > most_named ? ", ..." : "");
  }
  return std::move(started.record);
}

// What it asks after its end counts as waiting for those who do not want to wait.
ExitCode exit_code_with(const model::Execution& ended, const std::vector<model::Approval>& questions,
                        client::Until until) {
  const bool waits = until == client::Until::final_or_waiting && !questions.empty();
  return waits ? ExitCode::waiting : exit_code_of(ended);
}

ExitCode follow(const Call& call, client::Daemon& daemon, const StartTerms& terms) {
  const auto until = call.arguments.has("--no-wait") ? client::Until::final_or_waiting : client::Until::final;
  const auto questions_of = [&](const model::Execution& execution) {
    return model::is_over(execution.status) ? find_questions(daemon, execution.execution_id)
                                            : std::vector<model::Approval>();
  };
  if (call.is_json) {
    const auto record = wait_for(call, daemon, create(call, daemon, terms).execution.execution_id, until);
    print_json(call, terms.record ? terms.record(daemon, record.execution.execution_id) : record.wire);
    return exit_code_with(record.execution, questions_of(record.execution), until);
  }
  // First the ear: what happens while it begins is heard.
  std::optional<client::EventFeed> feed;
  try {
    feed.emplace(daemon);
  } catch (const client::Refusal& refusal) {
    // Who may not listen may not start either, and is told so.
    if (refusal.code() == "api.inside_run") create(call, daemon, terms);
    throw;
  }
  auto created = create(call, daemon, terms);
  const model::Execution ended = follow_execution(call, daemon, *feed, std::move(created.execution), until);
  const bool is_over = model::is_over(ended.status);
  // What its end brings with it: the person is told whether their checkout has changed.
  if (is_over) client::wait_execution(daemon, ended.execution_id, client::Until::final, long_wait);
  print_ending(call, ended);
  const auto questions = questions_of(ended);
  if (is_over) print_changes(daemon, ended.execution_id, questions);
  if (questions.empty()) {
    print_next_of(call, ended);
  } else {
    print_questions(call, questions);
  }
  return exit_code_with(ended, questions, until);
}

}  // namespace

ExitCode start_and_follow(const Call& call, const StartTerms& terms) {
  client::Daemon daemon(patient_place(call));
  try {
    if (!call.arguments.has("--detach")) return follow(call, daemon, terms);
    const auto record = create(call, daemon, terms);
    const base::ExecutionId id = record.execution.execution_id;
    if (call.is_json) {
      print_json(call, terms.record ? terms.record(daemon, id) : record.wire);
    } else {
      fmt::print("{}\n", id.text());
      print_next(call, fmt::format("reeve {} show {}", terms.noun, id.text()));
    }
    return ExitCode::done;
  } catch (const client::Refusal& refusal) {
    const std::string invalid = fmt::format("{}.invalid", terms.noun);
    const bool has_problems = refusal.code() == invalid && !call.is_json;
    if (!has_problems) throw;
    const Files files = is_elsewhere(daemon.place()) ? Files::elsewhere : Files::here;
    return refuse(call, invalid, refusal.message(), read_problems(refusal.document().find("errors"), files),
                  "Nothing was started.");
  }
}

ExitCode start_flow(const Call& call, const std::string& file, const std::optional<std::string>& label) {
  return start_and_follow(call, {.create = [wish = make_wish(call, file, label)](client::Daemon& daemon) {
                            return client::create_execution(daemon, wish);
                          }});
}

base::Value read_inputs(const Call& call) { return inputs_of(call); }

void set_ground(const Call& call, Value& wish, const fs::path& start) {
  const auto named = call.arguments.value("--project");
  if (is_elsewhere(daemon_place(call))) {
    if (!named || !named->starts_with('/')) {
      throw Error("cli.usage", "the daemon may be on another machine: the project there is not known",
                  "name its folder: --project /folder/there");
    }
    wish.set("project", Value::string(*named));
    wish.set("environment", Value::object());
    return;
  }
  const std::string project = named ? absolute_path(*named) : find_project_folder(start);
  tell_trust(project, Brings::commands);
  wish.set("project", Value::string(project));
  wish.set("environment", own_environment());
}

std::string find_project_folder(const fs::path& start) {
  auto project = project::find_project(".");
  if (!project) project = project::find_project(start);
  return absolute_path(project.value_or("."));
}

std::vector<Option> start_options() {
  return {{.name = "--input",
           .value = "NAME=TEXT",
           .help = "an input of the first node; NAME:=JSON for other values",
           .is_repeatable = true},
          {.name = "--inputs", .value = "FILE", .help = "a file with a JSON object of inputs"},
          {.name = "--project", .value = "DIR", .help = "the folder it works in (else the project around this one)"},
          {.name = "--detach", .help = "print its id at once and leave it running"},
          {.name = "--no-wait", .help = "when it waits for an approval, end with 90"}};
}

std::vector<Option> record_options() {
  return {{.name = "--meta", .value = "NAME=VALUE", .help = "kept with its record", .is_repeatable = true},
          {.name = "--phase", .value = "NAME", .help = "the phase of a larger work that it is; kept with its record"}};
}

}  // namespace reeve::cli
