#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "store/session.h"

// Where things are kept, and how to get at them.
namespace reeve::store {

struct Place {
  enum class Kind { file, memory, postgresql };
  Kind kind = Kind::file;
  // A path, a name of a store in memory, or an address.
  std::string where;
};

// `sqlite` (the file in the state folder), `sqlite:PATH`, `:memory:`, `postgresql://…`; nothing for anything else.
std::optional<Place> parse_place(std::string_view text, const std::string& state_folder);

struct OpenOptions {
  base::Milliseconds patience = std::chrono::seconds(30);
  // Of SQLite's file layers, for tests.
  std::string vfs = {};
};

// The one that writes: brings the schema up to date first. The clock must outlive the session.
std::unique_ptr<Session> open_writer(const Place& place, const base::Clock& clock, const OpenOptions& options = {});
// Only reads, and never waits for the one that writes or keeps it waiting.
std::unique_ptr<Session> open_reader(const Place& place, const base::Clock& clock, const OpenOptions& options = {});

// The newest schema that this program knows.
int newest_schema() noexcept;
// Brings the schema up to `target`, each migration in a transaction of its own. Throws `store.newer` for a database
// that a later Reeve has written, and changes nothing in it.
void migrate(Session& session, int target = newest_schema());

}  // namespace reeve::store
