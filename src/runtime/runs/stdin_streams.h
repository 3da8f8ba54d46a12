#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/id.h"
#include "keeper/message.h"
#include "keeper/records.h"
#include "runtime/loop/hold_map.h"
#include "runtime/loop/loop.h"
#include "runtime/loop/runtime_context.h"
#include "runtime/loop/work_thread.h"

namespace reeve::runtime {

// The standard input that clients stream to runs (RUN-9). The stream is stored in the run's folder before it is
// acknowledged; the keeper feeds it to the tool from there. So a client can continue with the next daemon, and the next
// attempt reads the stream from its beginning, as long as no more than `keeper::stdin_bytes` were sent. Lives on the
// loop; files are written on a thread.
class StdinStreams {
 public:
  struct Hooks {
    // There is more for the keeper.
    std::function<void(base::RunId)> grew;
    // A part was sent, but nobody sends the rest.
    std::function<void(base::RunId)> broke_off;
  };
  StdinStreams(RuntimeContext& context, Hooks hooks) : context_(context), hooks_(std::move(hooks)) {}
  StdinStreams(const StdinStreams&) = delete;
  StdinStreams& operator=(const StdinStreams&) = delete;

  struct Place {
    // Bytes stored so far; the client continues here.
    std::uint64_t position = 0;
    // More is accepted up to here; it moves while the tool reads.
    std::uint64_t limit = 0;
    bool has_ended = false;
  };
  // Nothing if the run takes no streamed input, or has ended.
  std::optional<Place> find(base::RunId run);

  struct Piece {
    std::uint64_t offset = 0;
    std::string bytes;
    bool is_end = false;
  };
  // Stores as much of the piece as there is room for; bytes that are stored already are skipped. Errors: `run.no_input`
  // if there is no open stream or the piece does not continue it, `run.unwritable`, `store.busy`.
  using Answer = std::function<void(std::expected<Place, base::Error>)>;
  void write(base::RunId run, Piece piece, Answer answer);
  // The sending client is connected while the hold exists. `changed` is called when the place may have changed, and
  // when the stream is over.
  [[nodiscard]] Loop::Hold attach(base::RunId run, std::function<void()> changed);

  // From now on, a stream that has not ended must have a sender.
  void expect_sender(base::RunId run);
  // Sent to the keeper when an attempt begins or is adopted by this daemon.
  keeper::StdinGrew begin_attempt(base::RunId run);
  // The attempt is over: the next one begins to read at the start.
  void end_attempt(base::RunId run);
  void on_read(base::RunId run, std::uint64_t position);
  // Why another attempt cannot be given the same input; nothing if it can.
  std::optional<std::string> find_rerun_refusal(base::RunId run);
  // A stream of which not a byte has arrived.
  bool is_empty(base::RunId run);
  // The run has ended.
  void close(base::RunId run);

 private:
  struct Stream {
    keeper::StdinHead head;
    // Read by the keeper of the live attempt.
    std::uint64_t read = 0;
    bool is_writing = false;
    std::deque<Loop::Task> waiting = {};
  };
  Stream* find_stream(base::RunId run);
  static Place place_of(const Stream& stream);
  bool has_sender(base::RunId run) const { return !senders_.find(run).empty(); }
  void store(base::RunId run, Stream& stream, Piece piece, Answer answer);
  void notify(base::RunId run);
  void check_sender(base::RunId run);

  RuntimeContext& context_;
  Hooks hooks_;
  std::map<base::RunId, Stream> streams_;
  HoldMap<base::RunId, std::function<void()>> senders_{context_.loop};
  // Until when a sender must have come back.
  std::map<base::RunId, Loop::Hold> absences_;
  // Lets callbacks detect that this object is gone.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  // Declared last: its work uses the members above.
  WorkThread writer_;
};

}  // namespace reeve::runtime
