#include "cli/live/flow_start.h"

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
#include "cli/live/ask_person.h"
#include "cli/live/flow_changes.h"
#include "cli/live/flow_follow.h"
#include "cli/live/input_form.h"
#include "cli/live/interrupt_message.h"
#include "cli/live/question_notifier.h"
#include "cli/live/trust_notice.h"
#include "cli/read_problems.h"
#include "client/refusal.h"
#include "json/parse.h"
#include "os/file.h"
#include "project/project.h"
#include "project/workflows.h"

namespace reeve::cli {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using base::Value;

constexpr base::Milliseconds long_wait = std::chrono::seconds(30);

Value parse_json(std::string_view text, const std::string& where) {
  auto value = json::parse(text);
  if (!value) throw Error(ErrorCode::cli_usage, fmt::format("{} is not valid JSON: {}", where, value.error().text()));
  return std::move(*value);
}

Value read_inputs_file(const std::string& name) {
  const std::string text = name == "-" ? os::read_standard_input(base::limits::spec_file_bytes)
                                       : os::read_file(name, base::limits::spec_file_bytes, os::Pipes::read);
  Value inputs = parse_json(text, base::quoted(name));
  if (inputs.as_object() == nullptr) {
    throw Error(ErrorCode::cli_usage,
                fmt::format("{} must contain a JSON object, not {}", base::quoted(name), inputs.kind()));
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
    throw Error(ErrorCode::cli_usage, fmt::format("{} is not a valid value for `--input`", base::quoted(word)),
                "write it as NAME=TEXT, or NAME:=JSON");
  }
  const std::string text = word.substr(equals + 1);
  if (base::find_invalid_utf8(word)) {
    throw Error(ErrorCode::cli_usage, fmt::format("{} is not valid UTF-8", base::quoted(word)));
  }
  put(inputs, key, is_json ? parse_json(text, fmt::format("the value of {}", base::quoted(key))) : Value::string(text));
}

Value inputs_of(const Call& call) {
  Value inputs = Value::object();
  if (const auto file = call.arguments.value("--inputs")) inputs = read_inputs_file(*file);
  for (const std::string& word : call.arguments.values("--input")) add_input(inputs, word);
  return inputs;
}

// Without the trailing slash that "." leaves.
std::string absolute_path(const fs::path& path) {
  const fs::path made = fs::absolute(path).lexically_normal();
  return (made.has_filename() ? made : made.parent_path()).string();
}

Value make_run_request(const Call& call, const std::string& file, const std::optional<std::string>& label) {
  Value request = Value::object();
  fs::path start = ".";
  if (project::is_workflow_file(file)) {
    request.set("source", Value::string(project::read_source(file)->text()));
    // The files next to it do not exist on another machine.
    if (file != "-" && !is_elsewhere(daemon_place(call))) {
      const std::string path = absolute_path(file);
      request.set("file", Value::string(path));
      start = fs::path(path).parent_path();
    }
  } else {
    request.set("workflow", Value::string(file));
  }
  Value inputs = inputs_of(call);
  // Standard input that carries the workflow or the inputs cannot carry answers.
  if (file != "-" && can_ask()) {
    if (const auto declared = find_declared_inputs(call, file)) ask_inputs(call, *declared, inputs);
  }
  request.set("inputs", std::move(inputs));
  if (label) request.set("label", Value::string(*label));
  if (const auto phase = call.arguments.value("--phase")) request.set("phase_name", Value::string(*phase));
  request.set("metadata", read_pairs(call, "--meta"));
  set_settings(call, request, start);
  return request;
}

client::ExecutionRecord wait_for(const Call& call, client::Daemon& daemon, base::ExecutionId id, client::Until until) {
  const InterruptMessage watching(exit_message_of(id));
  std::optional<QuestionNotifier> notifier;
  if (until == client::Until::final) notifier.emplace(call, daemon.place(), Subjects{.executions = {id}});
  while (true) {
    auto record = client::wait_execution(daemon, id, until, long_wait);
    const bool waits = record.execution.status == model::ExecutionStatus::waiting_approval;
    if (model::is_over(record.execution.status) || (waits && until == client::Until::final_or_waiting)) return record;
  }
}

// Starts it and reports uncommitted changes, which it does not see.
client::ExecutionRecord create(const Call& call, client::Daemon& daemon, const StartTerms& terms) {
  constexpr std::size_t max_named = 3;
  client::StartedExecution started = terms.create(daemon);
  const std::size_t count = started.dirty.size();
  if (count > 0 && !call.is_json) {
    started.dirty.resize(std::min(count, max_named));
    print_aside("note: {} uncommitted change{} will not be included: {}{}\n", count, count == 1 ? "" : "s",
                base::visible(base::join(started.dirty, ", ")), count > max_named ? ", ..." : "");
  }
  return std::move(started.record);
}

// With --no-wait, a question that is pending after the end counts as waiting.
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
  // Subscribe before starting, so that no event is missed.
  std::optional<client::EventFeed> feed;
  try {
    feed.emplace(daemon);
  } catch (const client::Refusal& refusal) {
    // A caller that may not subscribe may not start either; the start reports that.
    if (refusal.is(ErrorCode::api_inside_run)) create(call, daemon, terms);
    throw;
  }
  auto created = create(call, daemon, terms);
  const model::Execution ended = follow_execution(call, daemon, *feed, std::move(created.execution), until);
  const bool is_over = model::is_over(ended.status);
  // Waits for the effects of the end, to report whether the checkout has changed.
  if (is_over) client::wait_execution(daemon, ended.execution_id, client::Until::final, long_wait);
  print_ending(call, ended);
  const auto questions = questions_of(ended);
  if (is_over) print_changes(daemon, ended.execution_id, questions);
  if (questions.empty()) {
    print_next_of(call, daemon, ended);
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
    const bool is_of_inputs = refusal.is(ErrorCode::flow_invalid_inputs);
    if ((!refusal.is(terms.invalid) && !is_of_inputs) || call.is_json) throw;
    const Files files = is_elsewhere(daemon.place()) ? Files::elsewhere : Files::here;
    return refuse(call, is_of_inputs ? ErrorCode::flow_invalid_inputs : terms.invalid, refusal.message(),
                  read_problems(refusal.document().find("errors"), files), "Nothing was started.");
  }
}

