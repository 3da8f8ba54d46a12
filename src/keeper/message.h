#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

// The protocol between daemon and keeper: whole packets over a unix socket; at first the daemon's socket pair, later
// connections to the keeper's socket in the state folder (0600). A message is encoded as one byte, its index in the
// variant, and its `fields` (keeper/packing.h).
namespace reeve::keeper {

// Maximum message size including its header, sent with one send().
inline constexpr std::size_t message_bytes = 64UL * 1024;
inline constexpr std::size_t input_bytes = 32UL * 1024;
// Of one InputLine, all parts together.
inline constexpr std::size_t input_line_bytes = 2UL * 1024 * 1024;

// Messages to the keeper.

// The attempt to keep. Nothing is started before Go.
struct Assign {
  // The run's folder, and the attempt's beneath it; both exist.
  std::string run_folder;
  std::string attempt_folder;
  std::string nonce;
  enum class Mode : std::uint8_t { pipe, pty, stream } mode = Mode::pipe;
  friend constexpr Mode last_enumerator(Mode) noexcept { return Mode::stream; }
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
  std::uint32_t kill_grace_ms = 5'000;
  bool keep_descendants = false;
  std::uint64_t output_cap = 1ULL << 30U;
  // In BOOTTIME; 0 for none. Both apply only while no daemon is connected; the daemon renews the lease.
  std::int64_t deadline_ns = 0;
  std::int64_t lease_ns = 0;
  // Added to the launch: "NAME=value" entries and arguments.
  std::vector<std::string> environment;
  std::vector<std::string> words;
  // Prepended to the launch's command, to confine it.
  std::vector<std::string> wrapper;
  // The tool's soft limit on open files; 0: the daemon's limit.
  std::uint64_t open_files = 0;
  // Where a cgroup for the tree may be created; empty: the tree is killed by walking it.
  std::string cgroup_parent;
  static constexpr auto fields = std::tuple(
      &Assign::run_folder, &Assign::attempt_folder, &Assign::nonce, &Assign::mode, &Assign::rows, &Assign::columns,
      &Assign::kill_grace_ms, &Assign::keep_descendants, &Assign::output_cap, &Assign::deadline_ns, &Assign::lease_ns,
      &Assign::environment, &Assign::words, &Assign::wrapper, &Assign::open_files, &Assign::cgroup_parent);
};
struct Go {};
// Output up to this position has been processed; also acknowledges Grew.
struct Consumed {
  std::uint64_t position = 0;
  static constexpr auto fields = std::tuple(&Consumed::position);
};
// For the terminal or an open standard input.
struct Input {
  std::uint32_t ticket = 0;
  std::string bytes;
  static constexpr auto fields = std::tuple(&Input::ticket, &Input::bytes);
};
struct CloseInput {};
struct Resize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
  static constexpr auto fields = std::tuple(&Resize::rows, &Resize::columns);
};
// To the tool's process group.
struct Signal {
  std::int32_t number = 0;
  static constexpr auto fields = std::tuple(&Signal::number);
};
// SIGTERM to the whole tree, SIGKILL after the grace.
struct Stop {
  std::uint32_t grace_ms = 5'000;
  static constexpr auto fields = std::tuple(&Stop::grace_ms);
};
struct Deadline {
  std::int64_t boot_ns = 0;
  static constexpr auto fields = std::tuple(&Deadline::boot_ns);
};
struct Lease {
  std::int64_t boot_ns = 0;
  static constexpr auto fields = std::tuple(&Lease::boot_ns);
};
// An answer for the prompt `serial` only: typed only while that prompt is active, and only if `number` is greater than
// that of the last typed answer. A repeated request with the number of the last answer is confirmed without typing it
// again.
struct Answer {
  std::uint64_t number = 0;
  std::uint32_t serial = 0;
  std::string bytes;
  static constexpr auto fields = std::tuple(&Answer::number, &Answer::serial, &Answer::bytes);
};

// The tool's standard input is the stream in the run's file `stdin_name`, which has this many bytes now. Sent before
// Go, and whenever it grew or ended; only for such runs, so that keepers of other versions never receive it.
struct StdinGrew {
  std::uint64_t written = 0;
  bool has_ended = false;
  static constexpr auto fields = std::tuple(&StdinGrew::written, &StdinGrew::has_ended);
};

// Stops the whole tree, or continues it. An older keeper closes the connection on these: they are sent only to one that
// has sent Abilities.
struct Freeze {};
struct Thaw {};

// A line for an open standard input, in parts of at most `input_bytes`; `offset` is the number of bytes before this
// one. The tool gets all of it or nothing, so that a daemon that dies in between leaves no half line. Sent only to a
// keeper that has sent TakesInputLines, because an older one closes the connection.
struct InputLine {
  std::uint32_t ticket = 0;
  std::uint32_t offset = 0;
  std::string part;
  bool is_last = false;
  static constexpr auto fields =
      std::tuple(&InputLine::ticket, &InputLine::offset, &InputLine::part, &InputLine::is_last);
};

