#include "ledger/unit.h"

#include "json/encode.h"

namespace reeve::ledger {

const std::string& Transaction::now_text() {
  if (now_text_.empty()) now_text_ = base::format_time(now());
  return now_text_;
}

void Transaction::tell(model::EventKind kind, const base::Value& data) {
  has_events_ = true;
  events_.push_back({0, now_text(), kind, json::encode(data)});
}

void Transaction::record(model::AuditKind kind, std::string actor, const base::Value& data) {
  audit_.push_back({kind, std::move(actor), json::encode(data)});
}

}  // namespace reeve::ledger
