#include "adapter/session_plan.h"

#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "base/text.h"
#include "json/decode.h"
#include "json/fields.h"
#include "json/parse.h"

namespace reeve::adapter {

namespace {

using agents::AgentKind;

constexpr std::size_t max_session_bytes = 256;
constexpr std::size_t max_answers = 8;
constexpr std::size_t max_comment = 1'000;
constexpr const char* go_on = "Continue where you stopped.";

// A random UUID (RFC 9562, version 4).
std::string make_uuid(base::Random& random) {
  std::array<std::byte, 16> bytes{};
  random.fill(bytes);
  bytes[6] = (bytes[6] & std::byte{0x0f}) | std::byte{0x40};
  bytes[8] = (bytes[8] & std::byte{0x3f}) | std::byte{0x80};
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
  }
  return text;
}

bool accepts_session(AgentKind kind) { return kind == AgentKind::claude || kind == AgentKind::qwen; }

}  // namespace

std::optional<StoredSession> parse_stored_session(const base::Value& document) {
  StoredSession stored{
      .session = json::text_of(document, "session_id"), .agent = json::text_of(document, "agent"), .usage = {}};
  if (stored.session.empty() || stored.session.size() > max_session_bytes) return std::nullopt;
  // The totals are members of the record itself.
  if (const auto usage = json::from_value<wire::SessionUsage>(document)) stored.usage = *usage;
  return stored;
}

SessionPlan plan_session(const SessionRequest& request, base::Random& random) {
  SessionPlan plan{.prompt = request.prompt, .continuation = go_on};
  const bool is_same_agent = request.stored && request.stored->agent == base::spell(request.kind);
  if (is_same_agent) {
    // The prompt is a part of the session already.
    plan.session = request.stored->session;
    plan.resumes = true;
    plan.has_deferred_call = request.answers.has_value();
    if (request.answers) plan.continuation = describe_answers(*request.answers);
    plan.prompt = plan.continuation;
    plan.stored_session = plan.session;
    plan.usage = request.stored->usage;
  } else if (request.resume) {
    plan.session = *request.resume;
    plan.resumes = true;
    if (plan.prompt.empty()) plan.prompt = go_on;
  } else if (accepts_session(request.kind)) {
    plan.session = make_uuid(random);
  }
  return plan;
}

std::string describe_answers(std::string_view decisions) {
  std::string text =
      "Continue where you stopped. You made a call that a person had to decide, and the answer is there.";
  const auto document = json::parse(decisions);
  const auto* members = document ? document->as_object() : nullptr;
  std::size_t told = 0;
  for (std::size_t i = 0; members != nullptr && i < members->size() && told < max_answers; ++i) {
    const base::Value& decision = (*members)[i].value;
    const std::string status = json::text_of(decision, "status");
    const std::string comment(base::truncate_utf8(json::text_of(decision, "comment"), max_comment));
    if (status.empty()) continue;
    ++told;
    text += fmt::format(" The call was {}{}{}.", status, comment.empty() ? "" : ": ", comment);
  }
  return text + " If you still need the call, make it again, exactly as before.";
}

}  // namespace reeve::adapter