ExitCode start_flow(const Call& call, const std::string& file, const std::optional<std::string>& label) {
  return start_and_follow(call, {.create = [request = make_run_request(call, file, label)](client::Daemon& daemon) {
                            return client::create_execution(daemon, request);
                          }});
}

base::Value read_inputs(const Call& call) { return inputs_of(call); }

void set_settings(const Call& call, Value& request, const fs::path& start) {
  const auto named = call.arguments.value("--project");
  if (is_elsewhere(daemon_place(call))) {
    if (!named || !named->starts_with('/')) {
      throw Error(ErrorCode::cli_usage, "the daemon may be on another machine, so the project folder must be given",
                  "add --project with the folder on that machine");
    }
    request.set("project", Value::string(*named));
    request.set("environment", Value::object());
    return;
  }
  const std::string project = named ? absolute_path(*named) : find_project_folder(start);
  tell_trust(project, Brings::commands);
  request.set("project", Value::string(project));
  request.set("environment", own_environment());
}

std::string find_project_folder(const fs::path& start) {
  auto project = project::find_project(".");
  if (!project) project = project::find_project(start);
  return absolute_path(project.value_or("."));
}

std::vector<Option> start_options() {
  return {{.name = "--input",
           .value = "NAME=TEXT",
           .help = "input for the first node; NAME:=JSON for non-text values",
           .is_repeatable = true},
          {.name = "--inputs", .value = "FILE", .help = "file with a JSON object of inputs"},
          {.name = "--project", .value = "DIR", .help = "folder to work in (default: the enclosing project)"},
          {.name = "--detach", .help = "print its id and return at once"},
          {.name = "--no-wait", .help = "exit with code 90 when an approval is needed"}};
}

std::vector<Option> record_options() {
  return {{.name = "--meta", .value = "NAME=VALUE", .help = "metadata to keep with the record", .is_repeatable = true},
          {.name = "--phase", .value = "NAME", .help = "name of the phase that it belongs to; kept with the record"}};
}

}  // namespace reeve::cli
