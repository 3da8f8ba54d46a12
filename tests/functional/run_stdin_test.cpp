#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// Standard input that is piped into `reeve run` (RUN-9).
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::Launch;
using testing::Members;
using testing::Outcome;
using testing::Session;
using testing::Words;

constexpr std::size_t mib = 1UZ << 20U;

class RunStdin : public testing::DaemonTest {
 protected:
  Outcome pipe(const std::string& input, const Words& words) const {
    Launch piped = launch(words);
    piped.input = input;
    return testing::run_program(piped);
  }
  // With nothing to read: neither a terminal nor a pipe.
  Outcome reeve_without_input(const Words& words) const {
    Launch without = launch(words);
    without.argv.insert(without.argv.begin(), {"sh", "-c", "exec \"$@\" < /dev/null", "sh"});
    return testing::run_program(without);
  }
  // Bytes without a short period.
  static std::string make_bytes(std::size_t size) {
    std::string bytes;
    bytes.reserve(size + 16);
    for (std::size_t i = 0; bytes.size() < size; ++i) bytes += fmt::format("{:x}\n", i * 2'654'435'761U);
    bytes.resize(size);
    return bytes;
  }
  std::string read(const fs::path& path) const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  fs::path stdin_file(const std::string& run) const { return state() / "runs" / run / "stdin"; }
  void kill_daemon() const {
    for (const testing::FoundProcess& process : processes()) {
      if (process.command.find(" serve") != std::string::npos) ::kill(process.pid, SIGKILL);
    }
  }
  // Copies its input to a file for each attempt and asks after the first one.
  Words asking() const {
    return {"sh", "-c",
            fmt::format("cat > {}/copy-$REEVE_ATTEMPT; [ $REEVE_ATTEMPT != 1 ] || exit 90", project().string())};
  }
  // `reeve run OPTIONS -- COMMAND`
  static Words words_of(const Words& options, const Words& command) {
    Words words = {"run"};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("--");
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
};

// RUN-9
TEST_F(RunStdin, piped_input_reaches_the_tool_and_then_its_end) {
  const Outcome outcome = pipe("one\ntwo\n", {"run", "--", "cat"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "one\ntwo\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_FALSE(fs::exists(stdin_file("TR-1"))) << "it may contain secrets";
  // Without data, the tool reads the end at once.
  EXPECT_EQ(pipe("", {"run", "--", "cat"}).out, "");
}

// RUN-9: as it arrives, not when it is complete.
TEST_F(RunStdin, input_is_streamed) {
  const auto client = start({"run", "--", "cat"});
  client->type("one\n");
  ASSERT_TRUE(client->wait_for("one\n"));
  EXPECT_EQ(fs::status(stdin_file("TR-1")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  client->type("two\n");
  ASSERT_TRUE(client->wait_for("two\n"));
  client->close_input();
  EXPECT_EQ(client->wait(), 0) << client->err();
  EXPECT_EQ(show("TR-1")["status"], "completed");
}

// RUN-9: any length, in bounded space.
TEST_F(RunStdin, long_input_passes_through_whole) {
  const std::string bytes = make_bytes(40 * mib);
  const fs::path copy = project() / "copy";
  const auto client = start({"run", "--stdin", scratch().write("input", bytes), "--", "sh", "-c",
                             fmt::format("cat > {}; cat", copy.string())});
  EXPECT_TRUE(testing::eventually([&] {
    std::error_code error;
    const auto size = fs::file_size(stdin_file("TR-1"), error);
    return error || size > 8 * mib || client->is_over();
  }));
  std::error_code error;
  const auto size = fs::file_size(stdin_file("TR-1"), error);
  if (!error) EXPECT_LE(size, 16 * mib + 64);
  EXPECT_EQ(client->wait(), 0) << client->err();
  EXPECT_TRUE(read(copy) == bytes);
}

// RUN-9: a tool that does not read slows the sender, and its end ends the client.
TEST_F(RunStdin, unread_input_waits_and_the_end_of_the_tool_ends_the_client) {
  const std::string bytes = make_bytes(24 * mib);
  const std::string script =
      fmt::format("head -c 4 > {0}/head; while [ ! -e {0}/go ]; do sleep 0.02; done", project().string());
  const auto client = start({"run", "--stdin", scratch().write("input", bytes), "--", "sh", "-c", script});
  EXPECT_TRUE(testing::eventually([&] {
    std::error_code error;
    return fs::file_size(stdin_file("TR-1"), error) == 16 * mib + 64 && !error;
  }));
  EXPECT_FALSE(client->is_over());
  scratch().write("project/go", "");
  EXPECT_EQ(client->wait(), 0) << client->err();
  EXPECT_EQ(read(project() / "head"), bytes.substr(0, 4));
}

// RUN-12, RUN-13: the stream continues with the next daemon.
TEST_F(RunStdin, stream_survives_the_daemon) {
  const auto client = start({"run", "--", "cat"});
  for (const std::string line : {"one\n", "two\n", "three\n"}) {
    client->type(line);
    ASSERT_TRUE(client->wait_for(line)) << client->err();
    kill_daemon();
  }
  client->close_input();
  EXPECT_EQ(client->wait(), 0) << client->err();
  EXPECT_EQ(client->out(), "one\ntwo\nthree\n");
}

// RUN-12, RUN-13: not a byte is lost or repeated.
TEST_F(RunStdin, long_stream_survives_killed_daemons) {
  const std::string bytes = make_bytes(48 * mib);
  const fs::path copy = project() / "copy";
  // Slow enough to be hit in the middle.
  const std::string script = fmt::format(
      "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do head -c 4194304 >> {0}; sleep 0.05; done; cat >> {0}", copy.string());
  const auto client = start({"run", "--stdin", scratch().write("input", bytes), "--", "sh", "-c", script});
  for (const std::size_t size : {2 * mib, 14 * mib, 22 * mib, 34 * mib}) {
    EXPECT_TRUE(testing::eventually([&] {
      std::error_code error;
      return (fs::file_size(copy, error) >= size && !error) || client->is_over();
    }));
    kill_daemon();
  }
  EXPECT_EQ(client->wait(), 0) << client->err();
  const std::string copied = read(copy);
  EXPECT_EQ(copied.size(), bytes.size());
  EXPECT_TRUE(copied == bytes);
}

// APR-5: the next attempt gets the same launch, with the same input.
TEST_F(RunStdin, rerun_reads_the_same_input) {
  Words words = words_of({"--no-wait"}, asking());
  EXPECT_EQ(pipe("data\n", words).code, 90);
  EXPECT_TRUE(fs::exists(stdin_file("TR-1")));
  kill_daemon();
  EXPECT_EQ(reeve({"approve", "AP-1", "--yes"}).code, 0);
  EXPECT_EQ(finish("TR-1")["status"], "completed");
  EXPECT_EQ(read(project() / "copy-1"), "data\n");
  EXPECT_EQ(read(project() / "copy-2"), "data\n");
  EXPECT_FALSE(fs::exists(stdin_file("TR-1")));
}

// APR-5
TEST_F(RunStdin, rerun_with_more_than_is_kept_is_refused) {
  const std::string input = scratch().write("input", make_bytes(17 * mib));
  EXPECT_EQ(reeve(words_of({"--no-wait", "--stdin", input}, asking())).code, 90);
  EXPECT_EQ(fs::file_size(project() / "copy-1"), 17 * mib);
  EXPECT_EQ(reeve({"approve", "AP-1", "--yes"}).code, 0);
  Members record = finish("TR-1");
  EXPECT_EQ(record["status"], "failed");
  EXPECT_THAT(record["reason"], HasSubstr("16 MiB"));
  EXPECT_FALSE(fs::exists(project() / "copy-2"));
  EXPECT_FALSE(fs::exists(stdin_file("TR-1")));
}

// RUN-13
TEST_F(RunStdin, interrupted_run_reads_the_same_input_again) {
  configure("tools:\n  t: {command: [sh], on_interrupted: rerun}\n");
  const std::string script =
      fmt::format("cat > {0}/copy-$REEVE_ATTEMPT; while [ ! -e {0}/go ]; do sleep 0.02; done", project().string());
  const auto client = start({"run", "--tool", "t", "--", "-c", script});
  client->type("data\n");
  client->close_input();
  ASSERT_TRUE(testing::eventually([&] { return read(project() / "copy-1") == "data\n"; }));
  for (const testing::FoundProcess& process : processes()) {
    if (process.command.find("reeve-keeper hold") != std::string::npos) ::kill(process.pid, SIGKILL);
  }
  ASSERT_TRUE(testing::eventually([&] { return read(project() / "copy-2") == "data\n"; }));
  scratch().write("project/go", "");
  EXPECT_EQ(client->wait(), 0) << client->err();
}

// RUN-9: a part of the input is never presented as all of it.
TEST_F(RunStdin, run_fails_when_its_sender_dies_in_the_middle) {
  configure("supervision: {lease: 1s, adopt_grace: 1s}\n");
  const auto client = start({"run", "--", "sh", "-c", "cat; echo complete"});
  client->type("part\n");
  ASSERT_TRUE(client->wait_for("part\n"));
  client->signal(SIGKILL);
  Members record = finish("TR-1");
  EXPECT_EQ(record["status"], "failed");
  EXPECT_THAT(record["reason"], HasSubstr("standard input broke off"));
  EXPECT_EQ(logs("TR-1"), "part\n");
}

// RUN-9: an idle pipe that the client only inherited does not cost the run.
TEST_F(RunStdin, run_continues_when_a_sender_without_data_dies) {
  configure("supervision: {lease: 1s, adopt_grace: 1s}\n");
  const auto client = start({"run", "--", "sh", "-c", "echo ready; cat; echo complete"});
  ASSERT_TRUE(client->wait_for("ready\n"));
  client->signal(SIGKILL);
  EXPECT_EQ(finish("TR-1")["status"], "completed");
  EXPECT_EQ(logs("TR-1"), "ready\ncomplete\n");
}

TEST_F(RunStdin, stopped_sender_is_waited_for) {
  configure("supervision: {lease: 1s, adopt_grace: 1s}\n");
  const auto client = start({"run", "--", "cat"});
  client->type("one\n");
  ASSERT_TRUE(client->wait_for("one\n"));
  client->signal(SIGSTOP);
  // Longer than a sender may be absent.
  const Outcome other = reeve({"run", "--", "sleep", "2"});
  EXPECT_EQ(other.code, 0);
  client->signal(SIGCONT);
  client->type("two\n");
  ASSERT_TRUE(client->wait_for("two\n"));
  client->close_input();
  EXPECT_EQ(client->wait(), 0);
}

// §7
TEST_F(RunStdin, option_chooses_the_source) {
  EXPECT_EQ(pipe("ignored", {"run", "--stdin", "none", "--", "cat"}).out, "");
  EXPECT_EQ(pipe("used", {"run", "--stdin", "pipe", "--", "cat"}).out, "used");
  const std::string file = scratch().write("input", "from a file");
  EXPECT_EQ(pipe("ignored", {"run", "--stdin", file, "--", "cat"}).out, "from a file");
  const Outcome missing = reeve({"run", "--stdin", "/no/such/file", "--", "cat"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("/no/such/file"));
  EXPECT_EQ(reeve({"run", "--stdin", "/", "--", "cat"}).code, 2);
  const Outcome terminal = pipe("x", {"run", "--pty", "--stdin", "pipe", "--", "cat"});
  EXPECT_EQ(terminal.code, 2);
  EXPECT_THAT(terminal.err, HasSubstr("takes no standard input"));
}

// §7
TEST_F(RunStdin, detach_reads_the_input_to_its_end_first) {
  const auto client = start({"run", "--detach", "--", "cat"});
  client->type("one\n");
  EXPECT_TRUE(client->wait_for_error("waiting for the end of standard input"));
  EXPECT_EQ(reeve({"runs"}).out, "") << "nothing is started before";
  client->type("two\n");
  client->close_input();
  EXPECT_EQ(client->wait(), 0) << client->err();
  EXPECT_EQ(finish("TR-1")["status"], "completed");
  EXPECT_EQ(logs("TR-1"), "one\ntwo\n");
  const Outcome large =
      reeve({"run", "--detach", "--stdin", scratch().write("large", make_bytes(17 * mib)), "--", "cat"});
  EXPECT_EQ(large.code, 2);
  EXPECT_THAT(large.err, HasSubstr("16 MiB"));
  EXPECT_EQ(testing::lines_of(reeve({"runs"}).out).size(), 1U);
}

// RUN-14: the input of a queued run is kept for its turn.
TEST_F(RunStdin, queued_run_gets_the_input_when_it_starts) {
  configure("supervision: {max_parallel_runs: 1}\n");
  const std::string go = (project() / "go").string();
  reeve({"run", "--detach", "--queue", "--", "sh", "-c", "while [ ! -e " + go + " ]; do sleep 0.02; done"});
  EXPECT_EQ(pipe("kept\n", {"run", "--detach", "--queue", "--", "cat"}).out, "TR-2\n");
  EXPECT_EQ(show("TR-2")["status"], "queued");
  kill_daemon();
  scratch().write("project/go", "");
  EXPECT_EQ(finish("TR-2")["status"], "completed");
  EXPECT_EQ(logs("TR-2"), "kept\n");
}

// RUN-9: the input is not kept after the end of a run, and a new run never silently gets none.
TEST_F(RunStdin, new_run_of_a_run_that_read_its_input_needs_it_again) {
  EXPECT_EQ(pipe("hello\n", {"run", "--", "cat"}).out, "hello\n");
  const Outcome refused = reeve_without_input({"rerun", "TR-1"});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("error[run.no_rerun]"));
  EXPECT_THAT(refused.err, HasSubstr("it read standard input"));
  EXPECT_THAT(refused.err, HasSubstr("reeve rerun TR-1 --stdin FILE|none"));
  EXPECT_EQ(testing::lines_of(reeve({"runs"}).out).size(), 1U) << "nothing is started";
  EXPECT_EQ(pipe("again\n", {"rerun", "TR-1"}).out, "again\n");
  const std::string file = scratch().write("input", "from a file");
  EXPECT_EQ(reeve({"rerun", "TR-1", "--stdin", file}).out, "from a file");
  EXPECT_EQ(reeve({"rerun", "TR-1", "--stdin", "none"}).out, "");
  // The second run read its input too, the last one none.
  EXPECT_EQ(reeve_without_input({"rerun", "TR-2"}).code, 4);
  EXPECT_EQ(reeve_without_input({"rerun", "TR-4"}).code, 0);
  EXPECT_EQ(pipe("late\n", {"rerun", "TR-4"}).out, "late\n");
}

// RUN-9: a pipe that brought nothing, as a program that starts `reeve` may leave one open, need not be given again.
TEST_F(RunStdin, new_run_of_a_run_with_empty_input_needs_none) {
  const auto client = start({"run", "--", "sh", "-c", "echo ready; cat"});
  ASSERT_TRUE(client->wait_for("ready\n"));
  client->close_input();
  EXPECT_EQ(client->wait(), 0) << client->err();
  const Outcome again = reeve_without_input({"rerun", "TR-1"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, "ready\n");
}

// RUN-9: the prompt of a tool without `{prompt}` is its standard input, as before.
TEST_F(RunStdin, prompt_stays_the_standard_input) {
  configure("tools:\n  plain: {command: [cat]}\n  place: {command: [sh, -c, 'echo \"{prompt}\"; cat']}\n");
  EXPECT_EQ(pipe("ignored", {"run", "--tool", "plain", "--prompt", "asked"}).out, "asked");
  EXPECT_EQ(pipe("piped", {"run", "--tool", "place", "--prompt", "asked"}).out, "asked\npiped");
  const Outcome both = pipe("x", {"run", "--tool", "plain", "--prompt", "asked", "--stdin", "pipe"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("its prompt"));
}

// APR-11: a process inside a run sends to the runs that it starts, but neither to others nor to itself.
TEST_F(RunStdin, process_inside_a_run_sends_only_to_its_own_children) {
  const std::string inner = testing::reeve_binary() + " --state " + state().string();
  const Outcome child = reeve({"run", "--", "sh", "-c", "echo nested | " + inner + " run -- cat"});
  EXPECT_EQ(child.code, 0) << child.err;
  EXPECT_EQ(child.out, "nested\n");

  const auto other = start({"run", "--", "cat"});
  other->type("mine\n");
  ASSERT_TRUE(other->wait_for("mine\n"));
  const std::string id = show("@last")["tool_run_id"];
  const auto send = [&](const std::string& run) {
    return fmt::format(
        "curl -s -w ' %{{http_code}}\\n' -H 'Content-Type: application/json' --unix-socket {} "
        "-d '{{\"offset\":5,\"base64\":\"eA==\",\"end\":true}}' http://x/api/runs/{}/stdin",
        socket().string(), run);
  };
  const Outcome foreign = reeve({"run", "--", "sh", "-c", send(id)});
  EXPECT_THAT(foreign.out, HasSubstr(" 403\n"));
  const Outcome own = reeve({"run", "--stdin", "none", "--", "sh", "-c", send("$REEVE_RUN_ID")});
  EXPECT_THAT(own.out, HasSubstr("run.inside_run"));
  other->type("still mine\n");
  ASSERT_TRUE(other->wait_for("still mine\n"));
  other->close_input();
  EXPECT_EQ(other->wait(), 0);
  EXPECT_EQ(other->out(), "mine\nstill mine\n");
}

}  // namespace
}  // namespace reeve
