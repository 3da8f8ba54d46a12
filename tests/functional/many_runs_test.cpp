#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"
#include "tests/support/socket.h"

// Thousands of runs leave nothing behind but their records.
namespace reeve {
namespace {

namespace fs = std::filesystem;

class ManyRuns : public testing::DaemonTest {
 protected:
  pid_t daemon_pid() const {
    std::ifstream file(state() / "reeve.lock");
    pid_t pid = 0;
    file >> pid;
    return pid;
  }
  static std::size_t count_descriptors(pid_t pid) {
    const fs::path folder = fs::path("/proc") / std::to_string(pid) / "fd";
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }
  static std::size_t resident_kib(pid_t pid) {
    std::ifstream file(fmt::format("/proc/{}/status", pid));
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
    }
    return 0;
  }
  // Children that have exited and were not waited for.
  static int count_zombies(pid_t parent) {
    int count = 0;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::ifstream file(entry.path() / "stat");
      std::string line;
      std::getline(file, line);
      const std::size_t end = line.rfind(") ");
      if (end == std::string::npos) continue;
      if (line[end + 2] == 'Z' && line.substr(end + 4).starts_with(std::to_string(parent) + " ")) ++count;
    }
    return count;
  }

  // One request over a persistent connection; returns the body of the response.
  static std::string ask(testing::RawSocket& socket, std::string& buffer, const std::string& head,
                         const std::string& body = {}) {
    std::string request = head + " HTTP/1.1\r\nHost: reeve\r\n";
    if (!body.empty()) request += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
    EXPECT_TRUE(socket.send(request + "\r\n" + body));
    std::size_t end = std::string::npos;
    while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
      const std::string more = socket.read_some();
      if (more.empty()) return {};
      buffer += more;
    }
    const std::size_t length_at = buffer.find("Content-Length: ");
    EXPECT_LT(length_at, end);
    const std::size_t length = std::stoul(buffer.substr(length_at + 16));
    while (buffer.size() < end + 4 + length) buffer += socket.read_some();
    std::string answer = buffer.substr(end + 4, length);
    buffer.erase(0, end + 4 + length);
    return answer;
  }
  void run_many(int count) {
    testing::RawSocket socket(this->socket());
    std::string buffer;
    for (int i = 0; i < count; ++i) {
      const std::string started =
          ask(socket, buffer, "POST /api/runs", R"({"argv":["/bin/true"],"cwd":"/","environment":{},"mode":"pipe"})");
      const auto run = testing::parse_object(started);
      ASSERT_TRUE(run && run->contains("tool_run_id")) << started;
      const std::string ended =
          ask(socket, buffer, fmt::format("GET /api/runs/{}/wait?timeout=60s", run->at("tool_run_id")));
      ASSERT_NE(ended.find(R"("completed")"), std::string::npos) << ended;
    }
  }
};

// ThreadSanitizer keeps memory of its own for each address that was ever used.
constexpr std::size_t allowed_growth_kib() {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  return 64 * 1'024;
#endif
#endif
  return 8 * 1'024;
}

TEST_F(ManyRuns, five_thousand_runs_leak_no_zombie_descriptor_or_memory) {
  constexpr int first = 500;
  constexpr int rest = 4'500;
  ASSERT_EQ(reeve({"run", "--", "true"}).code, 0);
  const pid_t daemon = daemon_pid();
  run_many(first);
  const std::size_t descriptors = count_descriptors(daemon);
  const std::size_t memory = resident_kib(daemon);
  run_many(rest);
  ASSERT_EQ(daemon_pid(), daemon) << "it has died";
  EXPECT_TRUE(testing::eventually([&] { return count_zombies(daemon) == 0; }));
  EXPECT_TRUE(testing::eventually([&] { return count_descriptors(daemon) <= descriptors + 4; }))
      << count_descriptors(daemon) << " against " << descriptors;
  EXPECT_LE(resident_kib(daemon), memory + allowed_growth_kib()) << "grown from " << memory << " KiB";
  // Only the pool's keepers are left.
  EXPECT_TRUE(testing::eventually([&] { return processes().size() <= 8; })) << processes().size();
  EXPECT_EQ(std::distance(fs::directory_iterator(state() / "runs"), fs::directory_iterator()), first + rest + 1);
}

// A truncated listing says that there is more, unless the user chose the limit.
TEST_F(ManyRuns, truncated_listing_says_so) {
  constexpr int count = 21;
  for (int i = 1; i <= count; ++i) finish(detach({}, {"exit", "0"}));
  const testing::Outcome cut = reeve({"runs"});
  EXPECT_EQ(testing::count_of(cut.out, "\n"), 20);
  EXPECT_NE(cut.err.find("20 shown; use --limit N to see more\n"), std::string::npos) << cut.err;
  EXPECT_EQ(testing::count_of(reeve({"runs", "--limit", "5"}).out, "\n"), 5);
  EXPECT_EQ(reeve({"runs", "--limit", "5"}).err, "");
  EXPECT_EQ(testing::count_of(reeve({"runs", "--limit", "21"}).out, "\n"), count);
  EXPECT_EQ(testing::parse_array(reeve({"runs", "--json"}).out).value().size(), 20U);
}

}  // namespace
}  // namespace reeve
