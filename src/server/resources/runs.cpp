#include "store/runs.h"

#include <charconv>
#include <csignal>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/text.h"
#include "json/decode.h"
#include "json/describe.h"
#include "json/write.h"
#include "model/run.h"
#include "project/project.h"
#include "runtime/runs/rerun.h"
#include "runtime/runs/stdin_file.h"
#include "server/access/in_run_caller.h"
#include "server/access/in_run_policy.h"
#include "server/request/exchange.h"
#include "server/request/long_poll.h"
#include "server/resources/contract.h"
#include "server/resources/held_run.h"
#include "server/resources/listing.h"
#include "server/resources/own_project.h"
#include "server/resources/terminal.h"
#include "wire/rerun_request.h"
#include "wire/run_process.h"
#include "wire/run_request.h"

// /api/runs
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using model::Run;

template <class T>
T decode_body(const Exchange& exchange) {
  auto decoded = json::from_value<T>(exchange.body());
  if (!decoded) throw Error(ErrorCode::api_bad_request, decoded.error());
  return std::move(*decoded);
}

auto answer_with(SharedExchange exchange, int status) {
  return [exchange, status](std::expected<Run, Error> run) {
    if (run) {
      exchange->send(status, json::to_value(*run));
    } else {
      exchange->refuse(run.error());
    }
  };
}

// A run started from inside another always belongs to that run, so that the starter can read it.
void make_child(const Exchange& exchange, wire::RunRequest& request) {
  const InRunCaller& in_run_caller = *exchange.in_run_caller;
  const runtime::LiveRun* parent =
      in_run_caller.held ? exchange.daemon.supervisor().find(*in_run_caller.held) : nullptr;
  const auto own = parent != nullptr ? parent->record().execution_id : std::nullopt;
  if (request.execution_id && request.execution_id != own) {
    throw Error(ErrorCode::run_inside_run,
                fmt::format("a process inside {} cannot start runs in another execution", in_run_caller.run),
                "omit the execution");
  }
  if (request.priority > 0) {
    throw Error(ErrorCode::run_inside_run,
                fmt::format("a process inside {} cannot start a run before those of other people", in_run_caller.run),
                "omit the priority");
  }
  request.metadata.erase(parent_run_key);
  request.metadata.erase(parent_keeper_key);
  if (in_run_caller.held) {
    request.metadata.emplace(parent_run_key, in_run_caller.held->text());
  } else if (!in_run_caller.keeper.empty()) {
    request.metadata.emplace(parent_keeper_key, in_run_caller.keeper);
  }
}

// Starts what was checked against the config.
void start(SharedExchange exchange, runtime::RunPlan plan) {
  const bool is_guarded = plan.profile.sandbox == model::Sandbox::guard;
  const std::string cwd = plan.cwd;
  admit_folder(cwd);
  const auto go = [exchange, plan = std::move(plan)] {
    exchange->daemon.supervisor().start(plan, exchange->key, answer_with(exchange, 201));
  };
  if (!is_guarded) return go();
  // Checked before the run exists: a run that cannot be sandboxed is not created.
  exchange->daemon.sandbox().ask(cwd, [exchange, go](const std::optional<Error>& error) {
    if (error) return exchange->refuse(*error);
    go();
  });
}

void create(SharedExchange exchange) {
  refuse_sandboxed(exchange);
  auto request = decode_body<wire::RunRequest>(*exchange);
  if (exchange->in_run_caller) {
    make_child(*exchange, request);
  } else if (exchange->daemon.context().supervision.queue == model::QueueRuns::always) {
    // Not for runs that are started inside another: that one may hold the slot that they would wait for.
    request.queue = true;
  }
  std::filesystem::path folder = named_project(*exchange, request.project);
  if (folder.empty()) folder = request.cwd;
  if (request.cwd.empty()) request.cwd = folder.string();
  const model::Config config = load_config_around(*exchange, folder);
  auto plan = runtime::make_plan(config, request);
  if (!plan) throw plan.error();
  if (const auto checkout = project::find_checkout(folder)) plan->project = model::make_project_ref(checkout->string());
  plan->rerun = runtime::encode_rerun(request, *plan);
  start(exchange, std::move(*plan));
}

void list(SharedExchange exchange) {
  send_page(exchange,
            store::RunFilter{.statuses = parse_words<model::RunStatus>(exchange->query("status"), "status", "statuses"),
                             .before = parse_cursor<base::RunId>(*exchange),
                             .project = parse_project_filter(*exchange),
                             .most = exchange->query_integer("limit", listed_by_default, 1, max_listed)},
            Listing{&runtime::Queries::list_runs, [](const Run& run) { return run.tool_run_id; },
                    [](std::string& json, const Run& run) { json::append(json, run); }});
}

