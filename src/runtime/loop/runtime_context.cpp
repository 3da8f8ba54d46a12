#include "runtime/loop/runtime_context.h"

#include <fmt/format.h>

namespace reeve::runtime {

base::Milliseconds find_clock_offset(const base::Clock& clock) {
  const auto boot = std::chrono::duration_cast<base::Milliseconds>(clock.boot_now().time_since_epoch());
  return clock.wall_now().time_since_epoch() - boot;
}

std::string run_folder(const RuntimeContext& context, base::RunId run) {
  return (context.folder.runs() / run.text()).string();
}

std::string attempt_folder(const RuntimeContext& context, base::RunId run, int attempt) {
  return fmt::format("{}/{}", run_folder(context, run), attempt);
}

}  // namespace reeve::runtime
