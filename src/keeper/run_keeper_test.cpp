#include "keeper/run_keeper.h"

#include <cerrno>
#include <filesystem>
#include <sys/stat.h>
#include <utility>

#include <gtest/gtest.h>

#include "os/spawn.h"
#include "tests/support/files.h"
#include "tests/support/keeper/kept_run.h"

// A keeper as seen by a daemon: the prompts it reports, and the answers it types (RUN-10).
namespace reeve::keeper {
namespace {

using testing::KeptRun;
using testing::User;

KeptRun::Argv bash(const std::string& script) { return {"/bin/bash", "-c", script}; }

TEST(RunKeeper, reports_a_prompt_and_types_the_answer_once) {
  KeptRun run(bash("read -p 'Go? ' a; read -p 'Sure? ' b; read -p 'Really? ' c; echo got=$a,$b,$c"), {});
  const auto first = run.wait_for_prompt();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->serial, 1U);
  EXPECT_EQ(first->certainty, Prompt::Certainty::certain);
  EXPECT_GT(first->position, 0U);
  EXPECT_EQ(run.answer(1, 2, "wrong\r"), false) << "there is no such prompt";
  EXPECT_EQ(run.answer(1, 1, "y\r"), true);
  EXPECT_TRUE(run.wait_for_over(1));
  EXPECT_EQ(run.answer(1, 1, "y\r"), true) << "repeated by a daemon that missed the confirmation";
  EXPECT_EQ(run.answer(2, 1, "late\r"), false) << "that prompt is over";
  const auto second = run.wait_for_prompt();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->serial, 2U);
  EXPECT_EQ(run.answer(1, 2, "old\r"), true) << "already typed, and not typed again";
  EXPECT_EQ(run.answer(7, 2, "n\r"), true);
  const auto third = run.wait_for_prompt();
  ASSERT_TRUE(third);
  EXPECT_EQ(run.answer(6, 3, "old\r"), false) << "lower than the last number";
  EXPECT_EQ(run.answer(8, 3, "z\r"), true);
  const auto end = run.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 0);
  EXPECT_NE(run.output().find("got=y,n,z"), std::string::npos) << run.output();
}

TEST(RunKeeper, reports_an_open_prompt_to_the_next_daemon) {
  KeptRun run(bash("read -s -p 'Password: ' a; echo; echo got=$a; sleep 60"), {});
  const auto prompt = run.wait_for_prompt();
  ASSERT_TRUE(prompt);
  EXPECT_TRUE(prompt->is_secret);
  EXPECT_EQ(run.answer(5, 1, ""), false) << "nothing to type";
  ASSERT_TRUE(run.reconnect());
  ASSERT_TRUE(run.wait_for_prompt());
  EXPECT_EQ(run.answer(5, 1, "secret\r"), true);
  ASSERT_TRUE(run.wait_for_output("got=secret"));
  EXPECT_EQ(run.output().find("Password: secret"), std::string::npos) << "not echoed";
}

TEST(RunKeeper, keeps_the_prompt_serial_for_the_next_daemon) {
  KeptRun run(bash("read -p 'Go? ' a; echo got=$a"), {});
  ASSERT_TRUE(run.wait_for_prompt());
  ASSERT_TRUE(run.reconnect());
  const auto again = run.wait_for_prompt();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->serial, 1U);
  EXPECT_EQ(run.answer(1, 1, "y\r"), true);
  EXPECT_TRUE(run.wait_for_over(1));
  EXPECT_TRUE(run.wait_for_output("got=y"));
}

TEST(RunKeeper, prompt_ends_when_input_arrives_or_the_tool_ends) {
  KeptRun run(bash("stty -echo; read a; read b"), {});
  const auto prompt = run.wait_for_prompt();
  ASSERT_TRUE(prompt);
  run.send(Input{.ticket = 1, .bytes = "typed\r"});
  EXPECT_TRUE(run.wait_for_over(prompt->serial));
  EXPECT_EQ(run.answer(1, prompt->serial, "late\r"), false);
  const auto next = run.wait_for_prompt();
  ASSERT_TRUE(next);
  run.send(Stop{.grace_ms = 0});
  EXPECT_TRUE(run.wait_for_over(next->serial));
}

