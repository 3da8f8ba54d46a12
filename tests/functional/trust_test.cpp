#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approvals.h"

// SPEC §7, "Trust": files that came with a clone are data and grant nothing.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Outcome;
using testing::Session;

// A port with a foreign listener.
class Listener {
 public:
  Listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(fd_, 8), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { ::close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const noexcept { return port_; }
  bool was_called() const {
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, 0) > 0;
  }

 private:
  int fd_;
  int port_ = 0;
};

class Trust : public testing::ApprovalsTest {
 protected:
  // As a clone brings it: not trusted.
  void clone(const std::string& yaml) const { scratch().write("project/.reeve/config.yaml", yaml); }
  Outcome trust() const { return reeve({"config", "trust", "--yes"}); }
  fs::path records() const { return scratch().path() / "home/.local/state/reeve/trust"; }
  fs::path record() const {
    for (const auto& entry : fs::directory_iterator(records())) {
      if (entry.path().extension() == ".trust") return entry.path();
    }
    return {};
  }
  // The value of FAVOURITE that the tool `t` sees.
  std::string seen() const { return reeve({"run", "--tool", "t"}, {{"FAVOURITE", "red"}}).out; }
  static constexpr const char* passing =
      "tools: {t: {command: [/bin/sh, -c, 'echo \"[$FAVOURITE]\"'], pass_env: [FAVOURITE]}}\n";
};

