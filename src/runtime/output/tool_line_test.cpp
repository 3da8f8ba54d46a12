#include "runtime/output/tool_line.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/encode.h"
#include "runtime/output/tool_line_calls.h"
#include "runtime/output/tool_line_failure.h"

namespace reeve::runtime {
namespace {

using base::Value;
using Kind = Report::Kind;

std::optional<ToolEvent> read(std::string_view line) { return LineReader().read(line); }

template <class T>
T get(std::string_view line) {
  const auto event = read(line);
  if (!event || !std::holds_alternative<T>(*event)) {
    ADD_FAILURE() << "not such an event: " << line;
    return {};
  }
  return std::get<T>(*event);
}

void expect_plain(std::string_view line) { EXPECT_FALSE(read(line)) << line; }

TEST(ToolLine, reads_heartbeats_and_errors) {
  get<Heartbeat>(R"({"event":"heartbeat"})");
  get<Heartbeat>("  {\"event\" : \"heartbeat\", \"n\": [1, {\"event\": \"error\"}]}  \r");
  EXPECT_EQ(get<ErrorReport>(R"({"event":"error","message":"no \"disk\""})"), (ErrorReport{"no \"disk\"", false}));
  // RUN-6
  EXPECT_TRUE(get<ErrorReport>(R"({"event":"error","message":"x","fatal":true})").fatal);
}

// APR-1
TEST(ToolLine, reads_a_question_in_both_spellings) {
  const Question expected{
      "Go on?", {{"yes", "Yes, please", {}}, {"later", "later", false}}, "later", std::chrono::seconds(90), "Q7"};
  EXPECT_EQ(get<Question>(R"({"event":"approval_needed","question":"Go on?","options":[{"value":"yes","label":)"
                          R"("Yes, please"},{"value":"later","approves":false},{"value":"yes","label":"again"}],)"
                          R"("default":"later","expires_in_seconds":90,"approval_id":"Q7"})"),
            expected);
  EXPECT_EQ(get<Question>(R"({"approvalId":"Q7","expiresInSeconds":90.0,"defaultValue":"later","options":[{"value":)"
                          R"("yes","label":"Yes, please"},{"value":"later","approves":false}],"question":"Go on?",)"
                          R"("event":"approval_needed"})"),
            expected);
  EXPECT_EQ(get<Question>(R"({"event":"approval_needed","question":"?","options":null})"),
            (Question{"?", {}, {}, {}, {}}));
}

TEST(ToolLine, reads_progress_as_event_and_as_text) {
  EXPECT_EQ(get<model::Progress>(R"({"event":"progress","percent":45,"message":"compiling"})"),
            (model::Progress{45.0, "compiling"}));
  EXPECT_EQ(get<model::Progress>("[PROGRESS] 45% compiling"), (model::Progress{45.0, "compiling"}));
  EXPECT_EQ(get<model::Progress>("[PROGRESS] 12.5%"), (model::Progress{12.5, {}}));
  EXPECT_EQ(get<model::Progress>("[PROGRESS] step 3 of 9"), (model::Progress{{}, "step 3 of 9"}));
  EXPECT_EQ(get<model::Progress>("[PROGRESS] 300% more"), (model::Progress{100.0, "more"}));
  EXPECT_EQ(get<model::Progress>("[PROGRESS] bad \xff"), (model::Progress{{}, "bad \uFFFD"}));
  EXPECT_EQ(get<model::Progress>(R"({"event":"progress","percent":-3})"), (model::Progress{0.0, {}}));
  EXPECT_EQ(get<model::Progress>("[PROGRESS] nan% inf%"), (model::Progress{{}, "nan% inf%"}));
  EXPECT_EQ(get<model::Progress>("[PROGRESS]"), model::Progress());
  expect_plain("say [PROGRESS] 45%");
}

TEST(ToolLine, reads_usage_within_bounds) {
  EXPECT_EQ(get<model::Usage>(R"({"event":"usage","inputTokens":10,"output_tokens":2,"costUsd":0.5})"),
            (model::Usage{10, 2, 0.5}));
  expect_plain(R"({"event":"usage","input_tokens":-1,"output_tokens":2})");
  expect_plain(R"({"event":"usage","input_tokens":9223372036854775807,"output_tokens":2})");
  expect_plain(R"({"event":"usage","input_tokens":1.5,"output_tokens":2})");
  expect_plain(R"({"event":"usage","input_tokens":1,"output_tokens":2,"cost_usd":-1})");
  expect_plain(R"({"event":"usage","input_tokens":1,"output_tokens":2,"cost_usd":1e300})");
}

