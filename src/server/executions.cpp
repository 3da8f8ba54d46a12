#include "store/executions.h"

#include <algorithm>
#include <filesystem>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/limits.h"
#include "base/quantity.h"
#include "base/text.h"
#include "json/decode.h"
#include "json/describe.h"
#include "project/workflows.h"
#include "runtime/store_task.h"
#include "runtime/worker.h"
#include "server/api.h"
#include "server/insider.h"
#include "server/listing.h"
#include "server/own_project.h"
#include "server/pipelines.h"
#include "store/patches.h"
#include "wire/execution_request.h"

// /api/executions
namespace reeve::server {

namespace {

using base::Error;
using base::ExecutionId;
using base::Value;
using model::Execution;
using store::NodeDetail;

constexpr auto longest_wait = std::chrono::minutes(5);
constexpr auto finish_pause = std::chrono::milliseconds(20);
constexpr std::int64_t most_patches = 10'000;
constexpr std::size_t longest_label = 255;
constexpr std::size_t longest_reason = 4'096;

NodeDetail detail_of(const Exchange& exchange) {
  return exchange.query("outputs").value_or("1") == "0" ? NodeDetail::brief : NodeDetail::all;
}

Execution get_execution(ledger::Transaction& transaction, ExecutionId id, NodeDetail detail) {
  auto found = store::find_execution(transaction.session(), id, detail);
  if (!found) {
    throw Error("execution.not_found", fmt::format("there is no execution {}", id.text()),
                "`reeve flow list` shows those there are");
  }
  return std::move(*found);
}

// The record as it is stored now, with what else there is to say.
void send_record(SharedExchange exchange, ExecutionId id, int status, std::optional<base::Member> more = {}) {
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [id, detail = detail_of(*exchange)](ledger::Transaction& transaction) {
        return get_execution(transaction, id, detail);
      },
      [exchange, status, more = std::move(more)](std::expected<Execution, Error> execution) {
        if (!execution) return exchange->refuse(execution.error());
        Value record = json::to_value(*execution);
        if (more) record.set(more->key, more->value);
        exchange->send(status, record);
      });
}

auto answer_with(SharedExchange exchange, int status) {
  return [exchange, status](std::expected<ExecutionId, Error> id) {
    if (!id) return exchange->refuse(id.error());
    send_record(exchange, *id, status);
  };
}

void check_metadata(const std::map<std::string, std::string>& metadata) {
  constexpr std::size_t most = 64;
  if (metadata.size() > most) {
    throw Error("api.bad_request", fmt::format("`metadata` has at most {} members", most));
  }
  for (const auto& [key, value] : metadata) {
    const bool has_nul = key.find('\0') != std::string::npos || value.find('\0') != std::string::npos;
    if (key.empty() || key.size() > longest_label || value.size() > longest_reason || has_nul) {
      throw Error("api.bad_request",
                  fmt::format("a name in `metadata` has 1 to {} bytes, its value at most {}, and no NUL", longest_label,
                              longest_reason));
    }
  }
}

wire::ExecutionRequest decode_request(const Exchange& exchange) {
  auto decoded = json::from_value<wire::ExecutionRequest>(exchange.body());
  if (!decoded) throw Error("api.bad_request", decoded.error());
  wire::ExecutionRequest request = std::move(*decoded);
  if (request.source.has_value() == request.workflow.has_value()) {
    throw Error("api.bad_request", "one of `source` and `workflow` is needed",
                "send a workflow's text, or name one of the project");
  }
  if (request.inputs && request.inputs->as_object() == nullptr) {
    throw Error("api.bad_request", fmt::format("`inputs` must be an object, not {}", request.inputs->kind()));
  }
  std::error_code error;
  if (!std::filesystem::path(request.project).is_absolute() || !std::filesystem::is_directory(request.project, error)) {
    throw Error("api.bad_request",
                fmt::format("`project` must be a folder, absolute: {}", base::quoted(request.project)));
  }
  if (request.file && !std::filesystem::path(*request.file).is_absolute()) {
    throw Error("api.bad_request", "`file` must be absolute");
  }
  if (request.source && request.source->size() > base::limits::spec_file_bytes) {
    throw Error("api.bad_request", "`source` is longer than a workflow may be");
  }
  const std::string& label = request.label.value_or("");
  if (label.size() > longest_label || label.find('\0') != std::string::npos) {
    throw Error("api.bad_request", fmt::format("`label` has at most {} bytes, and no NUL", longest_label));
  }
  const std::string& phase = request.phase_name.value_or("");
  if (phase.size() > longest_label || phase.find('\0') != std::string::npos) {
    throw Error("api.bad_request", fmt::format("`phase_name` has at most {} bytes, and no NUL", longest_label));
  }
  check_metadata(request.metadata);
  return request;
}

project::WorkflowPlace place_of(const wire::ExecutionRequest& request) {
  const std::filesystem::path project = request.project;
  if (request.workflow) return project::find_workflow(project, *request.workflow);
  project::WorkflowPlace place{
      .source = std::make_shared<const spec::Source>(request.file.value_or("<workflow>"), *request.source),
      .project = project,
      .folder = {}};
  if (request.file) place.folder = std::filesystem::path(*request.file).parent_path();
  return place;
}

void create(SharedExchange exchange) {
  refuse_from_inside(exchange, "start a workflow");
  const wire::ExecutionRequest request = decode_request(*exchange);
  const model::Config config = load_config_around(*exchange, request.project);
  auto gathered = project::gather_workflow(place_of(request), config);
  if (!gathered) return exchange->refuse("flow.invalid", "the workflow is not valid", gathered.error());
  admit_folder(request.project);
  runtime::Worker::Start start{
      .execution = {.workflow = std::move(gathered->file.workflow), .hash = gathered->file.content_hash},
      .ground = runtime::make_ground(config, request.project),
      .idempotency = exchange->key};
  for (auto& [name, file] : gathered->subgraphs) {
    start.execution.subgraphs.emplace(
        name, ledger::NewExecution::Subgraph{.hash = file.content_hash, .workflow = std::move(file.workflow)});
  }
  if (request.inputs) start.execution.inputs = *request.inputs;
  start.execution.label = request.label;
  start.execution.phase_name = request.phase_name;
  start.execution.metadata = request.metadata;
  start.ground.apply = start.execution.workflow.config.apply;
  start.ground.environment = request.environment;
  using Started = runtime::Worker::Started;
  exchange->daemon.worker().start(std::move(start), [exchange](std::expected<Started, Error> started) {
    if (!started) return exchange->refuse(started.error());
    // What is not committed is no part of it: whoever starts it must know.
    send_record(exchange, started->execution, 201, base::Member{"dirty", json::to_value(started->dirty)});
  });
}

// Without what only one record by itself has.
Value list_item(const Execution& execution) {
  Value item = json::to_value(execution);
  std::erase_if(*item.as_object(), [](const base::Member& member) {
    return member.key == "nodes" || member.key == "inputs" || member.key == "config";
  });
  return item;
}

void list(SharedExchange exchange) {
  send_page(
      exchange,
      store::ExecutionFilter{
          .statuses = parse_words<model::ExecutionStatus>(exchange->query("status"), "status", "statuses"),
          .label = exchange->query("label"),
          .workflow = exchange->query("workflow"),
          .before = parse_cursor<ExecutionId>(*exchange),
          .most = exchange->query_integer("limit", listed_by_default, 1, most_listed)},
      Listing{store::list_executions, [](const Execution& execution) { return execution.execution_id; }, list_item});
}

void show(SharedExchange exchange) { send_record(exchange, exchange->execution_id(), 200); }

struct WholeHistory {
  store::ExecutionHistory history;
  // The newest first.
  std::vector<model::Patch> patches;
};

// As in the listing of patches: a diff can be large.
Value describe_without_diff(const model::Patch& patch) {
  Value document = json::to_value(patch);
  std::erase_if(*document.as_object(), [](const base::Member& member) { return member.key == "diff"; });
  return document;
}

void history(SharedExchange exchange) {
  const ExecutionId id = exchange->execution_id();
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [id](ledger::Transaction& transaction) {
        get_execution(transaction, id, NodeDetail::none);
        return WholeHistory{store::read_execution_history(transaction.session(), id),
                            store::list_patches(transaction.session(), {.execution = id, .most = most_patches})};
      },
      [exchange](std::expected<WholeHistory, Error> found) {
        if (!found) return exchange->refuse(found.error());
        Value::Array iterations;
        for (const store::ArchivedNode& archived : found->history.nodes) {
          Value record = json::to_value(archived.node);
          record.set("archived_at", json::to_value(archived.archived_at));
          iterations.push_back(std::move(record));
        }
        Value document = Value::object();
        document.set("iterations", Value::array(std::move(iterations)));
        document.set("runs", json::to_value(found->history.runs));
        document.set("approvals", json::to_value(found->history.approvals));
        Value::Array patches;
        // As everything here in the order in which it came.
        for (const model::Patch& patch : found->patches | std::views::reverse) {
          patches.push_back(describe_without_diff(patch));
        }
        document.set("patches", Value::array(std::move(patches)));
        exchange->send(200, document);
      });
}

