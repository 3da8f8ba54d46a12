#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "store/store.h"
#include "tests/support/files.h"

namespace reeve::testing {

// A clock that stands still until a test advances it.
class HandClock final : public base::Clock {
 public:
  base::WallTime wall_now() const override { return wall_; }
  base::BootTime boot_now() const override { return base::BootTime(wall_.time_since_epoch()); }
  void advance(base::Milliseconds by) { wall_ += by; }

 private:
  base::WallTime wall_{std::chrono::seconds(1'800'000'000)};
};

// The server shared by all tests if ctest has started one, else one of this process.
class PostgresqlServer {
 public:
  static PostgresqlServer& shared();
  // A separate server, for a test that disturbs it.
  explicit PostgresqlServer(const std::string& name);
  ~PostgresqlServer();
  // Creates an empty database; returns its address.
  std::string create_database();
  // As after a crash of the server.
  void restart();

 private:
  PostgresqlServer();
  void start(const std::string& name);
  std::filesystem::path folder_;
  bool is_ours_ = false;
};

// One empty store of a kind, removed with this object.
class TestStore {
 public:
  explicit TestStore(store::Place::Kind kind);

  const store::Place& place() const noexcept { return place_; }
  bool is_postgresql() const noexcept { return place_.kind == store::Place::Kind::postgresql; }
  const base::Clock& clock() const noexcept { return clock_; }
  std::unique_ptr<store::Session> open_writer(const store::OpenOptions& options = {}) const;
  std::unique_ptr<store::Session> open_reader() const;
  // Without migrating the schema.
  std::unique_ptr<store::Session> open_bare() const;

 private:
  base::SystemClock clock_;
  ScratchFolder scratch_;
  store::Place place_;
};

// "file", "memory", "postgresql": names of the parameterised tests.
std::string kind_name(store::Place::Kind kind);

// The code of the error that it throws, "conflict" for a conflict, else empty.
std::string code_of(const std::function<void()>& act);

// The values of a one-column query, one per line.
std::string read_column(store::Session& session, const std::string& sql);

}  // namespace reeve::testing
