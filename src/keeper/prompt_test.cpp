#include <chrono>
#include <filesystem>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "term/question.h"
#include "tests/support/keeper/kept_run.h"

// Programs that people really use, on a keeper's terminal: prompts are detected, and other programs are left alone
// (RUN-10).
namespace reeve::keeper {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::KeptRun;
using testing::ScratchFolder;
using testing::User;

using Argv = KeptRun::Argv;
using Certainty = Prompt::Certainty;

Argv bash(const std::string& script) { return {"/bin/bash", "-c", script}; }
Argv python(const std::string& script) { return {"/usr/bin/python3", "-c", script}; }
Argv node(const std::string& script) { return {"/usr/bin/node", "-e", script}; }

// Each as root and as a user to whom the kernel shows less.
class PromptTest : public ::testing::TestWithParam<User> {
 protected:
  // Waits for the prompt and returns the question on the screen.
  term::ScreenQuestion ask(KeptRun& run, Certainty certainty, bool is_secret = false) {
    const auto prompt = run.wait_for_prompt();
    EXPECT_TRUE(prompt) << run.output();
    if (!prompt) return {};
    serial_ = prompt->serial;
    EXPECT_EQ(prompt->certainty, certainty) << run.output();
    EXPECT_EQ(prompt->is_secret, is_secret) << run.output();
    const term::ScreenQuestion question = term::read_question(run.output(), 24, 80, is_secret);
    if (certainty == Certainty::probable) EXPECT_TRUE(question.looks_like_question) << run.output();
    return question;
  }
  // Answers that prompt and waits for the exit with this code.
  void finish(KeptRun& run, std::string_view answer, int code) {
    EXPECT_EQ(run.answer(1, serial_, answer), true) << run.output();
    const auto end = run.wait_for_exit();
    ASSERT_TRUE(end) << run.output();
    EXPECT_EQ(end->code, code) << run.output();
  }
  KeptRun::Setting setting(std::vector<std::string> environment = {}) const {
    return {.user = GetParam(), .environment = std::move(environment)};
  }
  // Gives the program's working folder to its user.
  void give(const fs::path& path) const {
    if (GetParam() == User::own || ::geteuid() != 0) return;
    EXPECT_EQ(::chown(path.c_str(), testing::nobody_id, testing::nobody_id), 0);
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      EXPECT_EQ(::lchown(entry.path().c_str(), testing::nobody_id, testing::nobody_id), 0);
    }
  }

  ScratchFolder folder_;

 private:
  std::uint32_t serial_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Each, PromptTest, ::testing::Values(User::own, User::nobody),
                         [](const auto& param) { return param.param == User::own ? "own" : "nobody"; });

TEST_P(PromptTest, bash_prompt_is_detected) {
  KeptRun run(bash(R"(read -p "Go on? [y/N] " a; [ "$a" = y ])"), setting());
  EXPECT_EQ(ask(run, Certainty::certain).choices.size(), 2U);
  finish(run, "y\r", 0);
}

TEST_P(PromptTest, question_followed_by_a_newline_is_detected) {
  KeptRun run(bash(R"(echo "Which one?"; read a; [ "$a" = 7 ])"), setting());
  EXPECT_EQ(ask(run, Certainty::certain).question, "Which one?");
  finish(run, "7\r", 0);
}

TEST_P(PromptTest, rm_prompt_is_detected) {
  const fs::path file = folder_.write("x", "text");
  give(folder_.path());
  KeptRun run({"/bin/rm", "-i", file.string()}, setting());
  EXPECT_EQ(ask(run, Certainty::certain).choices.size(), 2U);
  finish(run, "y\r", 0);
  EXPECT_FALSE(fs::exists(file));
}

TEST_P(PromptTest, python_prompts_are_detected) {
  {
    KeptRun run(python("import sys\nsys.exit(int(input('Number? ')))"), setting());
    EXPECT_EQ(ask(run, Certainty::certain).question, "Number?");
    finish(run, "3\r", 3);
  }
  {
    KeptRun run(python("import readline, sys\nsys.exit(int(input('Number? ')))"), setting());
    EXPECT_EQ(ask(run, Certainty::probable).question, "Number?");
    finish(run, "4\r", 4);
  }
  KeptRun run(python("import getpass, sys\nsys.exit(len(getpass.getpass('Secret word: ')))"), setting());
  EXPECT_EQ(ask(run, Certainty::certain, true).question, "Secret word:");
  finish(run, "seven77\r", 7);
  EXPECT_EQ(run.output().find("seven77"), std::string::npos);
}

TEST_P(PromptTest, node_prompt_is_detected) {
  KeptRun run(node("const r = require('readline').createInterface({input: process.stdin, output: process.stdout});"
                   "r.question('package name: (app) ', a => { r.close(); process.exit(a === 'x' ? 5 : 6); })"),
              setting());
  EXPECT_EQ(ask(run, Certainty::probable).default_value, "app");
  finish(run, "x\r", 5);
}

