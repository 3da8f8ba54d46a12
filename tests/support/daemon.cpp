#include "tests/support/daemon.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <unistd.h>

#include <fmt/format.h>

#include "tests/support/reports.h"

namespace reeve::testing {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds leave_time{15};

// Best effort: a process may exit while its files are read.
std::string read_quietly(const fs::path& path) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::array<char, 16'384> block{};
  for (ssize_t count = 0; file >= 0 && (count = ::read(file, block.data(), block.size())) > 0;) {
    text.append(block.data(), static_cast<std::size_t>(count));
  }
  if (file >= 0) ::close(file);
  return text;
}

std::string describe(const std::vector<FoundProcess>& found) {
  std::string text;
  for (const FoundProcess& process : found) text += std::to_string(process.pid) + " " + process.command + "\n";
  return text;
}

}  // namespace

std::string zoo_binary() { return fs::path(reeve_binary()).parent_path() / "reeve_zoo"; }

std::vector<FoundProcess> find_processes(const std::string& text) {
  std::vector<FoundProcess> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (wrong != std::errc() || *end != '\0' || pid == ::getpid()) continue;
    std::string command = read_quietly(entry.path() / "cmdline");
    if (!command.contains(text) && !read_quietly(entry.path() / "environ").contains(text)) continue;
    std::ranges::replace(command, '\0', ' ');
    // A zombie has neither.
    if (is_alive(pid)) found.push_back({pid, command});
  }
  return found;
}