// Loads the stored run for `then`; calls `otherwise` if there is none.
template <class Then, class Otherwise>
void load(SharedExchange exchange, Then then, Otherwise otherwise) {
  exchange->daemon.queries().get_run(exchange->run_id(), [exchange, then, otherwise](std::expected<Run, Error> run) {
    if (run) return then(std::move(*run));
    otherwise();
    exchange->refuse(run.error());
  });
}

template <class Then>
void load(SharedExchange exchange, Then then) {
  load(std::move(exchange), std::move(then), [] {});
}

void show(SharedExchange exchange) {
  load(exchange, [exchange](Run run) { exchange->send(200, json::to_value(run)); });
}

void cancel(SharedExchange exchange) {
  const Value& body = exchange->body();
  runtime::Supervisor::Cancellation cancellation{.by = exchange->actor()};
  if (const Value* reason = body.find("reason"); reason != nullptr && !reason->is_null()) {
    if (reason->as_string() == nullptr) throw Error(ErrorCode::api_bad_request, "`reason` must be a string");
    cancellation.reason = std::string(base::truncate_utf8(*reason->as_string(), 4'096));
  }
  if (const Value* kill = body.find("kill")) cancellation.kill = kill->as_bool() != nullptr && *kill->as_bool();
  exchange->daemon.supervisor().cancel(exchange->run_id(), std::move(cancellation), answer_with(exchange, 200));
}

void process(SharedExchange exchange) {
  with_live(exchange, "show",
            [&](runtime::LiveRun& live) { exchange->send(200, json::to_value(live.describe_process())); });
}

void send_nothing(const SharedExchange& exchange) { exchange->send(200, Value::object()); }

void input(SharedExchange exchange) {
  // Typing an answer is a decision.
  deny_in_run_caller(exchange, fmt::format("type into {}", exchange->run_id().text()));
  if (!may_type(*exchange)) {
    throw Error(ErrorCode::api_forbidden,
                "sending input needs the scopes `operate` and `approve`, because it can answer a prompt",
                "reeve token create NAME --scope operate,approve");
  }
  const Value& body = exchange->body();
  const Value* text = body.find("text");
  const Value* encoded = body.find("base64");
  std::string bytes;
  if (text != nullptr && text->as_string() != nullptr) {
    bytes = *text->as_string();
  } else if (encoded != nullptr && encoded->as_string() != nullptr) {
    auto decoded = base::decode_base64(*encoded->as_string());
    if (!decoded) throw Error(ErrorCode::api_bad_request, "`base64` is not valid base64");
    bytes = std::move(*decoded);
  } else {
    throw Error(ErrorCode::api_bad_request, "`text` or `base64` is required");
  }
  with_live(exchange, "attach", [&](runtime::LiveRun& live) {
    live.input(std::move(bytes), [exchange](bool is_taken) {
      if (is_taken) return send_nothing(exchange);
      exchange->refuse(Error(ErrorCode::run_no_input,
                             "the tool takes no input: its standard input is closed, or too much input is pending",
                             "start it with --pty to type into it"));
    });
  });
}

void resize(SharedExchange exchange) {
  struct Size {
    int rows = 0;
    int columns = 0;
  };
  const Value& body = exchange->body();
  const auto number = [&](std::string_view name) {
    const Value* found = body.find(name);
    const std::int64_t* value = found != nullptr ? found->as_integer() : nullptr;
    if (value == nullptr || *value < 1 || *value > 1'000) {
      throw Error(ErrorCode::api_bad_request, fmt::format("`{}` must be a whole number from 1 to 1000", name));
    }
    return static_cast<int>(*value);
  };
  const Size size{number("rows"), number("columns")};
  with_live(exchange, "attach", [&](runtime::LiveRun& live) {
    live.resize(size.rows, size.columns);
    send_nothing(exchange);
  });
}

void signal(SharedExchange exchange) {
  static const std::map<std::string, int, std::less<>> names = {
      {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"KILL", SIGKILL}, {"USR1", SIGUSR1},  {"USR2", SIGUSR2},
      {"TERM", SIGTERM}, {"STOP", SIGSTOP}, {"CONT", SIGCONT}, {"TSTP", SIGTSTP}, {"WINCH", SIGWINCH}};
  const Value& body = exchange->body();
  const Value* wanted = body.find("signal");
  std::string name = wanted != nullptr && wanted->as_string() != nullptr ? *wanted->as_string() : "";
  if (name.starts_with("SIG")) name.erase(0, 3);
  const auto found = names.find(name);
  if (found == names.end()) {
    throw Error(ErrorCode::api_bad_request,
                "`signal` must be one of HUP, INT, QUIT, KILL, USR1, USR2, TERM, STOP, CONT, TSTP, WINCH");
  }
  with_live(exchange, "attach", [&](runtime::LiveRun& live) {
    const bool is_of_pause = found->second == SIGSTOP || found->second == SIGCONT || found->second == SIGTSTP;
    if (is_of_pause && live.is_paused()) {
      const std::string id = exchange->run_id().text();
      throw Error(ErrorCode::run_paused, fmt::format("{} is paused", id), fmt::format("reeve resume {}", id));
    }
    live.signal(found->second);
    send_nothing(exchange);
  });
}

void pause(SharedExchange exchange) {
  with_live(exchange, "pause",
            [&](runtime::LiveRun& live) { live.pause(exchange->actor(), answer_with(exchange, 200)); });
}

void resume(SharedExchange exchange) {
  with_live(exchange, "resume",
            [&](runtime::LiveRun& live) { live.resume(exchange->actor(), answer_with(exchange, 200)); });
}

void limit(SharedExchange exchange) {
  const auto request = decode_body<wire::RunLimits>(*exchange);
  if (!request.timeout && !request.no_output_timeout) {
    throw Error(ErrorCode::api_bad_request, "`timeout` or `no_output_timeout` is required");
  }
  const engine::LimitsRequested limits{.timeout = request.timeout, .no_output_timeout = request.no_output_timeout};
  with_live(exchange, "limit",
            [&](runtime::LiveRun& live) { live.limit(limits, exchange->actor(), answer_with(exchange, 200)); });
}

void wait(SharedExchange exchange) {
  const base::RunId id = exchange->run_id();
  const bool through = exchange->query("through_approvals").value_or("1") != "0";
  const bool through_queue = exchange->query("through_queue").value_or("1") != "0";
  const base::Milliseconds timeout = parse_poll_timeout(exchange->request);
  const auto poll = LongPoll::begin(exchange->daemon.loop(), *exchange->responder);
  const auto finish = poll->once([exchange](const Run& run) { exchange->send(200, json::to_value(run)); });
  // Subscribe before reading, so that a change in between is not missed.
  poll->keep(exchange->daemon.supervisor().wait({id, through, through_queue}, finish));
  load(
      exchange,
      [exchange, poll, finish, through, through_queue, timeout](const Run& run) {
        const bool is_over = is_final(run.status) || (!through && run.status == model::RunStatus::waiting_approval) ||
                             (!through_queue && run.status != model::RunStatus::queued);
        if (is_over || timeout.count() == 0) return finish(run);
        poll->expire_after(timeout, [exchange] { show(exchange); });
      },
      // There is no such run, so nothing would ever end this wait.
      [poll] { poll->end(); });
}

Value input_body() { return optional_members({{"text", json::string_schema()}, {"base64", json::string_schema()}}); }

Value resize_body() {
  Value cells = integer_parameter("", 1, 1'000, "").schema;
  return json::object_schema({{"rows", cells}, {"columns", cells}}, {"rows", "columns"});
}

Value signal_body() {
  return json::object_schema(
      {{"signal", json::string_schema("^(SIG)?(HUP|INT|QUIT|KILL|USR1|USR2|TERM|STOP|CONT|TSTP|WINCH)$")}}, {"signal"});
}

Value nothing() { return json::object_schema({}, {}); }

void start_again(const SharedExchange& exchange, const runtime::Rerun& found, wire::RerunRequest caller) {
  const Run& run = found.run;
  const std::string folder = runtime::run_folder(exchange->daemon.context(), run.tool_run_id);
  if (!caller.standard_input && runtime::had_empty_stdin(folder)) caller.standard_input = model::StandardInput::none;
  auto plan = runtime::make_rerun(load_config_around(*exchange, run.cwd), run, found.terms, caller);
  if (!plan) throw plan.error();
  // What was written by its starter, a process inside another run, does not belong to the new one.
  plan->metadata.erase(parent_run_key);
  plan->metadata.erase(parent_keeper_key);
  if (exchange->daemon.context().supervision.queue == model::QueueRuns::always) plan->is_queued = true;
  if (const auto checkout = project::find_checkout(run.cwd)) {
    plan->project = model::make_project_ref(checkout->string());
  }
  const auto path_of = [](const std::optional<model::ProjectRef>& project) { return project ? project->path : ""; };
  if (path_of(plan->project) != path_of(run.project)) {
    throw Error(ErrorCode::run_no_rerun,
                fmt::format("{} cannot be started again: its folder {} now belongs to another project",
                            run.tool_run_id.text(), base::quoted(run.cwd)),
                "start a new run there: reeve run -- COMMAND");
  }
  start(exchange, std::move(*plan));
}

void rerun(SharedExchange exchange) {
  const auto caller = decode_body<wire::RerunRequest>(*exchange);
  exchange->daemon.queries().get_rerun(exchange->run_id(),
                                       [exchange, caller](const std::expected<runtime::Rerun, Error>& found) {
                                         exchange->go_on([&] {
                                           if (!found) throw found.error();
                                           start_again(exchange, *found, caller);
                                         });
                                       });
}

// For people and their programs; a process inside a run must not change how long it may run.
std::vector<Operation> controls(json::Schemas& schemas) {
  const Value run = schemas.of<model::Run>();
  return {{.method = "POST",
           .path = "/api/runs/{id}/pause",
           .handle = pause,
           .name = "pauseRun",
           .inside = InRunAccess::refused,
           .summary = "Stop the run's whole process tree (SIGSTOP) and its clocks; repeating it changes nothing",
           .scope = Scope::operate,
           .body = optional_members({}),
           .replies = {{200, run}},
           .errors = {ErrorCode::run_not_found, ErrorCode::run_not_running, ErrorCode::run_not_here,
                      ErrorCode::run_keeper_too_old},
           .idempotency = IdempotencyMode::answer},
          {.method = "POST",
           .path = "/api/runs/{id}/resume",
           .handle = resume,
           .name = "resumeRun",
           .inside = InRunAccess::refused,
           .summary = "Let a paused run continue (SIGCONT); repeating it changes nothing",
           .scope = Scope::operate,
           .body = optional_members({}),
           .replies = {{200, run}},
           .errors = {ErrorCode::run_not_found, ErrorCode::run_not_running, ErrorCode::run_not_here},
           .idempotency = IdempotencyMode::answer},
          {.method = "POST",
           .path = "/api/runs/{id}/rerun",
           .handle = rerun,
           .name = "rerunRun",
           .inside = InRunAccess::refused,
           .summary = "Start a new run with the launch of one that has ended; the environment is the caller's",
           .scope = Scope::operate,
           .body = schemas.of_request<wire::RerunRequest>({}),
           .replies = {{201, run}},
           .errors = {ErrorCode::run_not_found, ErrorCode::run_no_rerun, ErrorCode::run_bad_request,
                      ErrorCode::run_unknown_tool, ErrorCode::run_headless_unsupported,
                      ErrorCode::run_sandbox_unavailable, ErrorCode::run_no_descriptors, ErrorCode::config_invalid,
                      ErrorCode::execution_not_found, ErrorCode::project_moved},
           .idempotency = IdempotencyMode::change},
          {.method = "POST",
           .path = "/api/runs/{id}/limits",
           .handle = limit,
           .name = "limitRun",
           .inside = InRunAccess::refused,
           .summary = "Change the limits of a live run and of its further attempts; `timeout` counts from its start",
           .scope = Scope::operate,
           .body = schemas.of_request<wire::RunLimits>({}),
           .replies = {{200, run}},
           .errors = {ErrorCode::run_not_found, ErrorCode::run_not_running, ErrorCode::run_not_here,
                      ErrorCode::run_limit_passed},
           .idempotency = IdempotencyMode::answer}};
}

std::vector<Operation> acts(json::Schemas& schemas) {
  const Value run = schemas.of<model::Run>();
  const Value boolean = schemas.of<bool>();
  return {{.method = "POST",
           .path = "/api/runs/{id}/cancel",
           .handle = cancel,
           .name = "cancelRun",
           .inside = InRunAccess::own_run,
           .summary = "Cancel a run: end its whole process tree; `kill`: without a grace period (RUN-15)",
           .scope = Scope::operate,
           .body = optional_members({{"reason", json::string_schema()}, {"kill", boolean}}),
           .replies = {{200, run}},
           .errors = {ErrorCode::run_not_found, ErrorCode::run_not_running, ErrorCode::run_illegal_move,
                      ErrorCode::run_not_here, ErrorCode::run_inside_run, ErrorCode::api_peer_gone},
           .idempotency = IdempotencyMode::answer},
          {.method = "POST",
           .path = "/api/runs/{id}/input",
           .handle = input,
           .name = "typeIntoRun",
           .inside = InRunAccess::reported,
           .summary = "Send input to the run's standard input or terminal: `text`, or bytes as `base64`",
           // Plus `approve`: see may_type().
           .scope = Scope::operate,
           .body = input_body(),
           .replies = {{200, nothing()}},
           .errors = {ErrorCode::run_not_found, ErrorCode::run_not_running, ErrorCode::run_not_here,
                      ErrorCode::run_no_input, ErrorCode::approval_inside_run, ErrorCode::api_peer_gone},
           .idempotency = IdempotencyMode::memory},
          {.method = "POST",
           .path = "/api/runs/{id}/resize",
           .handle = resize,
           .name = "resizeRun",
           .inside = InRunAccess::own_run,
           .summary = "Resize the run's terminal",
           .scope = Scope::operate,
           .body = resize_body(),
           .replies = {{200, nothing()}},
           .errors = {ErrorCode::run_not_found, ErrorCode::run_not_running, ErrorCode::run_not_here,
                      ErrorCode::run_inside_run, ErrorCode::api_peer_gone},
           .idempotency = IdempotencyMode::memory},
          {.method = "POST",
           .path = "/api/runs/{id}/signal",
           .handle = signal,
           .name = "signalRun",
           .inside = InRunAccess::own_run,
           .summary = "Send a signal to the run's process",
           .scope = Scope::operate,
           .body = signal_body(),
           .replies = {{200, nothing()}},
           .errors = {ErrorCode::run_not_found, ErrorCode::run_not_running, ErrorCode::run_not_here,
                      ErrorCode::run_inside_run, ErrorCode::run_paused, ErrorCode::api_peer_gone},
           .idempotency = IdempotencyMode::memory}};
}

}  // namespace

std::vector<Operation> run_operations(json::Schemas& schemas) {
  const Value run = schemas.of<model::Run>();
  std::vector<Operation> made = {
      {.method = "POST",
       .path = "/api/runs",
       .handle = create,
       .name = "startRun",
       .inside = InRunAccess::starts,
       .summary = "Start a supervised run of a tool",
       .scope = Scope::operate,
       .body = schemas.of_request<wire::RunRequest>({}),
       .replies = {{201, run}},
       .errors = {ErrorCode::run_bad_request, ErrorCode::run_no_command, ErrorCode::run_unknown_tool,
                  ErrorCode::run_headless_unsupported, ErrorCode::run_sandbox_unavailable, ErrorCode::config_invalid,
                  ErrorCode::api_not_from_a_sandbox, ErrorCode::execution_not_found, ErrorCode::run_inside_run,
                  ErrorCode::run_no_descriptors, ErrorCode::project_moved},
       .idempotency = IdempotencyMode::change},
      {.method = "GET",
       .path = "/api/runs",
       .handle = list,
       .name = "listRuns",
       .inside = InRunAccess::refused,
       .summary = "List runs, newest first",
       .query = {words_parameter("status", base::spellings<model::RunStatus>(), "only runs with these statuses"),
                 project_filter(), limit_parameter(), cursor_parameter()},
       .replies = {{200, page_of(schemas, "RunPage", run)}}},
      {.method = "GET",
       .path = "/api/runs/{id}",
       .handle = show,
       .name = "getRun",
       .inside = InRunAccess::own_run,
       .summary = "Get a run",
       .replies = {{200, run}},
       .errors = {ErrorCode::run_not_found},
       .is_tagged = true},
      {.method = "GET",
       .path = "/api/runs/{id}/process",
       .handle = process,
       .name = "getRunProcess",
       .inside = InRunAccess::own_run,
       .summary = "Get the run's live processes: clocks, limits, CPU and memory",
       .replies = {{200, schemas.of<wire::RunProcess>()}},
       .errors = {ErrorCode::run_not_found, ErrorCode::run_not_running, ErrorCode::run_not_here}},
      {.method = "GET",
       .path = "/api/runs/{id}/wait",
       .handle = wait,
       .name = "waitForRun",
       .inside = InRunAccess::own_run,
       .summary = "Wait until the run ends or `timeout` passes; returns it either way",
       .query = {duration_parameter("timeout", "default 60s, at most 5m"),
                 flag_parameter("through_approvals", "0: also return when it starts to wait for an answer"),
                 flag_parameter("through_queue", "0: also return when it is no longer queued")},
       .replies = {{200, run}},
       .errors = {ErrorCode::run_not_found}}};
  for (Operation& act : acts(schemas)) made.push_back(std::move(act));
  for (Operation& control : controls(schemas)) made.push_back(std::move(control));
  return made;
}

}  // namespace reeve::server
