#include "wire/problem.h"

#include <utility>

#include <fmt/format.h>

namespace reeve::wire {

namespace {

using base::Value;

Value text_or_null(std::string_view text) { return text.empty() ? Value() : Value::string(text); }

Value integer(std::size_t number) { return Value::integer(static_cast<std::int64_t>(number)); }

Value record(const base::Problem& problem) {
  Value object = Value::object();
  object.set("severity", Value::string(problem.severity == base::Severity::error ? "error" : "warning"));
  object.set("code", Value::string(problem.code.text()));
  object.set("message", Value::string(problem.message));
  object.set("file", problem.place ? Value::string(problem.place->file) : Value());
  object.set("line", problem.place ? integer(problem.place->line) : Value());
  object.set("column", problem.place ? integer(problem.place->column) : Value());
  object.set("length", problem.place ? integer(problem.place->length) : Value());
  object.set("hint", text_or_null(problem.hint));
  object.set("allowed", text_or_null(problem.allowed));
  object.set("fix", text_or_null(problem.fix));
  return object;
}

Value document(std::string_view code, std::string_view title, int status, std::string_view detail,
               std::string_view fix) {
  Value object = Value::object();
  object.set("type", Value::string(fmt::format("urn:reeve:problem:{}", code)));
  object.set("title", Value::string(title));
  object.set("status", Value::integer(status));
  object.set("code", Value::string(code));
  object.set("detail", Value::string(detail));
  object.set("fix", text_or_null(fix));
  return object;
}

}  // namespace

int http_status(const base::Error& error) noexcept {
  const base::ErrorRow* row = base::find_row(error.code());
  return row != nullptr ? row->http_status : 500;
}

Value problem_list(const base::Problems& problems) {
  Value::Array list;
  for (const base::Problem& problem : problems.list()) list.push_back(record(problem));
  return Value::array(std::move(list));
}

Value problem_document(base::ErrorCode code, std::string_view title, const base::Problems& problems) {
  Value object = document(base::spell(code), title, 422,
                          fmt::format("{} errors, {} warnings", problems.errors(), problems.warnings()), {});
  object.set("errors", problem_list(problems));
  return object;
}

Value problem_document(const base::Error& error) {
  Value object = document(error.code(), error.message(), http_status(error), error.message(), error.fix());
  object.set("errors", Value::array());
  return object;
}

}  // namespace reeve::wire
