#include "client/silence.h"

#include <algorithm>

#include <fmt/format.h>

#include "client/daemon.h"
#include "json/parse.h"
#include "os/process_stat.h"
#include "os/pseudo_file.h"

namespace reeve::client {

namespace {

using base::BootTime;
using base::ErrorCode;
using base::Milliseconds;
using Kind = Silence::Kind;

// A longer wait is always reported.
constexpr Milliseconds first_word = std::chrono::seconds(2);
constexpr Milliseconds probe_time = std::chrono::seconds(1);
constexpr Milliseconds shortest_pause = std::chrono::seconds(1);
constexpr Milliseconds longest_pause = std::chrono::seconds(10);

BootTime now() { return base::SystemClock().boot_now(); }

std::string name_daemon(const DaemonPlace& place, int pid) {
  if (place.host) return fmt::format("the daemon at {}", place.host->url());
  return pid > 0 ? fmt::format("the daemon (pid {})", pid) : "the daemon";
}

// The daemon's health, read on a separate connection; empty if it does not respond in time.
std::optional<base::Value> ask_health(const DaemonPlace& place) {
  try {
    Connection connection(place.endpoint());
    connection.set_waiting([](Milliseconds waited) {
      if (waited >= probe_time) throw ConnectionLost{"no response"};
    });
    const Response answer = connection.ask({.target = "/healthz"});
    auto document = json::parse(answer.body);
    if (answer.status != 200 || !document) return std::nullopt;
    return std::move(*document);
  } catch (const ConnectionLost&) {
    return std::nullopt;
  } catch (const base::Error&) {
    return std::nullopt;
  }
}

std::string text_of(const base::Value& document, std::string_view name) {
  const base::Value* found = document.find(name);
  return found != nullptr && found->as_string() != nullptr ? *found->as_string() : std::string();
}

}  // namespace

int find_daemon_pid(const DaemonPlace& place) {
  if (place.host) return 0;
  return static_cast<int>(os::parse_unsigned(os::read_pseudo_file((place.folder / "reeve.lock").c_str(), 32)));
}

Silence find_silence(const DaemonPlace& place) {
  const int pid = find_daemon_pid(place);
  const std::string name = name_daemon(place, pid);
  const auto stat = pid > 0 ? os::read_process_stat(pid) : std::nullopt;
  if (stat && (stat->state == 'T' || stat->state == 't')) {
    return {Kind::stopped, fmt::format("{}, which is suspended (by SIGSTOP or a debugger)", name),
            fmt::format("resume it: kill -CONT {}", pid)};
  }
  const auto health = ask_health(place);
  if (!health) {
    return {Kind::silent, fmt::format("{}, which does not respond", name),
            pid > 0 ? fmt::format("check process {} and logs/daemon.log in the state folder", pid)
                    : "check that it is running there"};
  }
  const std::string store = text_of(*health, "store");
  if (store == "locked") {
    return {Kind::store, "the store, which is locked by another program",
            "end its transaction; `reeve doctor` names the process"};
  }
  if (store == "unreachable") {
    return {Kind::store, "the store: the PostgreSQL server does not respond", "check the server"};
  }
  if (store == "busy") return {Kind::working, "the store, which is busy with a large operation", ""};
  return {Kind::working, fmt::format("{}, which is working on it", name), ""};
}

ReplyWait::ReplyWait(const DaemonPlace& place, const Request& question)
    : place_(place),
      waits_by_nature_(question.target.contains("/wait") || question.target.contains("follow=1")),
      keeps_waiting_(place.keeps_waiting || waits_by_nature_),
      changes_something_(question.method != "GET"),
      begun_(now()),
      next_look_(begun_) {}

Milliseconds ReplyWait::waited() const { return std::chrono::duration_cast<Milliseconds>(now() - begun_); }

void ReplyWait::look(Milliseconds waited) {
  // For a request that waits by design, each silence counts separately; otherwise the total counts.
  if (!waits_by_nature_) waited = std::max(waited, this->waited());
  if (waited < first_word || now() < next_look_) return;
  const Silence silence = find_silence(place_);
  const bool is_over = !keeps_waiting_ && waited >= place_.timeout && silence.kind != Kind::working;
  if (is_over) {
    throw base::Error(ErrorCode::daemon_unavailable,
                      fmt::format("gave up after {} s of waiting for {}{}",
                                  std::chrono::duration_cast<std::chrono::seconds>(waited).count(), silence.what,
                                  changes_something_ ? "; whether it was done is unknown, repeating it is safe" : ""),
                      silence.fix);
  }
  if (silence.kind != Kind::working || !waits_by_nature_) place_.tell(silence);
  // A long wait needs fewer checks.
  next_look_ = now() + std::clamp(waited / 4, shortest_pause, longest_pause);
}

}  // namespace reeve::client