TEST_P(PromptTest, ssh_unknown_host_prompt_is_detected) {
  const std::string key = (folder_.path() / "key").string();
  ASSERT_EQ(std::system(fmt::format("ssh-keygen -q -t ed25519 -N '' -f {}", key).c_str()), 0);
  folder_.write("sshd", fmt::format("HostKey {}\nUsePAM no\nPidFile none\n", key));
  // The server must not run as root, which would need more than this folder.
  if (::geteuid() == 0) {
    for (const fs::path& path : {folder_.path(), fs::path(key), folder_.path() / "sshd"}) {
      ASSERT_EQ(::chown(path.c_str(), testing::nobody_id, testing::nobody_id), 0);
    }
  }
  const bool is_root = ::geteuid() == 0 && GetParam() == User::own;
  const std::string server =
      fmt::format("{}/usr/sbin/sshd -i -f {}/sshd",
                  is_root ? fmt::format("setpriv --reuid={0} --regid={0} --clear-groups ", testing::nobody_id) : "",
                  folder_.path().string());
  KeptRun run({"/usr/bin/ssh", "-F", "/dev/null", "-o", "UserKnownHostsFile=/dev/null", "-o",
               "GlobalKnownHostsFile=/dev/null", "-o", "ProxyCommand=" + server, "ann@somewhere", "true"},
              setting());
  const term::ScreenQuestion question = ask(run, Certainty::certain);
  ASSERT_EQ(question.choices.size(), 2U) << run.output();
  EXPECT_EQ(question.choices[0].value, "yes");
  EXPECT_NE(question.question.find("continue connecting"), std::string::npos) << question.question;
  finish(run, "no\r", 255);
}

// A private package system in which nothing is ever installed.
TEST_P(PromptTest, apt_prompt_is_detected) {
  const std::string root = folder_.path().string();
  for (const char* name : {"etc/apt.conf.d", "etc/preferences.d", "etc/sources.list.d", "etc/trusted.gpg.d",
                           "state/lists/partial", "cache/archives/partial", "log"}) {
    fs::create_directories(folder_.path() / name);
  }
  std::string packages;
  for (const char* head : {"Package: one\nDepends: two", "Package: two"}) {
    packages += fmt::format("{}\nVersion: 1\nArchitecture: all\nMaintainer: x\nFilename: ./x.deb\nSize: 1\n\n", head);
  }
  folder_.write("repository/Packages", packages);
  folder_.write("etc/sources.list", fmt::format("deb [trusted=yes] file:{}/repository ./\n", root));
  folder_.write("status", "");
  folder_.write("conf", fmt::format("Dir \"{0}\";\nDir::Etc \"etc\";\nDir::State \"state\";\nDir::Cache \"cache\";\n"
                                    "Dir::State::status \"{0}/status\";\nDir::Log \"log\";\n"
                                    "Dir::Bin::dpkg \"/bin/false\";\nAPT::Sandbox::User \"\";\n"
                                    "Debug::NoLocking \"true\";\n",
                                    root));
  give(folder_.path());
  KeptRun run(bash("apt-get -qq update && exec apt-get install one"), setting({"APT_CONFIG=" + root + "/conf"}));
  const term::ScreenQuestion question = ask(run, Certainty::certain);
  EXPECT_EQ(question.choices.size(), 2U);
  EXPECT_EQ(question.default_value, "y");
  EXPECT_TRUE(question.question.ends_with("Do you want to continue? [Y/n]")) << question.question;
  finish(run, "n\r", 1);
}

TEST_P(PromptTest, editor_is_reported_as_waiting) {
  const std::string script =
      "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && "
      "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two && "
      "exec git -c user.name=a -c user.email=a@b rebase -i --root";
  KeptRun run(bash(script), setting({"GIT_SEQUENCE_EDITOR=nano", "GIT_CONFIG_NOSYSTEM=1"}));
  const auto prompt = run.wait_for_prompt();
  ASSERT_TRUE(prompt) << run.output();
  EXPECT_FALSE(prompt->is_secret);
  // Ctrl-X exits.
  EXPECT_EQ(run.answer(1, prompt->serial, "\x18"), true);
  const auto end = run.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 0) << run.output();
}

TEST_P(PromptTest, pager_is_reported_as_waiting) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += fmt::format("line {}\n", i);
  const fs::path file = folder_.write("text", text);
  give(folder_.path());
  KeptRun run({"/usr/bin/less", file.string()}, setting());
  ask(run, Certainty::certain);
  finish(run, "q", 0);
}

// None of them asks: there is no prompt or, for a program that polls its terminal, nothing that looks like a question.
TEST_P(PromptTest, programs_that_do_not_ask_are_not_reported) {
  const std::vector<Argv> silent = {
      {"/bin/sleep", "60"},
      bash("echo compiling; while :; do :; done"),
      node("process.stdin.setRawMode(true); setInterval(() => {}, 300)"),
      python("import select, socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()\n"
             "print('listening on a port:')\np = select.epoll()\np.register(s.fileno(), select.EPOLLIN)\np.poll()"),
  };
  std::vector<std::unique_ptr<KeptRun>> runs;
  for (const Argv& argv : silent) runs.push_back(std::make_unique<KeptRun>(argv, setting()));
  KeptRun run(node("process.stdin.setRawMode(true); process.stdin.on('data', () => {});"
                   "console.log('Building 3 packages ...'); setInterval(() => {}, 300)"),
              setting());
  const auto prompt = run.wait_for_prompt(milliseconds(6'000));
  ASSERT_TRUE(prompt);
  EXPECT_EQ(prompt->certainty, Certainty::probable);
  EXPECT_FALSE(term::read_question(run.output(), 24, 80, false).looks_like_question);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_FALSE(runs[i]->wait_for_prompt(milliseconds(i == 0 ? 2'000 : 100))) << silent[i].back();
  }
}

}  // namespace
}  // namespace reeve::keeper
