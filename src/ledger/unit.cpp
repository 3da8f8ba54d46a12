#include "ledger/unit.h"

#include <atomic>

#include "json/encode.h"

namespace reeve::ledger {

std::uint64_t Transaction::next_id() noexcept {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

const std::string& Transaction::now_text() {
  if (now_text_.empty()) now_text_ = base::format_time(now());
  return now_text_;
}

void Transaction::tell(model::EventKind kind, const base::Value& data, const EventFacts& facts) {
  has_events_ = true;
  events_.push_back({0, now_text(), kind, json::encode(data), facts});
}

void Transaction::record(model::AuditKind kind, std::string actor, const base::Value& data) {
  audit_.push_back({kind, std::move(actor), json::encode(data)});
}

}  // namespace reeve::ledger
