#include "client/daemon.h"

#include <algorithm>
#include <poll.h>

#include "base/random.h"
#include "base/text.h"
#include "client/refusal.h"
#include "json/encode.h"
#include "json/parse.h"

namespace reeve::client {

namespace {

using base::BootTime;
using base::ErrorCode;
using base::Milliseconds;
using base::Value;

// The pause between two attempts; there is no notification for a new socket.
constexpr Milliseconds pause_time{20};
// How long an exiting daemon may hold the folder before another is started.
constexpr Milliseconds leave_time{200};
constexpr Milliseconds start_word = std::chrono::seconds(2);
// With less than this left of the timeout after a refusal by the store, another attempt is pointless.
constexpr Milliseconds last_try = std::chrono::seconds(2);

// The caller of a stream needs no more of it.
struct StreamLeft {};

BootTime now() { return base::SystemClock().boot_now(); }

void pause() { static_cast<void>(::poll(nullptr, 0, static_cast<int>(pause_time.count()))); }

bool is_repeatable(const Request& question) {
  return question.method == "GET" ||
         std::ranges::any_of(question.headers, [](const auto& header) { return header.first == "Idempotency-Key"; });
}

// Whether to retry later: the daemon is exiting or not ready, or still processes the same request.
bool says_later(const Response& answer) {
  // Descriptors and removed files do not come back within a client's timeout.
  const bool is_final =
      answer.body.contains("\"run.no_descriptors\"") || answer.body.contains("\"store.files_removed\"");
  if (answer.status == 503) return !is_final;
  return answer.status == 409 && answer.body.find("in_progress") != std::string::npos;
}

// The daemon runs, but its store does not respond.
bool blames_store(const Response& answer) {
  return answer.status == 503 && answer.body.find(R"("code":"store.)") != std::string::npos;
}

base::Error unavailable(const DaemonPlace& place, const std::string& why) {
  if (place.host) {
    return {ErrorCode::daemon_unavailable, fmt::format("no daemon responds at {}: {}", place.host->url(), why),
            "check that it is running there with --http or server.http; for a socket, use unix:///path/reeve.sock"};
  }
  return {ErrorCode::daemon_unavailable,
          fmt::format("the daemon of {} does not respond: {}", base::quoted(place.folder.string()), why),
          fmt::format("see its messages: reeve serve --state {}", place.folder.string())};
}

std::string words_of(const Starter& starter) {
  std::string_view text = base::trim(starter.text());
  // Messages before the failure are not the reason.
  const std::size_t failure = text.find("\nerror[");
  if (failure != std::string_view::npos) text.remove_prefix(failure + 1);
  // Only the first line; the fix shows how to see the rest.
  return text.empty() ? "no reason given" : std::string(text.substr(0, text.find('\n')));
}

// Rethrows config errors and refused state folders under their own code.
void throw_if_refused(const Starter& starter) {
  constexpr std::string_view start = "error[";
  constexpr std::string_view fix_start = "  = ";
  const std::string_view text = base::trim(starter.text());
  const std::size_t code_end = text.find("]: ");
  if (!text.starts_with(start) || code_end == std::string_view::npos) return;
  const auto code = base::AnyErrorCode::received(std::string(text.substr(start.size(), code_end - start.size())));
  if (code != ErrorCode::config_invalid && !code.is_in(base::ErrorArea::state)) return;
  const std::size_t message = code_end + 3;
  const std::size_t end = std::min(text.find('\n', message), text.size());
  std::string_view fix = text.substr(std::min(end + 1, text.size()));
  fix = fix.starts_with(fix_start) ? fix.substr(fix_start.size()) : std::string_view();
  throw base::Error(code, std::string(text.substr(message, end - message)), std::string(fix.substr(0, fix.find('\n'))));
}

}  // namespace

std::string make_key() {
  std::string key = base::random_hex(16);
  for (const std::size_t at : {20U, 16U, 12U, 8U}) key.insert(at, 1, '-');
  return key;
}

void throw_bad_answer(const std::string& what) {
  throw base::Error(ErrorCode::daemon_bad_answer, fmt::format("cannot read the daemon's response: {}", what),
                    "daemon and client versions may differ; to restart the daemon: reeve stop");
}

bool Daemon::is_running() {
  if (connection_) return true;
  try {
    connection_.emplace(place_.endpoint());
    was_found_ = true;
    return true;
  } catch (const ConnectionLost&) {
    return false;
  }
}

Connection Daemon::connect() {
  Connection connection = connect_until(now() + place_.timeout);
  // The owner reads a stream, so silence is normal.
  const auto place = std::make_shared<const DaemonPlace>(place_);
  const auto wait = std::make_shared<ReplyWait>(*place, Request{.target = "/?follow=1"});
  connection.set_waiting([place, wait](Milliseconds waited) { wait->look(waited); });
  return connection;
}

void Daemon::tell_start(const std::optional<Starter>& starter) const {
  const bool has_words = starter && !starter->text().empty() && !starter->was_beaten();
  place_.tell(
      {Silence::Kind::silent,
       has_words ? fmt::format("the daemon to start; it reports: {}", words_of(*starter)) : "the daemon to start",
       {}});
}

Connection Daemon::connect_until(BootTime deadline) {
  std::optional<Starter> starter;
  BootTime started_at;
  const BootTime first_word = now() + start_word;
  while (true) {
    try {
      Connection connection(place_.endpoint());
      was_found_ = true;
      return connection;
    } catch (const ConnectionLost& lost) {
      if (place_.host) {
        if (!was_found_ || now() >= deadline) throw unavailable(place_, lost.what);
        pause();
        continue;
      }
      if (!place_.no_start.empty()) {
        throw base::Error(
            ErrorCode::daemon_unavailable,
            fmt::format("no daemon responds for {}, and {}", base::quoted(place_.folder.string()), place_.no_start),
            fmt::format("start one: reeve serve --state {}", place_.folder.string()));
      }
      // The start has finished, but the daemon is not reachable.
      const bool has_failed = starter && starter->is_done() && !starter->text().empty() && !starter->was_beaten();
      if (has_failed) throw_if_refused(*starter);
      if (has_failed) throw unavailable(place_, words_of(*starter));
      // A starting daemon may be waiting for its store.
      const bool may_come = place_.keeps_waiting && starter && !starter->is_done();
      if (now() >= deadline && !may_come) throw unavailable(place_, starter ? words_of(*starter) : lost.what);
      if (now() >= first_word) tell_start(starter);
    }
    const bool is_over = starter && starter->is_done() && starter->was_beaten() && now() - started_at > leave_time;
    if (!starter || is_over) {
      place_.prepare();
      starter.emplace(place_.folder, place_.programs, place_.variables());
      started_at = now();
    }
    starter->wait(pause_time);
  }
}

Response Daemon::ask(const Request& question) {
  // The timeout starts with a lost connection: the response itself may take as long as requested.
  std::optional<BootTime> deadline;
  ReplyWait wait(place_, question);
  while (true) {
    std::string why;
    try {
      if (!connection_) connection_ = connect_until(deadline.value_or(now() + place_.timeout));
      connection_->set_waiting([&wait](Milliseconds waited) { wait.look(waited); });
      Response answer = connection_->ask(question);
      connection_->set_waiting({});
      if (!says_later(answer)) return answer;
      const bool is_late =
          blames_store(answer) ? wait.waited() + last_try >= place_.timeout : deadline && now() >= *deadline;
      const bool may_wait = blames_store(answer) && wait.keeps_waiting() && is_repeatable(question);
      if (is_late && !may_wait) return answer;
      if (may_wait) wait.look(wait.waited());
    } catch (const base::Error&) {
      connection_.reset();
      throw;
    } catch (const ConnectionLost& lost) {
      connection_.reset();
      why = lost.what;
      if (!is_repeatable(question)) throw unavailable(place_, why + "; whether the request was carried out is unknown");
      if (deadline && now() >= *deadline) throw unavailable(place_, why);
    }
    if (!deadline) deadline = now() + place_.timeout;
    pause();
  }
}

Value Daemon::get(const std::string& target) { return get_tagged(target).document; }

Daemon::Tagged Daemon::get_tagged(const std::string& target) {
  const Response answer = ask({.target = target});
  if (answer.status >= 400) throw make_refusal(answer);
  auto document = json::parse(answer.body);
  if (!document) throw_bad_answer(document.error().text());
  return {std::move(*document), answer.header("ETag").value_or("")};
}

Value Daemon::post(const std::string& target, const Value& body) {
  return post(target, body, {.key = make_key(), .tag = {}});
}

Value Daemon::post(const std::string& target, const Value& body, const PostTerms& terms) {
  Headers headers = {{"Content-Type", "application/json"}, {"Idempotency-Key", terms.key}};
  if (!terms.tag.empty()) headers.emplace_back("If-Match", terms.tag);
  const Response answer =
      ask({.method = "POST", .target = target, .body = json::encode(body), .headers = std::move(headers)});
  if (answer.status >= 400) throw make_refusal(answer);
  if (answer.body.empty()) return {};
  auto document = json::parse(answer.body);
  if (!document) throw_bad_answer(document.error().text());
  return std::move(*document);
}

void Daemon::follow(const Stream& stream) {
  std::optional<BootTime> lost_at;
  while (true) {
    std::optional<BootTime> streams_since;
    try {
      Connection connection = connect();
      const Request question = stream.question();
      const auto wait = std::make_shared<ReplyWait>(place_, question);
      connection.set_waiting([wait, &stream](Milliseconds waited) {
        if (stream.is_over()) throw StreamLeft{};
        wait->look(waited);
      });
      const Response head = connection.begin(question);
      const bool is_later = says_later(head) && (!lost_at || now() - *lost_at < place_.timeout ||
                                                 (blames_store(head) && place_.keeps_waiting));
      if (!is_later) {
        if (head.status != 200) throw make_refusal(head);
        stream.begin(head);
        streams_since = now();
        while (true) {
          const std::string bytes = connection.read();
          if (bytes.empty()) return;
          lost_at.reset();
          if (!stream.take(bytes)) return;
        }
      }
      if (!lost_at) lost_at = now();
    } catch (const StreamLeft&) {
      return;
    } catch (const ConnectionLost& lost) {
      // A tool that prints nothing sends no bytes, but a stream that lasted had a daemon.
      const bool has_lasted = streams_since && now() - *streams_since >= std::chrono::seconds(1);
      if (!lost_at || has_lasted) lost_at = now();
      if (now() - *lost_at >= place_.timeout) throw unavailable(place_, lost.what);
    }
    pause();
  }
}

}  // namespace reeve::client
