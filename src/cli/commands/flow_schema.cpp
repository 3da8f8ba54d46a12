#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "json/encode.h"
#include "spec/schema.h"

namespace reeve::cli {

Command make_flow_schema() {
  return {
      .name = "flow schema",
      .summary = "Print the JSON Schema of workflow files",
      .about =
          R"(Prints a JSON Schema (draft 7), with which editors complete keys and underline mistakes. `reeve init` stores it in
`.reeve/schema/` and names it in the first line of the workflow, `# yaml-language-server: $schema=…`; repeat the example
after an upgrade. The schema knows keys and values; `reeve flow validate` also checks names, edges and conditions.)",
      .examples = {{"reeve flow schema > .reeve/schema/workflow.json", "for editors"}},
      .positionals = {},
      .options = {},
      .run =
          [](const Call& call) {
            const base::Value schema = spec::make_schema(spec::FileType::workflow);
            if (call.is_json) {
              print_json(call, schema);
            } else {
              fmt::print("{}\n", json::encode_pretty(schema));
            }
            return ExitCode::done;
          },
  };
}

}  // namespace reeve::cli
