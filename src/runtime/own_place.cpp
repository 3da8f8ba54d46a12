#include "runtime/own_place.h"

#include <sys/stat.h>

#include <fmt/format.h>

#include "runtime/door_place.h"
#include "runtime/sandbox.h"

namespace reeve::runtime {

void give_own_place(const Surroundings& around, const RunPlan& plan, base::RunId run, keeper::Assign& assign) {
  // Without it only the result cannot be written, which the tool sees. By name: no descriptor may be left.
  ::mkdir(fmt::format("{}/{}", assign.attempt_folder, keeper::own_name).c_str(), 0700);
  SandboxRun shown{.working_folder = plan.cwd, .attempt_folder = assign.attempt_folder, .own_folders = {}};
  shown.own_folders.push_back(assign.attempt_folder + "/" + keeper::own_name);
  if (make_door_folder(around.folder, run)) {
    assign.environment.push_back(fmt::format("REEVE_SOCKET={}", door_socket(around.folder, run)));
    shown.own_folders.push_back(door_folder(around.folder, run));
  }
  if (plan.profile.sandbox != model::Sandbox::guard) return;
  assign.wrapper = make_wrapper({around.keeper_program, around.folder}, shown);
}

}  // namespace reeve::runtime
