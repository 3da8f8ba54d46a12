#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

// The small files of a run besides its output. Each has a checksum: a file that was only partly written before a power
// failure counts as missing.
namespace reeve::keeper {

// In the run's folder, mode 0600, until the final status: how to start the run, now and after an approval or a restart.
inline constexpr const char* launch_name = "launch";
// The tool's standard input.
inline constexpr const char* prompt_name = "prompt";
// The tool's standard input, if a client streams it: a head, and behind it the last `stdin_bytes` of the stream, the
// byte at position p at p % stdin_bytes. Mode 0600, until the final status: the next attempt reads it again.
inline constexpr const char* stdin_name = "stdin";
inline constexpr std::uint64_t stdin_bytes = 16UL * 1024 * 1024;
inline constexpr std::uint64_t stdin_head_bytes = 64;
// In the attempt's folder. Written before the tool is started: from then on it may have run.
inline constexpr const char* marker_name = "exec";
// Written at the end, by rename.
inline constexpr const char* exit_name = "exit";
// In the attempt's folder: the only part of it that a sandboxed tool can see and write.
inline constexpr const char* own_name = "own";
// In the attempt's folder: the file for the tool's result object (REEVE_OUTPUT).
inline constexpr const char* result_name = "own/result.json";

struct Launch {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string folder;
  bool has_prompt = false;
  // The run's settings as JSON, used only by the daemon.
  std::string settings;
  static constexpr auto fields =
      std::tuple(&Launch::argv, &Launch::environment, &Launch::folder, &Launch::has_prompt, &Launch::settings);
};
std::string encode_launch(const Launch& launch);
std::optional<Launch> decode_launch(std::string_view bytes);
// No kernel accepts longer argument lists.
inline constexpr std::size_t launch_bytes = 16UL * 1024 * 1024;

// The head of the file `stdin_name`, used only by the daemon.
struct StdinHead {
  // Bytes of the stream so far, and whether that is all of it.
  std::uint64_t written = 0;
  bool has_ended = false;
  // Its beginning was not overwritten.
  bool is_whole = true;
  static constexpr auto fields = std::tuple(&StdinHead::written, &StdinHead::has_ended, &StdinHead::is_whole);
  friend bool operator==(const StdinHead&, const StdinHead&) = default;
};
// Exactly `stdin_head_bytes`.
std::string encode_stdin_head(const StdinHead& head);
std::optional<StdinHead> decode_stdin_head(std::string_view bytes);

// What ended the process tree, if it did not end on its own.
enum class EndedBy : std::uint8_t { itself, stop, deadline, lease, signal };
constexpr EndedBy last_enumerator(EndedBy) noexcept { return EndedBy::signal; }

// ExitRecord::exec_stage of a tool whose sandbox could not be created; distinct from os::SpawnFailure's stages.
inline constexpr std::uint8_t sandbox_stage = 100;

struct ExitRecord {
  // Nonce of the attempt, so that the record of another attempt is never used.
  std::string nonce;
  // Exactly one of the three is set.
  std::optional<std::int32_t> code;
  std::optional<std::int32_t> signal;
  // The tool could not be started: the error number, and the failed step (os::SpawnFailure::Stage).
  std::optional<std::int32_t> exec_errno;
  std::uint8_t exec_stage = 0;
  EndedBy ended_by = EndedBy::itself;
  std::int64_t unix_ns = 0;
  // Range of the kept output: earlier output was dropped (output_cap).
  std::uint64_t output_begin = 0;
  std::uint64_t output_end = 0;
  // Leftover processes that were killed: "pid name".
  std::vector<std::string> descendants;
  // False: a process could not be killed.
  bool is_tree_gone = true;
  static constexpr auto fields =
      std::tuple(&ExitRecord::nonce, &ExitRecord::code, &ExitRecord::signal, &ExitRecord::exec_errno,
                 &ExitRecord::exec_stage, &ExitRecord::ended_by, &ExitRecord::unix_ns, &ExitRecord::output_begin,
                 &ExitRecord::output_end, &ExitRecord::descendants, &ExitRecord::is_tree_gone);
  friend bool operator==(const ExitRecord&, const ExitRecord&) = default;
};
std::string encode_exit(const ExitRecord& record);
std::optional<ExitRecord> decode_exit(std::string_view bytes);

struct ExecMarker {
  std::string nonce;
  // The tool's process, if it was already started (the file is written twice).
  std::int32_t pid = 0;
  std::uint64_t started = 0;
  // The tree's cgroup; empty if none.
  std::string cgroup;
  static constexpr auto fields =
      std::tuple(&ExecMarker::nonce, &ExecMarker::pid, &ExecMarker::started, &ExecMarker::cgroup);
};
std::string encode_marker(const ExecMarker& marker);
std::optional<ExecMarker> decode_marker(std::string_view bytes);
inline constexpr std::size_t record_bytes = 256UL * 1024;

}  // namespace reeve::keeper
