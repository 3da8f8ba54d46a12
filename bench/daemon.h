#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/id.h"
#include "client/http.h"
#include "model/run.h"
#include "os/spawn.h"

// The built programs as a person uses them: a daemon of its own in a folder of its own, asked over its socket.
namespace reeve::bench {

struct Programs {
  std::filesystem::path reeve;
  // `sqlite`, or the address of a server.
  std::string store = "sqlite";
};

// Ends with the object, and unless it is to be left its state folder with it.
class Daemon {
 public:
  enum class Leaves { nothing, state };
  Daemon(const Programs& programs, std::filesystem::path state, Leaves leaves = Leaves::nothing);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  pid_t pid() const noexcept { return process_.pid(); }
  const std::filesystem::path& state() const noexcept { return state_; }
  client::Connection connect() const;

 private:
  std::filesystem::path state_;
  Leaves leaves_;
  os::Process process_;
};

struct Wish {
  std::vector<std::string> argv;
  std::string mode = "pipe";
  std::vector<std::pair<std::string, std::string>> environment = {};
};

base::RunId start_run(client::Connection& connection, const Wish& wish);
// Until its final status; anything but `completed` ends this program.
void wait_completed(client::Connection& connection, base::RunId run);
void cancel_run(client::Connection& connection, base::RunId run);
// In this status, all pages.
std::vector<base::RunId> list_runs(client::Connection& connection, model::RunStatus status);
// Any final status.
void wait_over(client::Connection& connection, base::RunId run);

// Until the run waits for an answer: what it asks.
base::ApprovalId wait_question(client::Connection& connection, base::RunId run);
void approve(client::Connection& connection, base::ApprovalId id);
// One page of those that wait; how many came.
std::size_t list_pending(client::Connection& connection, int limit);

// A workflow, by its text; the folder is its project.
base::ExecutionId start_execution(client::Connection& connection, const std::string& yaml,
                                  const std::filesystem::path& project);
// Until it is over; anything but `completed` ends this program.
void wait_execution(client::Connection& connection, base::ExecutionId execution);
// The runs of an execution that waits for a person: what it asks.
base::ApprovalId wait_node_question(client::Connection& connection, base::ExecutionId execution);

// Its proportional share of memory, in KiB; 0 when there is no such process.
std::int64_t pss_kib(pid_t pid);
// How often its threads were put to sleep or pushed aside so far.
std::int64_t context_switches(pid_t pid);
std::size_t count_threads(pid_t pid);
std::size_t count_children(pid_t pid);

}  // namespace reeve::bench
