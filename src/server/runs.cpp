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
#include "runtime/store_task.h"
#include "server/api.h"
#include "server/insider.h"
#include "server/listing.h"
#include "server/own_project.h"
#include "server/terminal.h"
#include "server/whereabouts.h"
#include "wire/run_request.h"

// /api/runs
namespace reeve::server {

namespace {

using base::Error;
using base::Value;
using model::Run;

constexpr auto longest_wait = std::chrono::minutes(5);

template <class T>
T decode_body(const Exchange& exchange) {
  auto decoded = json::from_value<T>(exchange.body());
  if (!decoded) throw Error("api.bad_request", decoded.error());
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

// What a process inside a run starts belongs to that run, whatever it says, so that it can read its own.
void make_child(const Exchange& exchange, wire::RunRequest& request) {
  const Insider& insider = *exchange.insider;
  const runtime::LiveRun* parent = insider.held ? exchange.daemon.supervisor().find(*insider.held) : nullptr;
  const auto own = parent != nullptr ? parent->record().execution_id : std::nullopt;
  if (request.execution_id && request.execution_id != own) {
    throw Error("run.inside_run", fmt::format("a process inside {} starts nothing in another execution", insider.run),
                "leave the execution out");
  }
  request.metadata.erase(parent_run_key);
  request.metadata.erase(parent_keeper_key);
  if (insider.held) {
    request.metadata.emplace(parent_run_key, insider.held->text());
  } else if (!insider.keeper.empty()) {
    request.metadata.emplace(parent_keeper_key, insider.keeper);
  }
}

void create(SharedExchange exchange) {
  refuse_sandboxed(exchange);
  auto request = decode_body<wire::RunRequest>(*exchange);
  if (exchange->insider) make_child(*exchange, request);
  std::filesystem::path folder = named_project(*exchange, request.project);
  if (folder.empty()) folder = request.cwd;
  const model::Config config = load_config_around(*exchange, folder);
  auto plan = runtime::make_plan(config, request);
  if (!plan) throw plan.error();
  const bool is_guarded = plan->profile.sandbox == model::Sandbox::guard;
  const std::string cwd = plan->cwd;
  admit_folder(cwd);
  const auto start = [exchange, plan = std::move(*plan)] {
    exchange->daemon.supervisor().start(plan, exchange->key, answer_with(exchange, 201));
  };
  if (!is_guarded) return start();
  // Before the run exists: one that cannot be kept in is not begun.
  exchange->daemon.sandbox().ask(cwd, [exchange, start](const std::optional<Error>& error) {
    if (error) return exchange->refuse(*error);
    start();
  });
}

void list(SharedExchange exchange) {
  send_page(exchange,
            store::RunFilter{.statuses = parse_words<model::RunStatus>(exchange->query("status"), "status", "statuses"),
                             .before = parse_cursor<base::RunId>(*exchange),
                             .most = exchange->query_integer("limit", listed_by_default, 1, most_listed)},
            Listing{store::list_runs, [](const Run& run) { return run.tool_run_id; },
                    [](std::string& json, const Run& run) { json::append(json, run); }});
}

// As it is stored; `then` has the run, `otherwise` is called when there is none.
template <class Then, class Otherwise>
void load(SharedExchange exchange, Then then, Otherwise otherwise) {
  const base::RunId id = exchange->run_id();
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [id](ledger::Transaction& transaction) {
        auto found = store::find_run(transaction.session(), id);
        if (!found) {
          throw Error("run.not_found", fmt::format("there is no run {}", id.text()),
                      "`reeve runs` shows those there are");
        }
        return std::move(found->run);
      },
      [exchange, then, otherwise](std::expected<Run, Error> run) {
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
    if (reason->as_string() == nullptr) throw Error("api.bad_request", "`reason` must be a string");
    cancellation.reason = std::string(base::truncate_utf8(*reason->as_string(), 4'096));
  }
  if (const Value* kill = body.find("kill")) cancellation.kill = kill->as_bool() != nullptr && *kill->as_bool();
  exchange->daemon.supervisor().cancel(exchange->run_id(), std::move(cancellation), answer_with(exchange, 200));
}

// The run in this daemon's hands; one that is not is refused with what it is instead.
void with_live(SharedExchange exchange, const std::function<void(runtime::LiveRun&)>& act) {
  if (runtime::LiveRun* live = exchange->daemon.supervisor().find(exchange->run_id())) {
    act(*live);
    return;
  }
  load(exchange, [exchange](const Run& run) {
    exchange->refuse(Error("run.not_running", fmt::format("{} is {}: there is no process", run.tool_run_id.text(),
                                                          base::spell(run.status))));
  });
}

void send_nothing(const SharedExchange& exchange) { exchange->send(200, Value::object()); }

void input(SharedExchange exchange) {
  // Typing an answer is deciding.
  refuse_insider(exchange, fmt::format("type into {}", exchange->run_id().text()));
  if (!may_type(*exchange)) {
    throw Error("api.forbidden", "what is typed may be an answer: it needs the scopes `operate` and `approve`",
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
    if (!decoded) throw Error("api.bad_request", "`base64` is no base64");
    bytes = std::move(*decoded);
  } else {
    throw Error("api.bad_request", "`text` or `base64` is needed");
  }
  with_live(exchange, [&](runtime::LiveRun& live) {
    live.input(std::move(bytes), [exchange](bool is_taken) {
      if (is_taken) return send_nothing(exchange);
      exchange->refuse(Error("run.no_input", "the tool takes no input: it reads none, or too much waits for it",
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
      throw Error("api.bad_request", fmt::format("`{}` must be a whole number from 1 to 1000", name));
    }
    return static_cast<int>(*value);
  };
  const Size size{number("rows"), number("columns")};
  with_live(exchange, [&](runtime::LiveRun& live) {
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
    throw Error("api.bad_request",
                "`signal` must be one of HUP, INT, QUIT, KILL, USR1, USR2, TERM, STOP, CONT, TSTP, WINCH");
  }
  with_live(exchange, [&](runtime::LiveRun& live) {
    live.signal(found->second);
    send_nothing(exchange);
  });
}

void wait(SharedExchange exchange) {
  const base::RunId id = exchange->run_id();
  const bool through = exchange->query("through_approvals").value_or("1") != "0";
  auto patience = base::parse_duration(exchange->query("timeout").value_or("60s"));
  if (!patience) throw Error("api.bad_request", fmt::format("`timeout` must be {}", base::duration_forms));
  patience = std::min<base::Milliseconds>(*patience, longest_wait);
  struct Waiting {
    runtime::Loop::Hold over;
    runtime::Loop::Hold timer;
    bool is_answered = false;
  };
  auto waiting = std::make_shared<Waiting>();
  runtime::Daemon& daemon = exchange->daemon;
  // First the ear, then the look: what happens in between is heard.
  const auto finish = [exchange, waiting](const Run& run) {
    if (std::exchange(waiting->is_answered, true)) return;
    exchange->send(200, json::to_value(run));
    exchange->daemon.loop().post([waiting] {
      waiting->over = {};
      waiting->timer = {};
    });
  };
  waiting->over = daemon.supervisor().wait({id, through}, finish);
  exchange->responder->on_closed([waiting, &daemon] {
    waiting->is_answered = true;
    daemon.loop().post([waiting] {
      waiting->over = {};
      waiting->timer = {};
    });
  });
  load(
      exchange,
      [exchange, waiting, finish, through, patience, &daemon](const Run& run) {
        if (waiting->is_answered) return;
        const bool is_over = is_final(run.status) || (!through && run.status == model::RunStatus::waiting_approval);
        if (is_over || patience->count() == 0) {
          finish(run);
          return;
        }
        waiting->timer = daemon.loop().at(daemon.loop().now() + *patience, [exchange, waiting] {
          if (std::exchange(waiting->is_answered, true)) return;
          show(exchange);
          exchange->daemon.loop().post([waiting] {
            waiting->over = {};
            waiting->timer = {};
          });
        });
      },
      // Nobody would ever end this wait.
      [waiting] {
        waiting->is_answered = true;
        waiting->over = {};
      });
}

}  // namespace

std::vector<Route> run_routes() {
  return {{"POST", "/api/runs", create},          {"GET", "/api/runs", list},
          {"GET", "/api/runs/*", show},           {"POST", "/api/runs/*/cancel", cancel},
          {"POST", "/api/runs/*/input", input},   {"POST", "/api/runs/*/resize", resize},
          {"POST", "/api/runs/*/signal", signal}, {"GET", "/api/runs/*/wait", wait}};
}

}  // namespace reeve::server
