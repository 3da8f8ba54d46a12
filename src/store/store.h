#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "store/session.h"

// The location of the store, and how to open it.
namespace reeve::store {

struct Place {
  enum class Kind { file, memory, postgresql };
  Kind kind = Kind::file;
  // A path, the name of an in-memory store, or an address.
  std::string where;
};

// `sqlite` (the file in the state folder), `sqlite:PATH`, `:memory:`, `postgresql://…`; nothing for anything else.
std::optional<Place> parse_place(std::string_view text, const std::string& state_folder);

struct OpenOptions {
  base::Milliseconds timeout = std::chrono::seconds(30);
  // The name of a SQLite VFS, for tests.
  std::string vfs = {};
};

// The writing session: first brings the schema up to date. The clock must outlive the session.
std::unique_ptr<Session> open_writer(const Place& place, const base::Clock& clock, const OpenOptions& options = {});
// A read-only session, which never waits for the writer or delays it.
std::unique_ptr<Session> open_reader(const Place& place, const base::Clock& clock, const OpenOptions& options = {});

// The newest schema that this program knows.
int newest_schema() noexcept;
// Brings the schema up to `target`, each migration in its own transaction, or all in one for a new SQLite database.
// Throws `store.newer` for a database written by a later Reeve, and changes nothing in it.
void migrate(Session& session, int target = newest_schema());

}  // namespace reeve::store
