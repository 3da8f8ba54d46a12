#include "ledger/due.h"

namespace reeve::ledger {

using store::Row;
using store::Sql;

bool has_due_work(store::Session& session, const std::string& host, base::WallTime now) {
  const std::string time = base::format_time(now);
  const auto has_any = [&](Sql statement, std::initializer_list<store::Param> params) {
    return session.query(statement, params, [](const Row&) {}) > 0;
  };
  return has_any(Sql::approvals_overdue, {{"now", time}, {"most", 1}}) ||
         has_any(Sql::approvals_to_remind, {{"now", time}, {"most", 1}}) ||
         has_any(Sql::approvals_granted, {{"host", host}, {"most", 1}}) ||
         has_any(Sql::calls_released, {{"host", host}, {"most", 1}}) ||
         has_any(Sql::approvals_to_apply, {{"host", host}, {"most", 1}}) ||
         has_any(Sql::work_ready, {{"now", time}, {"host", host}, {"after", 0}, {"most", 1}});
}

}  // namespace reeve::ledger
