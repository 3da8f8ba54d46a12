#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/clock.h"
#include "store/session.h"

namespace reeve::store {

struct SqliteOptions {
  // A file, or for an in-memory store a name that its sessions share while one of them is open.
  std::string path;
  bool is_memory = false;
  bool is_read_only = false;
  // How long to wait for a lock that another program holds.
  base::Milliseconds timeout = std::chrono::seconds(30);
  // The name of a SQLite VFS; empty for the default.
  std::string vfs;
};

// WAL mode, every commit durable before it returns, foreign keys on. The clock must outlive the session.
std::unique_ptr<Session> open_sqlite(const SqliteOptions& options, const base::Clock& clock);

}  // namespace reeve::store