// The tool starts in exactly this folder or not at all (APR-10); see os::KnownFolder. Sent before Go; only for such
// runs, so that keepers of other versions never receive it.
struct StartIn {
  std::string root;
  std::string name;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  static constexpr auto fields = std::tuple(&StartIn::root, &StartIn::name, &StartIn::device, &StartIn::inode);
};

// Messages from the keeper.

struct Hello {
  std::int32_t pid = 0;
  std::uint64_t started = 0;
  static constexpr auto fields = std::tuple(&Hello::pid, &Hello::started);
};
// The tool is running.
struct Started {
  std::int32_t pid = 0;
  std::uint64_t started = 0;
  static constexpr auto fields = std::tuple(&Started::pid, &Started::started);
};
// There is more output. Not sent again before the acknowledgement, however much output follows.
struct Grew {
  std::uint64_t position = 0;
  static constexpr auto fields = std::tuple(&Grew::position);
};
// Whether the input was accepted; refused if the buffer is full.
struct InputTaken {
  std::uint32_t ticket = 0;
  bool is_taken = false;
  static constexpr auto fields = std::tuple(&InputTaken::ticket, &InputTaken::is_taken);
};
// Output cannot be written: the tool is blocked until it can.
struct Trouble {
  std::int32_t error_number = 0;
  static constexpr auto fields = std::tuple(&Trouble::error_number);
};
// The exit record has been written. The keeper exits.
struct Exited {};
// A process of the run is waiting for terminal input, and nothing is happening. Also sent to a daemon that connects
// while the prompt is active. Serials are unique and start at 1.
struct Prompt {
  std::uint32_t serial = 0;
  // Certain: the process is blocked in a read. Probable: it only polls the terminal along with other descriptors, or
  // cannot be inspected.
  enum class Certainty : std::uint8_t { certain, probable } certainty = Certainty::certain;
  friend constexpr Certainty last_enumerator(Certainty) noexcept { return Certainty::probable; }
  // Line mode without echo: a password.
  bool is_secret = false;
  // Output position when the prompt was detected.
  std::uint64_t position = 0;
  static constexpr auto fields = std::tuple(&Prompt::serial, &Prompt::certainty, &Prompt::is_secret, &Prompt::position);
};
// The prompt is over: input was typed, the process printed something, or it ended.
struct PromptOver {
  std::uint32_t serial = 0;
  static constexpr auto fields = std::tuple(&PromptOver::serial);
};
struct AnswerTaken {
  std::uint64_t number = 0;
  bool is_taken = false;
  static constexpr auto fields = std::tuple(&AnswerTaken::number, &AnswerTaken::is_taken);
};

// The stream of standard input was read up to this position: earlier bytes may be overwritten. Reported in large steps.
struct StdinRead {
  std::uint64_t position = 0;
  static constexpr auto fields = std::tuple(&StdinRead::position);
};

// What it can do beyond the first version; sent after Started. Older daemons ignore it.
struct Abilities {
  bool can_freeze = false;
  static constexpr auto fields = std::tuple(&Abilities::can_freeze);
};
// After Freeze. `missed`: processes that could not be stopped.
struct Frozen {
  std::uint32_t missed = 0;
  static constexpr auto fields = std::tuple(&Frozen::missed);
};

// It understands InputLine; sent after Abilities. Older daemons ignore it.
struct TakesInputLines {};
// After the last part. Full: the tool does not read at the moment, or parts are missing; the line can be sent again.
// Closed: nothing reads its input.
struct InputLineTaken {
  std::uint32_t ticket = 0;
  enum class Outcome : std::uint8_t { taken, full, closed } outcome = Outcome::taken;
  friend constexpr Outcome last_enumerator(Outcome) noexcept { return Outcome::closed; }
  static constexpr auto fields = std::tuple(&InputLineTaken::ticket, &InputLineTaken::outcome);
};

// The present size of the terminal, which people and the tool can change; sent to a daemon that connects, before
// Prompt. Older daemons ignore it.
struct Resized {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
  static constexpr auto fields = std::tuple(&Resized::rows, &Resized::columns);
};

// The position of a message is its number, so new ones are appended: the daemon and a keeper may be of different
// versions.
using ToKeeper = std::variant<Assign, Go, Consumed, Input, CloseInput, Resize, Signal, Stop, Deadline, Lease, Answer,
                              StdinGrew, Freeze, Thaw, InputLine, StartIn>;
using FromKeeper = std::variant<Hello, Started, Grew, InputTaken, Trouble, Exited, Prompt, PromptOver, AnswerTaken,
                                StdinRead, Abilities, Frozen, TakesInputLines, InputLineTaken, Resized>;

std::string encode(const ToKeeper& message);
std::string encode(const FromKeeper& message);
// Nullopt if the bytes are not a valid message.
std::optional<ToKeeper> decode_to_keeper(std::string_view bytes);
std::optional<FromKeeper> decode_from_keeper(std::string_view bytes);

// Base name of a keeper's lock and socket in their folder.
std::string endpoint_name(std::int32_t pid, std::uint64_t started);

}  // namespace reeve::keeper
