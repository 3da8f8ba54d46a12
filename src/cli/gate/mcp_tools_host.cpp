#include "cli/gate/mcp_tools_host.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "agents/mcp_tools.h"
#include "base/random.h"
#include "base/text.h"
#include "cli/connect.h"
#include "json/decode.h"
#include "json/encode.h"
#include "json/fields.h"

namespace reeve::cli {

namespace {

using agents::McpError;
using agents::McpOutcome;
using agents::McpToolResult;
using agents::McpWork;
using base::Value;

// Longer than an approval stays open by default.
constexpr std::chrono::hours decision_time(25);
constexpr std::chrono::seconds answer_time(30);
// A client waits for the list before it does anything.
constexpr std::chrono::seconds list_time(5);
constexpr std::size_t max_hosted_tools = 200;

McpToolResult failure(std::string text) { return {.text = std::move(text), .is_error = true}; }

bool is_own_tool(const std::vector<wire::HostedTool>& tools, std::string_view name) {
  return std::ranges::find(tools, name, &wire::HostedTool::name) != tools.end();
}

// The tools of the host, from a list or a page; none if they cannot be read: then each call of them is refused as well.
std::vector<wire::HostedTool> read_hosted(const std::expected<Value, std::string>& document) {
  if (!document) return {};
  const Value* items = document->find("items");
  auto tools = json::from_value<std::vector<wire::HostedTool>>(items != nullptr ? *items : *document);
  if (!tools || tools->size() > max_hosted_tools) return {};
  return std::move(*tools);
}

std::string describe_denial(const wire::CallReply& reply) {
  std::string text = fmt::format("denied: {}", reply.reason.value_or(reply.rule));
  if (reply.hint && !reply.hint->empty()) text += fmt::format("\nhint: {}", *reply.hint);
  return text;
}

}  // namespace

McpTools::McpTools(RunContext context, FindDaemon find_daemon)
    : context_(std::move(context)), find_daemon_(std::move(find_daemon)), process_name_("mcp-" + base::random_hex(8)) {
  std::error_code error;
  folder_ = std::filesystem::current_path(error);
}

McpOutcome McpTools::perform(const McpWork& work, const std::stop_token& stop) const noexcept {
  try {
    return dispatch(work, stop);
  } catch (const std::exception& error) {
    if (work.tool == agents::approve_tool) return McpToolResult{.text = agents::approve_deny(error.what())};
    return failure(error.what());
  }
}

McpOutcome McpTools::dispatch(const McpWork& work, const std::stop_token& stop) const {
  if (work.kind == McpWork::Kind::list_tools) return list(stop);
  const auto& own = context_.is_inside ? agents::run_tools() : agents::outside_tools();
  const bool is_own = is_own_tool(own, work.tool);
  if (!context_.is_inside) {
    if (!is_own) return McpError{agents::mcp_invalid_params, "no such tool outside a run: " + base::visible(work.tool)};
    return work.tool == agents::report_progress_tool ? report_outside(work, stop) : ask_outside(work, stop);
  }
  if (work.tool == agents::approve_tool) return approve(work, stop);
  if (!context_.socket) return failure("Reeve cannot be asked: REEVE_SOCKET is not set in this process of a run");
  if (work.tool == agents::ask_person_tool) return ask_person(work, stop);
  if (work.tool == agents::report_progress_tool) return report_progress(work, stop);
  if (work.tool == agents::read_context_tool) return read_context(stop);
  return run_hosted(work, stop);
}

std::vector<wire::HostedTool> McpTools::list(const std::stop_token& stop) const {
  if (!context_.is_inside) return agents::outside_tools();
  std::vector<wire::HostedTool> tools = agents::run_tools();
  if (!context_.socket) return tools;
  auto hosted = read_hosted(connect(stop, list_time).get("/api/tools"));
  for (wire::HostedTool& tool : hosted) {
    const bool is_valid = !tool.name.empty() && tool.input_schema.as_object() != nullptr;
    if (is_valid && !is_own_tool(tools, tool.name)) tools.push_back(std::move(tool));
  }
  return tools;
}

McpOutcome McpTools::approve(const McpWork& work, const std::stop_token& stop) const {
  const auto deny = [](std::string_view why) { return McpToolResult{.text = agents::approve_deny(why)}; };
  auto request = agents::parse_approve(work.arguments, own_name(work));
  if (!request) return deny(request.error());
  if (!context_.socket) return deny("Reeve cannot be asked: REEVE_SOCKET is not set in this process of a run");
  if (!folder_.empty()) request->cwd = folder_.string();
  const auto reply = connect(stop, decision_time).decide(*request);
  if (!reply) return deny("Reeve did not allow this call: " + reply.error());
  if (reply->decision != wire::CallReplyDecision::allow) return deny(describe_denial(*reply));
  return McpToolResult{.text = agents::approve_allow(request->arguments)};
}

McpOutcome McpTools::ask_person(const McpWork& work, const std::stop_token& stop) const {
  const std::string name = own_name(work);
  const auto question = agents::parse_question(work.arguments, name);
  if (!question) return failure(question.error());
  client::RunSocket socket = connect(stop, decision_time);
  const auto asked = socket.post("/api/approvals", *question);
  if (!asked) return failure("the question could not be asked: " + asked.error());
  const auto decided = socket.wait_approval(name);
  if (!decided) return failure("no answer: " + decided.error());
  const auto text = agents::describe_decision(*decided);
  return text ? McpToolResult{.text = *text} : failure(text.error());
}

std::expected<client::DaemonPlace, std::string> McpTools::find_running() const {
  client::DaemonPlace place = find_daemon_();
  if (place.host) {
    return std::unexpected(
        fmt::format("REEVE_HOST names another daemon, which serves MCP itself: {}/mcp", place.host->url()));
  }
  if (client::Daemon(place).is_running()) return place;
  return std::unexpected(
      "nobody can be told: no Reeve daemon is running. Any `reeve` command that needs one starts it, or `reeve serve`; "
      "until then, say it in your own answer.");
}

McpOutcome McpTools::ask_outside(const McpWork& work, const std::stop_token& stop) const {
  auto question = agents::parse_outside_question(work.arguments, own_name(work));
  if (!question) return failure(question.error());
  if (!question->body) return failure("`question` is missing: this server waits until the answer is there");
  const auto place = find_running();
  if (!place) return failure(place.error());
  if (const auto project = project_here(*place)) question->body->set("project", Value::string(*project));
  client::RunSocket socket(place->socket, {.deadline = base::SystemClock().boot_now() + decision_time, .stop = stop});
  const auto asked = socket.post("/api/questions", *question->body);
  if (!asked) return failure("the question could not be asked: " + asked.error());
  const std::string id = json::text_of(*asked, "approval_id");
  const auto decided = socket.wait_approval(id);
  if (!decided) return failure(fmt::format("no answer to {}: {}", base::visible(id), decided.error()));
  const auto text = agents::describe_decision(*decided);
  return text ? McpToolResult{.text = *text} : failure(text.error());
}

McpOutcome McpTools::report_progress(const McpWork& work, const std::stop_token& stop) const {
  const auto report = agents::parse_progress(work.arguments);
  if (!report) return failure(report.error());
  const auto noted = connect(stop, answer_time).post("/api/report", *report);
  return noted ? McpToolResult{.text = "noted"} : failure("the progress could not be reported: " + noted.error());
}

McpOutcome McpTools::report_outside(const McpWork& work, const std::stop_token& stop) const {
  auto report = agents::parse_outside_progress(work.arguments);
  if (!report) return failure(report.error());
  const auto place = find_running();
  if (!place) return failure(place.error());
  if (const auto project = project_here(*place)) report->set("project", Value::string(*project));
  client::RunSocket socket(place->socket, {.deadline = base::SystemClock().boot_now() + answer_time, .stop = stop});
  const auto noted = socket.post("/api/progress", *report);
  if (!noted) return failure("the progress could not be reported: " + noted.error());
  const Value* kept = noted->find("kept");
  const bool is_kept = kept != nullptr && kept->as_bool() != nullptr && *kept->as_bool();
  return McpToolResult{.text = std::string(agents::describe_progress(is_kept))};
}

McpOutcome McpTools::read_context(const std::stop_token& stop) const {
  const auto context = connect(stop, answer_time).get("/api/context");
  if (!context) return failure("the context could not be read: " + context.error());
  return McpToolResult{.text = json::encode_pretty(*context)};
}

McpOutcome McpTools::run_hosted(const McpWork& work, const std::stop_token& stop) const {
  const wire::CallRequest request{.call = own_name(work),
                                  .tool = work.tool,
                                  .arguments = work.arguments,
                                  .execute = true,
                                  .channel = model::CallChannel::mcp};
  const auto reply = connect(stop, decision_time).run_hosted(request);
  if (!reply) return failure("the tool was not run, or its result is not known: " + reply.error());
  if (reply->decision != wire::CallReplyDecision::allow) return failure(describe_denial(*reply));
  const wire::CallResult& result = *reply->result;
  std::string text = result.content;
  if (result.hint && !result.hint->empty()) text += fmt::format("\nhint: {}", *result.hint);
  return McpToolResult{.text = std::move(text), .is_error = result.is_error};
}

client::RunSocket McpTools::connect(const std::stop_token& stop, base::Milliseconds timeout) const {
  return {*context_.socket, {.deadline = base::SystemClock().boot_now() + timeout, .stop = stop}};
}

std::string McpTools::own_name(const McpWork& work) const { return fmt::format("{}-{}", process_name_, work.ticket); }

}  // namespace reeve::cli
