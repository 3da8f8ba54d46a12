#include "store/tokens.h"

#include <gmock/gmock.h>

#include "ledger/ledger.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

// Tokens, on every store (API, SPEC §7).
namespace reeve::store {
namespace {

using ledger::Transaction;
using model::Scope;
using model::Token;

class TokensTest : public testing::Conformance {
 protected:
  TokensTest() : ledger_(store_) {}

  template <class Act>
  auto call(Act act) {
    return ledger_->call([&](Transaction& transaction) { return act(transaction); });
  }
  static Token make(const std::string& name) {
    return {.name = name,
            .scopes = {Scope::read, Scope::approve},
            .created_at = *base::parse_time("2026-01-02T03:04:05.678Z"),
            .created_by = "anna"};
  }

  testing::TestLedger ledger_;
};
INSTANTIATE_TEST_SUITE_P(Store, TokensTest,
                         ::testing::Values(Place::Kind::file, Place::Kind::memory, Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

TEST_P(TokensTest, are_found_by_hash_and_name) {
  Token token = make("ci");
  token.expires_at = *base::parse_time("2030-01-01T00:00:00.000Z");
  const std::string hash(64, 'a');
  call([&](Transaction& t) { insert_token(t.session(), token, hash); });
  call([&](Transaction& t) { insert_token(t.session(), make("other"), std::string(64, 'b')); });
  EXPECT_EQ(call([&](Transaction& t) { return find_token_by_hash(t.session(), hash); }), token);
  EXPECT_EQ(call([&](Transaction& t) { return find_token(t.session(), "ci"); }), token);
  EXPECT_EQ(call([&](Transaction& t) { return find_token_by_hash(t.session(), "x' OR '1'='1"); }), std::nullopt);
  EXPECT_EQ(call([&](Transaction& t) { return find_token(t.session(), "ci'--"); }), std::nullopt);
  const auto all = call([&](Transaction& t) { return list_tokens(t.session(), {.most = 10}); });
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(all.front().name, "other");
  EXPECT_EQ(call([&](Transaction& t) { return count_tokens(t.session()); }), 2);
}

TEST_P(TokensTest, name_and_hash_are_unique) {
  call([&](Transaction& t) { insert_token(t.session(), make("ci"), std::string(64, 'a')); });
  EXPECT_THROW(call([&](Transaction& t) { insert_token(t.session(), make("ci"), std::string(64, 'b')); }), base::Error);
  EXPECT_THROW(call([&](Transaction& t) { insert_token(t.session(), make("other"), std::string(64, 'a')); }),
               base::Error);
  EXPECT_EQ(call([&](Transaction& t) { return count_tokens(t.session()); }), 1);
}

TEST_P(TokensTest, last_use_and_revocation_are_stored) {
  const std::string hash(64, 'a');
  call([&](Transaction& t) { insert_token(t.session(), make("ci"), hash); });
  call([&](Transaction& t) { write_token_used(t.session(), hash, "2026-02-03T04:05:06.789Z"); });
  call([&](Transaction& t) { write_token_revoked(t.session(), "ci", "2026-03-04T05:06:07.890Z"); });
  const auto found = call([&](Transaction& t) { return find_token(t.session(), "ci"); });
  EXPECT_EQ(found->last_used_at, base::parse_time("2026-02-03T04:05:06.789Z"));
  EXPECT_EQ(found->revoked_at, base::parse_time("2026-03-04T05:06:07.890Z"));
  // The audit log accepts these kinds.
  for (const auto kind :
       {model::AuditKind::token_created, model::AuditKind::token_revoked, model::AuditKind::sign_in}) {
    call([&](Transaction& t) { t.record(kind, "anna", base::Value::object()); });
  }
}

}  // namespace
}  // namespace reeve::store
