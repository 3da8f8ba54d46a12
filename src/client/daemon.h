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
  // Elsewhere than in that folder: none is ever started there.
  std::optional<Endpoint> host = {};
  // Why none may be started from here ("a client inside a run starts none"); empty when one may.
  std::string no_start = {};
  Programs programs = {};
  // Makes the folder, or checks that a daemon may be started in it; called before each start. Throws what forbids it.
  std::function<void()> prepare = [] {};
  // Names of variables that a daemon that is started is to have; asked only then.
  std::function<std::vector<std::string>()> variables = [] { return std::vector<std::string>(); };
  // How long a daemon that does not answer is waited for, in all.
  base::Milliseconds patience = std::chrono::seconds(5);
  // Waits for as long as it takes: what was begun goes on meanwhile, or is begun once.
  bool keeps_waiting = false;
  // Told after two seconds what is waited for, and again.
  std::function<void(const Silence&)> tell = [](const Silence&) {};

  Endpoint endpoint() const { return host ? *host : Endpoint{.socket = socket}; }
};

// The daemon of one state folder, as long as it exists and beyond: one that is not there is started, one that went away
// is found again. What has no answer within the patience is `daemon.unavailable`, what the daemon refuses a Refusal.
class Daemon {
 public:
  explicit Daemon(DaemonPlace place) : place_(std::move(place)) {}

  // A connection of its own.
  Connection connect();
  // Whether one answers now. Starts nothing.
  bool is_running();

  // Any status. Over a lost connection it asks again where that harms nothing: GET, and what carries an
  // Idempotency-Key.
  Answer ask(const Question& question);
  // The document of an answer below 400.
  base::Value get(const std::string& target);
  // With an Idempotency-Key of its own, so that it is done once however often it must be asked.
  base::Value post(const std::string& target, const base::Value& body);

  // An answer that comes piece by piece and is taken up again after a lost connection. `question` says each time where
  // to go on; `begin` sees the head of each answer; `take` gives false to stop. Returns at the end of the answer.
  struct Stream {
    std::function<Question()> question;
    std::function<void(const Answer&)> begin = [](const Answer&) {};
    std::function<bool(std::string_view)> take;
  };
  void follow(const Stream& stream);

  const DaemonPlace& place() const noexcept { return place_; }

 private:
  Connection connect_until(base::BootTime deadline);
  void tell_start(const std::optional<Starter>& starter) const;

  DaemonPlace place_;
  // It was there once: then it is waited for.
  bool was_found_ = false;
  std::optional<Connection> connection_;
};

// A document as a described type; `daemon.bad_answer` when it is none.
[[noreturn]] void throw_bad_answer(const std::string& what);
template <class T>
T decode(const base::Value& document) {
  auto value = json::from_value<T>(document);
  if (!value) throw_bad_answer(value.error());
  return std::move(*value);
}

}  // namespace reeve::client
