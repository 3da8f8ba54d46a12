#include "ledger/audit_check.h"

#include <fmt/format.h>

#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

namespace reeve::ledger {
namespace {

using testing::TestLedger;

REEVE_CONFORMANCE(AuditCheckTest);

AuditVerdict check(store::Session& session) {
  AuditCheck check;
  int steps = 1;
  while (!check.step(session)) ++steps;
  EXPECT_LE(steps, 4) << "it comes to an end";
  return check.verdict();
}

// APR-14: the first break is found in whichever step it lies.
TEST_P(AuditCheckTest, finds_the_first_break_across_steps) {
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
  // From the end on, so that each break is the first.
  for (const auto& [act, broken] : {std::pair("DELETE FROM audit_log WHERE seq = 1203", 1203),
                                    {"DELETE FROM audit_log WHERE seq = 1100", 1100},
                                    {"UPDATE audit_log SET actor = 'bob' WHERE seq = 1001", 1001},
                                    {"UPDATE audit_log SET previous = 'x' WHERE seq = 501", 501},
                                    {"UPDATE audit_log SET hash = 'x' WHERE seq = 1", 1}}) {
    session->run_script(act);
    const AuditVerdict verdict = check(*session);
    EXPECT_EQ(verdict.broken_at, broken) << act;
    EXPECT_EQ(verdict.entries, broken - 1) << act;
  }
}

// Entries appended between two steps are not reported as missing.
TEST_P(AuditCheckTest, trail_that_grows_meanwhile_is_intact) {
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
}  // namespace reeve::ledger