TEST(ToolLine, reads_reports) {
  const auto report = get<Report>(R"({"event":"result","data":{"answer":42}})");
  EXPECT_EQ(report.kind, Kind::result);
  EXPECT_EQ(*report.data->find("answer"), Value::integer(42));
  EXPECT_EQ(get<Report>(R"({"event":"phase_complete"})"), (Report{Kind::phase_complete, {}}));
  EXPECT_EQ(get<Report>(R"({"event":"task_complete","data":"ok"})"),
            (Report{Kind::task_complete, Value::string("ok")}));
}

// TOOL-4
TEST(ToolLine, reads_tool_calls_by_event_and_by_type) {
  const ToolCall expected{"file_read", Value::object({{"path", Value::string("a")}}), "c1"};
  EXPECT_EQ(get<ToolCall>(R"({"event":"tool_use","tool":"file_read","arguments":{"path":"a"},"id":"c1"})"), expected);
  EXPECT_EQ(get<ToolCall>(R"({"type":"tool_use","tool":"file_read","arguments":{"path":"a"},"id":"c1"})"), expected);
  EXPECT_EQ(get<ToolCall>(R"({"type":"tool_use","tool":"task_status"})"),
            (ToolCall{"task_status", Value::object(), {}}));
  expect_plain(R"({"type":"tool_use","tool":"x","arguments":[1]})");
  expect_plain(R"({"type":"assistant","message":{"content":[{"type":"tool_use","tool":"x"}]}})");
  expect_plain(R"({"type":"heartbeat"})");
  // A string `event` decides.
  expect_plain(R"({"type":"tool_use","tool":"x","event":"other"})");
  get<ToolCall>(R"({"type":"tool_use","tool":"x","event":{"a":1}})");
}

// TOOL-6
TEST(ToolLine, finds_tool_use_errors_in_any_text) {
  EXPECT_EQ(get<ToolUseError>("oh: <tool_use_error>No such tool: Foo</tool_use_error> !").message, "No such tool: Foo");
  EXPECT_EQ(
      get<ToolUseError>(R"({"type":"user","content":"<tool_use_error>No \"Foo\"\nhere</tool_use_error>"})").message,
      "No \"Foo\"\nhere");
  EXPECT_EQ(get<ToolUseError>(R"(<tool_use_error>C:\new</tool_use_error>)").message, R"(C:\new)");
  expect_plain("<tool_use_error>without an end");
  expect_plain("</tool_use_error> a < b");
}

// TOOL-6
TEST(ToolLine, tool_use_error_names_the_requested_tool) {
  const std::pair<std::string, std::string> cases[] = {
      {"Error: No such tool available: Bash", "Bash"},
      {"No such tool: mcp__x__y", "mcp__x__y"},
      {"unknown tool `web.search`", "web.search"},
      {"Tool 'Edit' is not available here", "Edit"},
      {"InputValidationError: Read failed due to the following issue: x", "Read"},
      {"The tool is not available because of that", ""},
      {"File has not been read yet. Read it first before writing to it.", ""},
      {"no such file", ""},
      {"", ""},
  };
  for (const auto& [message, tool] : cases) EXPECT_EQ(find_tool_name(message).value_or(""), tool) << message;
  const auto error = get<ToolUseError>(
      R"({"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"fine"},)"
      R"({"type":"tool_result","tool_use_id":"b","content":"<tool_use_error>File is gone</tool_use_error>"}]}})");
  EXPECT_EQ(error.call_id, "b");
  EXPECT_EQ(error.tool, std::nullopt);
}

