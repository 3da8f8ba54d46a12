#include "store/snapshot.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/store.h"
#include "tests/support/files.h"

namespace reeve::store {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class Snapshot : public ::testing::Test {
 protected:
  fs::path database() const { return scratch_.path() / "reeve.db"; }
  fs::path copy() const { return scratch_.path() / "copy.db"; }
  std::unique_ptr<Session> open(const fs::path& file) const {
    return open_writer({Place::Kind::file, file.string()}, clock_);
  }
  static std::string read(Session& session, const std::string& sql) {
    std::string text;
    session.query_text(sql, [&](const Row& row) { text += row.text(0); });
    return text;
  }

  const testing::ScratchFolder scratch_;
  const base::SystemClock clock_;
};

// While a writer is in a transaction: the copy has what was committed.
TEST_F(Snapshot, is_consistent_while_a_writer_works) {
  const auto writer = open(database());
  const std::string insert = "INSERT INTO daemons (host, boot_id, started_at, lease_until) VALUES ";
  writer->run_script(insert + "('first', 'b', 'n', 'l')");
  writer->begin();
  writer->run_script(insert + "('second', 'b', 'n', 'l')");
  snapshot_database(database(), copy(), {});
  writer->commit();
  EXPECT_EQ(read(*open(copy()), "SELECT host FROM daemons"), "first");
  EXPECT_EQ(read(*writer, "SELECT COUNT(*) FROM daemons"), "2");
}

TEST_F(Snapshot, has_no_token_and_no_stored_response) {
  const auto writer = open(database());
  writer->run_script("INSERT INTO tokens (name, hash, scopes, created_at) VALUES ('ci', 'GEHEIMGEHEIM', '[]', 'now')");
  writer->run_script("INSERT INTO idempotency_keys VALUES ('k', 'h', 'RESPONSERESPONSE', 'now')");
  snapshot_database(database(), copy(), {});
  const std::string bytes = testing::read_text(copy());
  EXPECT_THAT(bytes, Not(HasSubstr("GEHEIMGEHEIM")));
  EXPECT_THAT(bytes, Not(HasSubstr("RESPONSERESPONSE")));
  EXPECT_EQ(read(*open(copy()), "SELECT name FROM tokens WHERE revoked_at IS NOT NULL"), "ci");
  EXPECT_EQ(read(*writer, "SELECT name FROM tokens WHERE revoked_at IS NULL"), "ci");
}

TEST_F(Snapshot, stops_when_asked) {
  open(database());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(snapshot_database(database(), copy(), stop.get_token()), base::Error);
}

}  // namespace
}  // namespace reeve::store
