#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"

namespace reeve::cli {

Command make_version() {
  return {
      .name = "version",
      .summary = "Print the version",
      .about = "",
      .examples = {{"reeve version", ""}},
      .positionals = {},
      .options = {},
      .run =
          [](const Call& call) {
            if (call.is_json) {
              base::Value record = base::Value::object();
              record.set("version", base::Value::string(REEVE_VERSION));
              record.set("compiler", base::Value::string(__VERSION__));
              print_json(call, record);
            } else {
              fmt::print("reeve {}\n", REEVE_VERSION);
            }
            return ExitCode::done;
          },
  };
}

}  // namespace reeve::cli
