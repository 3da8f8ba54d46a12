#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "json/decode.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/parse.h"
#include "keeper/records.h"
#include "runtime/output/tool_line.h"
#include "runtime/runs/run_plan.h"
#include "server/request/exchange.h"
#include "wire/execution_request.h"
#include "wire/pipeline_request.h"
#include "wire/run_request.h"

namespace {

using namespace reeve;
using base::Value;

// Either refused with an error or accepted with one meaning: encoding and decoding the result gives the same value.
template <class T>
std::optional<T> check_decoded(const Value& body) {
  auto decoded = json::from_value<T>(body);
  if (!decoded) {
    REEVE_ASSERT(!decoded.error().empty());
    return std::nullopt;
  }
  const std::string text = json::encode(json::to_value(*decoded));
  const auto parsed = json::parse(text);
  REEVE_ASSERT(parsed.has_value());
  const auto again = json::from_value<T>(*parsed);
  REEVE_ASSERT(again.has_value() && json::encode(json::to_value(*again)) == text);
  return std::move(*decoded);
}

model::Config make_config() {
  model::Config config;
  config.tools["tool"] = {.command = {"tool", "--ask", "{prompt}"}, .pass_env = {"TOKEN"}, .env = {{"A", "1"}}};
  config.tools["closed"] = {.command = {"closed"}, .headless = model::Headless::unsupported};
  return config;
}

// POST /api/runs, up to the file that the keeper reads.
void check_run(const wire::RunRequest& request) {
  static const model::Config config = make_config();
  const auto plan = runtime::make_plan(config, request);
  if (!plan) {
    REEVE_ASSERT(plan.error().code().starts_with("run.") && !plan.error().message().empty());
    return;
  }
  REEVE_ASSERT(!plan->argv.empty() && plan->cwd.starts_with('/'));
  for (const auto& [name, value] : plan->environment) {
    REEVE_ASSERT(!name.empty() && !name.starts_with("REEVE_") && name.find('=') == std::string::npos);
    REEVE_ASSERT(value.find('\0') == std::string::npos);
  }
  for (const std::string& word : plan->argv) REEVE_ASSERT(word.find('\0') == std::string::npos);
  const auto again = runtime::read_plan(keeper::encode_launch(runtime::make_launch(*plan)));
  REEVE_ASSERT(again && again->argv == plan->argv && again->cwd == plan->cwd && again->tool == plan->tool);
  REEVE_ASSERT(json::parse(json::encode(json::to_value(runtime::make_run(*plan)))).has_value());
}

// POST /api/approvals and /api/report at the run socket: the body as a line that the tool would print.
void check_report(Value body) {
  runtime::LineReader reader;
  const auto said = reader.read(json::encode(body));
  if (const auto* question = said ? std::get_if<runtime::Question>(&*said) : nullptr) {
    REEVE_ASSERT(question->question.size() <= runtime::limits::question_bytes);
    REEVE_ASSERT(question->options.size() <= runtime::limits::option_count);
  }
  const bool names_an_event = body.find("event") != nullptr;
  body.set("event", Value::string("approval_needed"));
  const auto asked = reader.read(json::encode(body));
  // A duplicated name counts as missing.
  REEVE_ASSERT(!(names_an_event && asked));
  REEVE_ASSERT(!asked || std::holds_alternative<runtime::Question>(*asked));
}

// Decisions, input and the rest: texts by their names.
void check_texts(const Value& body) {
  for (const char* name : {"choice", "comment", "secret", "decided_by", "reason", "text", "pipeline"}) {
    try {
      const auto text = server::find_text(body, name, server::longest_name);
      REEVE_ASSERT(!text || (text->size() <= server::longest_name && text->find('\0') == std::string::npos));
    } catch (const base::Error& error) {
      REEVE_ASSERT(error.code() == "api.bad_request");
    }
  }
}

}  // namespace

// Any bytes as the body of each request that makes a change.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto body = json::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!body || body->as_object() == nullptr) return 0;
  if (const auto request = check_decoded<wire::RunRequest>(*body)) check_run(*request);
  check_decoded<wire::ExecutionRequest>(*body);
  check_decoded<wire::PipelineRequest>(*body);
  check_report(*body);
  check_texts(*body);
  return 0;
}
