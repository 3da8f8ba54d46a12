#include "runtime/own_place.h"

#include <fmt/format.h>

#include "os/beneath.h"
#include "runtime/door_place.h"
#include "runtime/sandbox.h"

namespace reeve::runtime {

void give_own_place(const Surroundings& around, const RunPlan& plan, base::RunId run, keeper::Assign& assign) {
  // Without it only the result cannot be written, which the tool sees.
  try {
    os::Folder::open(assign.attempt_folder).make_folder(keeper::own_name);
  } catch (const base::Error& error) {
    around.complain(fmt::format("no folder for the result of {}: {}", run.text(), error.message()));
  }
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
