#include "tests/support/scripted_flow.h"

#include <algorithm>

#include <fmt/format.h>

namespace reeve::testing {

namespace {

// A YAML text in double quotes.
std::string in_quotes(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    made += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return made + "\"";
}

}  // namespace

std::vector<std::string> elements_of(std::string_view list) {
  std::vector<std::string> found;
  int depth = 0;
  bool is_text = false;
  std::string element;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (is_text) {
      element += c;
      if (c == '\\' && i + 1 < list.size()) element += list[++i];
      is_text = c != '"';
      continue;
    }
    const bool closes = c == ']' || c == '}';
    if (closes) --depth;
    const bool ends_one = (depth == 1 && c == ',') || (depth == 0 && closes);
    if (ends_one) {
      if (!element.empty()) found.push_back(element);
      element.clear();
    } else if (depth > 0 && !std::string_view(" \n\t").contains(c)) {
      element += c;
    }
    if (c == '[' || c == '{') ++depth;
    is_text = c == '"';
  }
  return found;
}

ScriptedFlowTest::ScriptedFlowTest() { settle({}); }

void ScriptedFlowTest::settle(const Settings& settings) const {
  configure(fmt::format(R"(tools:
  shell: {{command: [/bin/sh, -c, "{{prompt}}"], env: {{EFFECTS: '{}'}}, kill_grace: 200ms, timeout: 60s}}
{}
roles:
  shell: {{tool: shell}}
{}
gates:
  never_asked: {{command: [/bin/true]}}
{}
{}
)",
                        effects_file().string(), settings.tools, settings.roles, settings.gates, settings.more));
}

std::string ScriptedFlowTest::shell(const std::string& node, const std::string& script, const std::string& more) {
  std::string doubled;
  for (const char c : script) doubled += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
  return fmt::format("  - {{id: {}, type: task, task_config: {{role: shell, task_template: {}{}{}}}}}\n", node,
                     in_quotes(doubled), more.empty() ? "" : ", ", more);
}

std::string ScriptedFlowTest::node(const std::string& id, const std::string& type_and_config) {
  return fmt::format("  - {{id: {}, type: {}}}\n", id, type_and_config);
}

std::string ScriptedFlowTest::edges(const std::string& arrows, const std::string& more) {
  std::string made;
  std::string rest = arrows + ",";
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t comma = rest.find(',');
    std::string arrow = rest.substr(0, comma);
    arrow.erase(0, arrow.find_first_not_of(' '));
    const std::size_t middle = arrow.find('>');
    if (middle != std::string::npos) {
      made += fmt::format("  - {{id: e{}, source: {}, target: {}}}\n", number, arrow.substr(0, middle),
                          arrow.substr(middle + 1));
    }
    rest.erase(0, comma + 1);
  }
  return made + more;
}

std::string ScriptedFlowTest::workflow(const std::string& nodes, const std::string& edges, const std::string& config) {
  const std::size_t id = nodes.find("id: ") + 4;
  return fmt::format("id: flow\nname: Flow\nentry_point: {}\nnodes:\n{}edges:{}\n{}",
                     nodes.substr(id, nodes.find(',') - id), nodes, edges.empty() ? " []" : "\n" + edges,
                     config.empty() ? "" : "config: " + config + "\n");
}