bool is_alive(pid_t pid) {
  const std::string stat = read_quietly("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && name_end + 2 < stat.size() && stat[name_end + 2] != 'Z' &&
         stat[name_end + 2] != 'X';
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

int count_of(std::string_view text, std::string_view part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

DaemonTest::DaemonTest() : project_(scratch_.path() / "project") {
  fs::create_directories(project_ / ".reeve");
  fs::create_directories(scratch_.path() / "home");
}

void DaemonTest::become_ordinary() {
  if (::geteuid() != 0) return;
  constexpr uid_t nobody = 65'534;
  prefix_ = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  EXPECT_EQ(::chown(scratch_.path().c_str(), nobody, nobody), 0);
  for (const auto& entry : fs::recursive_directory_iterator(scratch_.path())) {
    EXPECT_EQ(::lchown(entry.path().c_str(), nobody, nobody), 0);
  }
}

void DaemonTest::TearDown() {
  if (fs::exists(socket())) {
    const Outcome stopped = reeve({"stop"});
    EXPECT_EQ(stopped.code, 0) << stopped.out << stopped.err;
  }
  std::vector<FoundProcess> left;
  eventually(
      [&] {
        left = processes();
        return left.empty();
      },
      leave_time);
  EXPECT_TRUE(left.empty()) << "left behind:\n" << describe(left);
  for (const FoundProcess& process : left) ::kill(process.pid, SIGKILL);
  for (const std::string& found : find_breaks(scratch_.path())) ADD_FAILURE() << "something broke: " << found;
  if (HasFailure()) print_logs();
}

void DaemonTest::print_logs() const {
  for (const char* name : {"daemon.log", "combined.log"}) {
    const std::string text = read_quietly(state() / "logs" / name);
    constexpr std::size_t most = 3'000;
    std::cerr << "--- " << name << ":\n" << text.substr(text.size() - std::min(most, text.size())) << "\n";
  }
}

Launch DaemonTest::launch(const Words& words, const Variables& more) const {
  Launch launch{.argv = prefix_, .folder = project_};
  launch.argv.push_back(reeve_binary());
  launch.argv.insert(launch.argv.end(), words.begin(), words.end());
  launch.environment = {{"HOME", (scratch_.path() / "home").string()},
                        {"PATH", "/usr/bin:/bin"},
                        {"LANG", "C.UTF-8"},
                        {"REEVE_STATE", state().string()}};
  // The responses are checked against the description of the API afterwards (tests/contract).
  if (const char* folder = std::getenv("REEVE_RECORD_EXCHANGES")) {
    launch.environment.emplace_back("REEVE_RECORD_EXCHANGES", folder);
  }
  launch.environment.insert(launch.environment.end(), more.begin(), more.end());
  return launch;
}

void DaemonTest::configure(const std::string& yaml) const {
  scratch_.write("project/.reeve/config.yaml", yaml);
  reeve({"config", "trust", "--yes"});
}

Outcome DaemonTest::reeve(const Words& words, const Variables& more) const { return run_program(launch(words, more)); }

std::unique_ptr<Session> DaemonTest::start(const Words& words, Session::Ends ends, const Variables& more) const {
  return std::make_unique<Session>(launch(words, more), ends);
}

Words DaemonTest::run_words(const Words& options, const Words& zoo_words) {
  Words words = {"run"};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  // The command of a tool is the zoo already.
  if (std::ranges::find(options, "--tool") == options.end()) words.push_back(zoo_binary());
  words.insert(words.end(), zoo_words.begin(), zoo_words.end());
  return words;
}

Outcome DaemonTest::run(const Words& options, const Words& zoo_words) const {
  return reeve(run_words(options, zoo_words));
}

std::string DaemonTest::detach(const Words& options, const Words& zoo_words) const {
  Words all = {"--detach"};
  all.insert(all.end(), options.begin(), options.end());
  const Outcome outcome = run(all, zoo_words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out.substr(0, outcome.out.find('\n'));
}

Members DaemonTest::show(const std::string& id) const {
  const Outcome outcome = reeve({"show", id, "--json"});
  auto members = parse_object(outcome.out);
  EXPECT_TRUE(members) << id << ": " << outcome.out << outcome.err;
  return members.value_or(Members());
}

Members DaemonTest::finish(const std::string& id) const {
  const auto wait = start({"wait", id});
  wait->wait();
  return show(id);
}

Members DaemonTest::wait_for_status(const std::string& id, const std::string& status) const {
  Members found;
  EXPECT_TRUE(eventually([&] {
    found = show(id);
    return found["status"] == status;
  })) << id
      << " is " << found["status"] << ", not " << status;
  return found;
}

std::string DaemonTest::logs(const std::string& id) const {
  const Outcome outcome = reeve({"logs", id});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}

void DaemonTest::wait_for_output(const std::string& id, const std::string& text) const {
  EXPECT_TRUE(eventually([&] { return logs(id).contains(text); })) << id << " never said " << text;
}

std::vector<Members> DaemonTest::combined_log() const {
  std::vector<Members> all;
  std::string text = read_text(state() / "logs/combined.log");
  // The last line may be incomplete while the daemon runs.
  text.resize(text.rfind('\n') + 1);
  for (const std::string& line : lines_of(text)) {
    auto members = parse_object(line);
    const bool is_good = members && members->contains("event") && members->contains("timestamp");
    EXPECT_TRUE(is_good) << line.substr(0, 300);
    if (is_good) all.push_back(std::move(*members));
  }
  return all;
}

std::vector<std::string> DaemonTest::statuses_of(const std::string& id) const {
  const std::string present = show(id)["status"];
  std::vector<std::string> statuses;
  // The log lags behind the store.
  EXPECT_TRUE(eventually([&] {
    statuses.clear();
    for (Members& line : combined_log()) {
      if (line["event"] != "tool_status_change" || line["tool_run_id"] != id) continue;
      if (statuses.empty() || statuses.back() != line["status"]) statuses.push_back(line["status"]);
    }
    return !statuses.empty() && statuses.back() == present;
  })) << id
      << " is " << present;
  return statuses;
}

pid_t DaemonTest::wait_for_stopped_keeper() const {
  pid_t found = 0;
  EXPECT_TRUE(eventually([&] {
    for (const FoundProcess& process : processes()) {
      const std::string status = read_text(fmt::format("/proc/{}/status", process.pid));
      if (process.command.contains("reeve-keeper") && status.contains("State:\tT")) found = process.pid;
    }
    return found != 0;
  })) << "no keeper stands still";
  return found;
}

std::vector<FoundProcess> DaemonTest::tools() const {
  auto found = processes();
  const std::string own = fs::path(reeve_binary()).parent_path() / "reeve";
  std::erase_if(found, [&](const FoundProcess& process) {
    return process.command.starts_with(own + " ") || process.command.starts_with(own + "-keeper ");
  });
  return found;
}

}  // namespace reeve::testing
