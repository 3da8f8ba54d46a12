#include "runtime/runs/run_private_dir.h"

#include <fmt/format.h>

#include "os/beneath.h"
#include "runtime/runs/run_socket_path.h"
#include "runtime/runs/sandbox.h"

namespace reeve::runtime {

void assign_private_dir(const RuntimeContext& context, const RunPlan& plan, base::RunId run, keeper::Assign& assign) {
  // Without this folder only the result cannot be written, which the tool notices.
  try {
    os::Folder::open(assign.attempt_folder).make_folder(keeper::own_name);
  } catch (const base::Error& error) {
    context.log_warning(fmt::format("cannot create the result folder of {}: {}", run.text(), error.message()));
  }
  SandboxRun shown{.working_folder = plan.sandbox_folder.empty() ? plan.cwd : plan.sandbox_folder,
                   .start_folder = plan.cwd,
                   .known_folder = plan.known_folder,
                   .attempt_folder = assign.attempt_folder,
                   .own_folders = {}};
  shown.own_folders.push_back(assign.attempt_folder + "/" + keeper::own_name);
  if (make_run_socket_folder(context.folder, run)) {
    assign.environment.push_back(fmt::format("REEVE_SOCKET={}", run_socket_path(context.folder, run)));
    shown.own_folders.push_back(run_socket_folder(context.folder, run));
  }
  if (plan.profile.sandbox != model::Sandbox::guard) return;
  assign.wrapper = make_wrapper({context.keeper_program, context.folder}, shown);
}

}  // namespace reeve::runtime
