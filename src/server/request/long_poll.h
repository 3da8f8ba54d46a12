#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "runtime/loop/loop.h"
#include "server/http/http.h"

namespace reeve::server {

// The `timeout` parameter of a request that waits: 60 s by default, at most 5 minutes. Throws `api.bad_request`.
base::Milliseconds parse_poll_timeout(const Request& request);

// A request that waits for a record to change. It ends once, by whichever comes first: a callback made by once(), the
// timeout, a call of end(), or the disconnection of the client. Whatever comes later does nothing, so that the request
// is answered once, and not at all without its client.
//
//   const auto poll = LongPoll::begin(loop, *exchange->responder);
//   poll->keep(subscribe(poll->once(answer)));
//   poll->expire_after(timeout, show);
//
// Subscribe before reading the record, so that a change in between is not missed.
//
// The subscription and the timers own the poll through their callbacks, and the poll owns their holds until it ends.
// The holds are released by a posted task, because a callback must not destroy itself. Lives on the loop.
class LongPoll : public std::enable_shared_from_this<LongPoll> {
 public:
  // Ends when the client disconnects before the response. The loop must outlive the poll.
  static std::shared_ptr<LongPoll> begin(runtime::Loop& loop, Responder& responder);
  LongPoll(const LongPoll&) = delete;
  LongPoll& operator=(const LongPoll&) = delete;

  // A copyable callback that ends the poll and then calls `answer`; does nothing if the poll is over.
  template <class Answer>
  auto once(Answer answer) {
    return [self = shared_from_this(), answer = std::move(answer)]<class... Args>(Args&&... args) {
      if (self->end()) answer(std::forward<Args>(args)...);
    };
  }

  // Owns the subscription, at most one, until the end.
  void keep(runtime::Loop::Hold subscription);
  // Ends the poll after that time and calls `expired`, unless the poll is over by then. Call at most once.
  void expire_after(base::Milliseconds timeout, std::function<void()> expired);
  // Calls `read` after that time, unless the poll is over by then; the poll continues. A later call replaces this one.
  void read_after(base::Milliseconds pause, std::function<void()> read);

  // True if this call ended the poll; its caller then answers the request.
  bool end();
  bool is_over() const noexcept { return is_over_; }

 private:
  explicit LongPoll(runtime::Loop& loop) : loop_(loop) {}
  void release_later();

  runtime::Loop& loop_;
  runtime::Loop::Hold subscription_;
  runtime::Loop::Hold timeout_;
  runtime::Loop::Hold pause_;
  bool is_over_ = false;
};

}  // namespace reeve::server
