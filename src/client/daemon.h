#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/value.h"
#include "client/http.h"
#include "client/silence.h"
#include "client/starter.h"
#include "json/decode.h"

namespace reeve::client {

// How to reach the daemon of one state folder.
struct DaemonPlace {
  // Absolute.
  std::filesystem::path folder;
  std::filesystem::path socket;
  // A daemon at another address, which is never started from here.
  std::optional<Endpoint> host = {};
  // Why no daemon may be started from here ("clients inside a run do not start one"); empty if one may.
  std::string no_start = {};
  Programs programs = {};
  // Creates the folder, or checks that a daemon may be started in it; called before each start. Throws if not.
  std::function<void()> prepare = [] {};
  // Names of variables to pass to a started daemon; called only then.
  std::function<std::vector<std::string>()> variables = [] { return std::vector<std::string>(); };
  // The total time to wait for a daemon that does not respond.
  base::Milliseconds timeout = std::chrono::seconds(5);
  // Waits indefinitely: the work continues meanwhile, or is started only once.
  bool keeps_waiting = false;
  // Called with the reason after two seconds of waiting, and repeatedly.
  std::function<void(const Silence&)> tell = [](const Silence&) {};

  Endpoint endpoint() const { return host ? *host : Endpoint{.socket = socket}; }
};

// A new Idempotency-Key.
std::string make_key();

// The daemon of one state folder: started if none is running, and reconnected after a loss. No response within the
// timeout is `daemon.unavailable`; a refusal by the daemon is a Refusal.
class Daemon {
 public:
  explicit Daemon(DaemonPlace place) : place_(std::move(place)) {}

  // A separate connection.
  Connection connect();
  // Whether a daemon responds now. Starts nothing.
  bool is_running();

  // Returns any status. After a lost connection, repeats requests that are safe to repeat: GET, and those with an
  // Idempotency-Key.
  Response ask(const Request& question);
  // The document of a response with a status below 400.
  base::Value get(const std::string& target);
  // The document of a resource with its ETag; empty if the daemon sends none.
  struct Tagged {
    base::Value document;
    std::string tag;
  };
  Tagged get_tagged(const std::string& target);
  // Sends a new Idempotency-Key, so that the action is performed once even if the request is repeated.
  base::Value post(const std::string& target, const base::Value& body);
  struct PostTerms {
    // The Idempotency-Key.
    std::string key;
    // An ETag: nothing is done if the resource has changed since (`api.precondition_failed`). Empty: not checked.
    std::string tag;
  };
  base::Value post(const std::string& target, const base::Value& body, const PostTerms& terms);

  // Reads a streamed response and resumes it after a lost connection. `question` returns the request to continue with;
  // `begin` gets the head of each response; `take` returns false to stop. Returns at the end of the response.
  struct Stream {
    std::function<Request()> question;
    std::function<void(const Response&)> begin = [](const Response&) {};
    std::function<bool(std::string_view)> take;
    // Called several times a second while nothing arrives; true ends the reading.
    std::function<bool()> is_over = [] { return false; };
  };
  void follow(const Stream& stream);

  const DaemonPlace& place() const noexcept { return place_; }

 private:
  Connection connect_until(base::BootTime deadline);
  void tell_start(const std::optional<Starter>& starter) const;

  DaemonPlace place_;
  // Whether a connection succeeded before; then a lost daemon is waited for.
  bool was_found_ = false;
  std::optional<Connection> connection_;
};

// Decodes a document as a described type; throws `daemon.bad_answer` if it does not match.
[[noreturn]] void throw_bad_answer(const std::string& what);
template <class T>
T decode(const base::Value& document) {
  auto value = json::from_value<T>(document);
  if (!value) throw_bad_answer(value.error());
  return std::move(*value);
}

}  // namespace reeve::client
