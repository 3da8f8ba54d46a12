#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <regex>
#include <set>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "json/describe.h"
#include "json/encode.h"
#include "tests/support/engine/random_workflow.h"
#include "tests/support/flow_proof.h"

// GRF-13: what an execution comes to depends on its workflow, not on the store that keeps it.
namespace reeve {
namespace {

using testing::eventually;
using testing::member;
using testing::Members;
using testing::objects;
using testing::Outcome;

class SameHistory : public testing::FlowProofTest {
 protected:
  struct Histories {
    // By label.
    std::map<std::string, std::string> roots;
    std::set<std::string> statuses;
    std::size_t nodes = 0;
    std::size_t runs = 0;
    std::size_t iterations = 0;
    std::size_t approvals = 0;
    std::size_t children = 0;
  };

  void write_config(const std::string& store) const {
    const auto tool = [](const std::string& more) {
      return fmt::format("{{command: ['{}', fate, '7', {}]}}", testing::zoo_binary(), more);
    };
    scratch().write(
        "home/.config/reeve/config.yaml",
        fmt::format("store: {}\nsupervision: {{max_parallel_runs: 4}}\ntools: {{t: {}}}\nroles: {{r: {{tool: "
                    "t}}}}\ngates: {{g: {}}}\n",
                    store, tool("--fail, '23'"), tool("--gate, --fail, '5'")));
    scratch().write("project/.reeve/workflows/inner.yaml",
                    "id: inner\nname: inner\nentry_point: a\nnodes:\n"
                    "  - {id: a, type: task, task_config: {role: r}}\n"
                    "  - {id: b, type: human, human_config: {title: T}}\n"
                    "edges:\n  - {id: e1, source: a, target: b}\n");
  }

  // No races, and no fail_fast: a failure does not cancel siblings.
  static std::string make_workflow(std::uint64_t seed) {
    base::SeededRandom random(seed);
    const testing::WorkflowShape options{.depth = static_cast<int>(1 + random.below(3)),
                                         .allows_races = false,
                                         .fail_fast = false,
                                         .subgraphs = {"inner"}};
    model::Workflow workflow = testing::make_random_workflow(random, options);
    // Built-in tasks are quick; a few have a process.
    for (model::Node& node : workflow.nodes) {
      if (node.task_config && random.below(3) != 0) node.task_config->role = "noop";
    }
    base::Value made = json::to_value(workflow, json::Defaults::omit);
    for (base::Member& part : *made.as_object()) {
      if (part.key != "nodes") continue;
      for (base::Value& node : *part.value.as_array()) {
        // The encoder omits the default type, but a file must name it.
        if (node.find("type") == nullptr) node.set("type", base::Value::string("task"));
      }
    }
    return json::encode(made);
  }

