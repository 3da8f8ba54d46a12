#include "runtime/changed_thing.h"

#include <fmt/format.h>

#include "keeper/records.h"
#include "os/file.h"
#include "runtime/approved_thing.h"

namespace reeve::runtime {

namespace {

std::string describe_change(const ChangedThing& changed) {
  std::string change;
  try {
    if (changed.approved) {
      const std::string path = changed.run_folder + "/" + thing_name(*changed.approved);
      const auto kept = decode_thing(os::read_file(path, keeper::launch_bytes));
      if (kept) change = find_change(*kept, changed.now);
    }
  } catch (const base::Error&) {
    // Then it is said without the part.
  }
  return change.empty() ? "what would run" : change;
}

}  // namespace

base::ApprovalId ask_anew(ledger::Transaction& transaction, const model::Run& run, ledger::QuestionFrame frame,
                          const ChangedThing& changed) {
  frame.digest = engine::digest_of(changed.now);
  model::Approval approval;
  approval.question = fmt::format("{} changed after {} ({}) was approved: nothing was started. Run it as it is now?",
                                  describe_change(changed), frame.tool, run.tool_run_id.text());
  approval.default_value = "reject";
  return ledger::ask_after_end(transaction, run, ledger::frame_question(transaction, frame, std::move(approval)));
}

}  // namespace reeve::runtime
