#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// What a tool prints: the caller gets every byte, the log every line.
namespace reeve {
namespace {

using testing::count_of;
using ::testing::HasSubstr;
using testing::lines_of;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::Session;
using ::testing::StartsWith;

constexpr std::size_t mib = 1UZ << 20U;
constexpr std::string_view replacement = "\xEF\xBF\xBD";

class RunOutput : public testing::DaemonTest {
 protected:
  // The lines of that run in the log.
  std::vector<Members> output_of(const std::string& id) const {
    std::vector<Members> found;
    for (Members& line : combined_log()) {
      if (line["event"] == "tool_output" && line["tool_run_id"] == id) found.push_back(std::move(line));
    }
    return found;
  }
};

// §7: output passes through.
TEST_F(RunOutput, every_byte_passes_through) {
  std::string bytes;
  for (std::size_t i = 0; i < 300'000; ++i) bytes += static_cast<char>(i % 256);
  Outcome outcome = run({}, {"binary", "300000"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(outcome.out == bytes) << outcome.out.size();
  outcome = reeve({"run", "--", "sh", "-c", testing::zoo_binary() + " binary 300000 >&2"});
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err == bytes) << outcome.err.size();
}

// RUN-9: two streams stay two.
TEST_F(RunOutput, stderr_is_kept_separate) {
  const Outcome outcome = reeve({"run", "--", "sh", "-c", "echo one; echo two >&2; echo three; exit 3"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.out, "one\nthree\n");
  EXPECT_THAT(outcome.err, StartsWith("two\n"));
  const auto lines = output_of("TR-1");
  ASSERT_EQ(lines.size(), 3U);
  for (const Members& line : lines) EXPECT_EQ(line.at("stream"), line.at("text") == "two" ? "stderr" : "stdout");
  EXPECT_EQ(count_of(logs("TR-1"), "\n"), 3);
}

// RUN-16
TEST_F(RunOutput, endless_line_is_logged_in_pieces) {
  constexpr std::size_t size = 64 * mib;
  configure("log: {rotate_size: 1GiB}\n");
  const Outcome outcome = run({}, {"long-line", std::to_string(size)});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out.size(), size);
  EXPECT_EQ(outcome.out.find_first_not_of('x'), std::string::npos);
  std::size_t logged = 0;
  const auto pieces = output_of("TR-1");
  ASSERT_GE(pieces.size(), 64U);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    logged += pieces[i].at("text").size();
    EXPECT_LE(pieces[i].at("text").size(), mib);
    if (i + 1 < pieces.size()) EXPECT_EQ(pieces[i].contains("partial") ? pieces[i].at("partial") : "", "true") << i;
  }
  EXPECT_EQ(logged, size);
}

// RUN-16: bytes that are not UTF-8 are kept in the output, and replaced in JSON.
TEST_F(RunOutput, invalid_utf8_is_marked_in_the_log) {
  const Outcome outcome = run({}, {"bad-utf8"});
  EXPECT_THAT(outcome.out, HasSubstr("lone continuation \x80 end\n"));
  EXPECT_THAT(outcome.out, HasSubstr("surrogate \xED\xA0\x80 end\n"));
  EXPECT_THAT(outcome.out, HasSubstr("cut \xE2\x82\n"));
  const auto lines = output_of("TR-1");
  ASSERT_EQ(lines.size(), 7U);
  for (const Members& line : lines) {
    const std::string& text = line.at("text");
    EXPECT_EQ(text.contains(replacement), text != "good é end") << text;
  }
  EXPECT_EQ(lines[0].at("text"), "lone continuation \xEF\xBF\xBD end");
  EXPECT_EQ(lines[6].at("text"), "good é end");
}

// RUN-16, LOG-1: this includes NUL bytes; combined_log() checks that the log stays JSON.
TEST_F(RunOutput, log_stays_valid_json_for_any_output) {
  run({}, {"binary", "100000"});
  run({}, {"ansi-bomb"});
  run({}, {"drip", R"({"event":"error","message":"in pieces","x":"\u00e9"})", "1"});
  reeve({"run", "--", "printf", R"(%s\n)", R"({"event":)", R"("}],"event":"x")", R"(\u0000\ud800)",
         "{\"event\":\"heartbeat\"}x"});
  EXPECT_GE(combined_log().size(), 100U);
  EXPECT_EQ(show("TR-3")["last_error"], "in pieces");
}