TEST_F(Trust, reading_a_clone_makes_no_connections) {
  const Listener attacker;
  clone(
      fmt::format("store: postgresql://u@127.0.0.1:{}/db?connect_timeout=2\n"
                  "notify: [{{on: [failed], webhook: 'http://127.0.0.1:{}/'}}]\n",
                  attacker.port(), attacker.port()));
  for (const testing::Words& words : std::initializer_list<testing::Words>{
           {"runs"}, {}, {"approvals"}, {"flow", "list"}, {"policy", "show"}, {"config", "show", "--origin"}}) {
    const Outcome outcome = reeve(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
  EXPECT_NE(reeve({"run", "--", "false"}).code, 0);
  EXPECT_EQ(reeve({"stop"}).code, 0);
  EXPECT_FALSE(attacker.was_called());
  EXPECT_TRUE(fs::exists(state() / "reeve.db"));
}

TEST_F(Trust, ignored_keys_are_listed) {
  clone("store: postgresql://u:hunter2@nowhere/db\ntools: {t: {command: [\"true\"], pass_env: [FAVOURITE]}}\n");
  const Outcome shown = reeve({"config", "show", "--origin"});
  EXPECT_THAT(shown.out, HasSubstr("store\tsqlite\tdefault (ignored: postgresql://u:***@nowhere/db from "
                                   ".reeve/config.yaml:1)\n"));
  EXPECT_THAT(shown.err, AllOf(HasSubstr("config.not_trusted"), HasSubstr("tools.t.pass_env"),
                               HasSubstr("reeve config trust"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(reeve({"config", "show", "--json"}).out,
              HasSubstr("\"reason\":\"this project's config is not trusted\""));
  EXPECT_THAT(reeve({"doctor"}).out, HasSubstr("trust\twarn\tthe project's config is not trusted; ignored: store, "
                                               "tools.t.pass_env\treeve config trust\n"));
  const Outcome started = reeve({"run", "--", "true"});
  EXPECT_EQ(started.code, 0);
  EXPECT_THAT(started.err, HasSubstr("ignored: store, tools.t.pass_env"));
  EXPECT_THAT(request("GET", "/api/config"),
              AllOf(HasSubstr("postgresql://u:***@nowhere/db"), Not(HasSubstr("hunter2"))));
  EXPECT_EQ(trust().code, 0);
  EXPECT_THAT(reeve({"run", "--", "true"}).err, Not(HasSubstr("ignored")));
}

// A change takes effect only after it is trusted again, even while the daemon runs.
TEST_F(Trust, variable_is_passed_only_while_the_exact_config_is_trusted) {
  clone(passing);
  EXPECT_EQ(seen(), "[]\n");
  ASSERT_EQ(trust().code, 0);
  EXPECT_EQ(seen(), "[red]\n");
  clone(std::string(passing) + "policies: {tools: {git_push: auto_approve}}\n");
  EXPECT_EQ(seen(), "[]\n");
  EXPECT_THAT(reeve({"policy", "check", "git_push"}).out, HasSubstr("require_approval"));
  ASSERT_EQ(trust().code, 0);
  EXPECT_THAT(reeve({"policy", "check", "git_push"}).out, HasSubstr("auto_approve"));
  ASSERT_EQ(reeve({"config", "trust", "--revoke"}).code, 0);
  EXPECT_EQ(seen(), "[]\n");
}

// The command that gets the variable is part of what is trusted.
TEST_F(Trust, changed_command_does_not_get_the_variable) {
  configure(passing);
  EXPECT_EQ(seen(), "[red]\n");
  clone("tools: {t: {command: [/bin/sh, -c, 'echo \"stolen [$FAVOURITE]\"'], pass_env: [FAVOURITE]}}\n");
  EXPECT_EQ(seen(), "stolen []\n");
}

// TOOL-1
TEST_F(Trust, a_clones_policies_tighten_and_never_loosen) {
  clone("policies: {tools: {git_push: auto_approve, git_commit: deny}}\n");
  EXPECT_THAT(reeve({"policy", "check", "git_push"}).out, HasSubstr("require_approval"));
  EXPECT_EQ(reeve({"policy", "check", "git_commit"}).code, 5);
}

// TOOL-1, SPEC §7
TEST_F(Trust, even_if_denied_counts_from_the_users_config_only) {
  const std::string rule = "policies: {tools: {delete: {policy: auto_approve, even_if_denied: true}}}\n";
  configure(rule);
  const Outcome denied = reeve({"policy", "check", "delete"});
  EXPECT_EQ(denied.code, 5) << denied.out;
  EXPECT_THAT(reeve({"config", "show"}).err, HasSubstr("takes effect only in your own config"));
  scratch().write("home/.config/reeve/config.yaml", rule);
  EXPECT_THAT(reeve({"policy", "check", "delete"}).out, HasSubstr("auto_approve"));
}

TEST_F(Trust, notifiers_of_a_clone_are_ignored) {
  const fs::path told = scratch().path() / "told";
  clone(fmt::format("notify: [{{on: [failed], command: [touch, {}]}}]\n", told.string()));
  EXPECT_NE(reeve({"run", "--", "false"}).code, 0);
  ASSERT_EQ(reeve({"stop"}).code, 0);
  EXPECT_FALSE(fs::exists(told));
  ASSERT_EQ(trust().code, 0);
  EXPECT_NE(reeve({"run", "--", "false"}).code, 0);
  EXPECT_TRUE(testing::eventually([&] { return fs::exists(told); }));
}

TEST_F(Trust, commands_of_a_clone_are_shown_before_the_first_run) {
  clone("tools: {t: {command: [echo, hello]}}\ngates: {g: {command: [make, check]}}\n");
  EXPECT_THAT(reeve({"run", "--", "true"}).err, Not(HasSubstr("defines these commands"))) << "none of them is started";
  EXPECT_THAT(reeve({"run", "--tool", "t"}).err,
              AllOf(HasSubstr("defines these commands"), HasSubstr("tools.t.command: [\"echo\",\"hello\"]"),
                    HasSubstr("gates.g.command: [\"make\",\"check\"]")));
  EXPECT_THAT(reeve({"run", "--tool", "t"}).err, Not(HasSubstr("defines these commands")));
  clone("tools: {t: {command: [echo, other]}}\n");
  EXPECT_THAT(reeve({"run", "--tool", "t"}).err, HasSubstr("[\"echo\",\"other\"]"));
}

TEST_F(Trust, trust_asks_at_a_terminal_and_needs_yes_elsewhere) {
  clone(passing);
  const Outcome unasked = reeve({"config", "trust"});
  EXPECT_EQ(unasked.code, 2);
  EXPECT_THAT(unasked.out, HasSubstr("tools.t.pass_env: [\"FAVOURITE\"]  (.reeve/config.yaml:1)"));
  EXPECT_THAT(unasked.err, HasSubstr("--yes"));
  EXPECT_EQ(seen(), "[]\n");
  for (const std::string answer : {"n", "y"}) {
    const auto session = start({"config", "trust"}, Session::Ends::terminal);
    EXPECT_TRUE(session->wait_for("Trust them? [y/N]"));
    // The recorded config is the one that was shown.
    clone(std::string(passing) + "store: postgresql://u@h/d\n");
    session->type(answer + "\n");
    EXPECT_EQ(session->wait(), answer == "y" ? 0 : 1);
    EXPECT_EQ(seen(), "[]\n") << "what was put in its place was not looked at";
    clone(passing);
    EXPECT_EQ(seen(), answer == "y" ? "[red]\n" : "[]\n");
  }
}

TEST_F(Trust, process_inside_a_run_cannot_trust) {
  clone(passing);
  for (const std::string line : {"config trust --yes", "config trust --revoke"}) {
    const Outcome inside =
        reeve({"run", "--", "/bin/sh", "-c", "env -u REEVE_RUN_ID " + testing::reeve_binary() + " " + line});
    EXPECT_EQ(inside.code, 5) << inside.err;
    EXPECT_THAT(inside.err + inside.out, HasSubstr("config.denied"));
  }
  EXPECT_EQ(seen(), "[]\n");
}

// The record is a file of the user, and names its owner.
TEST_F(Trust, trust_record_writable_by_others_is_ignored) {
  configure(passing);
  ASSERT_EQ(seen(), "[red]\n");
  const fs::path own = record();
  EXPECT_EQ(fs::status(own).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(records()).permissions(), fs::perms::owner_all);
  fs::permissions(own, fs::perms::group_write, fs::perm_options::add);
  EXPECT_EQ(seen(), "[]\n");
  fs::permissions(own, fs::perms::group_write, fs::perm_options::remove);
  EXPECT_EQ(seen(), "[red]\n");
  const fs::path moved = scratch().path() / "moved";
  fs::rename(own, moved);
  fs::create_symlink(moved, own);
  EXPECT_EQ(seen(), "[]\n") << "a link is not followed";
  fs::remove(own);
  fs::rename(moved, own);
  fs::rename(records(), moved);
  fs::create_symlink(moved, records());
  EXPECT_EQ(seen(), "[]\n") << "nor is one in the place of the folder";
  fs::remove(records());
  fs::rename(moved, records());
  EXPECT_EQ(seen(), "[red]\n");
  // It names its owner.
  std::string text = testing::read_text(own);
  text.replace(text.find("/project\""), 9, "/another\"");
  std::ofstream(own) << text;
  EXPECT_EQ(seen(), "[]\n");
}

// A config written by `reeve init` is trusted; one that existed before is not.
TEST_F(Trust, config_written_by_init_is_trusted) {
  fs::remove_all(project() / ".reeve");
  ASSERT_EQ(reeve({"init"}).code, 0);
  EXPECT_THAT(reeve({"doctor"}).out, HasSubstr("trust\tok\tthe project's config is trusted"));
  clone(passing);
  ASSERT_EQ(reeve({"init"}).code, 0);
  EXPECT_EQ(seen(), "[]\n");
}

}  // namespace
}  // namespace reeve