void workflow(SharedExchange exchange) {
  const ExecutionId id = exchange->execution_id();
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [id](ledger::Transaction& transaction) {
        get_execution(transaction, id, NodeDetail::none);
        return store::find_execution_workflow(transaction.session(), id).value();
      },
      [exchange](std::expected<store::StoredWorkflow, Error> found) {
        if (!found) return exchange->refuse(found.error());
        Value document = Value::object();
        document.set("content_hash", Value::string(found->hash));
        document.set("workflow", std::move(found->definition));
        exchange->send(200, document);
      });
}

void cancel(SharedExchange exchange) {
  const ExecutionId id = exchange->execution_id();
  refuse_from_inside(exchange, fmt::format("cancel {}", id.text()));
  const Value& body = exchange->body();
  std::string reason = fmt::format("cancelled by {}", exchange->actor());
  if (const Value* why = body.find("reason"); why != nullptr && !why->is_null()) {
    if (why->as_string() == nullptr) throw Error("api.bad_request", "`reason` must be a string");
    const std::string_view words = base::truncate_utf8(*why->as_string(), longest_reason);
    if (!words.empty()) reason += fmt::format(": {}", words);
  }
  exchange->daemon.worker().cancel(id, std::move(reason), answer_with(exchange, 200));
}

// STO-2: another program ran it, with tools and files that nothing is known of.
void refuse_imported(const Execution& execution) {
  const Value* origin = execution.config ? execution.config->find("imported_from") : nullptr;
  if (origin == nullptr || origin->as_string() == nullptr) return;
  throw Error("execution.imported",
              fmt::format("{} was imported from {}, and cannot be gone on with here", execution.execution_id.text(),
                          base::quoted(*origin->as_string())),
              "start it anew: reeve flow run, or reeve pipeline start");
}

