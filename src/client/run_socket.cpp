#include "client/run_socket.h"

#include <algorithm>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/decode.h"
#include "json/encode.h"
#include "json/fields.h"
#include "json/parse.h"

namespace reeve::client {

namespace {

using base::Milliseconds;
using base::Value;
using wire::CallReply;
using wire::CallReplyDecision;

constexpr Milliseconds first_pause(20);
constexpr Milliseconds max_pause(1000);
// How long the daemon holds one request for a decision.
constexpr Milliseconds poll_timeout(30'000);
// A decision that is not there comes later than this, or the other side is not a daemon.
constexpr Milliseconds shortest_wait(500);
constexpr Milliseconds withdrawal_time(1000);
constexpr int busy_status = 503;
constexpr int missing_status = 404;
constexpr int not_offered_status = 403;

// The terms ended during a request.
struct GivenUp {};

base::BootTime now() { return base::SystemClock().boot_now(); }

std::string describe_refusal(const Response& answer) {
  const auto document = json::parse(answer.body);
  const std::string title = document ? json::text_of(*document, "title") : std::string();
  return fmt::format("the daemon answered {}{}{}", answer.status, title.empty() ? "" : ": ",
                     base::truncate_utf8(title, 500));
}

std::expected<Value, std::string> read_document(const Response& answer) {
  if (answer.status < 200 || answer.status > 299) return std::unexpected(describe_refusal(answer));
  auto document = json::parse(answer.body);
  if (document) return std::move(*document);
  return std::unexpected("the daemon's answer is not valid JSON: " + document.error().text());
}

std::expected<CallReply, std::string> read_reply(const Value& document) {
  const auto malformed = [](std::string_view why) {
    return std::unexpected(fmt::format("the daemon's answer is malformed: {}", why));
  };
  const Value* decision = document.find("decision");
  if (decision == nullptr || decision->as_string() == nullptr) return malformed("it has no decision");
  auto reply = json::from_value<CallReply>(document);
  if (!reply) return malformed(reply.error());
  if (reply->call_id == base::CallId(0)) return malformed("it has no call_id");
  return std::move(*reply);
}

}  // namespace

RunSocket::RunSocket(std::filesystem::path socket, AskTerms terms)
    : socket_(std::move(socket)), terms_(std::move(terms)), pause_(first_pause) {}

std::expected<Value, std::string> RunSocket::get(const std::string& target) { return ask({.target = target}); }

std::expected<std::optional<Value>, std::string> RunSocket::find(const std::string& target) {
  const auto answer = ask_until_answered({.target = target});
  if (!answer) return std::unexpected(answer.error());
  if (answer->status == missing_status || answer->status == not_offered_status) return std::nullopt;
  return read_document(*answer);
}

std::expected<Value, std::string> RunSocket::post(const std::string& target, const Value& body) {
  return ask({.method = "POST",
              .target = target,
              .body = json::encode(body),
              .headers = {{"Content-Type", "application/json"}}});
}

std::expected<CallReply, std::string> RunSocket::decide(const wire::CallRequest& request, const OnWait& on_wait) {
  auto reply = post_call(request);
  while (reply && reply->decision == CallReplyDecision::wait) {
    const auto timeout = on_wait ? on_wait(*reply) : std::optional(poll_timeout);
    if (!timeout) return reply;
    const base::CallId call = reply->call_id;
    reply = wait_call(*reply, *timeout);
    if (!reply && !request.may_defer && !find_end().empty()) withdraw(call);
  }
  return reply;
}

std::expected<CallReply, std::string> RunSocket::run_hosted(const wire::CallRequest& request) {
  auto reply = decide(request);
  // Only a POST runs the tool; an answer to a wait just says that it may.
  const bool may_run = reply && reply->decision == CallReplyDecision::allow;
  if (may_run && !reply->result) reply = post_call(request);
  const bool is_final = !reply || reply->decision == CallReplyDecision::deny || reply->result;
  if (!is_final) return std::unexpected("the daemon's answer is malformed: it allows the call, but has no result");
  return reply;
}

std::expected<Value, std::string> RunSocket::wait_approval(const std::string& name) {
  while (true) {
    const base::BootTime begun = now();
    auto record = get(fmt::format("/api/approvals/{}/wait?timeout={}ms", encode_part(name), poll_timeout.count()));
    if (!record) return record;
    const std::string status = json::text_of(*record, "status");
    if (status.empty()) return std::unexpected("the daemon's answer is malformed: it has no status");
    if (status != "pending") return record;
    if (now() - begun < shortest_wait) pause();
  }
}

std::expected<CallReply, std::string> RunSocket::post_call(const wire::CallRequest& request) {
  const auto document = post("/api/tool-calls", json::to_value(request, json::Defaults::omit));
  if (!document) return std::unexpected(document.error());
  return read_reply(*document);
}

std::expected<CallReply, std::string> RunSocket::wait_call(const CallReply& asked, Milliseconds timeout) {
  const base::BootTime begun = now();
  const auto document = get(fmt::format("/api/tool-calls/{}/wait?timeout={}ms", asked.call_id.text(), timeout.count()));
  if (!document) return std::unexpected(document.error());
  auto reply = read_reply(*document);
  if (reply && reply->call_id != asked.call_id) {
    return std::unexpected("the daemon's answer is malformed: it is about another call");
  }
  if (reply && reply->decision == CallReplyDecision::wait && now() - begun < shortest_wait) pause();
  return reply;
}

void RunSocket::withdraw(base::CallId call) const {
  RunSocket other(socket_, {.deadline = now() + withdrawal_time});
  static_cast<void>(other.post(fmt::format("/api/tool-calls/{}/withdraw", call.text()), Value::object()));
}

std::expected<Value, std::string> RunSocket::ask(const Request& request) {
  const auto answer = ask_until_answered(request);
  if (!answer) return std::unexpected(answer.error());
  return read_document(*answer);
}

std::expected<Response, std::string> RunSocket::ask_until_answered(const Request& request) {
  std::string trouble = "it does not answer";
  while (true) {
    if (const std::string end = find_end(); !end.empty()) return std::unexpected(fmt::format("{}: {}", end, trouble));
    try {
      Response answer = ask_once(request);
      if (answer.status == busy_status) {
        trouble = describe_refusal(answer);
        connection_.reset();
        pause();
        continue;
      }
      pause_ = first_pause;
      return answer;
    } catch (const GivenUp&) {
      connection_.reset();
    } catch (const ConnectionLost& lost) {
      if (lost.is_foreign) return std::unexpected(lost.what);
      trouble = lost.what;
      connection_.reset();
      pause();
    }
  }
}

Response RunSocket::ask_once(const Request& request) {
  if (!connection_) {
    connection_.emplace(Endpoint{.socket = socket_, .owner = terms_.owner.value_or(::geteuid())});
    connection_->set_waiting([this](Milliseconds) {
      if (!find_end().empty()) throw GivenUp();
    });
  }
  return connection_->ask(request);
}

std::string RunSocket::find_end() const {
  if (terms_.stop.stop_requested()) return "cancelled";
  if (now() >= terms_.deadline) return "the daemon did not decide in time";
  return {};
}

void RunSocket::pause() {
  const auto left = std::chrono::ceil<Milliseconds>(terms_.deadline - now());
  const auto time = std::clamp(left, Milliseconds(0), pause_);
  static_cast<void>(::poll(nullptr, 0, static_cast<int>(time.count())));
  pause_ = std::min(2 * pause_, max_pause);
}

}  // namespace reeve::client
