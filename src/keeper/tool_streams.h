#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <span>
#include <string>

#include "keeper/message.h"
#include "keeper/output_writer.h"
#include "os/spawn.h"

namespace reeve::keeper {

// What goes between the tool and this process: its terminal or pipes, and the files that its output is appended to.
class ToolStreams {
 public:
  // Two that are read from, and one that is written to.
  static constexpr std::size_t ends = 3;

  // The folder must outlive it.
  ToolStreams(const os::Folder& folder, std::uint64_t output_cap) : output_(folder, output_cap) {}

  // What the mode asks for; the tool's own ends are put into `plan`, to be closed when it has its copies.
  void open(const Assign& assign, bool has_prompt, os::SpawnPlan& plan);
  void close_sources() noexcept;
  // The tool has ended: the terminal ends too when nobody else has it open.
  void release_terminal() noexcept { slave_ = os::Fd(); }

  void watch(std::span<pollfd, ends> polled) noexcept;
  // Reads and writes where poll() found something; `has_ended`: the tool has, all that is there is taken.
  void act(std::span<const pollfd, ends> polled, bool has_ended);
  // What is there is taken; whoever still holds the other end is not waited for.
  void drain();
  bool is_drained() const noexcept;

  // False when there is no place or no room for it.
  bool take_input(std::string_view bytes);
  void write_input();
  // No more than what waits.
  void close_input();

  OutputWriter& output() noexcept { return output_; }
  const OutputWriter& output() const noexcept { return output_; }
  std::optional<os::Pty>& pty() noexcept { return pty_; }
  // The tool's end of the terminal; -1 without one, or when it was released.
  int terminal() const noexcept { return slave_.get(); }
  // How many bytes were taken for the tool so far.
  std::uint64_t typed() const noexcept { return typed_; }

 private:
  // A stream of the tool that is read from.
  struct Source {
    os::Fd own;
    int fd = -1;
    std::uint8_t stream = 0;
    bool is_busy = false;
    bool is_open() const noexcept { return fd >= 0; }
    void close() noexcept {
      fd = -1;
      own = os::Fd();
    }
  };

  // False when there is nothing more to read now, or no room for it.
  bool read_frame(Source& source, bool has_ended);
  int input_fd() const noexcept { return pty_ ? pty_->master().get() : input_.get(); }

  OutputWriter output_;
  std::optional<os::Pty> pty_;
  // Held open while the tool lives: a tool that closes its terminal for a moment does not end it.
  os::Fd slave_;
  std::array<Source, 2> sources_;
  os::Fd input_;
  std::string pending_input_;
  std::uint64_t typed_ = 0;
  bool closes_input_ = false;
};

}  // namespace reeve::keeper
