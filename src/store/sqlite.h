#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/clock.h"
#include "store/session.h"

namespace reeve::store {

struct SqliteOptions {
  // A file, or for a store in memory a name that all its sessions share while one of them is open.
  std::string path;
  bool is_memory = false;
  bool is_read_only = false;
  // How long to wait for a lock that another program holds.
  base::Milliseconds patience = std::chrono::seconds(30);
  // Of SQLite's file layers; empty for the usual one.
  std::string vfs;
};

// WAL, every commit on disk before it returns, foreign keys on. The clock must outlive it.
std::unique_ptr<Session> open_sqlite(const SqliteOptions& options, const base::Clock& clock);

}  // namespace reeve::store
