#include <csignal>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approval_flow.h"

// Pipelines (SPEC §4, S5): steps in sequence, with people in between. The agents are scripts that store their prompts;
// a file that they append to records what really ran.
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::Words;

class Pipeline : public testing::ApprovalFlowTest {
 protected:
  Pipeline() {
    // Its name, then its prompt.
    const std::string agent =
        script("agent.sh", fmt::format("printf '%s' \"$2\" > '{0}/told-'\"$1\"\n{1}\n"
                                       "[ ! -p '{0}/gate-'\"$1\" ] || read x < '{0}/gate-'\"$1\"\n"
                                       "[ \"$1\" != broken ] || exit 3\necho \"$1 has done {{its}} part\"",
                                       scratch().path().string(), effect_command("\"$1\"")));
    configure(fmt::format(R"(
tools:
  planning: {{command: [sh, '{0}', architect, '{{prompt}}'], on_interrupted: fail}}
  coding: {{command: [sh, '{0}', coder, '{{prompt}}'], on_interrupted: fail}}
  checking: {{command: [sh, '{0}', checker, '{{prompt}}'], on_interrupted: fail}}
  failing: {{command: [sh, '{0}', broken, '{{prompt}}']}}
roles:
  planner: {{tool: planning}}
  implementer: {{tool: coding, prompt: 'Implement: {{input}}'}}
)",
                          agent));
    define(R"(
agents:
  architect: {role: planner, prompt: "Design {ticket}: {input}"}
  coder: {role: implementer}
  checker: {tool: checking}
  broken: {tool: failing}
pipelines:
  feature:
    description: From idea to tested code
    steps:
      - {agent: architect, description: Design the feature}
      - {type: approval, description: Is the design right?}
      - {type: agent, agent: coder, description: Write the code}
      - {agent: checker}
  short: {steps: [{agent: coder}]}
  breaks: {steps: [{agent: broken}, {type: approval}, {agent: coder}]}
  asks: {steps: [{type: approval, description: Begin?}, {agent: checker}]}
)");
  }

  void define(const std::string& yaml) const { scratch().write("project/.reeve/pipelines.yaml", yaml); }
  std::string begin(const std::string& name, const Words& more = {}) const {
    Words words = {"pipeline", "start", name, "--prompt", "Fix the {login}", "--detach"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome started = reeve(words);
    EXPECT_EQ(started.code, 0) << started.err;
    return started.out.substr(0, started.out.find('\n'));
  }
  std::string begin_feature() const { return begin("feature", {"--input", "ticket=T-{7}"}); }
  Members look(const std::string& id) const {
    const Outcome shown = reeve({"pipeline", "show", id, "--json"});
    EXPECT_EQ(shown.code, 0) << shown.err;
    return testing::parse_object(shown.out).value_or(Members());
  }
  Members wait_for(const std::string& id, const std::string& status) const {
    Members seen;
    EXPECT_TRUE(testing::eventually([&] { return (seen = look(id))["status"] == status; }))
        << id << " is " << seen["status"] << ": " << seen["reason"];
    return seen;
  }
  // "done running pending"
  std::string steps_of(const std::string& id) const {
    std::string steps;
    for (const std::string& line : testing::lines_of(reeve({"pipeline", "show", id}).out)) {
      if (!line.starts_with("step\t")) continue;
      std::size_t at = 0;
      for (int i = 0; i < 4; ++i) at = line.find('\t', at) + 1;
      steps += (steps.empty() ? "" : " ") + line.substr(at, line.find('\t', at) - at);
    }
    return steps;
  }
  std::string told(const std::string& agent) const {
    std::ifstream file(scratch().path() / ("told-" + agent));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The agents that ran, in order.
  std::vector<std::string> ran() const {
    std::vector<std::string> names;
    for (const std::string& line : effects()) names.push_back(line.substr(0, line.find(' ')));
    return names;
  }
  Gate gate(const std::string& agent) const { return Gate(scratch().path() / ("gate-" + agent)); }
  int status_of(const std::string& answer) const { return std::stoi(answer.substr(answer.find(' ') + 1)); }
  Members post(const std::string& target, const std::string& body, const std::string& headers = {}) const {
    const std::string answer = request("POST", target, body, "Content-Type: application/json\r\n" + headers);
    Members members = testing::parse_object(answer.substr(answer.find("\r\n\r\n") + 4)).value_or(Members());
    members["http"] = std::to_string(status_of(answer));
    return members;
  }
};

// ORC-3: a prompt without {input} causes a warning, and still gets the task, the earlier output and the comment.
TEST_F(Pipeline, prompt_without_input_gets_a_warning_and_the_task_appended) {
  define(R"(
agents:
  architect: {role: planner, prompt: "Design well."}
  coder: {role: implementer, prompt: "Only this.", prompt_takes_input: false}
  checker: {tool: checking, prompt: "Check it."}
pipelines:
  p: {steps: [{agent: architect}, {type: approval}, {agent: coder}, {agent: checker}]}
)");
  const auto warns = ::testing::HasSubstr("the prompt of the agent `architect` has no `{input}`");
  const Outcome started = reeve({"pipeline", "start", "p", "--prompt", "Fix the login", "--no-wait"});
  EXPECT_EQ(started.code, 90) << started.err;
  EXPECT_THAT(started.err, AllOf(warns, HasSubstr("the agent `checker`"), Not(HasSubstr("`coder`"))));
  EXPECT_EQ(testing::read_text(scratch().path() / "told-architect"), "Design well.\n\nFix the login");
  EXPECT_EQ(reeve({"approve", "--yes", "AP-1", "--comment", "but quickly"}).code, 0);
  EXPECT_EQ(reeve({"wait", "EX-1"}).code, 0);
  EXPECT_EQ(testing::read_text(scratch().path() / "told-coder"), "Only this.");
  EXPECT_THAT(testing::read_text(scratch().path() / "told-checker"),
              AllOf(HasSubstr("Check it.\n\nFix the login"), HasSubstr("coder has done {its} part")));
  EXPECT_THAT(reeve({"doctor"}).out,
              AllOf(HasSubstr("prompts\twarn\t"), HasSubstr("the agent `architect`, the agent `checker`")));
  EXPECT_THAT(reeve({"pipeline", "start", "p", "--prompt", "P", "--detach", "--json"}).err, Not(warns));
}

// PIP-1, PIP-2, PIP-3: prompt, inputs, step and earlier output reach the agents; the comment reaches only the next one.
TEST_F(Pipeline, approval_continues_with_its_comment) {
  const std::string id = begin_feature();
  Members waiting = wait_for(id, "waiting_for_approval");
  EXPECT_EQ(steps_of(id), "done running pending pending");
  EXPECT_EQ(told("architect"),
            "Design T-{7}: Fix the {login}\n\nYour step: Design the feature\n\nInputs:\nticket: T-{7}");
  EXPECT_EQ(waiting["pipeline"], "feature");
  EXPECT_EQ(waiting["prompt"], "Fix the {login}");
  EXPECT_EQ(waiting["inputs"], R"({"ticket":"T-{7}"})");
  // GRF-12: the question shows the output of the previous step.
  Members asked = show(waiting["approval_id"]);
  EXPECT_EQ(asked["question"], "Is the design right?");
  EXPECT_THAT(asked["arguments"], HasSubstr("architect has done {its} part"));
  EXPECT_THAT(reeve({"show", waiting["approval_id"]}).out, HasSubstr("architect has done {its} part"));

  const Outcome approved = reeve({"pipeline", "approve", "--yes", id, "--comment", "keep the {old} API; $HOME"});
  ASSERT_EQ(approved.code, 0) << approved.err;
  wait_for(id, "done");
  EXPECT_EQ(steps_of(id), "done done done done");
  EXPECT_EQ(told("coder"),
            "Implement: Fix the {login}\n\nYour step: Write the code\n\nInputs:\nticket: T-{7}\n\n"
            "Output of the previous agent, architect:\narchitect has done {its} part\n\n"
            "Comment of the person who approved (Is the design right?):\nkeep the {old} API; $HOME");
  EXPECT_THAT(told("checker"),
              AllOf(HasSubstr("Output of the previous agent, coder:\ncoder has done"), Not(HasSubstr("$HOME"))));
  EXPECT_EQ(look(id)["steps"].find("\"comment\":\"keep the {old} API; $HOME\"") != std::string::npos, true);
  const std::string trail = reeve({"audit", "list", "--json"}).out;
  EXPECT_THAT(trail, AllOf(HasSubstr("approval_requested"), HasSubstr("approval_granted")));
  EXPECT_EQ(reeve({"audit", "verify"}).code, 0);
}

TEST_F(Pipeline, approval_without_a_comment_adds_nothing_to_the_prompt) {
  const std::string id = begin_feature();
  wait_for(id, "waiting_for_approval");
  // Approving the question approves the pipeline.
  ASSERT_EQ(reeve({"approve", "--yes", look(id)["approval_id"]}).code, 0);
  wait_for(id, "done");
  EXPECT_THAT(told("coder"),
              AllOf(HasSubstr("Output of the previous agent, architect"), Not(HasSubstr("Comment of the person"))));
}

// PIP-3
TEST_F(Pipeline, rejection_is_final) {
  const std::string id = begin_feature();
  wait_for(id, "waiting_for_approval");
  const Outcome rejected = reeve({"pipeline", "reject", id, "--comment", "too large"});
  ASSERT_EQ(rejected.code, 0) << rejected.err;
  EXPECT_EQ(rejected.out, id + "\tfailed\n");
  EXPECT_EQ(steps_of(id), "done failed pending pending");
  EXPECT_THAT(look(id)["steps"], HasSubstr("\"comment\":\"too large\""));
  const Outcome again = reeve({"flow", "retry", id});
  EXPECT_EQ(again.code, 4);
  EXPECT_THAT(again.err, HasSubstr("pipeline.rejected"));
  for (const char* late : {"approve", "reject", "abort"}) {
    EXPECT_EQ(reeve({"pipeline", late, id}).code, 4) << late;
  }
  EXPECT_EQ(look(id)["status"], "failed");
  EXPECT_THAT(ran(), ElementsAre("architect"));
  EXPECT_THAT(reeve({"audit", "list", "--json"}).out, HasSubstr("approval_rejected"));
}

// A failed agent can be retried: nobody has rejected it.
TEST_F(Pipeline, failed_agent_fails_the_pipeline_and_can_be_retried) {
  const std::string id = begin("breaks");
  wait_for(id, "failed");
  EXPECT_EQ(steps_of(id), "failed pending pending");
  const Outcome again = reeve({"flow", "retry", id});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(testing::eventually([&] { return ran().size() == 2; }));
  wait_for(id, "failed");
}

// PIP-3
TEST_F(Pipeline, abort_ends_only_its_pipeline) {
  const Gate held = gate("coder");
  const std::string first = begin("short");
  const std::string second = begin("short");
  const std::string third = begin_feature();
  EXPECT_TRUE(testing::eventually([&] { return ran().size() == 3; }));
  wait_for(third, "waiting_for_approval");
  const Outcome aborted = reeve({"pipeline", "abort", first, "--comment", "wrong branch"});
  ASSERT_EQ(aborted.code, 0) << aborted.err;
  EXPECT_EQ(aborted.out, first + "\taborted\n");
  EXPECT_THAT(look(first)["reason"], HasSubstr("wrong branch"));
  EXPECT_TRUE(testing::eventually([&] { return tools().size() == 1; }));
  EXPECT_EQ(steps_of(first), "failed");
  EXPECT_EQ(look(second)["status"], "running");
  EXPECT_EQ(look(third)["status"], "waiting_for_approval");
  held.open();
  wait_for(second, "done");
  // Also a waiting one: its question no longer needs an answer.
  const std::string question = look(third)["approval_id"];
  ASSERT_EQ(reeve({"pipeline", "abort", third}).code, 0);
  EXPECT_EQ(show(question)["status"], "expired");
}

// PIP-4
TEST_F(Pipeline, waiting_pipeline_survives_a_daemon_restart) {
  const std::string id = begin_feature();
  const std::string question = wait_for(id, "waiting_for_approval")["approval_id"];
  for (int i = 0; i < 2; ++i) {
    kill_daemon();
    EXPECT_EQ(wait_for(id, "waiting_for_approval")["approval_id"], question);
    EXPECT_EQ(steps_of(id), "done running pending pending");
  }
  kill_daemon();
  ASSERT_EQ(reeve({"pipeline", "approve", "--yes", id, "--comment", "after all"}).code, 0);
  wait_for(id, "done");
  EXPECT_THAT(told("coder"), HasSubstr("after all"));
  EXPECT_THAT(ran(), ElementsAre("architect", "coder", "checker"));
}

// PIP-4
TEST_F(Pipeline, running_pipeline_survives_a_killed_daemon) {
  const Gate held = gate("coder");
  const std::string id = begin_feature();
  wait_for(id, "waiting_for_approval");
  ASSERT_EQ(reeve({"pipeline", "approve", "--yes", id}).code, 0);
  EXPECT_TRUE(testing::eventually([&] { return ran().size() == 2; }));
  kill_daemon();
  EXPECT_EQ(look(id)["status"], "running");
  held.open();
  wait_for(id, "done");
  EXPECT_THAT(ran(), ElementsAre("architect", "coder", "checker"));
}

TEST_F(Pipeline, invalid_references_are_refused_before_anything_starts) {
  define(R"(
agents: {a: {role: planer}, b: {tool: nothing}, c: {role: reviewer}}
pipelines:
  one: {steps: [{agent: arhcitect}, {agent: a}, {agent: b}]}
)");
  const Outcome refused = reeve({"pipeline", "start", "one", "--prompt", "P"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("pipeline.unknown_agent"), HasSubstr("pipeline.unknown_role"),
                                 HasSubstr("pipeline.unknown_tool"), HasSubstr("did you mean `planner`?"),
                                 HasSubstr("Nothing was started.")));
  const Outcome as_json = reeve({"pipeline", "start", "one", "--prompt", "P", "--json"});
  EXPECT_THAT(as_json.out, HasSubstr("\"pipeline.invalid\""));

  define("agents: {c: {role: reviewer}}\npipelines: {two: {steps: [{agent: c}]}}\n");
  EXPECT_THAT(reeve({"pipeline", "start", "two", "--prompt", "P"}).err, HasSubstr("pipeline.role_without_tool"));
  const Outcome unknown = reeve({"pipeline", "start", "tow", "--prompt", "P"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean `two`?"));
  std::filesystem::remove(project() / ".reeve/pipelines.yaml");
  const Outcome missing = reeve({"pipeline", "start", "two", "--prompt", "P"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("pipeline.no_file"));
  EXPECT_EQ(reeve({"flow", "list"}).out, "");
  EXPECT_TRUE(effects().empty());
}

TEST_F(Pipeline, start_follows_the_pipeline_to_its_end) {
  const Outcome done = reeve({"pipeline", "start", "short", "--prompt", "P"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("step-1"));
  const Outcome json = reeve({"pipeline", "start", "short", "--prompt", "P", "--json"});
  EXPECT_EQ(testing::parse_object(json.out).value_or(Members())["status"], "done") << json.out;
  const Outcome waits = reeve({"pipeline", "start", "asks", "--prompt", "P", "--no-wait"});
  EXPECT_EQ(waits.code, 90) << waits.err;
  const auto followed = start({"pipeline", "start", "asks", "--prompt", "P"});
  ASSERT_TRUE(followed->wait_for("waiting_approval"));
  ASSERT_EQ(reeve({"pipeline", "reject", "@last"}).code, 0);
  EXPECT_EQ(followed->wait(), 1);
  EXPECT_EQ(reeve({"pipeline", "start", "short"}).code, 2);
  EXPECT_EQ(reeve({"pipeline", "start", "short", "--prompt", " "}).code, 2);
}

// PIP-2, PIP-5: over plain HTTP.
TEST_F(Pipeline, http_routes_follow_their_contract) {
  reeve({"runs"});
  const std::string options =
      R"({"pipeline":"asks","prompt":"P","inputs":{"n":3},"environment":{"PATH":"/usr/bin:/bin"}})";
  Members started = post("/api/pipelines", options, "Idempotency-Key: one\r\n");
  ASSERT_EQ(started["http"], "201");
  const std::string id = started["pipeline_id"];
  EXPECT_EQ(id, "EX-1");
  EXPECT_EQ(post("/api/pipelines", options, "Idempotency-Key: one\r\n")["pipeline_id"], id);
  wait_for(id, "waiting_for_approval");
  const std::string path = "/api/pipelines/" + id;
  const std::string yes = R"({"comment":"go","decided_by":"ana"})";
  EXPECT_EQ(post(path + "/approve", R"({"comment":7})")["http"], "400");
  EXPECT_EQ(post(path + "/approve", yes, "Idempotency-Key: two\r\n")["http"], "200");
  // A repeated request gets the decision, not a conflict.
  EXPECT_EQ(post(path + "/approve", yes, "Idempotency-Key: two\r\n")["http"], "200");
  Members late = post(path + "/approve", yes);
  EXPECT_EQ(late["http"], "409");
  EXPECT_EQ(late["code"], "pipeline.not_waiting");
  wait_for(id, "done");
  EXPECT_THAT(told("checker"), HasSubstr("Comment of the person who approved (Begin?):\ngo"));
  EXPECT_EQ(post(path + "/abort", "{}")["http"], "409");
  for (const char* unknown : {"/api/pipelines/EX-9", "/api/pipelines/x"}) {
    EXPECT_EQ(status_of(request("GET", unknown)), 404) << unknown;
    for (const char* deed : {"/approve", "/reject", "/abort"}) {
      Members refused = post(std::string(unknown) + deed, "{}");
      EXPECT_EQ(refused["http"], "404");
      EXPECT_EQ(refused["code"], "pipeline.not_found");
    }
  }
  for (const char* wrong :
       {R"({"prompt":"P"})", R"({"pipeline":"asks"})", R"({"pipeline":"asks","prompt":"P","inputs":[]})",
        R"({"pipeline":"asks","prompt":"P","inputs":{"prompt":1}})",
        R"({"pipeline":"asks","prompt":"P","project":"here"})"}) {
    EXPECT_EQ(post("/api/pipelines", wrong)["http"], "400") << wrong;
  }
}

// Other executions are not pipelines; each is listed under its own name.
TEST_F(Pipeline, list_shows_only_pipelines) {
  const std::string flow =
      script("w.yaml",
             "id: w\nname: W\nentry_point: a\nnodes:\n  - {id: a, type: human, human_config: {title: T}}\nedges: []");
  ASSERT_EQ(reeve({"flow", "run", flow, "--detach"}).code, 0);
  EXPECT_EQ(reeve({"pipeline", "show", "EX-1"}).code, 3);
  EXPECT_EQ(reeve({"pipeline", "approve", "--yes", "EX-1"}).code, 3);
  EXPECT_EQ(reeve({"pipeline", "abort", "EX-1"}).code, 3);
  EXPECT_EQ(reeve({"pipeline", "list"}).out, "");
  const std::string waiting = begin("asks");
  const std::string done = begin("short");
  wait_for(waiting, "waiting_for_approval");
  wait_for(done, "done");
  EXPECT_EQ(testing::lines_of(reeve({"pipeline", "list"}).out).size(), 2U);
  EXPECT_THAT(reeve({"pipeline", "list", "--status", "done"}).out, ::testing::StartsWith(done + "\tdone\tshort\t"));
  EXPECT_THAT(reeve({"pipeline", "list", "--pipeline", "asks", "--json"}).out,
              AllOf(HasSubstr(waiting), Not(HasSubstr(done))));
  EXPECT_THAT(reeve({"pipeline", "list", "--defined"}).out,
              HasSubstr("feature\tarchitect, approval, coder, checker\tFrom idea to tested code\n"));
  EXPECT_EQ(reeve({"pipeline", "abort", waiting}).code, 0);
  EXPECT_EQ(reeve({"flow", "cancel", "EX-1"}).code, 0);
}

// APR-11
TEST_F(Pipeline, agent_can_neither_decide_nor_start_a_pipeline) {
  const std::string id = begin("asks");
  wait_for(id, "waiting_for_approval");
  const std::string program = testing::reeve_binary();
  for (const std::string& words : {"approve --yes " + id, "reject " + id, std::string("start short --prompt P")}) {
    const Outcome inside =
        reeve({"run", "--", "/bin/sh", "-c", program + " pipeline " + words + " --state " + state().string()});
    EXPECT_EQ(inside.code, 5) << words << inside.err;
  }
  EXPECT_EQ(look(id)["status"], "waiting_for_approval");
  EXPECT_TRUE(effects().empty());
  EXPECT_EQ(reeve({"pipeline", "abort", id}).code, 0);
}

}  // namespace
}  // namespace reeve
