#pragma once

#include <gtest/gtest.h>

#include "tests/support/store/stores.h"

namespace reeve::testing {

// Every test of a Conformance suite runs on a SQLite file, in memory and on a real PostgreSQL (STO-1).
class Conformance : public ::testing::TestWithParam<store::Place::Kind> {
 protected:
  Conformance() : store_(GetParam()) {}
  TestStore store_;
};

}  // namespace reeve::testing

// Declares a suite and runs it on every store.
#define REEVE_CONFORMANCE(Suite)                                                                                     \
  class Suite : public ::reeve::testing::Conformance {};                                                             \
  INSTANTIATE_TEST_SUITE_P(Store, Suite,                                                                             \
                           ::testing::Values(::reeve::store::Place::Kind::file, ::reeve::store::Place::Kind::memory, \
                                             ::reeve::store::Place::Kind::postgresql),                               \
                           [](const auto& instance) { return ::reeve::testing::kind_name(instance.param); })
