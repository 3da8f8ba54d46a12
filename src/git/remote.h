#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace reeve::git {

class Workshop;
struct Call;
struct Outcome;

// Another repository, to which branches go and from which they come (ISO-1). The only place where git uses the network.
//
// Blocks until git has answered, two minutes at most. Nothing that a repository configures is executed, neither this
// one nor, where it lies on the same machine, the other: no hook, no helper, no ssh command, no program for packs. ssh
// and credential helpers are the person's own, and nobody is asked anything. Errors: `git.remote_failed` (it cannot be
// reached, or refuses), `git.timeout`, `git.missing`.
class Remote {
 public:
  struct Access {
    // The socket of the person's ssh agent; empty: none.
    std::string ssh_agent = {};
    // Looked at now and then: whether nobody waits for it any more.
    std::function<bool()> gives_up = [] { return false; };
  };

  // For people: without names and passwords.
  const std::string& shown() const noexcept { return shown_; }

  // The commit of that ref there; nothing when it has none.
  std::optional<std::string> find(const std::string& ref);
  // Compare-and-swap: without `expected` the ref must not be there yet. True also when the commit is there already,
  // false when it is something else.
  bool push(const std::string& ref, const std::string& commit, const std::optional<std::string>& expected);
  // False when it is something else; true also when it is gone already.
  bool remove(const std::string& ref, const std::string& expected);
  // What that ref has there, with all that it builds on, becomes known to this repository, of which no ref is touched.
  // Its commit; nothing when there is no such ref.
  std::optional<std::string> fetch(const std::string& ref);

 private:
  friend class Repository;
  Remote(std::shared_ptr<Workshop> workshop, std::string url, Access access);

  Call call(std::vector<std::string> words) const;
  // Those of receive-pack or upload-pack, whichever `side` is.
  std::string program(const char* side) const;
  bool send(const std::string& ref, const std::string& source, const std::optional<std::string>& expected);
  [[noreturn]] void fail(const std::string& doing, const Outcome& outcome) const;
  void set_up() const;
  void note_known() const;
  void read_person();

  std::shared_ptr<Workshop> workshop_;
  std::string url_;
  std::string shown_;
  Access access_;
  bool is_local_ = false;
  // A git folder of Reeve's own, which has this repository's objects.
  std::filesystem::path folder_;
  // The person's own credential helpers, and how they reach the web.
  std::vector<std::string> settings_;
  std::vector<std::string> environment_;
};

}  // namespace reeve::git
