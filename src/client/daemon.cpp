#include "client/daemon.h"

#include <algorithm>
#include <array>
#include <poll.h>

#include "base/random.h"
#include "base/text.h"
#include "client/refusal.h"
#include "json/encode.h"
#include "json/parse.h"

namespace reeve::client {

namespace {

using base::BootTime;
using base::Milliseconds;
using base::Value;

// Between two tries. Nothing tells when a socket will be there.
constexpr Milliseconds pause_time{20};
// How long a daemon that leaves may hold the folder before another is started.
constexpr Milliseconds leave_time{200};
constexpr Milliseconds start_word = std::chrono::seconds(2);
// What is left of the patience after the store's first refusal is too short for another.
constexpr Milliseconds last_try = std::chrono::seconds(2);

BootTime now() { return base::SystemClock().boot_now(); }

void pause() { static_cast<void>(::poll(nullptr, 0, static_cast<int>(pause_time.count()))); }

std::string make_key() {
  std::array<std::byte, 16> bytes{};
  base::SystemRandom().fill(bytes);
  std::string key;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) key += '-';
    key += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
  }
  return key;
}

bool is_repeatable(const Question& question) {
  return question.method == "GET" ||
         std::ranges::any_of(question.headers, [](const auto& header) { return header.first == "Idempotency-Key"; });
}

// The daemon leaves or is not ready, or still works on the first sending of the same question.
bool says_later(const Answer& answer) {
  // Neither room for another run nor files that were removed come back within the patience of a client.
  const bool is_final =
      answer.body.contains("\"run.no_descriptors\"") || answer.body.contains("\"store.files_removed\"");
  if (answer.status == 503) return !is_final;
  return answer.status == 409 && answer.body.find("in_progress") != std::string::npos;
}

// The daemon lives, and its store does not answer it.
bool blames_store(const Answer& answer) {
  return answer.status == 503 && answer.body.find(R"("code":"store.)") != std::string::npos;
}

base::Error unavailable(const DaemonPlace& place, const std::string& why) {
  if (place.host) {
    return {"daemon.unavailable", fmt::format("no daemon answers at {}: {}", place.host->url(), why),
            "is it running there, with --http or server.http? the address of a socket is unix:///path/reeve.sock"};
  }
  return {"daemon.unavailable",
          fmt::format("the daemon of {} does not answer: {}", base::quoted(place.folder.string()), why),
          fmt::format("see what it says: reeve serve --state {}", place.folder.string())};
}

std::string words_of(const Starter& starter) {
  std::string_view text = base::trim(starter.text());
  // What it waited for before it failed is no longer the reason.
  const std::size_t failure = text.find("\nerror[");
  if (failure != std::string_view::npos) text.remove_prefix(failure + 1);
  // One sentence: what it failed at. The rest is seen where the fix points to.
  return text.empty() ? "it does not say why" : std::string(text.substr(0, text.find('\n')));
}

// A mistake in a file, or a state folder that may not be used, is reported as such wherever it is found.
void throw_if_refused(const Starter& starter) {
  constexpr std::string_view start = "error[";
  constexpr std::string_view fix_start = "  = ";
  const std::string_view text = base::trim(starter.text());
  const std::size_t code_end = text.find("]: ");
  if (!text.starts_with(start) || code_end == std::string_view::npos) return;
  const std::string_view code = text.substr(start.size(), code_end - start.size());
  if (code != "config.invalid" && !code.starts_with("state.")) return;
  const std::size_t message = code_end + 3;
  const std::size_t end = std::min(text.find('\n', message), text.size());
  std::string_view fix = text.substr(std::min(end + 1, text.size()));
  fix = fix.starts_with(fix_start) ? fix.substr(fix_start.size()) : std::string_view();
  throw base::Error(std::string(code), std::string(text.substr(message, end - message)),
                    std::string(fix.substr(0, fix.find('\n'))));
}

}  // namespace

void throw_bad_answer(const std::string& what) {
  throw base::Error("daemon.bad_answer", fmt::format("the daemon's answer cannot be read: {}", what),
                    "daemon and client may be of different versions: reeve stop");
}

bool Daemon::is_running() {
  if (connection_) return true;
  try {
    connection_.emplace(place_.endpoint());
    was_found_ = true;
    return true;
  } catch (const Lost&) {
    return false;
  }
}