  void start_workflow(int number, unsigned seed) const {
    base::Value body = base::Value::object();
    body.set("source", base::Value::string(make_workflow(seed * 100'000ULL + static_cast<unsigned>(number))));
    body.set("file", base::Value::string((project() / ".reeve/workflows/random.yaml").string()));
    body.set("label", base::Value::string(fmt::format("w-{}", number)));
    body.set("project", base::Value::string(project().string()));
    body.set("environment", base::Value::object());
    base::Value inputs = base::Value::object();
    inputs.set("x", base::Value::integer(number % 10));
    body.set("inputs", inputs);
    const auto answer = ask(state(), "POST", "/api/executions", json::encode(body));
    ASSERT_TRUE(answer);
    EXPECT_FALSE(member(testing::parse_object(*answer).value_or(Members()), "execution_id").empty()) << *answer;
  }

  // The answer depends on the node alone.
  void answer_all() const {
    const Members page = testing::parse_object(insist(state(), "/api/approvals?limit=100")).value_or(Members());
    for (const Members& approval : objects(member(page, "items"))) {
      const std::string node = member(approval, "node_id");
      const bool is_no = (node.back() - '0') % 4 == 1;
      ask(state(), "POST",
          fmt::format("/api/approvals/{}/{}", member(approval, "approval_id"), is_no ? "reject" : "approve"), "{}");
    }
  }

  std::vector<std::string> list_roots(const std::string& query) const {
    std::vector<std::string> ids;
    std::string cursor;
    do {
      const Members page =
          testing::parse_object(insist(state(), "/api/executions?limit=500" + query + cursor)).value_or(Members());
      for (const Members& item : objects(member(page, "items"))) {
        if (member(item, "parent").empty()) ids.push_back(member(item, "execution_id"));
      }
      cursor = member(page, "next_cursor");
      if (!cursor.empty()) cursor = "&cursor=" + cursor;
    } while (!cursor.empty());
    return ids;
  }

  static std::string nameless(const std::string& text) {
    static const std::regex ids("(TR|EX|AP)-[0-9]+");
    return std::regex_replace(text, ids, "$1");
  }
  static std::string pick(const Members& record, std::initializer_list<const char*> keys) {
    std::string text;
    for (const char* key : keys) text += " " + nameless(member(record, key));
    return text;
  }

  // Everything that happened in it except times and ids, in a canonical order.
  std::string read_history(const std::string& id, Histories& all) const {
    const std::string target = "/api/executions/" + id;
    const Members record = testing::parse_object(insist(state(), target)).value_or(Members());
    const Members past = testing::parse_object(insist(state(), target + "/history")).value_or(Members());
    std::vector<std::string> lines;
    const auto add_nodes = [&](const std::string& kind, const std::string& nodes) {
      for (const Members& node : objects(nodes)) {
        std::string line =
            kind + pick(node, {"node_id", "iteration", "type", "status", "attempt", "inputs", "outputs", "error"});
        if (const std::string child = member(node, "child_execution_id"); !child.empty()) {
          ++all.children;
          line += "\n<" + read_history(child, all) + ">";
        }
        lines.push_back(std::move(line));
        ++all.nodes;
      }
    };
    add_nodes("node", member(record, "nodes"));
    const std::size_t now = lines.size();
    add_nodes("past", member(past, "iterations"));
    all.iterations += lines.size() - now;
    for (const Members& run : objects(member(past, "runs"))) {
      lines.push_back("run" + pick(run, {"node_id", "metadata", "status", "exit_code", "attempt", "reason"}));
      ++all.runs;
    }
    for (const Members& approval : objects(member(past, "approvals"))) {
      lines.push_back("approval" + pick(approval, {"node_id", "attempt", "status", "chosen_value"}));
      ++all.approvals;
    }
    std::ranges::sort(lines);
    std::string text = "execution" + pick(record, {"workflow_id", "status", "reason"});
    for (const std::string& line : lines) text += "\n" + line;
    all.statuses.insert(member(record, "status"));
    return text;
  }

  Histories run_all(const std::string& store, int count, unsigned seed) const {
    constexpr std::size_t at_once = 12;
    write_config(store);
    EXPECT_EQ(reeve({"flow", "list"}).code, 0);
    int next = 0;
    EXPECT_TRUE(eventually(
        [&] {
          const std::size_t left = list_roots("&status=running,waiting_approval").size();
          for (std::size_t i = left; i < at_once && next < count; ++i) start_workflow(next++, seed);
          answer_all();
          return left == 0 && next == count;
        },
        std::chrono::seconds(250)))
        << "stuck: " << fmt::format("{}", list_unfinished(state()).size());
    Histories all;
    for (const std::string& id : list_roots("")) {
      const Members record =
          testing::parse_object(insist(state(), "/api/executions/" + id + "?outputs=0")).value_or(Members());
      all.roots[member(record, "label")] = read_history(id, all);
    }
    EXPECT_EQ(reeve({"audit", "verify"}).code, 0);
    EXPECT_EQ(reeve({"stop"}).code, 0);
    return all;
  }
};

// REEVE_PROOF_WORKFLOWS sets the number of workflows.
TEST_F(SameHistory, random_workflows_end_alike_on_either_store) {
  const char* server = std::getenv("REEVE_TEST_POSTGRESQL");
  ASSERT_NE(server, nullptr) << "ctest starts it";
  const std::string database = fmt::format("same_history_{}", ::getpid());
  const Outcome made = testing::run_program(
      {.argv = {"createdb", "-h", server, "-U", "reeve", database}, .environment = {{"PATH", "/usr/bin:/bin"}}});
  ASSERT_EQ(made.code, 0) << made.err;
  const char* wanted = std::getenv("REEVE_PROOF_WORKFLOWS");
  const int count = wanted != nullptr ? std::atoi(wanted) : 60;
  const unsigned seed = testing::proof_size({.seed = 20'261'117}).seed;

  const Histories here = run_all("sqlite", count, seed);
  const Histories there = run_all(fmt::format("'postgresql:///{}?host={}&user=reeve'", database, server), count, seed);
  EXPECT_EQ(here.roots.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(there.roots.size(), static_cast<std::size_t>(count));
  for (const auto& [label, history] : here.roots) {
    const auto found = there.roots.find(label);
    ASSERT_NE(found, there.roots.end()) << label;
    EXPECT_EQ(history, found->second) << label;
  }
  std::cout << fmt::format(
      "seed {}: {} workflows, {} nodes, {} iterations before the last, {} runs, {} approvals, {} children\n", seed,
      count, here.nodes, here.iterations, here.runs, here.approvals, here.children);
  EXPECT_GT(here.iterations, 0U);
  EXPECT_GT(here.runs, 0U);
  EXPECT_GT(here.approvals, 0U);
  EXPECT_GT(here.children, 0U);
  EXPECT_GT(here.statuses.size(), 1U) << "all ended in the same way";
}

}  // namespace
}  // namespace reeve
