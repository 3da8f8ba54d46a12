#include <map>
#include <utility>

#include <fmt/format.h>

#include "agents/mcp_http.h"
#include "agents/mcp_server.h"
#include "agents/mcp_tools.h"
#include "base/random.h"
#include "base/text.h"
#include "json/describe.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/progress_body.h"
#include "server/resources/question_body.h"

// /mcp: the Model Context Protocol over Streamable HTTP, for agents outside of runs. Without sessions: each POST stands
// for itself, so GET and DELETE are not there.
namespace reeve::server {

namespace {

using agents::McpError;
using agents::McpToolResult;
using agents::McpWork;
using base::Error;
using base::ErrorCode;
using base::Value;
using model::Approval;

// Keeps proxies from closing an idle stream, and lets the client detect a dead one.
constexpr base::Milliseconds ping_time = std::chrono::seconds(15);
// For a client that takes no stream. Shorter than the time after which clients give a request up.
constexpr base::Milliseconds longest_wait = std::chrono::seconds(50);
constexpr std::string_view json_type = "application/json";

McpToolResult failure(std::string text) { return {.text = std::move(text), .is_error = true}; }

// One POST whose answer has to wait for people. Owned by its timers and by what it waits for. Lives on the loop.
class McpPost : public std::enable_shared_from_this<McpPost> {
 public:
  explicit McpPost(SharedExchange exchange)
      : exchange_(std::move(exchange)), server_(REEVE_VERSION, agents::agreed_revision(read_head(*exchange_))) {}

  static agents::McpHead read_head(const Exchange& exchange) {
    const Request& request = exchange.request;
    return {.revision = request.header("mcp-protocol-version"),
            .method = request.header("mcp-method"),
            .name = request.header("mcp-name")};
  }

  void perform() {
    const agents::McpReaction reaction = server_.on_line(exchange_->request.body);
    for (const std::string& line : reaction.lines) answer_ = line;
    for (const McpWork& work : reaction.work) start(work);
    if (answer_) return exchange_->send_encoded(200, std::move(*answer_));
    // Only notifications, which have no answer.
    if (!server_.has_open()) return exchange_->send({.status = 202});
    begin_wait();
  }

 private:
  void start(const McpWork& work) {
    if (work.kind == McpWork::Kind::list_tools) return finish(work.ticket, agents::port_tools());
    if (work.tool == agents::report_progress_tool) return report(work);
    if (work.tool != agents::ask_person_tool) {
      return finish(work.ticket, McpError{agents::mcp_invalid_params, "no such tool: " + base::visible(work.tool)});
    }
    auto asked = agents::parse_outside_question(work.arguments, "mcp-" + base::random_hex(8));
    if (!asked) return finish(work.ticket, failure(asked.error()));
    open_[work.ticket].reference = asked->reference;
    try {
      ask(work.ticket, *asked);
    } catch (const Error& error) {
      finish(work.ticket, failure(error.message()));
    }
  }

  void report(const McpWork& work) {
    const auto body = agents::parse_outside_progress(work.arguments);
    if (!body) return finish(work.ticket, failure(body.error()));
    try {
      exchange_->daemon.caller_progress().report(
          parse_progress(*exchange_, *body),
          [self = shared_from_this(), ticket = work.ticket](const std::expected<bool, Error>& is_kept) {
            if (!is_kept) return self->finish(ticket, failure(is_kept.error().message()));
            self->finish(ticket, McpToolResult{.text = std::string(agents::describe_progress(*is_kept))});
          });
    } catch (const Error& error) {
      finish(work.ticket, failure(error.message()));
    }
  }

  void ask(std::uint64_t ticket, const agents::OutsideQuestion& asked) {
    const runtime::CallerQuestions questions = exchange_->daemon.caller_questions();
    if (!asked.body) {
      return questions.find(
          exchange_->actor(), asked.reference,
          [self = shared_from_this(), ticket](const std::expected<std::optional<Approval>, Error>& found) {
            if (!found) return self->finish(ticket, failure(found.error().message()));
            if (!*found) return self->finish(ticket, failure("no question of yours has this `reference`: ask it"));
            self->wait_for(ticket, **found);
          });
    }
    questions.ask(parse_question(*exchange_, *asked.body), std::nullopt,
                  [self = shared_from_this(), ticket](const std::expected<ledger::CallerAsked, Error>& stored) {
                    if (!stored) return self->finish(ticket, failure(stored.error().message()));
                    self->wait_for(ticket, stored->approval);
                  });
  }

