#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace reeve::git {

class GitContext;
struct Call;
struct Outcome;

// Another repository, to push branches to and fetch them from (ISO-1). The only place where git uses the network.
//
// Blocks until git has finished, at most two minutes. Nothing that a repository configures is executed, whether this
// one or a remote on the same machine: no hook, helper, ssh command or pack program. ssh and credential helpers are the
// user's own, and never prompt. Errors: `git.remote_failed` (unreachable, or refused), `git.timeout`, `git.missing`.
class Remote {
 public:
  struct Access {
    // The socket of the user's ssh agent; empty: none.
    std::string ssh_agent = {};
    // Polled: whether the result is no longer needed.
    std::function<bool()> gives_up = [] { return false; };
  };

  // For display: without user names and passwords.
  const std::string& shown() const noexcept { return shown_; }

  // The commit of that ref at the remote; nullopt if it does not exist.
  std::optional<std::string> find(const std::string& ref);
  // Compare-and-swap: without `expected` the ref must not exist yet. True also if the ref is already at the commit,
  // false if it is at another one.
  bool push(const std::string& ref, const std::string& commit, const std::optional<std::string>& expected);
  // False if the ref is at another commit; true also if it is already gone.
  bool remove(const std::string& ref, const std::string& expected);
  // Fetches the ref's commit with its history into this repository, without changing any ref of it. Returns the commit;
  // nullopt if there is no such ref.
  std::optional<std::string> fetch(const std::string& ref);

 private:
  friend class Repository;
  Remote(std::shared_ptr<GitContext> context, std::string url, Access access);

  Call call(std::vector<std::string> words) const;
  // The program for `side`: receive-pack or upload-pack.
  std::string program(const char* side) const;
  bool send(const std::string& ref, const std::string& source, const std::optional<std::string>& expected);
  [[noreturn]] void fail(const std::string& doing, const Outcome& outcome) const;
  void set_up() const;
  void note_known() const;
  void read_person();

  std::shared_ptr<GitContext> context_;
  std::string url_;
  std::string shown_;
  Access access_;
  bool is_local_ = false;
  // Reeve's own git folder, which shares this repository's objects.
  std::filesystem::path folder_;
  // The user's own credential helpers and HTTP settings.
  std::vector<std::string> settings_;
  std::vector<std::string> environment_;
};

}  // namespace reeve::git