void retry(SharedExchange exchange) {
  const ExecutionId id = exchange->execution_id();
  refuse_from_inside(exchange, fmt::format("go on with {}", id.text()));
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [id](ledger::Transaction& transaction) {
        const Execution execution = get_execution(transaction, id, NodeDetail::brief);
        refuse_imported(execution);
        refuse_rejected_pipeline(execution);
        return id;
      },
      [exchange](std::expected<ExecutionId, Error> checked) {
        if (!checked) return exchange->refuse(checked.error());
        exchange->daemon.worker().retry(*checked, answer_with(exchange, 200));
      });
}

// One who waits for an execution to be over. Looks when it is told that something may have changed, one look at a time.
struct Waiting : std::enable_shared_from_this<Waiting> {
  SharedExchange exchange;
  ExecutionId id;
  bool through_approvals = true;
  runtime::Loop::Hold changed = {};
  runtime::Loop::Hold timer = {};
  runtime::Loop::Hold finishing = {};
  bool is_over = false;
  bool is_looking = false;
  bool must_look = false;

  Waiting(SharedExchange asked, ExecutionId execution, bool through)
      : exchange(std::move(asked)), id(execution), through_approvals(through) {}

  // Nothing is ended from within its own call.
  void end() {
    is_over = true;
    exchange->daemon.loop().post([self = shared_from_this()] {
      self->changed = {};
      self->timer = {};
      self->finishing = {};
    });
  }

  void answer() {
    if (is_over) return;
    end();
    send_record(exchange, id, 200);
  }

  void look() {
    if (is_over) return;
    must_look = true;
    if (is_looking) return;
    is_looking = true;
    must_look = false;
    runtime::ask_store(
        exchange->daemon.ledger(), exchange->daemon.loop(),
        [id = id](ledger::Transaction& transaction) { return get_execution(transaction, id, NodeDetail::none).status; },
        [self = shared_from_this()](std::expected<model::ExecutionStatus, Error> status) {
          self->take(std::move(status));
        });
  }

  void take(std::expected<model::ExecutionStatus, Error> status) {
    is_looking = false;
    if (is_over) return;
    if (!status) {
      end();
      return exchange->refuse(status.error());
    }
    const bool waits = *status == model::ExecutionStatus::waiting_approval;
    const bool is_finished = model::is_over(*status) && !exchange->daemon.worker().is_finishing(id);
    if (is_finished || (waits && !through_approvals)) return answer();
    if (must_look) return look();
    // What its end brings with it is done in a moment, and nobody tells of it.
    if (!model::is_over(*status)) return;
    runtime::Loop& loop = exchange->daemon.loop();
    finishing = loop.at(loop.now() + finish_pause, [self = shared_from_this()] { self->look(); });
  }
};

void wait(SharedExchange exchange) {
  const ExecutionId id = exchange->execution_id();
  auto patience = base::parse_duration(exchange->query("timeout").value_or("60s"));
  if (!patience) throw Error("api.bad_request", fmt::format("`timeout` must be {}", base::duration_forms));
  patience = std::min<base::Milliseconds>(*patience, longest_wait);
  if (patience->count() == 0) return show(exchange);
  const bool through = exchange->query("through_approvals").value_or("1") != "0";
  auto waiting = std::make_shared<Waiting>(exchange, id, through);
  runtime::Daemon& daemon = exchange->daemon;
  exchange->responder->on_closed([waiting] { waiting->end(); });
  // First the ear, then the look: what happens in between is heard.
  waiting->changed = daemon.follow_execution(id, [waiting] { waiting->look(); });
  waiting->timer = daemon.loop().at(daemon.loop().now() + *patience, [waiting] { waiting->answer(); });
  waiting->look();
}

}  // namespace

std::vector<Route> execution_routes() {
  return {{"POST", "/api/executions", create},
          {"GET", "/api/executions", list},
          {"GET", "/api/executions/*", show},
          {"GET", "/api/executions/*/history", history},
          {"GET", "/api/executions/*/workflow", workflow},
          {"GET", "/api/executions/*/wait", wait},
          {"POST", "/api/executions/*/cancel", cancel},
          {"POST", "/api/executions/*/retry", retry}};
}

}  // namespace reeve::server