void ScriptedFlowTest::make_repository() const {
  scratch().write("project/.gitignore", ".reeve/\n.worktrees/\nready\n");
  const auto git = [&](const Words& words) {
    Words argv = {"git", "-C", project().string(), "-c", "user.name=Ana", "-c", "user.email=ana@example.org"};
    argv.insert(argv.end(), words.begin(), words.end());
    const Outcome outcome = run_program({.argv = argv, .environment = {{"PATH", "/usr/bin:/bin"}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  };
  git({"init", "-q", "-b", "main"});
  git({"add", "-A"});
  git({"commit", "-qm", "first"});
}

std::string ScriptedFlowTest::write_flow(const std::string& yaml, const std::string& name) const {
  return scratch().write("project/.reeve/workflows/" + name, yaml).string();
}

Members ScriptedFlowTest::run_flow(const std::string& yaml, const Words& more) const {
  Words words = {"flow", "run", write_flow(yaml), "--json", "--no-wait"};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome outcome = reeve(words);
  auto record = parse_object(outcome.out);
  EXPECT_TRUE(record && record->contains("execution_id")) << outcome.out << outcome.err << yaml;
  return record.value_or(Members());
}

std::string ScriptedFlowTest::start_flow(const std::string& yaml, const Words& more, const Variables& variables) const {
  Words words = {"flow", "run", write_flow(yaml), "--detach"};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome outcome = reeve(words, variables);
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err << yaml;
  return outcome.out.substr(0, outcome.out.find('\n'));
}

Outcome ScriptedFlowTest::refuse_flow(const std::string& yaml, const Words& more) const {
  Words words = {"flow", "run", write_flow(yaml)};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome outcome = reeve(words);
  EXPECT_NE(outcome.code, 0) << outcome.out;
  EXPECT_EQ(outcome.out, "");
  const Outcome listed = reeve({"flow", "list"});
  EXPECT_EQ(listed.out, "") << "it was started";
  return outcome;
}

Members ScriptedFlowTest::execution(const std::string& id) const {
  const Outcome outcome = reeve({"flow", "show", id, "--json"});
  auto record = parse_object(outcome.out);
  EXPECT_TRUE(record) << outcome.out << outcome.err;
  return record.value_or(Members());
}

Members ScriptedFlowTest::end_of(const std::string& id) const {
  const auto wait = start({"wait", id});
  wait->wait();
  return execution(id);
}

Members ScriptedFlowTest::wait_for_execution(const std::string& id, const std::string& status) const {
  Members found;
  EXPECT_TRUE(eventually([&] {
    found = execution(id);
    return found["status"] == status;
  })) << id
      << " is " << found["status"] << ", not " << status;
  return found;
}

Members ScriptedFlowTest::node_of(const Members& execution, const std::string& node) {
  const auto nodes = execution.find("nodes");
  for (const std::string& element : elements_of(nodes != execution.end() ? nodes->second : "")) {
    auto members = parse_object(element);
    if (members && (*members)["node_id"] == node) return *members;
  }
  ADD_FAILURE() << "no node " << node;
  return {};
}

Members ScriptedFlowTest::outputs_of(const Members& execution, const std::string& node) {
  Members found = node_of(execution, node);
  auto outputs = parse_object(found["outputs"]);
  EXPECT_TRUE(outputs) << node << " is " << found["status"] << " " << found["error"] << ": " << found["outputs"];
  return outputs.value_or(Members());
}

std::string ScriptedFlowTest::status_of(const Members& execution, const std::string& node) {
  return node_of(execution, node)["status"];
}

Members ScriptedFlowTest::wait_for_node(const std::string& id, const std::string& node,
                                        const std::string& status) const {
  Members found;
  EXPECT_TRUE(eventually([&] {
    found = node_of(execution(id), node);
    return found["status"] == status;
  })) << node
      << " is " << found["status"] << ", not " << status;
  return found;
}

std::vector<Members> ScriptedFlowTest::history(const std::string& id, const std::string& part) const {
  const Outcome outcome = reeve({"flow", "show", id, "--json", "--history"});
  auto record = parse_object(outcome.out);
  EXPECT_TRUE(record) << outcome.out << outcome.err;
  std::vector<Members> found;
  if (!record) return found;
  for (const std::string& element : elements_of((*record)[part])) {
    found.push_back(parse_object(element).value_or(Members()));
  }
  return found;
}

std::string ScriptedFlowTest::wait_for_question(const std::string& id) const {
  std::string found;
  EXPECT_TRUE(eventually([&] {
    for (const Members& approval : history(id, "approvals")) {
      if (approval.at("status") == "pending") found = approval.at("approval_id");
    }
    return !found.empty();
  })) << id
      << " asks nothing";
  return found;
}

std::string ScriptedFlowTest::question_at(const std::string& id, const std::string& node) const {
  const std::string approval = wait_for_node(id, node, "waiting_approval")["approval_id"];
  EXPECT_TRUE(approval.starts_with("AP-")) << approval;
  return approval;
}

int ScriptedFlowTest::effect_count(const std::string& line) const {
  return static_cast<int>(std::ranges::count(effects(), line));
}

int ScriptedFlowTest::max_at_once() const {
  int now = 0;
  int most = 0;
  for (const std::string& line : effects()) {
    now += line == "+" ? 1 : line == "-" ? -1 : 0;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace reeve::testing
