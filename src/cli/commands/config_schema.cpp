#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "json/encode.h"
#include "spec/schema.h"

namespace reeve::cli {

Command make_config_schema() {
  return {
      .name = "config schema",
      .summary = "Print the JSON Schema of config files",
      .about =
          R"(Prints a JSON Schema (draft 7), with which editors complete keys and underline mistakes. `reeve init` stores it in
`.reeve/schema/` and names it in the first line of the config, `# yaml-language-server: $schema=…`; repeat the example
after an upgrade. `reeve config show` also checks names and ranges.)",
      .examples = {{"reeve config schema > .reeve/schema/config.json", "for editors"}},
      .positionals = {},
      .options = {},
      .run =
          [](const Call& call) {
            const base::Value schema = spec::make_schema(spec::FileType::config);
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
