#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "json/encode.h"
#include "spec/schema.h"

namespace reeve::cli {

Command make_pipeline_schema() {
  return {
      .name = "pipeline schema",
      .summary = "Print the JSON Schema of pipelines.yaml",
      .about =
          R"(Prints a JSON Schema (draft 7), with which editors complete keys and underline mistakes. To use it, begin the file with
`# yaml-language-server: $schema=schema/pipelines.json`.)",
      .examples = {{"reeve pipeline schema > .reeve/schema/pipelines.json", "for editors"}},
      .positionals = {},
      .options = {},
      .run =
          [](const Call& call) {
            const base::Value schema = spec::make_schema(spec::FileType::pipelines);
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
