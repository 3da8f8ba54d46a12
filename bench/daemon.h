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

// The built programs as a user runs them: a separate daemon in its own folder, called over its socket.
namespace reeve::bench {

struct Programs {
  std::filesystem::path reeve;
  // `sqlite`, or the URL of a PostgreSQL server.
  std::string store = "sqlite";
};

// Stops the daemon in its destructor, and removes the state folder unless it is to be kept.
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

struct RunRequest {
  std::vector<std::string> argv;
  std::string mode = "pipe";
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string cwd = "/";
};

base::RunId start_run(client::Connection& connection, const RunRequest& options);
// Waits for the final status; exits this program unless it is `completed`.
void wait_completed(client::Connection& connection, base::RunId run);
void cancel_run(client::Connection& connection, base::RunId run);
// All runs in this status, over all pages.
std::vector<base::RunId> list_runs(client::Connection& connection, model::RunStatus status);
// Waits for any final status.
void wait_over(client::Connection& connection, base::RunId run);

// Waits until the run asks, and returns its approval.
base::ApprovalId wait_question(client::Connection& connection, base::RunId run);
void approve(client::Connection& connection, base::ApprovalId id);
// Reads one page of pending approvals and returns its length.
std::size_t list_pending(client::Connection& connection, int limit);

// Starts a workflow from its text, with the folder as its project.
base::ExecutionId start_execution(client::Connection& connection, const std::string& yaml,
                                  const std::filesystem::path& project);
// Waits for the end; exits this program unless it is `completed`.
void wait_execution(client::Connection& connection, base::ExecutionId execution);
// Waits until a node of the execution asks, and returns its approval.
base::ApprovalId wait_node_question(client::Connection& connection, base::ExecutionId execution);
// Waits until so many nodes ask; their approvals in the order of the nodes.
std::vector<base::ApprovalId> wait_node_questions(client::Connection& connection, base::ExecutionId execution,
                                                  std::size_t count);

// Proportional set size in KiB; 0 if there is no such process.
std::int64_t pss_kib(pid_t pid);
// CPU time so far; hardly affected by other load on the machine.
double cpu_ms(pid_t pid);
// Voluntary and involuntary context switches of all its threads so far.
std::int64_t context_switches(pid_t pid);
std::size_t count_threads(pid_t pid);
std::size_t count_children(pid_t pid);

}  // namespace reeve::bench
