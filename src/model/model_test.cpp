#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"
#include "json/describe.h"
#include "json/encode.h"
#include "model/agent.h"
#include "model/approval.h"
#include "model/config.h"
#include "model/event.h"
#include "model/execution.h"
#include "model/policy.h"
#include "model/run.h"
#include "model/template.h"

namespace reeve::model {
namespace {

template <class T>
std::vector<std::string> keys_of() {
  std::vector<std::string> keys;
  const base::Value value = json::to_value(T{});
  for (const base::Member& member : *value.as_object()) keys.push_back(member.key);
  return keys;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  for (const std::string_view word : base::split(text, ' ')) result.emplace_back(word);
  return result;
}

// SPEC §7 lists the fields of each record, in this order.
TEST(Record, run_has_the_specified_fields) {
  EXPECT_EQ(keys_of<model::Run>(),
            words("tool_run_id project tool_name execution_id node_id agent_id status reason outcome exit_code attempt "
                  "argv cwd "
                  "started_at completed_at duration_ms last_output_at last_heartbeat_at last_error progress usage "
                  "tool_errors metadata paused_at seen_at not_before"));
}

TEST(Record, approval_has_the_specified_fields) {
  EXPECT_EQ(
      keys_of<Approval>(),
      words("approval_id kind project risk risk_reasons context tool_run_id execution_id node_id agent_id tool_name "
            "tool_ref arguments question options "
            "default_value status chosen_value answer comment decided_by digest use attempt created_at decided_at "
            "expires_at delivery secret advisory asked_by"));
}

TEST(Record, execution_has_the_specified_fields) {
  EXPECT_EQ(keys_of<Execution>(),
            words("execution_id project workflow_id workflow_name label phase_name metadata status reason "
                  "started_at completed_at nodes parent tally unapplied_patches inputs config paused_at seen_at"));
  EXPECT_EQ(keys_of<NodeExecution>(), words("node_id type status attempt iteration inputs outputs error tool_run_id "
                                            "approval_id started_at completed_at child_execution_id not_before"));
}

// APR-3
TEST(ApprovalOptions, rejecting_words_do_not_approve) {
  for (const char* value : {"reject", "deny", "no", "n", "abort", "cancel", "No", "REJECT"}) {
    EXPECT_FALSE(approves({.value = value})) << value;
  }
  for (const char* value : {"approve", "yes", "y", "later", "1", ""}) EXPECT_TRUE(approves({.value = value})) << value;
}

// APR-3
TEST(ApprovalOptions, explicit_approves_flag_overrides_the_word) {
  EXPECT_TRUE(approves({.value = "no", .approves = true}));
  EXPECT_FALSE(approves({.value = "yes", .approves = false}));
  ASSERT_EQ(default_options().size(), 2);
  EXPECT_TRUE(approves(default_options()[0]));
  EXPECT_FALSE(approves(default_options()[1]));
}

// A tool may offer `yes` twice, once approving and once not: only the first is an option.
TEST(ApprovalOptions, first_of_duplicate_values_wins) {
  const auto options =
      unique_options({{.value = "yes", .approves = false}, {.value = "no"}, {.value = "yes", .approves = true}});
  ASSERT_EQ(options.size(), 2);
  EXPECT_FALSE(approves(options[0]));
}

// SPEC §9
TEST(Events, legacy_names_resolve_to_event_kinds) {
  using enum EventKind;
  EXPECT_EQ(find_event_kind("tool_status_change"), tool_status_change);
  EXPECT_EQ(find_event_kind("task_execution_failed"), tool_status_change);
  EXPECT_EQ(find_event_kind("run.completed"), tool_status_change);
  EXPECT_EQ(find_event_kind("run.*"), tool_status_change);
  EXPECT_EQ(find_event_kind("approval_requested"), approval_needed);
  EXPECT_EQ(find_event_kind("approval_granted"), approval_status_change);
  EXPECT_EQ(find_event_kind("agent_spawned"), agent_state_change);
  EXPECT_EQ(find_event_kind("agent_output"), tool_output);
  EXPECT_EQ(find_event_kind("phase_start:coding"), phase_start);
  EXPECT_FALSE(find_event_kind("tool_output:x"));
  EXPECT_FALSE(find_event_kind("run"));
  EXPECT_FALSE(find_event_kind(""));
}

// TOOL-1, S4 §6
TEST(Policies, defaults_match_the_reference) {
  EXPECT_EQ(default_policies().at("file_read"), Policy::auto_approve);
  EXPECT_EQ(default_policies().at("shell_execute"), Policy::require_approval);
  EXPECT_EQ(default_policies().at("force_push"), Policy::deny);
  EXPECT_EQ(default_policies().size(), 18);
  EXPECT_EQ(default_role_policies().at("mayor").at("git_commit"), Policy::auto_approve);
  EXPECT_EQ(default_role_policies().at("deacon").at("task_assign"), Policy::auto_approve);
  EXPECT_EQ(default_role_policies().at("witness").at("file_write"), Policy::deny);
}

// RUN-3
TEST(Defaults, timeouts_match_the_specification) {
  const ToolProfile tool;
  EXPECT_EQ(tool.timeout, base::TimeLimit::of(std::chrono::seconds(1800)));
  EXPECT_EQ(tool.no_output_timeout, base::TimeLimit::of(std::chrono::seconds(300)));
  EXPECT_EQ(tool.kill_grace, std::chrono::seconds(5));
  EXPECT_EQ(tool.on_interrupted, OnInterrupted::ask);
}

std::string pieces_of(std::string_view text) {
  const auto pieces = parse_template(text);
  if (!pieces) return "error at " + std::to_string(pieces.error().offset);
  std::string result;
  for (const TemplatePiece& piece : *pieces) {
    result += piece.kind == TemplatePiece::Kind::name ? "<" + piece.text + ">" : piece.text;
  }
  return result;
}

// GRF-8
TEST(Template, parses_fields_in_braces) {
  EXPECT_EQ(pieces_of("Fix: {input}"), "Fix: <input>");
  EXPECT_EQ(pieces_of("{a}{b.c}{d-e}"), "<a><b.c><d-e>");
  EXPECT_EQ(pieces_of("{{literal}} {x}"), "{literal} <x>");
  EXPECT_EQ(pieces_of(""), "");
}

TEST(Template, rejects_malformed_templates) {
  EXPECT_EQ(pieces_of("a {"), "error at 2");
  EXPECT_EQ(pieces_of("a }"), "error at 2");
  EXPECT_EQ(pieces_of("{}"), "error at 0");
  EXPECT_EQ(pieces_of("{a b}"), "error at 0");
  EXPECT_EQ(pieces_of("{.a}"), "error at 0");
  EXPECT_EQ(pieces_of("{a..b}"), "error at 0");
  EXPECT_EQ(pieces_of("{\"json\": 1}"), "error at 0");
}

RC_GTEST_PROP(Template, doubled_braces_round_trip_any_text, (const std::string& text)) {
  std::string doubled;
  for (const char c : text) {
    doubled += c;
    if (c == '{' || c == '}') doubled += c;
  }
  RC_ASSERT(pieces_of(doubled) == text);
}

TEST(OnPrompt, parses_and_formats_as_one_word) {
  EXPECT_EQ(parse_on_prompt("answer=yes"), (OnPrompt{PromptAction::answer, "yes"}));
  EXPECT_EQ(parse_on_prompt("fail"), (OnPrompt{PromptAction::fail, ""}));
  EXPECT_FALSE(parse_on_prompt("answer"));
  EXPECT_FALSE(parse_on_prompt(""));
  EXPECT_EQ(format_config_word({PromptAction::answer, "a=b"}), "answer=a=b");
}

}  // namespace
}  // namespace reeve::model