  void wait_for(std::uint64_t ticket, const Approval& approval) {
    if (is_over_) return;
    if (approval.status != model::ApprovalStatus::pending) return tell(ticket, approval);
    // Reads the approval again after subscribing.
    open_[ticket].wait = exchange_->daemon.approvals().wait(
        approval.approval_id, [self = shared_from_this(), ticket](const std::expected<Approval, Error>& decided) {
          if (!decided) return self->finish(ticket, failure(decided.error().message()));
          self->tell(ticket, *decided);
        });
  }

  void tell(std::uint64_t ticket, const Approval& approval) {
    const auto text = agents::describe_decision(json::to_value(approval));
    finish(ticket, text ? McpToolResult{.text = *text} : failure(text.error()));
  }

  void finish(std::uint64_t ticket, const agents::McpOutcome& outcome) {
    if (is_over_) return;
    auto line = server_.finish(ticket, outcome);
    if (!line) return;
    if (!is_waiting_) {
      answer_ = std::move(line);
    } else {
      send(*line);
    }
  }

  // From here on the answer is sent by this object, whatever the store does: people take longer than its time limit.
  void begin_wait() {
    is_waiting_ = true;
    exchange_->is_answered = true;
    const auto closed = [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->end();
    };
    const std::string accept = exchange_->request.header("accept").value_or("");
    if (agents::accepts_event_stream(accept)) {
      stream_ = exchange_->responder->begin(
          {.content_type = "text/event-stream", .headers = {{"Cache-Control", "no-store"}}});
      stream_->on_closed(closed);
      return ping();
    }
    exchange_->responder->on_closed(closed);
    runtime::Loop& loop = exchange_->daemon.loop();
    timer_ = loop.at(loop.now() + longest_wait, [self = shared_from_this()] { self->give_up(); });
  }

  void ping() {
    runtime::Loop& loop = exchange_->daemon.loop();
    timer_ = loop.at(loop.now() + ping_time, [self = shared_from_this()] {
      if (self->is_over_) return;
      if (self->stream_->waiting() == 0) self->stream_->write(": waiting for a person\n\n");
      self->ping();
    });
  }

  void give_up() {
    // finish() may end the wait.
    std::vector<std::pair<std::uint64_t, std::string>> unanswered;
    for (const auto& [ticket, question] : open_) unanswered.emplace_back(ticket, question.reference);
    for (const auto& [ticket, reference] : unanswered) finish(ticket, failure(agents::describe_unanswered(reference)));
  }

  void send(const std::string& line) {
    if (stream_) {
      stream_->write(agents::make_sse_message(line));
      stream_->end();
    } else {
      exchange_->responder->send({.status = 200, .content_type = std::string(json_type), .body = line});
    }
    end();
  }

  // Frees the request; its questions stay open. Posted, because the callers may be what is released.
  void end() {
    if (std::exchange(is_over_, true)) return;
    exchange_->daemon.loop().post([self = shared_from_this()] {
      self->open_.clear();
      self->timer_ = {};
      self->stream_.reset();
    });
  }

  struct Question {
    std::string reference;
    runtime::Loop::Hold wait = {};
  };

  SharedExchange exchange_;
  agents::McpServer server_;
  // By their tickets.
  std::map<std::uint64_t, Question> open_;
  // Of a POST that needs no wait.
  std::optional<std::string> answer_;
  std::shared_ptr<Stream> stream_;
  // The next keep-alive comment, or the end of the wait.
  runtime::Loop::Hold timer_;
  bool is_waiting_ = false;
  bool is_over_ = false;
};

void post(SharedExchange exchange) {
  const std::string& body = exchange->request.body;
  if (body.size() > agents::max_mcp_body) {
    throw Error(ErrorCode::api_bad_request, fmt::format("the body is over {} bytes", agents::max_mcp_body));
  }
  if (auto fault = agents::find_http_fault(McpPost::read_head(*exchange), body)) {
    return exchange->send_encoded(400, std::move(*fault));
  }
  std::make_shared<McpPost>(exchange)->perform();
}

}  // namespace

std::vector<Operation> mcp_operations(json::Schemas& /*schemas*/) {
  const Value message = Value::object();
  return {
      {.method = "POST",
       .path = "/mcp",
       .handle = post,
       .name = "callMcp",
       .inside = InRunAccess::refused,
       .summary = "The Model Context Protocol (Streamable HTTP, without sessions): one JSON-RPC message; 202 for a "
                  "notification. A call that waits for a person is answered as a stream if the client accepts one",
       .scope = Scope::operate,
       .replies = {{200, message}, {200, json::string_schema(), "text/event-stream"}, {202, {}, ""}, {400, message}}}};
}

}  // namespace reeve::server