TEST(ToolCalls, error_belongs_to_the_call_with_its_id_or_the_last) {
  ToolCalls calls;
  const ToolUseError plain{"File is gone"};
  EXPECT_EQ(calls.find_tool(plain), std::nullopt);
  EXPECT_EQ(calls.find_tool({"No such tool: Foo", "Foo"}), "Foo");
  calls.note(R"({"type":"assistant","message":{"content":[{"type":"text","text":"\"tool_use\""},)"
             R"({"type":"tool_use","id":"a","name":"Read","input":{}},{"type":"tool_use","id":"b","name":"Edit"}]}})");
  EXPECT_EQ(calls.find_tool({"File is gone", {}, "a"}), "Read");
  EXPECT_EQ(calls.find_tool(plain), "Edit");
  calls.note(R"(  {"type":"tool_use","tool":"file_write","arguments":{}}  )");
  EXPECT_EQ(calls.find_tool(plain), "file_write");
  EXPECT_EQ(calls.find_tool({"No such tool: Foo", "Foo"}), "Foo");
  EXPECT_EQ(calls.find_tool({"File is gone", {}, "never seen"}), std::nullopt);
  for (const char* noise : {"", "{", R"("tool_use")", R"({"type":"tool_use"})", R"({"type":"tool_use","name":7})",
                            R"({"content":["tool_use"],"type":"x","y":"tool_use"})"}) {
    calls.note(noise);
  }
  EXPECT_EQ(calls.find_tool(plain), "file_write");
  for (std::size_t i = 0; i < ToolCalls::max_kept; ++i) calls.note(R"({"type":"tool_use","name":"More"})");
  EXPECT_EQ(calls.find_tool({"File is gone", {}, "a"}), std::nullopt) << "only the last ones are kept";
}

TEST(ToolLine, wrongly_typed_events_are_plain_output) {
  for (const std::string_view line : {R"({"event":"error"})",
                                      R"({"event":"error","message":7})",
                                      R"({"event":"error","message":"x","fatal":"yes"})",
                                      R"({"event":"approval_needed"})",
                                      R"({"event":"approval_needed","question":"?","options":"yes"})",
                                      R"({"event":"approval_needed","question":"?","options":[{"label":"x"}]})",
                                      R"({"event":"approval_needed","question":"?","options":["yes"]})",
                                      R"({"event":"approval_needed","question":"?","expires_in_seconds":-1})",
                                      R"({"event":"approval_needed","question":"?","expires_in_seconds":"1h"})",
                                      R"({"event":"approval_needed","question":"?","approval_id":7})",
                                      R"({"event":"progress","percent":"45"})",
                                      R"({"event":7})",
                                      R"({"event":null})",
                                      R"(["event","heartbeat"])",
                                      R"("heartbeat")",
                                      "heartbeat",
                                      "",
                                      " ",
                                      R"({"events":"heartbeat"})",
                                      R"({"a":{"event":"heartbeat"}})",
                                      R"({"a":"\"event\":\"heartbeat\""})"}) {
    expect_plain(line);
  }
}

// Event names reserved for Reeve are ignored, and so are ids in a line.
TEST(ToolLine, events_and_ids_reserved_to_reeve_are_ignored) {
  expect_plain(R"({"event":"tool_status_change","tool_run_id":"TR-9","status":"completed"})");
  expect_plain(R"({"event":"approval_status_change","approval_id":"AP-1","status":"approved"})");
  EXPECT_EQ(get<Question>(R"({"event":"approval_needed","question":"?","tool_run_id":"TR-9","execution_id":"EX-1"})"),
            (Question{"?", {}, {}, {}, {}}));
}

