#include "runtime/runs/fingerprint_mismatch.h"

#include <fmt/format.h>

#include "keeper/records.h"
#include "os/file.h"
#include "runtime/runs/launch_fingerprint.h"

namespace reeve::runtime {

namespace {

std::string describe_change(const FingerprintMismatch& changed) {
  std::string change;
  if (changed.approved) {
    const std::string path = changed.run_folder + "/" + fingerprint_file(*changed.approved);
    const auto text = os::find_file(path, keeper::launch_bytes);
    const auto kept = text ? decode_fingerprint(*text) : std::nullopt;
    if (kept) change = find_change(*kept, changed.now);
  }
  return change.empty() ? "the command or its input" : change;
}

}  // namespace

base::ApprovalId ask_anew(ledger::Transaction& transaction, const model::Run& run, ledger::QuestionFrame frame,
                          const FingerprintMismatch& changed) {
  frame.digest = engine::digest_of(changed.now);
  model::Approval approval;
  approval.question = fmt::format("{} changed after {} ({}) was approved: nothing was started. Run it as it is now?",
                                  describe_change(changed), frame.tool, run.tool_run_id.text());
  approval.default_value = "reject";
  return ledger::ask_after_end(transaction, run, ledger::frame_question(transaction, frame, std::move(approval)));
}

}  // namespace reeve::runtime
