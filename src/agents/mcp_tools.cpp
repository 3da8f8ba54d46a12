#include "agents/mcp_tools.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/encode.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

// As long as the names that the daemon takes.
constexpr std::size_t max_name = 255;
constexpr std::size_t max_question = 16UZ * 1024;
constexpr std::size_t max_options = 20;
constexpr std::size_t max_option = 200;

Value typed(std::string_view type, std::string_view description) {
  return Value::object({{"type", Value::string(type)}, {"description", Value::string(description)}});
}

Value schema(Value::Object properties, const std::vector<std::string>& required) {
  Value made = Value::object({{"type", Value::string("object")}, {"properties", Value::object(std::move(properties))}});
  Value::Array names;
  for (const std::string& name : required) names.push_back(Value::string(name));
  if (!names.empty()) made.set("required", Value::array(std::move(names)));
  return made;
}

wire::HostedTool describe_approve() {
  return {std::string(approve_tool), "Decides whether a tool call may run: the permission prompt tool of Claude Code.",
          schema({{"tool_name", typed("string", "the tool")},
                  {"input", typed("object", "its arguments")},
                  {"tool_use_id", typed("string", "the id of the call")}},
                 {"tool_name", "input"})};
}

wire::HostedTool describe_ask_person() {
  Value options = typed("array", "the possible answers; default: yes, no");
  options.set("items", Value::object({{"type", Value::string("string")}}));
  return {std::string(ask_person_tool), "Asks the person who supervises this work, and waits for the answer.",
          schema({{"question", typed("string", "the question, complete in itself")}, {"options", std::move(options)}},
                 {"question"})};
}

wire::HostedTool describe_port_question() {
  wire::HostedTool tool = describe_ask_person();
  Value options = *tool.input_schema.find("properties")->find("options");
  tool.input_schema = schema({{"question", typed("string", "the question, complete in itself")},
                              {"options", std::move(options)},
                              {"reference", typed("string",
                                                  "continues the wait for the question that has this "
                                                  "reference; `question` can be omitted then")}},
                             {});
  return tool;
}

wire::HostedTool describe_report_progress() {
  return {
      std::string(report_progress_tool), "Tells the person who supervises this work how far it is.",
      schema({{"percent", typed("number", "from 0 to 100")}, {"message", typed("string", "one short sentence")}}, {})};
}

wire::HostedTool describe_read_context() {
  return {std::string(read_context_tool),
          "Returns what this run is for: the run, its execution, its node and the text of its task.", schema({}, {})};
}

// The text of a required member within its bound.
std::expected<std::string, std::string> read_text(const Value& arguments, std::string_view key, std::size_t max_bytes) {
  const Value* found = arguments.find(key);
  const std::string* text = found != nullptr ? found->as_string() : nullptr;
  if (text == nullptr) return std::unexpected(fmt::format("`{}` is missing, or not a string", key));
  if (text->empty()) return std::unexpected(fmt::format("`{}` is empty", key));
  if (text->size() > max_bytes) return std::unexpected(fmt::format("`{}` is longer than {} bytes", key, max_bytes));
  return *text;
}

Value make_option(const std::string& text) {
  return Value::object({{"value", Value::string(text)}, {"label", Value::string(text)}});
}

std::expected<Value, std::string> read_options(const Value& arguments) {
  const Value* found = arguments.find("options");
  if (found == nullptr || found->is_null()) return Value::array({make_option("yes"), make_option("no")});
  const Value::Array* given = found->as_array();
  if (given == nullptr || given->empty()) return std::unexpected("`options` is not a list of texts");
  if (given->size() > max_options) return std::unexpected(fmt::format("over {} options", max_options));
  Value::Array options;
  for (const Value& one : *given) {
    const std::string* text = one.as_string();
    const bool is_valid = text != nullptr && !text->empty() && text->size() <= max_option;
    if (!is_valid) return std::unexpected(fmt::format("an option is a text of 1 to {} bytes", max_option));
    options.push_back(make_option(*text));
  }
  return Value::array(std::move(options));
}

}  // namespace

const std::vector<wire::HostedTool>& run_tools() {
  static const std::vector<wire::HostedTool> tools = {describe_approve(), describe_ask_person(),
                                                      describe_report_progress(), describe_read_context()};
  return tools;
}

const std::vector<wire::HostedTool>& outside_tools() {
  static const std::vector<wire::HostedTool> tools = {describe_ask_person(), describe_report_progress()};
  return tools;
}

const std::vector<wire::HostedTool>& port_tools() {
  static const std::vector<wire::HostedTool> tools = {describe_port_question(), describe_report_progress()};
  return tools;
}

