#include "runtime/gate/grant_draft.h"

#include <gmock/gmock.h>

#include "base/text.h"

namespace reeve::runtime {
namespace {

using base::Error;
using base::ErrorCode;
using model::GrantMatch;
using model::GrantScope;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

AskedCall asked() {
  AskedCall made;
  made.approval.approval_id = base::ApprovalId(3);
  made.approval.kind = model::ApprovalKind::tool_call;
  made.run.tool_run_id = base::RunId(7);
  made.run.tool_name = "claude";
  made.run.cwd = "/home/ana/shop";
  made.run.project = model::make_project_ref("/home/ana/shop");
  made.call.tool = "shell_execute";
  made.call.tool_run_id = base::RunId(7);
  made.call.arguments_digest = "sha256:12ab";
  made.call.decision = model::CallDecision::ask;
  return made;
}

CallFacts facts(const std::string& command = "git status", const std::string& program = "git") {
  CallFacts made;
  made.subject = {
      .agent = "claude",
      .role = {},
      .project = "/home/ana/shop",
      .tool = "shell_execute",
      .arguments = base::Value::object({{"command", base::Value::string(command)}}),
      .cwd = "/home/ana/shop",
      .place = {.folder = "/home/ana/shop", .real_folder = "/home/ana/shop", .real_paths = {}},
      .program = engine::ProgramFact{.name = program, .path = "/usr/bin/" + program, .is_writable_by_run = false},
      .finds_own_repository = true};
  made.is_complete = true;
  made.terms = CallTerms();
  return made;
}

// The code of the refusal; empty if the grant can be made.
std::string refusal(const AskedCall& call, const CallFacts& known, const wire::GrantTerms& terms) {
  try {
    require_confirmation(draft_grant(call, known, terms), terms);
    return {};
  } catch (const Error& error) {
    return error.code();
  }
}

// TOOL-8: by default this run, exactly this call, 8 hours, and nothing to confirm.
TEST(GrantDraft, default_is_exactly_this_call_in_this_run) {
  const GrantDraft draft = draft_grant(asked(), facts(), {});
  EXPECT_EQ(draft.grant.match, GrantMatch::exact);
  EXPECT_EQ(draft.grant.digest, "sha256:12ab");
  EXPECT_EQ(draft.grant.tool_run_id, base::RunId(7));
  EXPECT_EQ(draft.grant.agent, "claude");
  EXPECT_EQ(draft.grant.approval_id, base::ApprovalId(3));
  EXPECT_EQ(draft.time, std::chrono::hours(8));
  EXPECT_FALSE(find_confirmation(draft));
}

// Wider ones say what else they allow, and exactly that must be confirmed.
TEST(GrantDraft, wider_grants_need_the_text_of_the_preview) {
  for (const wire::GrantTerms& wide :
       {wire::GrantTerms{.match = GrantMatch::program}, wire::GrantTerms{.scope = GrantScope::project}}) {
    wire::GrantTerms terms = wide;
    EXPECT_EQ(refusal(asked(), facts(), terms), "grant.unconfirmed");
    terms.confirmed = "yes";
    EXPECT_EQ(refusal(asked(), facts(), terms), "grant.unconfirmed");
    const GrantDraft draft = draft_grant(asked(), facts(), terms);
    EXPECT_THAT(draft.also_allows, Not(IsEmpty()));
    terms.confirmed = find_confirmation(draft);
    EXPECT_EQ(refusal(asked(), facts(), terms), "");
  }
}

// TOOL-8: for 8 hours, the agent could put anything into what these calls run.
TEST(GrantDraft, exact_grant_of_replaceable_files_needs_confirmation) {
  struct Case {
    std::string command;
    std::string program;
    std::vector<std::string> files;
    bool is_replaceable;
    std::string line;
  };
  for (const Case& each :
       {Case{"./x.sh", "./x.sh", {"./x.sh"}, true, "whatever `./x.sh` contains later"},
        Case{"sh x.sh", "sh", {"x.sh"}, false, "whatever `x.sh` contains later"},
        Case{"make", "make", {}, false, "whatever `make` runs by the files of the worktree later"}}) {
    CallFacts known = facts(each.command, each.program);
    known.subject.writable_files = each.files;
    known.subject.program->is_writable_by_run = each.is_replaceable;
    wire::GrantTerms terms;
    EXPECT_EQ(refusal(asked(), known, terms), "grant.unconfirmed") << each.command;
    const GrantDraft draft = draft_grant(asked(), known, terms);
    EXPECT_THAT(draft.also_allows, ElementsAre(each.line));
    terms.confirmed = find_confirmation(draft);
    EXPECT_EQ(refusal(asked(), known, terms), "");
  }
  EXPECT_EQ(refusal(asked(), facts("cat x.sh", "cat"), {}), "") << "it only reads";
}

// What was confirmed for one grant does not confirm a wider one.
TEST(GrantDraft, confirmation_belongs_to_its_terms) {
  wire::GrantTerms narrow{.match = GrantMatch::program};
  wire::GrantTerms wide{.scope = GrantScope::project, .match = GrantMatch::program};
  wide.confirmed = find_confirmation(draft_grant(asked(), facts(), narrow));
  EXPECT_EQ(refusal(asked(), facts(), wide), "grant.unconfirmed");
}

TEST(GrantDraft, interpreters_and_denied_calls_are_refused) {
  EXPECT_EQ(refusal(asked(), facts("python3 a.py", "python3"), {.match = GrantMatch::program}), "grant.refused");
  EXPECT_EQ(refusal(asked(), facts("git -c a=b status"), {.match = GrantMatch::program}), "grant.refused");
  CallFacts denied = facts();
  denied.terms->policies.tools["shell_execute"] = {{.policy = model::Policy::deny, .when = {}}};
  EXPECT_EQ(refusal(asked(), denied, {}), "grant.refused");
}

// A person cannot see what a wider grant covers if the stored call is not the whole call.
TEST(GrantDraft, cut_or_masked_arguments_allow_only_exact) {
  CallFacts cut = facts();
  cut.is_complete = false;
  EXPECT_EQ(refusal(asked(), cut, {}), "");
  EXPECT_EQ(refusal(asked(), cut, {.match = GrantMatch::program}), "grant.refused");
}

// The rules of the run are not known here.
TEST(GrantDraft, run_without_a_launch_file_gets_none) {
  CallFacts unknown = facts();
  unknown.terms.reset();
  EXPECT_EQ(refusal(asked(), unknown, {}), "grant.refused");
}

TEST(GrantDraft, scope_and_time_must_exist) {
  EXPECT_EQ(refusal(asked(), facts(), {.scope = GrantScope::execution}), "grant.refused");
  AskedCall loose = asked();
  loose.run.project.reset();
  EXPECT_EQ(refusal(loose, facts(), {.scope = GrantScope::project}), "grant.refused");
  EXPECT_EQ(refusal(asked(), facts(), {.expires_in_seconds = 0}), "grant.refused");
  EXPECT_EQ(refusal(asked(), facts(), {.expires_in_seconds = 31 * 86'400}), "grant.refused");
  EXPECT_EQ(refusal(asked(), facts(), {.expires_in_seconds = 30 * 86'400}), "");
  EXPECT_EQ(refusal(asked(), facts(), {.path = "src/**"}), "grant.refused") << "a pattern without its match";
}

}  // namespace
}  // namespace reeve::runtime