Connection Daemon::connect() {
  Connection connection = connect_until(now() + place_.patience);
  // Whoever has it reads what comes, whenever that is.
  const auto place = std::make_shared<const DaemonPlace>(place_);
  const auto patience = std::make_shared<Patience>(*place, Question{.target = "/?follow=1"});
  connection.set_waiting([place, patience](Milliseconds waited) { patience->look(waited); });
  return connection;
}

void Daemon::tell_start(const std::optional<Starter>& starter) const {
  const bool has_words = starter && !starter->text().empty() && !starter->was_beaten();
  place_.tell({Silence::Kind::silent,
               has_words ? fmt::format("the daemon to start; it says: {}", words_of(*starter)) : "the daemon to start",
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
    } catch (const Lost& lost) {
      if (place_.host) {
        if (!was_found_ || now() >= deadline) throw unavailable(place_, lost.what);
        pause();
        continue;
      }
      if (!place_.no_start.empty()) {
        throw base::Error(
            "daemon.unavailable",
            fmt::format("no daemon answers for {}, and {}", base::quoted(place_.folder.string()), place_.no_start),
            fmt::format("start one: reeve serve --state {}", place_.folder.string()));
      }
      // The start is over and the daemon cannot be reached.
      const bool has_failed = starter && starter->is_done() && !starter->text().empty() && !starter->was_beaten();
      if (has_failed) throw_if_refused(*starter);
      if (has_failed) throw unavailable(place_, words_of(*starter));
      // One that is on its way may wait for its store.
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

Answer Daemon::ask(const Question& question) {
  // The patience with a loss begins with it: an answer itself may take as long as was asked for.
  std::optional<BootTime> deadline;
  Patience patience(place_, question);
  while (true) {
    std::string why;
    try {
      if (!connection_) connection_ = connect_until(deadline.value_or(now() + place_.patience));
      connection_->set_waiting([&patience](Milliseconds waited) { patience.look(waited); });
      Answer answer = connection_->ask(question);
      connection_->set_waiting({});
      if (!says_later(answer)) return answer;
      const bool is_late =
          blames_store(answer) ? patience.waited() + last_try >= place_.patience : deadline && now() >= *deadline;
      const bool may_wait = blames_store(answer) && patience.keeps_waiting() && is_repeatable(question);
      if (is_late && !may_wait) return answer;
      if (may_wait) patience.look(patience.waited());
    } catch (const base::Error&) {
      connection_.reset();
      throw;
    } catch (const Lost& lost) {
      connection_.reset();
      why = lost.what;
      if (!is_repeatable(question)) throw unavailable(place_, why + "; whether it acted is not known");
      if (deadline && now() >= *deadline) throw unavailable(place_, why);
    }
    if (!deadline) deadline = now() + place_.patience;
    pause();
  }
}

Value Daemon::get(const std::string& target) {
  const Answer answer = ask({.target = target});
  if (answer.status >= 400) throw make_refusal(answer);
  auto document = json::parse(answer.body);
  if (!document) throw_bad_answer(document.error().text());
  return std::move(*document);
}

Value Daemon::post(const std::string& target, const Value& body) {
  const Answer answer = ask({.method = "POST",
                             .target = target,
                             .body = json::encode(body),
                             .headers = {{"Content-Type", "application/json"}, {"Idempotency-Key", make_key()}}});
  if (answer.status >= 400) throw make_refusal(answer);
  if (answer.body.empty()) return {};
  auto document = json::parse(answer.body);
  if (!document) throw_bad_answer(document.error().text());
  return std::move(*document);
}

void Daemon::follow(const Stream& stream) {
  std::optional<BootTime> lost_at;
  while (true) {
    try {
      Connection connection = connect();
      const Question question = stream.question();
      const auto patience = std::make_shared<Patience>(place_, question);
      connection.set_waiting([patience](Milliseconds waited) { patience->look(waited); });
      const Answer head = connection.begin(question);
      const bool is_later = says_later(head) && (!lost_at || now() - *lost_at < place_.patience ||
                                                 (blames_store(head) && place_.keeps_waiting));
      if (!is_later) {
        if (head.status != 200) throw make_refusal(head);
        stream.begin(head);
        while (true) {
          const std::string bytes = connection.read();
          if (bytes.empty()) return;
          lost_at.reset();
          if (!stream.take(bytes)) return;
        }
      }
      if (!lost_at) lost_at = now();
    } catch (const Lost& lost) {
      if (!lost_at) lost_at = now();
      if (now() - *lost_at >= place_.patience) throw unavailable(place_, lost.what);
    }
    pause();
  }
}

}  // namespace reeve::client