// APR-10: a command whose folder was decided about starts in exactly that one, whatever its name leads to by then.
TEST(RunKeeper, starts_in_the_known_folder_or_not_at_all) {
  const testing::ScratchFolder scratch;
  scratch.write("root/sub/here", "");
  struct stat status{};
  ASSERT_EQ(::stat((scratch.path() / "root/sub").c_str(), &status), 0);
  const StartIn known{(scratch.path() / "root").string(), "sub", status.st_dev, status.st_ino};
  const auto start = [&](const StartIn& in) {
    KeptRun run(bash("pwd; ls"), {.mode = Assign::Mode::pipe, .start_in = in});
    const auto end = run.wait_for_exit();
    EXPECT_TRUE(end);
    return std::pair(end.value_or(ExitRecord()), run.output());
  };
  const auto [ran, output] = start(known);
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(output, (scratch.path() / "root/sub").string() + "\nhere\n");
  const auto expect_refused = [&](const StartIn& in, int error_number) {
    const auto [refused, nothing] = start(in);
    EXPECT_EQ(refused.exec_errno, error_number);
    EXPECT_EQ(refused.exec_stage, static_cast<std::uint8_t>(os::SpawnFailure::Stage::folder));
    EXPECT_EQ(nothing, "");
  };
  StartIn other = known;
  ++other.inode;
  expect_refused(other, ESTALE);
  std::filesystem::rename(scratch.path() / "root/sub", scratch.path() / "moved");
  expect_refused(known, ENOENT);
  std::filesystem::create_directory_symlink(scratch.path() / "moved", scratch.path() / "root/sub");
  expect_refused(known, ELOOP);
}

// TOOL-4: a daemon that dies while it sends a line leaves no half line.
TEST(RunKeeper, gives_lines_to_the_tool_as_a_whole) {
  using Outcome = InputLineTaken::Outcome;
  KeptRun run(bash("echo ready; while read -r a; do echo \"got=$a.\"; done"), {.mode = Assign::Mode::stream});
  ASSERT_TRUE(run.wait_for_output("ready"));
  run.send(InputLine{.ticket = 1, .offset = 0, .part = "lost", .is_last = false});
  ASSERT_TRUE(run.reconnect());
  run.send(InputLine{.ticket = 1, .offset = 0, .part = "who", .is_last = false});
  EXPECT_EQ(run.send_line({.ticket = 1, .offset = 3, .part = "le\n", .is_last = true}), Outcome::taken);
  EXPECT_TRUE(run.wait_for_output("got=whole."));
  EXPECT_EQ(run.send_line({.ticket = 4, .offset = 9, .part = "le\n", .is_last = true}), Outcome::full)
      << "its beginning is missing";
  EXPECT_EQ(run.output().find("lost"), std::string::npos);
}

TEST(RunKeeper, refuses_lines_when_the_input_is_closed) {
  using Outcome = InputLineTaken::Outcome;
  KeptRun open(bash("echo ready; read -r a; echo got=$a; sleep 60"), {.mode = Assign::Mode::stream});
  ASSERT_TRUE(open.wait_for_output("ready"));
  open.send(CloseInput{});
  EXPECT_EQ(open.send_line({.ticket = 1, .offset = 0, .part = "a\n", .is_last = true}), Outcome::closed);
  KeptRun pipe(bash("echo ready; sleep 60"), {.mode = Assign::Mode::pipe});
  ASSERT_TRUE(pipe.wait_for_output("ready"));
  EXPECT_EQ(pipe.send_line({.ticket = 1, .offset = 0, .part = "a\n", .is_last = true}), Outcome::closed);
}

// A tool that reads slowly gets everything, in order, and the keeper holds little of it.
TEST(RunKeeper, takes_a_line_when_there_is_room_for_it) {
  using Outcome = InputLineTaken::Outcome;
  KeptRun run(bash("echo ready; while read -r a; do echo ${#a}; [ $a = end ] && break; done; echo done"),
              {.mode = Assign::Mode::stream});
  ASSERT_TRUE(run.wait_for_output("ready"));
  std::uint32_t ticket = 0;
  int refused = 0;
  const auto give = [&](const std::string& line) {
    for (;;) {
      ++ticket;
      std::optional<Outcome> outcome;
      for (std::size_t at = 0; at < line.size(); at += input_bytes) {
        InputLine part{.ticket = ticket,
                       .offset = static_cast<std::uint32_t>(at),
                       .part = line.substr(at, input_bytes),
                       .is_last = at + input_bytes >= line.size()};
        if (part.is_last) {
          outcome = run.send_line(part);
        } else {
          run.send(part);
        }
      }
      ASSERT_TRUE(outcome);
      if (outcome == Outcome::taken) return;
      EXPECT_EQ(outcome, Outcome::full);
      ++refused;
    }
  };
  for (int i = 0; i < 4; ++i) give(std::string(600'000, 'x') + "\n");
  give("end\n");
  EXPECT_TRUE(run.wait_for_output("done"));
  EXPECT_NE(run.output().find("600000\n600000\n600000\n600000\n3\n"), std::string::npos);
  EXPECT_GT(refused, 0);
}

// In pipe mode the tool reads end of file.
TEST(RunKeeper, does_not_watch_pipes) {
  KeptRun run(bash("read a || echo nothing; sleep 1"), {.mode = Assign::Mode::pipe});
  const auto end = run.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_FALSE(run.wait_for_prompt(std::chrono::milliseconds(0)));
  EXPECT_NE(run.output().find("nothing"), std::string::npos);
}

}  // namespace
}  // namespace reeve::keeper
