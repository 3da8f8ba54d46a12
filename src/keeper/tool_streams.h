#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <span>
#include <string>

#include "keeper/message.h"
#include "keeper/output_writer.h"
#include "keeper/stdin_feed.h"
#include "os/spawn.h"

namespace reeve::keeper {

// The data between the tool and this process: its terminal or pipes, and the files that receive its output.
class ToolStreams {
 public:
  // Two for reading, one for writing.
  static constexpr std::size_t ends = 3;

  // The folder must outlive it.
  ToolStreams(const os::Folder& folder, std::uint64_t output_cap) : output_(folder, output_cap) {}

  // The tool's standard input is streamed; called before open(). False if its file cannot be opened.
  bool take_stdin(const std::string& run_folder, const StdinGrew& news);
  std::optional<StdinFeed>& stdin_feed() noexcept { return stdin_; }

  // Opens what the mode requires; the tool's ends are put into `plan`, and must be closed once the tool has its copies.
  void open(const Assign& assign, bool has_prompt, os::SpawnPlan& plan);
  void close_sources() noexcept;
  // The tool has ended: the terminal ends too, unless another process has it open.
  void release_terminal() noexcept { slave_ = os::Fd(); }

  void watch(std::span<pollfd, ends> polled) noexcept;
  // Reads and writes as indicated by poll(); `has_ended`: the tool has ended, so everything available is read.
  void act(std::span<const pollfd, ends> polled, bool has_ended);
  // Reads what is available, without waiting for processes that still have the other end open.
  void drain();
  bool is_drained() const noexcept;

  // False if there is no input stream or its buffer is full.
  bool take_input(std::string_view bytes);
  // The whole line or nothing.
  InputLineTaken::Outcome take_line(std::string_view line);
  void write_input();
  // Closes the input after the pending bytes.
  void close_input();

  OutputWriter& output() noexcept { return output_; }
  const OutputWriter& output() const noexcept { return output_; }
  std::optional<os::Pty>& pty() noexcept { return pty_; }
  // The tool's end of the terminal; -1 if there is none, or it was released.
  int terminal() const noexcept { return slave_.get(); }
  // Number of input bytes accepted so far.
  std::uint64_t typed() const noexcept { return typed_; }

 private:
  // An output stream of the tool.
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

  // False if there is nothing more to read now, or no space for it.
  bool read_frame(Source& source, bool has_ended);
  // Whether there are bytes to write to the tool.
  bool has_input();
  int input_fd() const noexcept { return pty_ ? pty_->master().get() : input_.get(); }

  OutputWriter output_;
  std::optional<os::Pty> pty_;
  // Kept open while the tool runs: a tool that closes its terminal for a moment does not end it.
  os::Fd slave_;
  std::array<Source, 2> sources_;
  os::Fd input_;
  std::string pending_input_;
  std::uint64_t typed_ = 0;
  bool closes_input_ = false;
  // The source of the input, if a client streams it.
  std::optional<StdinFeed> stdin_;
};

}  // namespace reeve::keeper
