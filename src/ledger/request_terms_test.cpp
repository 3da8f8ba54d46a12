#include "ledger/request_terms.h"

#include <gtest/gtest.h>

namespace reeve::ledger {
namespace {

TEST(RequestTerms, withdrawn_request_never_begins) {
  RequestTerms terms(false);
  EXPECT_TRUE(terms.withdraw());
  EXPECT_FALSE(terms.begin());
  EXPECT_TRUE(terms.withdraw());
}

TEST(RequestTerms, begun_request_cannot_be_withdrawn) {
  RequestTerms terms(false);
  EXPECT_TRUE(terms.begin());
  EXPECT_FALSE(terms.withdraw());
  // A unit whose transaction was rolled back runs again.
  EXPECT_TRUE(terms.begin());
}

TEST(RequestTerms, scopes_nest) {
  const auto outer = std::make_shared<RequestTerms>(true);
  EXPECT_EQ(RequestTerms::current(), nullptr);
  {
    const RequestTerms::Scope scope(outer);
    {
      const RequestTerms::Scope none(nullptr);
      EXPECT_EQ(RequestTerms::current(), nullptr);
    }
    EXPECT_EQ(RequestTerms::current(), outer);
  }
  EXPECT_EQ(RequestTerms::current(), nullptr);
}

}  // namespace
}  // namespace reeve::ledger
