#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// What a daemon and a keeper say to each other: whole packets over a unix socket, the daemon's own pair at first, later
// whoever connects to the keeper's name in the state folder (0600).
namespace reeve::keeper {

// With its head; what goes in one call of send().
inline constexpr std::size_t message_bytes = 64UL * 1024;
inline constexpr std::size_t input_bytes = 32UL * 1024;

// To the keeper.

// The attempt that it will hold. Nothing is started before Go.
struct Assign {
  // The run's folder, and the attempt's beneath it; both exist.
  std::string run_folder;
  std::string attempt_folder;
  std::string nonce;
  enum class Mode : std::uint8_t { pipe, pty, stream } mode = Mode::pipe;
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
  std::uint32_t kill_grace_ms = 5'000;
  bool keep_descendants = false;
  std::uint64_t output_cap = 1ULL << 30U;
  // By BOOTTIME; 0 for none. The deadline counts only while no daemon is connected, the lease is renewed by one.
  std::int64_t deadline_ns = 0;
  std::int64_t lease_ns = 0;
  // Added to the launch: "NAME=value" and words.
  std::vector<std::string> environment;
  std::vector<std::string> words;
  // Put before the launch's command: what confines it.
  std::vector<std::string> wrapper;
  // How many files the tool may have open (the soft limit); 0: as many as the daemon.
  std::uint64_t open_files = 0;
  // Where a control group for the tree may be made; empty: the tree is walked.
  std::string cgroup_parent;
};
struct Go {};
// What was printed up to there has been dealt with; also the answer to Grew.
struct Consumed {
  std::uint64_t position = 0;
};
// For the terminal or the open standard input.
struct Input {
  std::uint32_t ticket = 0;
  std::string bytes;
};
struct CloseInput {};
struct Resize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
};
// To the tool's process group.
struct Signal {
  std::int32_t number = 0;
};
// SIGTERM to the whole tree, SIGKILL after the grace.
struct Stop {
  std::uint32_t grace_ms = 5'000;
};
struct Deadline {
  std::int64_t boot_ns = 0;
};
struct Lease {
  std::int64_t boot_ns = 0;
};
// For the prompt `serial`, and for no other: typed only while that one stands, and only when `number` is greater than
// that of the last one typed. Asked again with the number of the last one it is answered as taken, and not typed again.
struct Answer {
  std::uint64_t number = 0;
  std::uint32_t serial = 0;
  std::string bytes;
};

// From the keeper.

struct Hello {
  std::int32_t pid = 0;
  std::uint64_t started = 0;
};
// The tool runs.
struct Started {
  std::int32_t pid = 0;
  std::uint64_t started = 0;
};
// There is more output. Not said again before the answer, however much comes.
struct Grew {
  std::uint64_t position = 0;
};
// Whether there was room for what was sent.
struct InputTaken {
  std::uint32_t ticket = 0;
  bool is_taken = false;
};
// Output cannot be written: the tool is held until it can.
struct Trouble {
  std::int32_t error_number = 0;
};
// The exit record is there. The keeper leaves.
struct Exited {};
// A process of the run waits at the terminal, and nothing moves. Also said to one that connects while it stands. Each
// has a serial of its own, from 1 on.
struct Prompt {
  std::uint32_t serial = 0;
  // It sits in a read; or it only watches the terminal among other things, or cannot be looked at.
  enum class Certainty : std::uint8_t { certain, probable } certainty = Certainty::certain;
  // Whole lines without echo: a password.
  bool is_secret = false;
  // Of the output when it was seen.
  std::uint64_t position = 0;
};
// It moved on: somebody typed, it printed, or it ended.
struct PromptOver {
  std::uint32_t serial = 0;
};
struct AnswerTaken {
  std::uint64_t number = 0;
  bool is_taken = false;
};

using ToKeeper = std::variant<Assign, Go, Consumed, Input, CloseInput, Resize, Signal, Stop, Deadline, Lease, Answer>;
using FromKeeper = std::variant<Hello, Started, Grew, InputTaken, Trouble, Exited, Prompt, PromptOver, AnswerTaken>;

std::string encode(const ToKeeper& message);
std::string encode(const FromKeeper& message);
// Nothing for what is no message.
std::optional<ToKeeper> decode_to_keeper(std::string_view bytes);
std::optional<FromKeeper> decode_from_keeper(std::string_view bytes);

// The names of a keeper's lock and socket in their folder.
std::string seat_name(std::int32_t pid, std::uint64_t started);

}  // namespace reeve::keeper