// LOG-3: escape sequences have no effect on a terminal.
TEST_F(RunOutput, escape_sequences_do_not_reach_the_terminal) {
  const Outcome raw = run({}, {"ansi-bomb"});
  EXPECT_THAT(raw.out.substr(0, 100), HasSubstr("\x1b[31m")) << "the person's own run passes it through";
  for (const testing::Words& words : {testing::Words{"logs", "TR-1"}, testing::Words{"logs", "--all"}}) {
    const auto terminal = start(words, Session::Ends::terminal, {{"TERM", "xterm"}, {"NO_COLOR", "1"}});
    EXPECT_EQ(terminal->wait(), 0);
    const std::string& shown = terminal->out();
    EXPECT_THAT(shown.substr(shown.size() - 100), HasSubstr("end of bomb"));
    for (const char* bad : {"\x1b", "\x07", "\x9b"}) EXPECT_FALSE(shown.contains(bad)) << words[1];
    EXPECT_EQ(count_of(shown, "\r"), count_of(shown, "\r\n")) << words[1];
  }
}

// RUN-12: output printed just before the exit, on a terminal, is never lost.
TEST_F(RunOutput, output_printed_just_before_the_exit_is_not_lost) {
  constexpr int runs = 500;
  constexpr int lines = 200;
  constexpr int clients = 4;
  std::string expected;
  for (int i = 1; i <= lines; ++i) {
    std::string number = std::to_string(i);
    expected += "line " + std::string(6 - number.size(), '0') + number + "\n";
  }
  std::atomic<int> next = 0;
  std::atomic<int> good = 0;
  const auto work = [&] {
    while (next++ < runs) {
      const std::string id = detach({"--pty"}, {"write-then-exit", std::to_string(lines), "0"});
      std::string shown = reeve({"logs", "-f", id}).out;
      // A terminal ends its lines with \r\n.
      std::erase(shown, '\r');
      EXPECT_TRUE(shown == expected) << id << " has " << count_of(shown, "\n") << " lines";
      good += shown == expected ? 1 : 0;
    }
  };
  EXPECT_EQ(reeve({"runs"}).code, 0);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < clients; ++i) threads.emplace_back(work);
  }
  EXPECT_EQ(good, runs);
}

// RUN-12: the same for a pipe, and for a tool that fails.
TEST_F(RunOutput, large_output_just_before_a_failure_is_not_lost) {
  const Outcome outcome = run({}, {"write-then-exit", "100000", "9"});
  EXPECT_EQ(outcome.code, 9);
  EXPECT_EQ(count_of(outcome.out, "\n"), 100'000);
  EXPECT_TRUE(outcome.out.ends_with("line 100000\n"));
  const std::string shown = logs("TR-1");
  EXPECT_TRUE(shown == outcome.out) << count_of(shown, "\n");
}

// RUN-12: the oldest output is dropped, the end is kept, and the gap is reported.
TEST_F(RunOutput, output_over_the_cap_drops_the_oldest) {
  configure("tools:\n  zoo: {command: [" + testing::zoo_binary() + "], output_cap: 1MiB}\nlog: {rotate_size: 1GiB}\n");
  const std::string id = detach({"--tool", "zoo"}, {"lines", "200000"});
  Members run = finish(id);
  EXPECT_EQ(run["status"], "completed");
  EXPECT_THAT(run["reason"], HasSubstr("bytes of its output were dropped (output_cap)"));
  std::size_t kept = 0;
  for (const auto& file : std::filesystem::directory_iterator(state() / "runs" / id / "1")) {
    if (file.is_regular_file()) kept += file.file_size();
  }
  EXPECT_LE(kept, 2 * mib);
  const std::string shown = logs(id);
  EXPECT_TRUE(shown.ends_with("line 199999\nline 200000\n")) << shown.substr(shown.size() - 100);
  EXPECT_GE(shown.size(), mib / 2);
  EXPECT_THAT(shown, Not(HasSubstr("line 000001\n")));
  // The remaining output is complete, from the first whole line on.
  const auto lines = lines_of(shown);
  for (std::size_t i = lines.size() - 20'000; i < lines.size(); ++i) ASSERT_TRUE(lines[i].starts_with("line ")) << i;
  // The log had every line in time.
  EXPECT_EQ(output_of(id).size(), 200'000U);
}

}  // namespace
}  // namespace reeve
