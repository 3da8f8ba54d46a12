#include "agents/protocol/opencode_protocol.h"

#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/protocol/agent_message.h"
#include "base/text.h"
#include "json/fields.h"
#include "json/parse.h"
#include "tests/support/files.h"
#include "tests/support/protocol_events.h"

namespace reeve::agents {
namespace {

using base::Value;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Lines = std::vector<std::string>;

const std::string session_body = R"({"id":"s1","version":"1.18.33","permission":[)"
                                 R"({"permission":"*","pattern":"*","action":"ask"}]})";

// A protocol, its open requests, and what it has said.
class Opencode {
 public:
  explicit Opencode(AgentSetup setup = make_setup()) : protocol_(make_opencode_protocol(setup)) {}

  static AgentSetup make_setup() {
    AgentSetup setup;
    setup.prompt = "write x";
    return setup;
  }
  // After the session has been opened and the prompt was taken.
  static Opencode ready(AgentSetup setup = make_setup()) {
    Opencode opencode(std::move(setup));
    opencode.line("opencode server listening on http://127.0.0.1:4096");
    opencode.event(R"({"type":"server.connected","properties":{}})");
    opencode.respond(200, session_body);
    opencode.respond(204, "");
    return opencode;
  }

  AgentProtocol& operator*() { return *protocol_; }
  Lines line(std::string_view text) { return take(protocol_->on_line(text)); }
  Lines event(std::string_view text) { return take(protocol_->on_event(text)); }
  Lines event(std::string_view type, std::string_view properties) {
    return event(fmt::format(R"({{"type":"{}","properties":{{{}}}}})", type, properties));
  }
  // To the oldest open request.
  Lines respond(int status, std::string_view body) {
    if (requests_.empty()) return {"no request"};
    const std::uint64_t number = requests_.front().number;
    requests_.pop_front();
    return take(protocol_->on_response(number, status, body));
  }
  Lines answer(std::uint64_t ticket, CallVerdict verdict, const std::string& reason = "") {
    return take(protocol_->answer(ticket, {.verdict = verdict, .reason = reason}));
  }
  Lines take(const AgentReaction& reaction) {
    requests_.insert(requests_.end(), reaction.requests.begin(), reaction.requests.end());
    return testing::describe(reaction);
  }
  bool has_requests() const { return !requests_.empty(); }

