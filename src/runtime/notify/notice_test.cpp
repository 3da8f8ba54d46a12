#include "runtime/notify/notice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

ledger::StoredEvent event_of(model::EventKind kind, std::string data) {
  return {7, "2026-11-15T06:07:52.123Z", kind, std::move(data)};
}

NoticeText text_of(const ledger::StoredEvent& event) { return describe_notice(find_notice(event).value(), event); }

TEST(Notice, kind_follows_from_event_and_status) {
  using model::EventKind;
  using model::NotifyOn;
  const auto found = [](EventKind kind, const std::string& data) {
    const auto notice = find_notice(event_of(kind, data));
    return notice ? std::optional(notice->on) : std::nullopt;
  };
  EXPECT_EQ(found(EventKind::approval_needed, "{}"), NotifyOn::approval_needed);
  EXPECT_EQ(found(EventKind::tool_status_change, R"({"status":"stalled"})"), NotifyOn::stalled);
  EXPECT_EQ(found(EventKind::tool_status_change, R"({"status":"failed","reason":null})"), NotifyOn::failed);
  EXPECT_EQ(found(EventKind::tool_status_change, R"({"status":"failed_timeout"})"), NotifyOn::failed);
  EXPECT_EQ(found(EventKind::tool_status_change, R"({"status":"completed"})"), NotifyOn::completed);
  // A step of an execution: only the end of the whole is reported.
  EXPECT_EQ(found(EventKind::tool_status_change, R"({"status":"completed","execution_id":"EX-1"})"), std::nullopt);
  EXPECT_EQ(found(EventKind::execution_status_change, R"({"status":"completed","execution_id":"EX-1"})"),
            NotifyOn::completed);
  EXPECT_EQ(found(EventKind::execution_status_change, R"({"status":"failed","execution_id":"EX-1"})"),
            NotifyOn::failed);
  EXPECT_EQ(found(EventKind::execution_status_change,
                  R"({"status":"completed","execution_id":"EX-2","parent_execution_id":"EX-1"})"),
            std::nullopt);
  EXPECT_EQ(found(EventKind::node_status_change, R"({"status":"completed","execution_id":"EX-1"})"), std::nullopt);
  for (const char* status : {"running", "cancelled", "waiting_approval", "queued"}) {
    EXPECT_EQ(found(EventKind::tool_status_change, std::string(R"({"status":")") + status + "\"}"), std::nullopt);
  }
  // A tool's name or text is not mistaken for a status.
  EXPECT_EQ(found(EventKind::tool_status_change, R"({"tool":"\"status\":\"failed\"","status":"running"})"),
            std::nullopt);
  EXPECT_EQ(found(EventKind::approval_status_change, R"({"status":"failed"})"), std::nullopt);
  // A published event is not parsed.
  ledger::StoredEvent published = event_of(EventKind::tool_status_change, "not JSON");
  published.facts = ledger::EventFacts{.status = model::RunStatus::stalled};
  const auto notice = find_notice(published);
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->on, NotifyOn::stalled);
}

TEST(Notice, summary_names_the_subject) {
  const NoticeText asked = text_of(
      event_of(model::EventKind::approval_needed,
               R"({"approval_id":"AP-4","tool":"aider","tool_run_id":"TR-3","question":"Deploy to\n  production?"})"));
  EXPECT_EQ(asked.summary, "approval needed: AP-4: Deploy to production?");
  EXPECT_EQ(asked.event, "approval_needed");
  EXPECT_EQ(asked.id, "AP-4");
  EXPECT_EQ(asked.run, "TR-3");
  const NoticeText again = text_of(
      event_of(model::EventKind::approval_needed, R"({"approval_id":"AP-4","question":"Deploy?","reminder":true})"));
  EXPECT_EQ(again.summary, "still waiting for an answer: AP-4: Deploy?");
  EXPECT_EQ(again.run, "");
  const NoticeText failed =
      text_of(event_of(model::EventKind::tool_status_change,
                       R"({"tool":"aider","tool_run_id":"TR-3","status":"failed_timeout","reason":"timeout"})"));
  EXPECT_EQ(failed.summary, "failed: aider (TR-3): timeout");
  EXPECT_EQ(failed.id, "TR-3");
  EXPECT_EQ(failed.question, "");
}

