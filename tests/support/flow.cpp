#include "tests/support/flow.h"

#include <fmt/format.h>

namespace reeve::testing {

FlowTest::FlowTest() {
  configure(R"(tools:
  sh: {command: [sh, -c, "{prompt}"]}
)");
}

std::string FlowTest::chain(const std::string& id, const std::vector<Step>& steps) {
  std::string nodes;
  std::string edges;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& [name, script] = steps[i];
    constexpr std::string_view human = "human ";
    if (script.starts_with(human)) {
      nodes += fmt::format("  - {{id: {}, type: human, human_config: {{title: \"{}\"}}}}\n", name,
                           script.substr(human.size()));
    } else if (script == "noop") {
      nodes += fmt::format("  - {{id: {}, type: task, task_config: {{role: noop}}}}\n", name);
    } else {
      nodes += fmt::format("  - id: {}\n    type: task\n    task_config: {{role: coder, task_template: '{}'}}\n", name,
                           script);
    }
    if (i > 0) edges += fmt::format("  - {{id: e{}, source: {}, target: {}}}\n", i, steps[i - 1].id, name);
  }
  return fmt::format("id: {0}\nname: The {0}\nentry_point: {1}\nnodes:\n{2}edges:{3}{4}", id, steps.front().id, nodes,
                     edges.empty() ? " []\n" : "\n", edges);
}

std::string FlowTest::write_workflow(const std::string& name, const std::string& yaml) const {
  const std::string path = ".reeve/workflows/" + name + ".yaml";
  scratch().write("project/" + path, yaml);
  return path;
}

std::string FlowTest::held_until(const std::string& file) {
  return fmt::format("while ! test -e {}; do sleep 0.02; done", file);
}

std::string FlowTest::begin(const std::string& file, const Words& more) const {
  Words words = {"flow", "run", file, "--detach"};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome started = reeve(words);
  EXPECT_EQ(started.code, 0) << started.err;
  return started.out.substr(0, started.out.find('\n'));
}

}  // namespace reeve::testing