std::expected<wire::CallRequest, std::string> parse_approve(const Value& arguments, std::string_view new_call) {
  wire::CallRequest request;
  auto tool = read_text(arguments, "tool_name", max_name);
  if (!tool) return std::unexpected(tool.error());
  request.tool = std::move(*tool);
  const Value* input = arguments.find("input");
  if (input == nullptr || input->as_object() == nullptr) return std::unexpected("`input` is missing, or not an object");
  request.arguments = *input;
  request.call = std::string(new_call);
  if (const Value* id = arguments.find("tool_use_id"); id != nullptr && !id->is_null()) {
    auto call = read_text(arguments, "tool_use_id", max_name);
    if (!call) return std::unexpected(call.error());
    request.call = std::move(*call);
  }
  request.channel = model::CallChannel::mcp;
  request.dialect = "claude";
  return request;
}

std::string approve_allow(const Value& input) {
  return json::encode(Value::object({{"behavior", Value::string("allow")}, {"updatedInput", input}}));
}

std::string approve_deny(std::string_view message) {
  const std::string text = base::replace_invalid_utf8(message);
  return json::encode(
      Value::object({{"behavior", Value::string("deny")}, {"message", Value::string(text.empty() ? "denied" : text)}}));
}

std::expected<Value, std::string> parse_question(const Value& arguments, std::string_view name) {
  auto question = read_text(arguments, "question", max_question);
  if (!question) return std::unexpected(question.error());
  auto options = read_options(arguments);
  if (!options) return std::unexpected(options.error());
  return Value::object(
      {{"question", Value::string(*question)}, {"options", std::move(*options)}, {"approval_id", Value::string(name)}});
}

std::expected<OutsideQuestion, std::string> parse_outside_question(const Value& arguments,
                                                                   std::string_view new_reference) {
  OutsideQuestion asked{.reference = std::string(new_reference)};
  const Value* named = arguments.find("reference");
  const bool is_named = named != nullptr && !named->is_null();
  if (is_named) {
    auto reference = read_text(arguments, "reference", max_name);
    if (!reference) return std::unexpected(reference.error());
    asked.reference = std::move(*reference);
    const Value* question = arguments.find("question");
    if (question == nullptr || question->is_null()) return asked;
  }
  auto question = read_text(arguments, "question", max_question);
  if (!question) return std::unexpected(question.error());
  auto options = read_options(arguments);
  if (!options) return std::unexpected(options.error());
  asked.body = Value::object({{"question", Value::string(*question)},
                              {"options", std::move(*options)},
                              {"reference", Value::string(asked.reference)}});
  return asked;
}

std::string describe_unanswered(std::string_view reference) {
  return fmt::format(
      "Nobody has answered yet; the question stays open. To continue the wait, call `ask_person` with {}",
      json::encode(Value::object({{"reference", Value::string(reference)}})));
}

std::expected<std::string, std::string> describe_decision(const Value& approval) {
  const std::string status = json::text_of(approval, "status");
  const std::string chosen = json::text_of(approval, "chosen_value");
  const std::string comment = json::text_of(approval, "comment");
  const std::string ending = comment.empty() ? "" : fmt::format(" ({})", comment);
  if (status == "approved" || status == "rejected") {
    return fmt::format("{}{}", chosen.empty() ? status : chosen, ending);
  }
  if (status == "expired") return std::unexpected("nobody answered in time; take it as a no");
  return std::unexpected("the daemon's answer is malformed: it has no known status");
}

namespace {

// Adds `percent` and `message`, at least one of which must be there.
std::expected<Value, std::string> add_progress(Value body, const Value& arguments) {
  const std::size_t before = body.as_object()->size();
  const Value* percent = arguments.find("percent");
  if (percent != nullptr && !percent->is_null()) {
    if (percent->as_integer() == nullptr && percent->as_number() == nullptr) {
      return std::unexpected("`percent` is not a number");
    }
    body.set("percent", *percent);
  }
  const Value* message = arguments.find("message");
  if (message != nullptr && !message->is_null()) {
    if (message->as_string() == nullptr) return std::unexpected("`message` is not a string");
    body.set("message", *message);
  }
  if (body.as_object()->size() == before) return std::unexpected("`percent` or `message` is needed");
  return body;
}

}  // namespace

std::expected<Value, std::string> parse_progress(const Value& arguments) {
  return add_progress(Value::object({{"event", Value::string("progress")}}), arguments);
}

std::expected<Value, std::string> parse_outside_progress(const Value& arguments) {
  auto body = add_progress(Value::object(), arguments);
  const Value* message = body ? body->find("message") : nullptr;
  if (message != nullptr && message->as_string()->size() > max_progress_message) {
    return std::unexpected(fmt::format("`message` is longer than {} bytes", max_progress_message));
  }
  return body;
}

std::string_view describe_progress(bool is_kept) noexcept {
  return is_kept ? "noted" : "not noted: one report a second is kept";
}

}  // namespace reeve::agents