 private:
  std::unique_ptr<AgentProtocol> protocol_;
  std::deque<AgentRequest> requests_;
};

std::string part(std::string_view call, std::string_view state, std::string_view session = "s1",
                 std::string_view tool = "bash", std::string_view message = "m1") {
  return fmt::format(
      R"("part":{{"type":"tool","id":"p","callID":"{}","messageID":"{}","sessionID":"{}","tool":"{}","state":{{{}}}}})",
      call, message, session, tool, state);
}
const std::string running = R"("status":"running","input":{"command":"ls"})";
const std::string completed = R"("status":"completed","input":{"command":"ls"},"output":"a b")";
std::string failed(std::string_view error) {
  return fmt::format(R"("status":"error","input":{{}},"error":"{}")", error);
}

std::string asked(std::string_view id, std::string_view call, std::string_view session = "s1",
                  std::string_view permission = "bash", std::string_view message = "m1") {
  return fmt::format(R"("id":"{}","sessionID":"{}","permission":"{}","patterns":["ls"],"metadata":{{"command":"ls"}},)"
                     R"("tool":{{"messageID":"{}","callID":"{}"}})",
                     id, session, permission, message, call);
}
std::string replied(std::string_view id, std::string_view reply, std::string_view session = "s1") {
  return fmt::format(R"("sessionID":"{}","requestID":"{}","reply":"{}")", session, id, reply);
}
std::string message(std::string_view id, std::string_view rest = "", std::string_view session = "s1") {
  return fmt::format(R"("info":{{"id":"{}","sessionID":"{}","role":"assistant"{}}})", id, session, rest);
}
std::string text(std::string_view id, std::string_view content, std::string_view rest = R"(,"time":{"end":2})",
                 std::string_view session = "s1") {
  return fmt::format(R"("part":{{"type":"text","id":"{}","messageID":"m1","sessionID":"{}","text":"{}"{}}})", id,
                     session, content, rest);
}

// --- Recorded ---

struct Recorded {
  std::string file;
  CallVerdict verdict;
};
void PrintTo(const Recorded& recorded, std::ostream* out) { *out << recorded.file; }

class RecordedOpencode : public ::testing::TestWithParam<Recorded> {};

TEST_P(RecordedOpencode, is_understood) {
  const auto folder = testing::source_folder() / "tests/golden/agents";
  const std::string transcript = testing::read_text(folder / "transcripts" / (GetParam().file + ".jsonl"));
  Opencode opencode;
  Lines events;
  const auto note = [&](const Lines& lines) { events.insert(events.end(), lines.begin(), lines.end()); };
  for (const std::string_view line : base::split(transcript, '\n')) {
    if (line.empty()) continue;
    const Value entry = *json::parse(line);
    const bool is_session = !member_of(member_of(entry, "body"), "slug").is_null();
    if (json::text_of(entry, "dir") == "event") note(opencode.event(line));
    if (is_session) {
      note(opencode.respond(200, json::encode(member_of(entry, "body"))));
      // The rules and the prompt.
      note(opencode.respond(200, "{}"));
      note(opencode.respond(204, ""));
    }
    if (json::text_of(entry, "type") == "permission.asked") {
      note(opencode.answer(1, GetParam().verdict, "Denied by the reviewer."));
      note(opencode.respond(200, "true"));
    }
  }
  EXPECT_FALSE(opencode.has_requests());
  std::string all;
  for (const std::string& event : events) all += event + "\n";
  testing::expect_golden(folder / "events" / (GetParam().file + ".txt"), all);
}

INSTANTIATE_TEST_SUITE_P(Transcripts, RecordedOpencode,
                         ::testing::Values(Recorded{"opencode-serve.http.once", CallVerdict::allow},
                                           Recorded{"opencode-serve.http.reject", CallVerdict::deny}),
                         [](const auto& param) {
                           return param.param.verdict == CallVerdict::allow ? "once" : "reject";
                         });

// --- The start ---

TEST(OpencodeProtocol, the_gate_reaches_what_is_asked) {
  Opencode opencode;
  EXPECT_EQ((*opencode).reach(), GateReach::asks);
  EXPECT_EQ((*opencode).release_way(), ReleaseWay::end);
  EXPECT_THAT(opencode.take((*opencode).begin()), IsEmpty());
}

TEST(OpencodeProtocol, the_address_is_read_from_its_output) {
  Opencode opencode;
  EXPECT_THAT(opencode.line("Warning: something else"), IsEmpty());
  EXPECT_EQ((*opencode).server_address(), "");
  EXPECT_THAT(opencode.line("opencode server listening on http://127.0.0.1:4096"), IsEmpty());
  EXPECT_EQ((*opencode).server_address(), "http://127.0.0.1:4096");
  EXPECT_THAT(opencode.line("opencode server listening on http://evil.example:80"), IsEmpty());
  EXPECT_EQ((*opencode).server_address(), "http://127.0.0.1:4096");
}

TEST(OpencodeProtocol, any_other_address_is_a_fault) {
  Opencode opencode;
  EXPECT_THAT(opencode.line("listening on http://0.0.0.0:4096"), ElementsAre(HasSubstr("not a loopback address")));
  EXPECT_THAT(opencode.line("listening on http://127.0.0.1:4096"), IsEmpty());
  EXPECT_EQ((*opencode).server_address(), "");
  Opencode silent;
  for (int i = 0; i < 1000; ++i) EXPECT_THAT(silent.line("noise"), IsEmpty());
  EXPECT_THAT(silent.line("noise"), ElementsAre("fault opencode did not print the address of its server"));
}

TEST(OpencodeProtocol, a_new_session_has_rules_of_its_own) {
  AgentSetup setup = Opencode::make_setup();
  setup.model = "local/a/b";
  Opencode opencode(setup);
  EXPECT_THAT(opencode.event("server.connected", ""),
              ElementsAre(StartsWith(R"(request POST /session {"title":"Reeve","permission":[{"permission":"*",)"
                                     R"("pattern":"*","action":"ask"})")));
  EXPECT_THAT(opencode.respond(200, session_body),
              ElementsAre("session s1 version=1.18.33",
                          R"(request POST /session/s1/prompt_async {"parts":[{"type":"text","text":"write x"}],)"
                          R"("model":{"providerID":"local","modelID":"a/b"}})"));
  EXPECT_THAT(opencode.respond(204, ""), IsEmpty());
}

// AGT-5: verified, and set where they are missing.
TEST(OpencodeProtocol, missing_rules_are_set_before_the_prompt) {
  Opencode opencode;
  opencode.event("server.connected", "");
  EXPECT_THAT(opencode.respond(200, R"({"id":"s1","version":"1"})"),
              ElementsAre("session s1 version=1", StartsWith(R"(request PATCH /session/s1 {"permission":[)")));
  EXPECT_THAT(opencode.respond(200, "{}"), ElementsAre(StartsWith("request POST /session/s1/prompt_async")));
  Opencode refused;
  refused.event("server.connected", "");
  refused.respond(200, R"({"id":"s1"})");
  EXPECT_THAT(refused.respond(400, R"({"name":"BadRequest","data":{"message":"no such field"}})"),
              ElementsAre("fault opencode did not take the rule to ask about every call (HTTP 400, no such field) "
                          "(ungated)"));
}

TEST(OpencodeProtocol, a_resumed_session_is_checked_first) {
  AgentSetup setup = Opencode::make_setup();
  setup.resumes = true;
  setup.session = "s1";
  Opencode opencode(setup);
  EXPECT_THAT(opencode.event("server.connected", ""), ElementsAre("request GET /session/s1 "));
  EXPECT_THAT(opencode.respond(200, session_body),
              ElementsAre("session s1", StartsWith("request POST /session/s1/prompt_async")))
      << "the version is that of the program that created the session";
  Opencode gone(setup);
  gone.event("server.connected", "");
  EXPECT_THAT(gone.respond(404, "{}"), ElementsAre("fault opencode no longer has the session `s1`"));
  Opencode other(setup);
  other.event("server.connected", "");
  EXPECT_THAT(other.respond(200, R"({"id":"s2"})"), ElementsAre(StartsWith("fault")));
}

TEST(OpencodeProtocol, a_resumed_session_needs_a_prompt) {
  AgentSetup setup;
  setup.resumes = true;
  setup.session = "s1";
  setup.has_deferred_call = true;
  Opencode opencode(setup);
  opencode.event("server.connected", "");
  EXPECT_THAT(opencode.respond(200, session_body), Contains(HasSubstr("Continue with the task")));
}

TEST(OpencodeProtocol, failures_of_the_start_are_told) {
  const auto open = [](int status, std::string_view body) {
    Opencode opencode;
    opencode.event("server.connected", "");
    return opencode.respond(status, body);
  };
  EXPECT_THAT(open(401, "Unauthorized"), ElementsAre("fault opencode did not open a session (HTTP 401)"));
  EXPECT_THAT(open(0, ""), ElementsAre(StartsWith("fault")));
  for (const char* body : {"", "{}", "[]", "null", R"({"id":7})", R"({"id":".."})", "{", R"({"id":""})"}) {
    EXPECT_THAT(open(200, body), ElementsAre(StartsWith("fault"))) << body;
  }
  Opencode opencode;
  opencode.event("server.connected", "");
  opencode.respond(200, session_body);
  EXPECT_THAT(opencode.respond(400, R"({"data":{"message":"no model"}})"),
              ElementsAre("over failed: opencode did not take the prompt (HTTP 400, no model)"));
}

TEST(OpencodeProtocol, an_interrupted_event_stream_is_a_fault) {
  Opencode opencode = Opencode::ready();
  EXPECT_THAT(opencode.event("server.connected", ""),
              ElementsAre("fault the event stream of opencode was interrupted"));
  EXPECT_THAT(opencode.event("permission.asked", asked("r1", "c1")), IsEmpty());
}

TEST(OpencodeProtocol, ids_are_encoded_in_paths) {
  Opencode opencode;
  opencode.event("server.connected", "");
  const Lines lines = opencode.respond(200, R"({"id":"a/../b?c\u0000 é"})");
  EXPECT_THAT(lines, Contains(StartsWith("request PATCH /session/a%2F..%2Fb%3Fc%00%20%C3%A9 ")));
}

// --- Permissions ---

TEST(OpencodeProtocol, a_request_is_asked_with_the_arguments_of_its_call) {
  Opencode opencode = Opencode::ready();
  EXPECT_THAT(opencode.event("message.part.updated", part("c1", R"("status":"pending","input":{})")), IsEmpty());
  EXPECT_THAT(opencode.event("message.part.updated", part("c1", running)),
              ElementsAre(R"(announced c1 bash {"command":"ls"})"));
  EXPECT_THAT(opencode.event("message.part.updated", part("c1", running)), IsEmpty());
  EXPECT_THAT(opencode.event("permission.asked", asked("r1", "c1")),
              ElementsAre(R"(asked 1 c1 bash {"command":"ls"})"));
  EXPECT_THAT(opencode.answer(1, CallVerdict::allow),
              ElementsAre(R"(request POST /permission/r1/reply {"reply":"once"})"));
  EXPECT_THAT(opencode.answer(1, CallVerdict::deny), IsEmpty()) << "each ticket is answered once";
  EXPECT_THAT(opencode.event("permission.replied", replied("r1", "once")), IsEmpty());
  EXPECT_THAT(opencode.event("message.part.updated", part("c1", completed)), ElementsAre("ended c1 3 bytes"));
  EXPECT_THAT(opencode.event("message.part.updated", part("c1", completed)), IsEmpty());
}

TEST(OpencodeProtocol, an_edit_is_asked_as_its_tool) {
  Opencode opencode = Opencode::ready();
  opencode.event("message.part.updated",
                 part("c1", R"("status":"running","input":{"filePath":"a","content":"x"})", "s1", "write"));
  EXPECT_THAT(opencode.event("permission.asked", asked("r1", "c1", "s1", "edit")),
              ElementsAre(R"(asked 1 c1 write {"filePath":"a","content":"x"})"));
}

TEST(OpencodeProtocol, a_request_before_its_call_has_its_own_arguments) {
  Opencode opencode = Opencode::ready();
  EXPECT_THAT(opencode.event("permission.asked", asked("r1", "c1")),
              ElementsAre(R"(asked 1 c1 bash {"patterns":["ls"],"command":"ls"})"));
  EXPECT_THAT(opencode.event("permission.asked", R"("id":"r2","sessionID":"s1","permission":"doom_loop")"),
              ElementsAre(R"(asked 2 r2 doom_loop {"patterns":null})"));
}

TEST(OpencodeProtocol, a_further_question_about_a_call_is_a_call_of_its_own) {
  Opencode opencode = Opencode::ready();
  opencode.event("message.part.updated", part("c1", running));
  EXPECT_THAT(opencode.event("permission.asked", asked("r1", "c1", "s1", "external_directory")),
              ElementsAre(R"(asked 1 c1:external_directory external_directory {"patterns":["ls"],"command":"ls",)"
                          R"("call":{"tool":"bash","input":{"command":"ls"}}})"));
  opencode.answer(1, CallVerdict::allow);
  // Only that it may leave the folder was allowed.
  EXPECT_THAT(opencode.event("message.part.updated", part("c1", failed("no such file"))),
              ElementsAre("ended c1 failed refused 12 bytes"));
}

TEST(OpencodeProtocol, a_refusal_carries_its_reason) {
  Opencode opencode = Opencode::ready();
  opencode.event("message.part.updated", part("c1", running));
  opencode.event("permission.asked", asked("r1", "c1"));
  EXPECT_THAT(opencode.answer(1, CallVerdict::deny, "not today"),
              ElementsAre(R"(request POST /permission/r1/reply {"reply":"reject","message":"not today"})"));
  EXPECT_THAT(opencode.event("permission.replied", replied("r1", "reject")), IsEmpty());
  EXPECT_THAT(opencode.event("message.part.updated", part("c1", failed("The user rejected permission"))),
              ElementsAre("ended c1 failed refused 28 bytes"));
  EXPECT_THAT(opencode.event("session.idle", R"("sessionID":"s1")"), ElementsAre("over completed: , refused c1"));
}

// TOOL-9: anything but a yes is a no, and a no without a message would end the turn.
TEST(OpencodeProtocol, every_other_verdict_refuses) {
  Opencode opencode = Opencode::ready();
  opencode.event("permission.asked", asked("r1", "c1"));
  opencode.event("permission.asked", asked("r2", "c2"));
  EXPECT_THAT(opencode.answer(1, CallVerdict::defer, " "), ElementsAre(HasSubstr(R"("reject","message":"denied")")));
  EXPECT_THAT(opencode.answer(2, CallVerdict::deny, std::string(5000, '\xff')), ElementsAre(HasSubstr("reject")));
  EXPECT_THAT(opencode.answer(3, CallVerdict::allow), IsEmpty());
  EXPECT_THAT(opencode.respond(204, ""), IsEmpty());
  EXPECT_THAT(opencode.respond(404, ""), IsEmpty()) << "the request is gone";
}

TEST(OpencodeProtocol, an_answer_that_is_not_taken_is_a_fault) {
  Opencode opencode = Opencode::ready();
  opencode.event("permission.asked", asked("r1", "c1"));
  opencode.answer(1, CallVerdict::allow);
  EXPECT_THAT(opencode.respond(500, "oops"),
              ElementsAre("fault opencode did not take the answer to a request (HTTP 500)"));
}

// AGT-5: only the adapter answers.
TEST(OpencodeProtocol, answers_of_others_are_told) {
  Opencode opencode = Opencode::ready();
  opencode.event("permission.asked", asked("r1", "c1"));
  EXPECT_THAT(opencode.event("permission.replied", replied("r1", "once")), ElementsAre("answered elsewhere c1"));
  EXPECT_THAT(opencode.answer(1, CallVerdict::deny), IsEmpty());
  opencode.event("permission.asked", asked("r2", "c2"));
  EXPECT_THAT(opencode.event("permission.replied", replied("r2", "reject")), ElementsAre("answered elsewhere c2"));
  opencode.event("permission.asked", asked("r3", "c3"));
  opencode.answer(3, CallVerdict::allow);
  EXPECT_THAT(opencode.event("permission.replied", replied("r3", "always")), ElementsAre("answered elsewhere c3"));
  EXPECT_THAT(opencode.event("permission.replied", replied("unknown", "once")),
              ElementsAre("answered elsewhere unknown"));
}

TEST(OpencodeProtocol, a_refusal_ends_the_other_requests_of_its_session) {
  Opencode opencode = Opencode::ready();
  for (const char* call : {"c1", "c2", "c3"}) {
    opencode.event("message.part.updated", part(call, running));
    opencode.event("permission.asked", asked("r-" + std::string(call), call));
  }
  opencode.answer(1, CallVerdict::deny, "no");
  opencode.answer(3, CallVerdict::allow);
  EXPECT_THAT(opencode.event("permission.replied", replied("r-c1", "reject")), IsEmpty());
  EXPECT_THAT(opencode.event("permission.replied", replied("r-c2", "reject")), ElementsAre("withdrawn 2 c2"));
  EXPECT_THAT(opencode.event("permission.replied", replied("r-c3", "reject")), IsEmpty()) << "it was faster";
  for (const char* call : {"c1", "c2", "c3"}) {
    EXPECT_THAT(opencode.event("message.part.updated", part(call, failed("rejected"))),
                ElementsAre("ended " + std::string(call) + " failed refused 8 bytes"));
  }
}

TEST(OpencodeProtocol, repeated_requests_are_asked_once) {
  Opencode opencode = Opencode::ready();
  EXPECT_THAT(opencode.event("permission.asked", asked("r1", "c1")), ElementsAre(StartsWith("asked 1")));
  EXPECT_THAT(opencode.event("permission.asked", asked("r1", "c2", "s1", "edit")), IsEmpty());
  opencode.answer(1, CallVerdict::allow);
  EXPECT_THAT(opencode.event("permission.asked", asked("r1", "c3")), IsEmpty());
}

TEST(OpencodeProtocol, requests_without_an_id_are_a_fault) {
  for (const char* id : {"", ".", ".."}) {
    EXPECT_THAT(Opencode::ready().event("permission.asked", asked(id, "c1")), ElementsAre(StartsWith("fault")));
  }
  EXPECT_THAT(Opencode::ready().event("permission.asked", R"("id":7)"), ElementsAre(StartsWith("fault")));
}

TEST(OpencodeProtocol, too_many_open_requests_are_refused) {
  Opencode opencode = Opencode::ready();
  for (int i = 0; i < 256; ++i) {
    EXPECT_THAT(opencode.event("permission.asked", asked("r" + std::to_string(i), "c")),
                ElementsAre(StartsWith("asked")));
  }
  EXPECT_THAT(opencode.event("permission.asked", asked("more", "c")),
              ElementsAre(StartsWith(R"(request POST /permission/more/reply {"reply":"reject")")));
}

TEST(OpencodeProtocol, questions_to_a_person_at_its_screen_are_refused) {
  EXPECT_THAT(Opencode::ready().event("question.asked", R"("id":"q1","sessionID":"s1")"),
              ElementsAre("request POST /question/q1/reject "));
}

// --- Sessions of subagents and others ---

TEST(OpencodeProtocol, requests_of_foreign_sessions_are_refused) {
  Opencode opencode = Opencode::ready();
  EXPECT_THAT(opencode.event("permission.asked", asked("r1", "c1", "other")),
              ElementsAre(R"(request POST /permission/r1/reply {"reply":"reject",)"
                          R"("message":"Reeve did not start this session."})"));
  EXPECT_THAT(opencode.event("permission.replied", replied("r1", "reject", "other")), IsEmpty());
  EXPECT_THAT(opencode.event("session.idle", R"("sessionID":"other")"), IsEmpty());
  EXPECT_THAT(opencode.event("session.error", R"("sessionID":"other","error":{"name":"ProviderAuthError"})"),
              IsEmpty());
  EXPECT_THAT(opencode.event("message.part.updated", text("t1", "hi", R"(,"time":{"end":1})", "other")), IsEmpty());
  // Its calls are told all the same: a result of one never passed the gate.
  EXPECT_THAT(opencode.event("message.part.updated", part("c1", completed, "other")),
              ElementsAre(StartsWith("announced c1"), "ended c1 3 bytes"));
}

TEST(OpencodeProtocol, requests_of_subagents_are_asked_with_their_parent) {
  Opencode opencode = Opencode::ready();
  opencode.event("session.created", R"("info":{"id":"child","parentID":"s1"})");
  opencode.event("session.created", R"("info":{"id":"grandchild","parentID":"child"})");
  opencode.event("session.created", R"("info":{"id":"stranger","parentID":"elsewhere"})");
  EXPECT_THAT(opencode.event("permission.asked", asked("r1", "c1", "child")), ElementsAre(StartsWith("asked 1 c1")));
  EXPECT_THAT(opencode.event("permission.asked", asked("r2", "c2", "grandchild")),
              ElementsAre(StartsWith("asked 2 c2")));
  EXPECT_THAT(opencode.event("permission.asked", asked("r3", "c3", "stranger")), ElementsAre(HasSubstr("reject")));
  opencode.event("message.part.updated",
                 part("task1", R"("status":"running","input":{},"metadata":{"sessionId":"child"})", "s1", "task"));
  EXPECT_THAT(opencode.event("message.part.updated", part("c4", running, "child")),
              ElementsAre(R"(announced c4 bash {"command":"ls"} parent=task1)"));
  EXPECT_THAT(opencode.event("permission.asked", asked("r4", "c4", "child")),
              ElementsAre(R"(asked 3 c4 bash {"command":"ls"} parent=task1)"));
}

TEST(OpencodeProtocol, an_earlier_subagent_is_known_by_its_task) {
  Opencode opencode = Opencode::ready();
  opencode.event("message.part.updated",
                 part("t1", R"("status":"running","input":{},"metadata":{"sessionId":"old"})", "s1", "task"));
  EXPECT_THAT(opencode.event("permission.asked", asked("r1", "c1", "old")), ElementsAre(HasSubstr("parent=t1")));
  opencode.event("message.part.updated",
                 part("t2", R"("status":"running","input":{},"metadata":{"sessionId":"new"})", "other", "task"));
  EXPECT_THAT(opencode.event("permission.asked", asked("r2", "c2", "new")), ElementsAre(HasSubstr("reject")));
}

// --- Calls ---

TEST(OpencodeProtocol, an_ungated_call_ends_as_one_that_ran) {
  Opencode opencode = Opencode::ready();
  EXPECT_THAT(opencode.event("message.part.updated", part("c1", completed)),
              ElementsAre(StartsWith("announced c1"), "ended c1 3 bytes"));
  EXPECT_THAT(opencode.event("message.part.updated", part("c2", failed("it ran"), "s1", "plugin_tool")),
              ElementsAre(StartsWith("announced c2"), "ended c2 failed 6 bytes"));
}

TEST(OpencodeProtocol, calls_that_never_started_are_refused) {
  Opencode opencode = Opencode::ready();
  EXPECT_THAT(opencode.event("message.part.updated", part("c1", failed("oldString not found"), "s1", "edit")),
              Contains("ended c1 failed refused 19 bytes"));
  EXPECT_THAT(opencode.event("message.part.updated", part("c2", completed, "s1", "invalid")),
              Contains("ended c2 refused 3 bytes"));
  opencode.event("message.part.updated", part("c3", running));
  opencode.event("permission.asked", asked("r3", "c3"));
  EXPECT_THAT(opencode.event("message.part.updated", part("c3", failed("Tool execution aborted"))),
              ElementsAre("withdrawn 1 c3", "ended c3 failed refused 22 bytes"));
}

TEST(OpencodeProtocol, a_call_that_was_allowed_before_it_was_shown_ran) {
  Opencode opencode = Opencode::ready();
  opencode.event("permission.asked", asked("r1", "c1"));
  opencode.answer(1, CallVerdict::allow);
  EXPECT_THAT(opencode.event("message.part.updated", part("c1", failed("timeout"))),
              ElementsAre(StartsWith("announced c1"), "ended c1 failed 7 bytes"));
}

TEST(OpencodeProtocol, a_failed_command_is_a_failure) {
  Opencode opencode = Opencode::ready();
  const std::string state = R"("status":"completed","input":{},"output":"","metadata":{"exit":1})";
  EXPECT_THAT(opencode.event("message.part.updated", part("c1", state)), Contains("ended c1 failed 0 bytes"));
}

TEST(OpencodeProtocol, calls_of_earlier_processes_are_not_told_again) {
  Opencode opencode = Opencode::ready();
  const std::string state = R"("status":"completed","input":{},"output":"x","time":{"start":1,"end":2,"compacted":3})";
  EXPECT_THAT(opencode.event("message.part.updated", part("old", state)), IsEmpty());
}

TEST(OpencodeProtocol, repeated_ids_of_calls_are_told_apart) {
  Opencode opencode = Opencode::ready();
  opencode.event("message.part.updated", part("call_0", completed, "s1", "bash", "m1"));
  EXPECT_THAT(opencode.event("message.part.updated", part("call_0", running, "s1", "bash", "m2")),
              ElementsAre(StartsWith("announced call_0@m2")));
  EXPECT_THAT(opencode.event("permission.asked", asked("r1", "call_0", "s1", "bash", "m2")),
              ElementsAre(StartsWith("asked 1 call_0@m2")));
}

TEST(OpencodeProtocol, a_call_without_an_id_is_a_fault) {
  EXPECT_THAT(Opencode::ready().event("message.part.updated", part("", completed)),
              ElementsAre("fault opencode reported a tool call without an id (ungated)"));
}

TEST(OpencodeProtocol, open_calls_are_bounded) {
  Opencode opencode = Opencode::ready();
  for (int i = 0; i < 512; ++i) opencode.event("message.part.updated", part("c" + std::to_string(i), running));
  EXPECT_THAT(opencode.event("message.part.updated", part("more", running)),
              ElementsAre("fault opencode has over 512 tool calls open"));
  Opencode large = Opencode::ready();
  const std::string input = R"("status":"running","input":{"command":")" + std::string(10UZ * 1024 * 1024, 'x') + "\"}";
  for (int i = 0; i < 6; ++i) {
    EXPECT_THAT(large.event("message.part.updated", part("c" + std::to_string(i), input)),
                ElementsAre(StartsWith("announced")));
  }
  EXPECT_THAT(large.event("message.part.updated", part("c6", input)), ElementsAre(HasSubstr("larger than 64 MiB")));
}

// AGT-6: one call, waiting for its answer.
TEST(OpencodeProtocol, the_only_open_call_may_be_released) {
  Opencode opencode = Opencode::ready();
  const auto may_release = [&](std::string_view call) { return (*opencode).may_release(call); };
  opencode.event("message.part.updated", part("c1", running));
  EXPECT_FALSE(may_release("c1")) << "it does not wait";
  opencode.event("permission.asked", asked("r1", "c1"));
  EXPECT_TRUE(may_release("c1"));
  EXPECT_FALSE(may_release("c2"));
  opencode.event("message.part.updated", part("c2", R"("status":"pending","input":{})"));
  EXPECT_FALSE(may_release("c1")) << "the model is writing another call";
  opencode.event("message.part.updated", part("c2", failed("aborted")));
  EXPECT_TRUE(may_release("c1"));
  opencode.event("permission.asked", asked("r3", "c3"));
  EXPECT_FALSE(may_release("c1"));
}

// --- Texts, usage, the end ---

TEST(OpencodeProtocol, whole_texts_of_the_model_are_said) {
  Opencode opencode = Opencode::ready();
  opencode.event("message.part.updated", text("t0", "of nobody"));
  opencode.event("message.updated", message("m1"));
  EXPECT_THAT(opencode.event("message.part.updated", text("t1", "not whole", "")), IsEmpty());
  EXPECT_THAT(opencode.event("message.part.updated", text("t1", "whole")), ElementsAre("text whole"));
  EXPECT_THAT(opencode.event("message.part.updated", text("t1", "whole")), IsEmpty());
  EXPECT_THAT(opencode.event("message.part.updated", text("t2", "x", R"(,"synthetic":true,"time":{"end":1})")),
              IsEmpty());
  EXPECT_THAT(opencode.event("message.part.updated", text("t3", " ")), IsEmpty());
  EXPECT_THAT(opencode.event("message.updated", R"("info":{"id":"m1","sessionID":"s1","role":"user"})"), IsEmpty());
  EXPECT_THAT(opencode.event("session.idle", R"("sessionID":"s1")"), ElementsAre("over completed: whole"));
}

TEST(OpencodeProtocol, summaries_and_subagents_are_not_the_answer) {
  Opencode opencode = Opencode::ready();
  opencode.event("session.created", R"("info":{"id":"child","parentID":"s1"})");
  opencode.event("message.updated", message("m1", R"(,"summary":true)"));
  EXPECT_THAT(opencode.event("message.part.updated", text("t1", "a summary")), IsEmpty());
  opencode.event("message.updated", message("m1", "", "child"));
  EXPECT_THAT(opencode.event("message.part.updated", text("t2", "x", R"(,"time":{"end":1})", "child")), IsEmpty());
}

TEST(OpencodeProtocol, usage_is_summed_over_messages) {
  Opencode opencode = Opencode::ready();
  opencode.event("session.created", R"("info":{"id":"child","parentID":"s1"})");
  const auto tokens = [](int input, int output, std::string_view cost) {
    return fmt::format(R"(,"cost":{},"tokens":{{"input":{},"output":{},"reasoning":1,"cache":{{"read":5,"write":2}}}})",
                       cost, input, output);
  };
  EXPECT_THAT(opencode.event("message.updated", message("m1", R"(,"cost":0,"tokens":{"input":0,"output":0})")),
              IsEmpty());
  EXPECT_THAT(opencode.event("message.updated", message("m1", tokens(100, 20, "0.5"))),
              ElementsAre("usage 102 in, 21 out, 5 cached, 0.5 USD, context 128"));
  EXPECT_THAT(opencode.event("message.updated", message("m1", tokens(100, 20, "0.5"))), IsEmpty());
  EXPECT_THAT(opencode.event("message.updated", message("m2", tokens(10, 2, "1"), "child")),
              ElementsAre("usage 114 in, 24 out, 10 cached, 1.5 USD, context 128"));
  EXPECT_THAT(opencode.event("message.updated", message("m3", tokens(1, 1, "0"), "foreign")), IsEmpty());
  EXPECT_THAT(opencode.event("message.updated", message("m4", tokens(-5, 1, "-3"))),
              ElementsAre("usage 116 in, 26 out, 15 cached, 1.5 USD, context 9"));
}

TEST(OpencodeProtocol, usage_of_forgotten_messages_still_counts) {
  Opencode opencode = Opencode::ready();
  Lines last;
  for (int i = 0; i < 3000; ++i) {
    last = opencode.event("message.updated", message("m" + std::to_string(i), R"(,"tokens":{"input":1})"));
  }
  EXPECT_THAT(last, ElementsAre("usage 3000 in, 0 out, 0 cached, context 1"));
}

TEST(OpencodeProtocol, the_model_is_told_once) {
  Opencode opencode = Opencode::ready();
  const std::string model = R"(,"providerID":"stub","modelID":"x")";
  EXPECT_THAT(opencode.event("message.updated", message("m1", model)),
              ElementsAre("session s1 version=1.18.33 model=stub/x"));
  EXPECT_THAT(opencode.event("message.updated", message("m2", model)), IsEmpty());
}

TEST(OpencodeProtocol, retries_are_noted) {
  Opencode opencode = Opencode::ready();
  EXPECT_THAT(opencode.event("session.status",
                             R"("sessionID":"s1","status":{"type":"retry","attempt":3,"message":"429","next":1})"),
              ElementsAre("retry 3 429"));
  EXPECT_THAT(opencode.event("session.status", R"("sessionID":"s1","status":{"type":"retry","attempt":1e300})"),
              ElementsAre("retry 1000000 "));
  EXPECT_THAT(opencode.event("session.status", R"("sessionID":"s1","status":{"type":"busy"})"), IsEmpty());
}

TEST(OpencodeProtocol, a_turn_ends_once) {
  Opencode opencode = Opencode::ready();
  EXPECT_THAT(opencode.event("session.status", R"("sessionID":"s1","status":{"type":"idle"})"),
              ElementsAre("over completed: "));
  EXPECT_THAT(opencode.event("session.idle", R"("sessionID":"s1")"), IsEmpty());
  EXPECT_THAT(opencode.take((*opencode).say("more")), ElementsAre(HasSubstr("prompt_async")));
  EXPECT_THAT(opencode.event("session.idle", R"("sessionID":"s1")"), ElementsAre("over completed: "));
}

TEST(OpencodeProtocol, errors_end_the_turn) {
  const auto error = [](std::string_view properties) {
    Opencode opencode = Opencode::ready();
    return opencode.event("session.error", properties);
  };
  EXPECT_THAT(error(R"("sessionID":"s1","error":{"name":"UnknownError","data":{"message":"no model"}})"),
              ElementsAre("over failed: no model"));
  EXPECT_THAT(error(R"("sessionID":"s1","error":{"name":"ProviderAuthError","data":{"message":"log in"}})"),
              ElementsAre("login missing: log in", "over failed: log in"));
  EXPECT_THAT(error(R"("sessionID":"s1","error":{"name":"APIError","data":{"statusCode":401}})"),
              ElementsAre("login missing: APIError", "over failed: APIError"));
  EXPECT_THAT(error(R"("sessionID":"s1","error":{"name":"APIError","data":{"message":"m","statusCode":429}})"),
              ElementsAre("limit m", "over failed: m"));
  EXPECT_THAT(error(R"("sessionID":"s1","error":7)"), ElementsAre("over failed: unknown error"));
  // opencode continues.
  EXPECT_THAT(error(R"("error":{"name":"UnknownError","data":{"message":"a plugin"}})"), IsEmpty());
  EXPECT_THAT(error(R"("sessionID":"s1","error":{"name":"ContextOverflowError"})"), IsEmpty());
}

TEST(OpencodeProtocol, an_interrupted_turn_keeps_the_session) {
  Opencode opencode = Opencode::ready();
  opencode.event("message.part.updated", part("c1", running));
  opencode.event("permission.asked", asked("r1", "c1"));
  EXPECT_THAT(opencode.take((*opencode).interrupt()), ElementsAre("request POST /session/s1/abort "));
  EXPECT_THAT(opencode.event("permission.replied", replied("r1", "reject")), ElementsAre("withdrawn 1 c1"));
  EXPECT_THAT(opencode.event("session.error", R"("sessionID":"s1","error":{"name":"MessageAbortedError"})"), IsEmpty());
  EXPECT_THAT(opencode.event("session.idle", R"("sessionID":"s1")"), ElementsAre(StartsWith("over interrupted")));
  Opencode early;
  early.event("server.connected", "");
  EXPECT_THAT(early.take((*early).interrupt()), ElementsAre("over interrupted: "));
  EXPECT_THAT(early.respond(200, session_body), ElementsAre("session s1 version=1.18.33")) << "without a prompt";
}

// --- Hostile input ---

TEST(OpencodeProtocol, events_that_are_not_json_are_a_fault) {
  for (const std::string& data : {std::string("{"), std::string("[]"), std::string("7"), std::string(100, '['),
                                  std::string(max_agent_line + 1, ' ')}) {
    EXPECT_THAT(Opencode::ready().event(data), ElementsAre(StartsWith("fault an event of opencode is not JSON")));
  }
  // JavaScript writes half a character when it cuts a text.
  EXPECT_THAT(Opencode::ready().event(R"({"type":"todo.updated","x":"\ud83d"})"), IsEmpty());
}

TEST(OpencodeProtocol, values_of_any_type_do_no_harm) {
  for (const char* type :
       {"server.connected", "session.created", "session.status", "session.idle", "session.error", "message.updated",
        "message.part.updated", "permission.asked", "permission.replied", "question.asked", "unknown"}) {
    for (const char* value : {"null", "[]", "{}", "-1e300", "true", "\"\\ud800\"", "\"tool\"", "\"s1\""}) {
      std::string all;
      for (const char* key :
           {"id",        "sessionID", "permission", "patterns", "metadata", "tool",    "requestID",  "reply",
            "status",    "error",     "type",       "role",     "text",     "time",    "state",      "callID",
            "messageID", "parentID",  "tokens",     "cost",     "mode",     "summary", "providerID", "modelID"}) {
        all += fmt::format(R"("{}":{},)", key, value);
      }
      const std::string inner = "{" + all + "\"x\":1}";
      Opencode opencode = Opencode::ready();
      opencode.event(type, fmt::format(R"({}"info":{},"part":{})", all, inner, inner));
      opencode.event(type, fmt::format(R"("info":{},"part":{})", value, value));
      opencode.event(fmt::format(R"({{"type":"{}","properties":{}}})", type, value));
      opencode.respond(200, value);
    }
  }
  EXPECT_THAT(Opencode::ready().event("{}"), IsEmpty());
}

TEST(OpencodeProtocol, unknown_responses_are_ignored) {
  Opencode opencode = Opencode::ready();
  EXPECT_THAT(testing::describe((*opencode).on_response(0, 500, "")), IsEmpty());
  EXPECT_THAT(testing::describe((*opencode).on_response(1, 500, "")), IsEmpty()) << "answered before";
}

}  // namespace
}  // namespace reeve::agents
