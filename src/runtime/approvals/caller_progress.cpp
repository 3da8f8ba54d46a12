#include "runtime/approvals/caller_progress.h"

#include <utility>

#include "base/value.h"
#include "json/describe.h"
#include "ledger/ledger.h"
#include "runtime/loop/store_task.h"

namespace reeve::runtime {

namespace {

// Callers that report within one interval.
constexpr std::size_t max_callers = 1'000;

}  // namespace

bool CallerProgress::admit(const std::string& caller) {
  const base::BootTime now = context_.loop.now();
  std::erase_if(kept_, [&](const auto& entry) { return now - entry.second >= interval; });
  return kept_.size() < max_callers && kept_.try_emplace(caller, now).second;
}

void CallerProgress::report(const ProgressReport& report, Done done) {
  if (!admit(report.caller)) return done(false);
  base::Value data = base::Value::object();
  data.set("caller", base::Value::string(report.caller));
  data.set("project", json::to_value(report.project));
  data.set("percent", json::to_value(report.percent));
  data.set("message", json::to_value(report.message));
  ask_store(
      context_.ledger, context_.loop,
      [data = std::move(data)](ledger::Transaction& transaction) {
        transaction.tell(model::EventKind::caller_progress, data, {});
      },
      [done = std::move(done)](const std::expected<void, base::Error>& stored) {
        if (!stored) return done(std::unexpected(stored.error()));
        done(true);
      });
}

}  // namespace reeve::runtime