TEST(ToolLine, broken_json_is_plain_output) {
  for (const std::string_view line :
       {R"({"event":"heartbeat","event":"heartbeat"})", R"({"event":"heartbeat","\u0065vent":"error"})",
        R"({"event":"heartbeat")", R"({"event":"heartbeat"}})", R"({"event":"heartbeat"} {})",
        R"({"event":"heartbeat",})", R"({"event":"heartbeat","a":nul})", "{\"event\":\"heartbeat\",\"a\":\"\xff\"}",
        R"({"event":"heart)", R"({"event)", R"({"event":"\ud800"})", "{}", "{\"event\":\"heartbeat\"\0}"}) {
    expect_plain(line);
  }
  const std::string deep(100, '[');
  expect_plain(R"({"event":"heartbeat","a":)" + deep + std::string(100, ']') + "}");
}

TEST(ToolLine, long_texts_are_cut_at_character_boundaries) {
  const std::string long_text = "a" + [] {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += "é";
    return text;
  }();
  const auto question = get<Question>(R"({"event":"approval_needed","question":")" + long_text +
                                      R"(","options":[{"value":")" + long_text + R"("}]})");
  EXPECT_EQ(question.question.size(), limits::question_bytes - 1);
  EXPECT_EQ(question.options.at(0).value.size(), limits::option_bytes - 1);
  EXPECT_EQ(get<ErrorReport>(R"({"event":"error","message":")" + long_text + R"("})").message.size(),
            limits::message_bytes - 1);
  EXPECT_LE(get<model::Progress>("[PROGRESS] " + long_text).message->size(), limits::message_bytes);
  EXPECT_LE(get<ToolUseError>("<tool_use_error>" + long_text + "</tool_use_error>").message.size(),
            limits::message_bytes);
  std::string many;
  for (int i = 0; i < 100; ++i) many += (i > 0 ? "," : "") + (R"({"value":")" + std::to_string(i) + R"("})");
  EXPECT_EQ(get<Question>(R"({"event":"approval_needed","question":"?","options":[)" + many + "]}").options.size(),
            limits::option_count);
}

TEST(ToolLine, parses_lines_up_to_the_maximum_length) {
  const auto line = [](std::size_t bytes) {
    const std::string start = R"({"event":"result","data":")";
    return start + std::string(bytes - start.size() - 2, 'x') + "\"}";
  };
  LineReader reader;
  EXPECT_TRUE(reader.read(line(limits::line_bytes)));
  EXPECT_FALSE(reader.read(line(limits::line_bytes + 1)));
  EXPECT_TRUE(reader.read(R"({"event":"heartbeat"})"));
}

RC_GTEST_PROP(ToolLine, survives_any_bytes, (const std::string& bytes)) {
  LineReader reader;
  reader.read(bytes);
  reader.read(R"({"event":")" + bytes + "}");
  reader.read(R"({"event":"error","message":")" + bytes + "\"}");
  looks_like_error(bytes);
  RC_ASSERT(reader.read(R"({"event":"heartbeat"})").has_value());
}

// RUN-7
TEST(ToolLineFailure, recognises_lines_that_look_like_errors) {
  for (const std::string_view line :
       {"error: no such file", "Error", "fatal: not a git repository", "E: FAILED", "build failed",
        "TypeError: x is not", "java.io.IOException: gone",
        "Traceback (most recent call last):", "thread 'main' panicked at src/main.rs", "kernel panic - not syncing",
        "error[E0308]: mismatched", "parse_error: 3", "npm ERR! error"}) {
    EXPECT_TRUE(looks_like_error(line)) << line;
  }
  for (const std::string_view line : {"", "0 errors", "error_count = 0", "terror", "exceptional", "fatality", "erro",
                                      "warning: unused", "mirrorError1", "errorless"}) {
    EXPECT_FALSE(looks_like_error(line)) << line;
  }
}

// RUN-6
TEST(ToolLineFailure, matches_the_markers_of_a_profile) {
  const FailureMarkers markers({"^FAIL\\b", "quota (exceeded|used up)"});
  EXPECT_TRUE(markers.match("FAIL pkg/a"));
  EXPECT_TRUE(markers.match("your quota exceeded, \xff"));
  EXPECT_FALSE(markers.match("no FAIL"));
  EXPECT_FALSE(FailureMarkers({}).match("FAIL"));
  const FailureMarkers half_broken({"(", "ok"});
  EXPECT_TRUE(half_broken.match("ok"));
  EXPECT_FALSE(half_broken.match("("));
  EXPECT_FALSE(FailureMarkers({"("}).match("("));
}

TEST(ToolLineFailure, matches_markers_too_large_for_one_regex_set) {
  std::vector<std::string> patterns;
  for (int i = 0; i < 200; ++i) patterns.push_back("x[a-z]{900}" + std::to_string(i));
  patterns.emplace_back("needle");
  EXPECT_TRUE(FailureMarkers(patterns).match("a needle " + std::string(2'000, 'x')));
  EXPECT_FALSE(FailureMarkers(patterns).match(std::string(5'000, 'x')));
}

}  // namespace
}  // namespace reeve::runtime
