#include "runtime/loop/runtime_context.h"

#include <fmt/format.h>

namespace reeve::runtime {

std::string run_folder(const RuntimeContext& context, base::RunId run) {
  return (context.folder.runs() / run.text()).string();
}

std::string attempt_folder(const RuntimeContext& context, base::RunId run, int attempt) {
  return fmt::format("{}/{}", run_folder(context, run), attempt);
}

}  // namespace reeve::runtime
