#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The small files of a run beside its output. Each carries a checksum: one that a power cut left half written counts as
// missing.
namespace reeve::keeper {

// In the run's folder, 0600, until its final status: how to start it, now and after an approval or a restart.
inline constexpr const char* launch_name = "launch";
// What the tool reads on its standard input.
inline constexpr const char* prompt_name = "prompt";
// In the attempt's folder. Before the tool is started: from here on it may have run.
inline constexpr const char* marker_name = "exec";
// At the end, by rename.
inline constexpr const char* exit_name = "exit";
// In the attempt's folder, the one part of it that a tool in a sandbox sees and may write to.
inline constexpr const char* own_name = "own";
// In the attempt's folder: the file that the tool may put its result object in (REEVE_OUTPUT).
inline constexpr const char* result_name = "own/result.json";

struct Launch {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string folder;
  bool has_prompt = false;
  // Of the daemon, for the daemon: the settings of the run as JSON.
  std::string settings;
};
std::string encode_launch(const Launch& launch);
std::optional<Launch> decode_launch(std::string_view bytes);
// Longer ones no kernel would start.
inline constexpr std::size_t launch_bytes = 16UL * 1024 * 1024;

// What ended the tree, when it did not end by itself.
enum class EndedBy : std::uint8_t { itself, stop, deadline, lease, signal };

// ExitRecord::exec_stage of a tool whose sandbox could not be made; beyond those of os::SpawnFailure.
inline constexpr std::uint8_t sandbox_stage = 100;

struct ExitRecord {
  // Of the attempt, so that a record of another one is never taken for it.
  std::string nonce;
  // One of the three.
  std::optional<std::int32_t> code;
  std::optional<std::int32_t> signal;
  // It could not be started: the error number, and what was tried (os::SpawnFailure::Stage).
  std::optional<std::int32_t> exec_errno;
  std::uint8_t exec_stage = 0;
  EndedBy ended_by = EndedBy::itself;
  std::int64_t unix_ns = 0;
  // Where the output that is kept begins and ends: what came before was dropped (output_cap).
  std::uint64_t output_begin = 0;
  std::uint64_t output_end = 0;
  // What had been left running and was killed: "pid name".
  std::vector<std::string> descendants;
  // False: something could not be killed.
  bool is_tree_gone = true;
  friend bool operator==(const ExitRecord&, const ExitRecord&) = default;
};
std::string encode_exit(const ExitRecord& record);
std::optional<ExitRecord> decode_exit(std::string_view bytes);

struct ExecMarker {
  std::string nonce;
  // Of the tool, when it had been started by the time this was written (the file is written twice).
  std::int32_t pid = 0;
  std::uint64_t started = 0;
  // The control group it is in; empty when none.
  std::string cgroup;
};
std::string encode_marker(const ExecMarker& marker);
std::optional<ExecMarker> decode_marker(std::string_view bytes);
inline constexpr std::size_t record_bytes = 256UL * 1024;

}  // namespace reeve::keeper
