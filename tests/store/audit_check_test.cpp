#include "server/audit_check.h"

#include <fmt/format.h>

#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

namespace reeve::server {
namespace {

using ledger::AuditVerdict;
using ledger::Transaction;
using testing::TestLedger;

REEVE_CONFORMANCE(AuditCheckTest);

AuditVerdict check(store::Session& session) {
  AuditCheck check;
  int steps = 1;
  while (!check.step(session)) ++steps;
  EXPECT_LE(steps, 4) << "it comes to an end";
  return check.verdict();
}

// APR-14: found in steps it is what is found at once.
TEST_P(AuditCheckTest, steps_find_what_is_found_at_once) {
  constexpr int entries = 1'203;
  TestLedger ledger(store_);
  ledger->call([](Transaction& t) {
    base::Value data = base::Value::object();
    for (int i = 0; i < entries; ++i) t.record(model::AuditKind::policy_denied, "ana", data);
  });
  const auto session = store_.open_bare();
  EXPECT_TRUE(check(*session).is_whole());
  EXPECT_EQ(check(*session).entries, entries);
  for (const char* trigger : {"audit_log_update", "audit_log_delete"}) {
    session->run_script(fmt::format("DROP TRIGGER {}{}", trigger, store_.is_postgresql() ? " ON audit_log" : ""));
  }
  // From the end on, so that each is the first.
  for (const auto& [act, broken] : {std::pair("DELETE FROM audit_log WHERE seq = 1203", 1203),
                                    {"DELETE FROM audit_log WHERE seq = 1100", 1100},
                                    {"UPDATE audit_log SET actor = 'bob' WHERE seq = 1001", 1001},
                                    {"UPDATE audit_log SET previous = 'x' WHERE seq = 501", 501},
                                    {"UPDATE audit_log SET hash = 'x' WHERE seq = 1", 1}}) {
    session->run_script(act);
    const AuditVerdict stepped = check(*session);
    const AuditVerdict whole = ledger::verify_audit(*session);
    EXPECT_EQ(stepped.broken_at, broken) << act;
    EXPECT_EQ(stepped.broken_at, whole.broken_at) << act;
    EXPECT_EQ(stepped.reason, whole.reason) << act;
    EXPECT_EQ(stepped.entries, whole.entries) << act;
  }
}

// What is appended between two steps is not missing.
TEST_P(AuditCheckTest, a_trail_that_grows_meanwhile_is_whole) {
  TestLedger ledger(store_);
  const auto session = store_.open_bare();
  AuditCheck check;
  for (int i = 0; i < 5; ++i) {
    ledger->call([](Transaction& t) { t.record(model::AuditKind::policy_denied, "ana", base::Value::object()); });
    EXPECT_FALSE(check.step(*session));
  }
  EXPECT_TRUE(check.step(*session));
  EXPECT_TRUE(check.verdict().is_whole());
  EXPECT_EQ(check.verdict().entries, 5);
}

}  // namespace
}  // namespace reeve::server
