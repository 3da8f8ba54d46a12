#include <fmt/format.h>

#include "agents/mcp_tools.h"
#include "json/schema.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/own_project.h"
#include "server/resources/progress_body.h"

// /api/progress: programs outside of runs say how far they are. Tools report on their run's socket.
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;

constexpr std::size_t longest_path = 4'096;
constexpr double most_percent = 100;

std::optional<double> find_percent(const Value& body) {
  const Value* found = body.find("percent");
  if (found == nullptr || found->is_null()) return std::nullopt;
  const std::int64_t* whole = found->as_integer();
  const double* number = found->as_number();
  const double percent = whole != nullptr ? static_cast<double>(*whole) : number != nullptr ? *number : -1;
  if (percent >= 0 && percent <= most_percent) return percent;
  throw Error(ErrorCode::api_bad_request, "`percent` must be a number from 0 to 100");
}

void report(SharedExchange exchange) {
  exchange->daemon.caller_progress().report(parse_progress(*exchange, exchange->body()),
                                            [exchange](const std::expected<bool, Error>& is_kept) {
                                              if (!is_kept) return exchange->refuse(is_kept.error());
                                              Value document = Value::object();
                                              document.set("kept", Value::boolean(*is_kept));
                                              exchange->send(202, document);
                                            });
}

}  // namespace

runtime::ProgressReport parse_progress(const Exchange& exchange, const Value& body) {
  runtime::ProgressReport report{.caller = exchange.actor(),
                                 .percent = find_percent(body),
                                 .message = find_text(body, "message", agents::max_progress_message)};
  if (report.message && report.message->empty()) report.message.reset();
  if (!report.percent && !report.message) {
    throw Error(ErrorCode::api_bad_request, "`percent` or `message` is needed");
  }
  auto named = find_text(body, "project", longest_path);
  if (!named) named = exchange.request.caller.project;
  std::filesystem::path folder = named_project(exchange, named);
  if (folder.empty()) folder = own_project(exchange.daemon);
  if (!folder.empty()) report.project = name_project(folder);
  return report;
}

Value progress_schema() {
  Value percent = json::extended(Value::object(), "type", Value::string("number"));
  percent.set("minimum", Value::integer(0));
  percent.set("maximum", Value::integer(static_cast<std::int64_t>(most_percent)));
  Value message = json::extended(json::string_schema(), "maxLength",
                                 Value::integer(static_cast<std::int64_t>(agents::max_progress_message)));
  return json::object_schema({{"percent", json::nullable_schema(std::move(percent))},
                              {"message", json::nullable_schema(std::move(message))},
                              {"project", json::nullable_schema(json::string_schema())}},
                             {});
}

std::vector<Operation> progress_operations(json::Schemas& /*schemas*/) {
  const Value kept =
      json::object_schema({{"kept", json::extended(Value::object(), "type", Value::string("boolean"))}}, {"kept"});
  return {{.method = "POST",
           .path = "/api/progress",
           .handle = report,
           .name = "reportProgress",
           .inside = InRunAccess::refused,
           .summary =
               "Report the progress of a program outside of any run (a tool reports on its run's socket), as the "
               "event `caller_progress`. One a second of each caller is kept; `kept` is false for others",
           .scope = Scope::operate,
           .body = progress_schema(),
           .replies = {{202, kept}},
           .idempotency = IdempotencyMode::answer}};
}

}  // namespace reeve::server
