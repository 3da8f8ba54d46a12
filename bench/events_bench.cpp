#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/daemon.h"
#include "bench/figures.h"
#include "bench/parts.h"
#include "os/unix_socket.h"
#include "runtime/events/event_hub.h"
#include "server/resources/event_texts.h"

// Events, from their commit to subscribed clients.
//   reeve_events_bench FOLDER [PART…]   parts: delay deaf hub; default: all
namespace reeve::bench {
namespace {

namespace fs = std::filesystem;

using std::chrono::steady_clock;

struct Place {
  Programs programs;
  fs::path folder;
};

double ms_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

// A minimal client: performs the handshake, subscribes once, and counts frames.
class Listener {
 public:
  Listener(const Daemon& daemon, const std::string& message) : socket_(open(daemon)) {
    send(
        "GET /api/events HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    while (!rest_.contains("\r\n\r\n")) read();
    rest_.erase(0, rest_.find("\r\n\r\n") + 4);
    // Masked with zeros, which is a valid mask.
    std::string frame = "\x81";
    frame += static_cast<char>(0x80U | message.size());
    frame += std::string(4, '\0') + message;
    send(frame);
    // The confirmation of the subscription.
    while (messages_ == 0) read();
    messages_ = 0;
  }

  int fd() const noexcept { return socket_.get(); }
  // Reads available data and returns the number of messages since the last subscription.
  std::size_t messages() const noexcept { return messages_; }
  std::size_t bytes() const noexcept { return bytes_; }
  void read() {
    pollfd state{fd(), POLLIN, 0};
    constexpr int timeout_ms = 60'000;
    if (::poll(&state, 1, timeout_ms) <= 0) fail("nothing came");
    std::array<char, 65'536> buffer{};
    const ssize_t got = ::recv(fd(), buffer.data(), buffer.size(), 0);
    if (got <= 0) fail("the connection was closed");
    bytes_ += static_cast<std::size_t>(got);
    rest_.append(buffer.data(), static_cast<std::size_t>(got));
    if (rest_.starts_with("HTTP/")) return;
    count();
  }

 private:
  static os::Fd open(const Daemon& daemon) {
    auto socket = os::connect_to((daemon.state() / "reeve.sock").string(), os::SocketKind::stream);
    if (!socket) fail("cannot connect to the daemon");
    return std::move(*socket);
  }
  void send(std::string_view bytes) const {
    if (::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
      fail("send failed");
  }
  void count() {
    std::size_t at = 0;
    while (rest_.size() - at >= 2) {
      const auto byte = [&](std::size_t i) {
        return static_cast<std::size_t>(static_cast<unsigned char>(rest_[at + i]));
      };
      std::size_t head = 2;
      std::size_t length = byte(1) & 0x7FU;
      if (length == 126) {
        if (rest_.size() - at < 4) break;
        length = byte(2) * 256 + byte(3);
        head = 4;
      }
      if (rest_.size() - at < head + length) break;
      // Pings do not count; a close frame is an error.
      const std::size_t opcode = byte(0) & 0xFU;
      if (opcode == 8) fail("disconnected by the daemon");
      if (opcode == 1) ++messages_;
      at += head + length;
    }
    rest_.erase(0, at);
  }

  os::Fd socket_;
  std::string rest_;
  std::size_t messages_ = 0;
  std::size_t bytes_ = 0;
};

std::string subscribe(const std::string& name) {
  return fmt::format(R"({{"type":"subscribe","events":["{}"]}})", name);
}

// Waits until every client has that many messages; returns the time from `start` for half of them and for the last.
struct Spread {
  double half = 0;
  double all = 0;
};
Spread await(std::vector<std::unique_ptr<Listener>>& listeners, std::size_t wanted, steady_clock::time_point start) {
  std::vector<double> times;
  std::vector<bool> has_come(listeners.size(), false);
  while (times.size() < listeners.size()) {
    std::vector<pollfd> states;
    std::vector<std::size_t> whose;
    for (std::size_t i = 0; i < listeners.size(); ++i) {
      if (has_come[i]) continue;
      states.push_back({listeners[i]->fd(), POLLIN, 0});
      whose.push_back(i);
    }
    if (::poll(states.data(), states.size(), 60'000) <= 0) fail("nothing came");
    for (std::size_t i = 0; i < states.size(); ++i) {
      if ((states[i].revents & POLLIN) == 0) continue;
      Listener& one = *listeners[whose[i]];
      one.read();
      if (one.messages() < wanted) continue;
      has_come[whose[i]] = true;
      times.push_back(ms_since(start));
    }
  }
  return {median(times), times.back()};
}

// From sending a request to its event at all clients, including the commit.
void measure_delay(const Place& place) {
  constexpr int clients = 100;
  constexpr std::size_t rounds = 200;
  const Daemon daemon(place.programs, place.folder / "delay");
  client::Connection connection = daemon.connect();
  std::vector<std::unique_ptr<Listener>> listeners;
  for (int i = 0; i < clients; ++i) listeners.push_back(std::make_unique<Listener>(daemon, subscribe("run.queued")));
  std::vector<double> half;
  std::vector<double> all;
  std::vector<double> answered;
  for (std::size_t round = 1; round <= rounds; ++round) {
    base::RunId run{0};
    const auto start = steady_clock::now();
    double answer = 0;
    std::jthread asker([&] {
      run = start_run(connection, {.argv = {"/bin/true"}});
      answer = ms_since(start);
    });
    const Spread spread = await(listeners, round, start);
    asker.join();
    half.push_back(spread.half);
    all.push_back(spread.all);
    answered.push_back(answer);
    wait_completed(connection, run);
  }
  row("a request, committed and answered", fmt::format("{:.2f} ms", median(answered)), "floor");
  row(fmt::format("its event at {} WebSocket clients", clients), fmt::format("{:.2f} ms", median(all)),
      fmt::format("from the request to the last client; half of them {:.2f}, p99 {:.2f}; goal 10", median(half),
                  percentile(all, 0.99)));
}

// A workflow whose nodes are all skipped at once: `count` events in one commit.
std::string skipped_workflow(int count) {
  std::string nodes = "  - {id: start, type: task, task_config: {role: noop}}\n";
  std::string edges;
  std::string before = "start";
  for (int i = 0; i < count; ++i) {
    nodes += fmt::format("  - {{id: n{}, type: task, task_config: {{role: noop}}}}\n", i);
    edges += fmt::format("  - {{id: e{0}, source: {1}, target: n{0}{2}}}\n", i, before,
                         i == 0 ? R"(, condition: {field: missing, operator: "==", value: true})" : "");
    before = fmt::format("n{}", i);
  }
  return fmt::format("id: skipped\nname: Skipped\nentry_point: start\nexit_points: [start]\nnodes:\n{}edges:\n{}",
                     nodes, edges);
}

// Clients that never read: their memory cost, and whether they delay others.
void measure_deaf(const Place& place) {
  constexpr int clients = 200;
  constexpr std::size_t rounds = 50;
  const Daemon daemon(place.programs, place.folder / "deaf");
  client::Connection connection = daemon.connect();
  fs::create_directories(place.folder / "project");
  const std::string workflow = skipped_workflow(1'000);
  const auto make_events = [&] {
    wait_execution(connection, start_execution(connection, workflow, place.folder / "project"));
  };
  make_events();
  const auto measure = [&](const char* what) {
    std::vector<std::unique_ptr<Listener>> one;
    one.push_back(std::make_unique<Listener>(daemon, subscribe("run.queued")));
    std::vector<double> times;
    for (std::size_t round = 1; round <= rounds; ++round) {
      const auto start = steady_clock::now();
      const base::RunId run = start_run(connection, {.argv = {"/bin/true"}});
      times.push_back(await(one, round, start).all);
      wait_completed(connection, run);
    }
    row(fmt::format("an event at one client, {}", what), fmt::format("{:.2f} ms", median(times)),
        fmt::format("p99 {:.2f}", percentile(times, 0.99)));
  };
  measure("alone");
  const std::int64_t before = pss_kib(daemon.pid());
  std::vector<std::unique_ptr<Listener>> deaf;
  for (int i = 0; i < clients; ++i) deaf.push_back(std::make_unique<Listener>(daemon, subscribe("*")));
  for (int i = 0; i < 3; ++i) make_events();
  const std::int64_t after = pss_kib(daemon.pid());
  row(fmt::format("{} clients that never read, each", clients), fmt::format("{} KiB", (after - before) / clients),
      fmt::format("PSS of the daemon {} KiB, before {}; goal 1024", after, before));
  measure("next to clients that never read");
}

// Throughput of the hub without a network: published events, delivered to listeners that take everything. Publishing is
// paced by the slowest listener: one that falls further behind reads from the store, which is measured elsewhere.
void measure_hub(const Place&) {
  struct Taker final : runtime::EventListener {
    bool has_room() const override { return true; }
    void take(const runtime::EventText& text) override { bytes += text->size(), ++events; }
    void fall_behind() override { fail("a listener fell behind"); }
    void fail(const base::Error& error) override { bench::fail(error.message()); }
    std::size_t waiting() const override { return 0; }
    static void fail(const char* what) { bench::fail(what); }
    std::size_t bytes = 0;
    std::size_t events = 0;
  };
  constexpr std::int64_t total = 500'000;
  constexpr std::int64_t batch = 50;
  for (const int count : {1, 10, 100}) {
    runtime::Loop loop;
    std::vector<ledger::StoredEvent> stored;
    stored.reserve(total);
    for (std::int64_t seq = 1; seq <= total; ++seq) {
      stored.push_back(
          {seq, "2026-01-01T00:00:00.000Z", model::EventKind::node_status_change,
           R"({"execution_id":"EX-1","node_id":"a-node","status":"completed","iteration":0,"attempt":1})"});
    }
    const auto read = [&](std::int64_t after, std::int64_t most, std::function<void(runtime::EventHub::Found)> done) {
      const auto from = stored.begin() + after;
      std::vector<ledger::StoredEvent> page(from, from + std::min(most, total - after));
      loop.post([done = std::move(done), page = std::move(page)] { done(page); });
    };
    runtime::EventHub hub(loop, {read, [](const auto&) { return runtime::Loop::Hold(); }});
    std::vector<std::shared_ptr<Taker>> takers;
    std::vector<std::shared_ptr<runtime::EventSubscription>> subscriptions;
    for (int i = 0; i < count; ++i) {
      takers.push_back(std::make_shared<Taker>());
      subscriptions.push_back(hub.subscribe({.write = server::event_frame}, takers.back()));
    }
    std::atomic<std::int64_t> taken = 0;
    const auto start = steady_clock::now();
    std::jthread publisher([&] {
      constexpr std::int64_t ahead = 2'000;
      for (std::int64_t at = 0; at < total; at += batch) {
        for (auto seen = taken.load(); at - seen > ahead; seen = taken.load()) taken.wait(seen);
        hub.publish(std::span(stored).subspan(static_cast<std::size_t>(at), batch));
      }
    });
    std::function<void()> look = [&] {
      std::size_t slowest = total;
      for (const auto& one : takers) slowest = std::min(slowest, one->events);
      if (std::cmp_greater(slowest, taken.load())) {
        taken = static_cast<std::int64_t>(slowest);
        taken.notify_one();
      }
      if (slowest == total) return loop.stop();
      loop.post(look);
    };
    loop.post(look);
    loop.run();
    const double seconds = ms_since(start) / 1'000;
    row(fmt::format("through the hub to {} listeners", count),
        fmt::format("{:.0f} /s", static_cast<double>(total) / seconds),
        fmt::format("events, each to all listeners; {:.0f} MiB; goal 50000",
                    static_cast<double>(takers[0]->bytes) * count / (1024.0 * 1024.0)));
  }
}

std::vector<Part> parts_of(const Place& place) {
  return {
      {"delay", [place] { measure_delay(place); }},
      {"deaf", [place] { measure_deaf(place); }},
      {"hub", [place] { measure_hub(place); }},
  };
}

}  // namespace
}  // namespace reeve::bench

int main(int argc, char** argv) {
  using namespace reeve;
  const std::vector<std::string> words = bench::words_of(argc, argv, 1, "FOLDER [PART…]");
  const std::filesystem::path bin = bench::own_program().parent_path();
  bench::measure_parts(bench::parts_of({{bin / "reeve"}, std::filesystem::absolute(words[0])}),
                       {words.begin() + 1, words.end()});
}