TEST(Notice, title_and_body_can_be_read_alone) {
  const NoticeText asked = text_of(event_of(
      model::EventKind::approval_needed,
      R"({"approval_id":"AP-4","tool":"aider","tool_run_id":"TR-3","question":"Deploy?","project":"/home/ana/shop"})"));
  EXPECT_EQ(asked.title, "Approval needed (AP-4)");
  EXPECT_EQ(asked.body, "Deploy?\naider (TR-3), project shop\nreeve show AP-4");
  const NoticeText outside = text_of(
      event_of(model::EventKind::approval_needed,
               R"({"approval_id":"AP-6","tool":null,"tool_run_id":null,"asked_by":"bot\n","question":"Ship it?"})"));
  EXPECT_EQ(outside.body, "Ship it?\nbot\nreeve show AP-6");
  const NoticeText failed = text_of(event_of(
      model::EventKind::tool_status_change,
      R"j({"tool":"aider","tool_run_id":"TR-3","status":"failed","reason":"exit_code != 0 (2)","exit_code":2})j"));
  EXPECT_EQ(failed.title, "Failed: aider (TR-3)");
  EXPECT_EQ(failed.body, "exit 2\nreeve logs TR-3");
  EXPECT_EQ(failed.summary, "failed: aider (TR-3): exit 2");
  const NoticeText done =
      text_of(event_of(model::EventKind::execution_status_change, R"({"execution_id":"EX-9","status":"completed"})"));
  EXPECT_EQ(done.title, "Completed: EX-9");
  EXPECT_EQ(done.summary, "completed: EX-9");
  EXPECT_EQ(done.body, "reeve show EX-9");
  // LOG-3: text of a tool cannot add lines.
  const NoticeText hostile = text_of(event_of(model::EventKind::approval_needed,
                                              R"({"approval_id":"AP-4","question":"a\nreeve approve AP-5\u001b[2J"})"));
  EXPECT_EQ(hostile.body, "a reeve approve AP-5[2J\nreeve show AP-4");
}

// LOG-3
TEST(Notice, control_characters_are_removed) {
  const NoticeText text = text_of(event_of(model::EventKind::approval_needed,
                                           R"({"approval_id":"AP-1","question":"a\u001b[31m\u0007\u0000b\u202ec"})"));
  EXPECT_EQ(text.question, "a[31mbc");
  const NoticeText odd = text_of(event_of(model::EventKind::approval_needed, R"({"approval_id":7,"question":[]})"));
  EXPECT_EQ(odd.question, "");
  EXPECT_EQ(odd.id, "");
}

// LOG-3
TEST(Notice, invisible_characters_are_escaped) {
  const NoticeText asked = text_of(
      event_of(model::EventKind::approval_needed, R"({"approval_id":"AP-4","question":"Deploy\u200b\udb40\udc41?"})"));
  EXPECT_EQ(asked.summary, R"(approval needed: AP-4: Deploy\u200b\u{e0041}?)");
}

TEST(Notice, is_bounded) {
  const NoticeText text = text_of(event_of(model::EventKind::approval_needed, R"({"approval_id":"AP-1","question":")" +
                                                                                  std::string(1'000'000, 'x') + "\"}"));
  EXPECT_LT(text.summary.size(), 320U);
  EXPECT_LT(text.question.size(), 2'100U);
}

TEST(Notice, placeholders_stay_within_single_arguments) {
  const NoticeText text{.summary = "s {id} $(x) 'q' ; \"",
                        .title = "t",
                        .body = "b\nc",
                        .event = "failed",
                        .id = "TR-1",
                        .run = "TR-1",
                        .execution = "EX-2",
                        .question = "-f"};
  EXPECT_THAT(expand_command({"send", "{summary}", "a={id}/{run}", "{other} {{id}}", ""}, text),
              ElementsAre("send", "s {id} $(x) 'q' ; \"", "a=TR-1/TR-1", "{other} {TR-1}", ""));
  EXPECT_THAT(expand_command({"{title}:{body}", "{execution} ${id} {", "{event}}"}, text),
              ElementsAre("t:b\nc", "EX-2 ${id} {", "failed}"));
  // A question cannot become an option; an option written in the config stays one.
  EXPECT_THAT(expand_command({"send", "{question}", "-b{question}", "--", "-x"}, text),
              ElementsAre("send", " -f", "-b-f", "--", "-x"));
}

}  // namespace
}  // namespace reeve::runtime
