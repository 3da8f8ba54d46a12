#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sodium.h>

#include "tests/support/daemon.h"
#include "tests/support/projects.h"
#include "tests/support/web_receiver.h"

// SPEC §7 `notify`: commands and webhooks for what needs people. Failures of a notifier affect nothing else.
namespace reeve {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::ReceivedPost;
using ::testing::SizeIs;
using testing::WebReceiver;

const testing::Words fails = {"write-then-exit", "1", "1"};
const testing::Words asks = {"write-then-exit", "1", "90"};

std::string hmac_hex(const std::string& key, const std::string& text) {
  const auto bytes = [](const std::string& from) { return reinterpret_cast<const unsigned char*>(from.data()); };
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, bytes(key), key.size());
  crypto_auth_hmacsha256_update(&state, bytes(text), text.size());
  std::array<unsigned char, crypto_auth_hmacsha256_BYTES> digest{};
  crypto_auth_hmacsha256_final(&state, digest.data());
  std::string hex(2 * digest.size() + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), digest.data(), digest.size());
  hex.pop_back();
  return hex;
}

class Notify : public testing::DaemonTest {
 protected:
  static std::string webhook(const WebReceiver& receiver, const std::string& on, const std::string& more = "") {
    return "{on: [" + on + "], webhook: \"" + receiver.address() + "\"" + more + "}";
  }
  void notify(const std::string& entries, const std::string& more = "") const {
    configure("notify: [" + entries + "]\n" + more);
  }
  std::string daemon_log() const {
    const fs::path file = state() / "logs/daemon.log";
    return fs::exists(file) ? testing::read_text(file) : "";
  }
  bool complains(const std::string& text) const {
    return eventually([&] { return daemon_log().contains(text); });
  }
  // An executable that appends each of its arguments as a line to `told`.
  std::string teller() const {
    const fs::path file =
        scratch().write("tell", "#!/bin/sh\nout=" + told().string() + "\n{ printf '<%s>' \"$@\"; echo; } >> $out\n");
    fs::permissions(file, fs::perms::owner_all);
    return file.string();
  }
  fs::path told() const { return scratch().path() / "told"; }
  std::vector<std::string> wait_for_told(std::size_t count) const {
    std::vector<std::string> lines;
    EXPECT_TRUE(eventually([&] {
      if (fs::exists(told())) lines = testing::lines_of(testing::read_text(told()));
      return lines.size() >= count;
    }));
    return lines;
  }
};

class CommonNotify : public testing::ProjectsTest {};

TEST_F(Notify, webhook_gets_the_signed_event) {
  const WebReceiver receiver;
  notify(webhook(receiver, "failed", ", secret_env: HOOK_SECRET"));
  testing::Words words = run_words({"--detach"}, fails);
  // The client that starts the daemon passes it on.
  ASSERT_EQ(reeve(words, {{"HOOK_SECRET", "s3cr3t"}}).code, 0);
  const auto posts = receiver.wait_for(1);
  ASSERT_THAT(posts, SizeIs(1));
  ReceivedPost post = posts.front();
  EXPECT_EQ(post.line, "POST /hook HTTP/1.1");
  EXPECT_EQ(post.headers["content-type"], "application/json");
  EXPECT_EQ(post.headers["reeve-event"], "failed");
  EXPECT_EQ(post.headers["reeve-signature"],
            "sha256=" + hmac_hex("s3cr3t", post.headers["reeve-timestamp"] + "." + post.body));
  Members event = testing::parse_object(post.body).value_or(Members());
  EXPECT_EQ(event["event"], "tool_status_change");
  EXPECT_EQ(event["tool_run_id"], "TR-1");
  EXPECT_EQ(event["status"], "failed");
  EXPECT_EQ(event["seq"], post.headers["reeve-sequence"]);
  // Neither the key nor the URL is visible in process listings, or stored.
  EXPECT_THAT(testing::read_text(state() / "notify.json"), Not(HasSubstr("s3cr3t")));
}

TEST_F(Notify, each_entry_gets_only_its_events) {
  const WebReceiver receiver;
  notify(webhook(receiver, "approval_needed, stalled") + ", {on: [failed], command: [" + teller() +
         ", \"{event}\", \"{id} {run}\", \"{summary}\"]}");
  EXPECT_EQ(run({}, fails).code, 1);
  detach({}, asks);
  detach({"--no-output-timeout", "1s"}, {"wait-file", "go"});
  const auto posts = receiver.wait_for(2);
  std::set<std::string> events;
  for (ReceivedPost post : posts) events.insert(post.headers["reeve-event"]);
  EXPECT_THAT(events, ElementsAre("approval_needed", "stalled"));
  EXPECT_THAT(wait_for_told(1), ElementsAre("<failed><TR-1 TR-1><failed: reeve_zoo (TR-1): exit 1>"));
  scratch().write("project/go", "");
  EXPECT_EQ(finish("TR-3")["status"], "completed");
}

TEST_F(Notify, failed_webhook_is_retried_until_delivered) {
  const WebReceiver receiver([](std::size_t number) { return number == 0 ? 500 : 200; });
  // The daemon stays for the retry though it has nothing else to do.
  notify(webhook(receiver, "failed"), "supervision: {idle_exit: 200ms}\n");
  EXPECT_EQ(run({}, fails).code, 1);
  auto posts = receiver.wait_for(2);
  ASSERT_THAT(posts, SizeIs(2));
  EXPECT_EQ(posts[0].headers["reeve-sequence"], posts[1].headers["reeve-sequence"]);
  EXPECT_EQ(posts[0].body, posts[1].body);
  EXPECT_TRUE(complains("the server answered 500; will retry"));
  // Then it exits, and the next one does not repeat what was delivered.
  EXPECT_TRUE(eventually([&] { return !fs::exists(socket()); }));
  EXPECT_EQ(run({}, fails).code, 1);
  posts = receiver.wait_for(3);
  EXPECT_NE(posts[2].headers["reeve-sequence"], posts[0].headers["reeve-sequence"]);
}

TEST_F(Notify, daemon_restart_delivers_each_event_once) {
  int port = 0;
  {
    const WebReceiver receiver;
    port = receiver.port();
    notify(webhook(receiver, "failed"));
    EXPECT_EQ(run({}, fails).code, 1);
    receiver.wait_for(1);
  }
  // No server listens now.
  EXPECT_EQ(run({}, fails).code, 1);
  EXPECT_EQ(run({}, fails).code, 1);
  EXPECT_TRUE(complains("will retry"));
  ASSERT_EQ(reeve({"stop"}).code, 0);
  const WebReceiver receiver([](std::size_t) { return 200; }, port);
  ASSERT_EQ(reeve({"runs"}).code, 0);
  receiver.wait_for(2);
  // Again, with nothing left to deliver.
  ASSERT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(run({}, fails).code, 1);
  const auto posts = receiver.wait_for(3);
  std::vector<std::string> runs;
  for (const ReceivedPost& post : posts) runs.push_back(testing::parse_object(post.body).value()["tool_run_id"]);
  EXPECT_THAT(runs, ElementsAre("TR-2", "TR-3", "TR-4"));
}

// Delivery is at least once: the sequence number shows duplicates.
TEST_F(Notify, pending_webhook_is_delivered_after_a_crash) {
  int port = 0;
  {
    const WebReceiver receiver;
    port = receiver.port();
    notify(webhook(receiver, "failed"));
  }
  EXPECT_EQ(run({}, fails).code, 1);
  EXPECT_TRUE(complains("will retry"));
  const std::string killed = testing::read_text(state() / "reeve.lock");
  const WebReceiver receiver([](std::size_t) { return 200; }, port);
  ::kill(std::stoi(killed), SIGKILL);
  // Its guard starts the next one without a request.
  auto posts = receiver.wait_for(1);
  EXPECT_EQ(testing::parse_object(posts.front().body).value()["tool_run_id"], "TR-1");
}

// A new entry gets only new events.
TEST_F(Notify, new_entry_gets_only_new_events) {
  EXPECT_EQ(run({}, fails).code, 1);
  ASSERT_EQ(reeve({"stop"}).code, 0);
  const WebReceiver receiver;
  notify(webhook(receiver, "failed"));
  EXPECT_EQ(run({}, fails).code, 1);
  const auto posts = receiver.wait_for(1);
  EXPECT_EQ(testing::parse_object(posts.front().body).value()["tool_run_id"], "TR-2");
}

TEST_F(Notify, status_410_drops_the_event) {
  const WebReceiver receiver([](std::size_t number) { return number == 0 ? 410 : 200; });
  notify(webhook(receiver, "failed"));
  EXPECT_EQ(run({}, fails).code, 1);
  EXPECT_TRUE(complains("the server answered 410"));
  EXPECT_EQ(run({}, fails).code, 1);
  auto posts = receiver.wait_for(2);
  EXPECT_NE(posts[0].headers["reeve-sequence"], posts[1].headers["reeve-sequence"]);
}

TEST_F(Notify, nothing_is_sent_without_the_configured_secret) {
  const WebReceiver receiver;
  notify(webhook(receiver, "failed", ", secret_env: HOOK_SECRET"));
  EXPECT_EQ(run({}, fails).code, 1);
  EXPECT_TRUE(complains("`HOOK_SECRET` was not set when the daemon was started"));
  EXPECT_THAT(receiver.posts(), SizeIs(0));
  // A daemon that has the secret continues where the other could not.
  ASSERT_EQ(reeve({"stop"}).code, 0);
  ASSERT_EQ(reeve({"runs"}, {{"HOOK_SECRET", "x"}}).code, 0);
  receiver.wait_for(1);
}

// The key can be a file, which is read again for each delivery; it is not used if others can read it.
TEST_F(Notify, webhook_is_signed_with_the_key_in_a_file) {
  const WebReceiver receiver;
  const fs::path key = scratch().write("key", "s3cr3t\n");
  fs::permissions(key, fs::perms(0644));
  notify(webhook(receiver, "failed", ", secret_file: \"" + key.string() + "\""));
  EXPECT_EQ(run({}, fails).code, 1);
  EXPECT_TRUE(complains("others can access it"));
  EXPECT_THAT(receiver.posts(), SizeIs(0));
  fs::permissions(key, fs::perms(0600));
  const auto posts = receiver.wait_for(1);
  ReceivedPost post = posts.front();
  EXPECT_EQ(post.headers["reeve-signature"],
            "sha256=" + hmac_hex("s3cr3t", post.headers["reeve-timestamp"] + "." + post.body));
}

TEST_F(Notify, completed_run_is_reported_as_text) {
  const WebReceiver receiver;
  notify(webhook(receiver, "completed", ", format: text") + ", " + webhook(receiver, "completed", ", format: message") +
         ", {on: [completed], command: [" + teller() + ", \"{title}\", \"{body}\"]}");
  EXPECT_EQ(run({}, {"lines", "1"}).code, 0);
  for (ReceivedPost post : receiver.wait_for(2)) {
    EXPECT_EQ(post.headers["reeve-event"], "completed");
    if (post.headers["content-type"] == "application/json") {
      Members message = testing::parse_object(post.body).value_or(Members());
      EXPECT_EQ(message["title"], "Completed: reeve_zoo (TR-1)");
      EXPECT_THAT(message["text"], HasSubstr("reeve show TR-1"));
      EXPECT_THAT(post.body, HasSubstr("\"tool_status_change\""));
    } else {
      EXPECT_EQ(post.headers["title"], "Completed: reeve_zoo (TR-1)");
      EXPECT_THAT(post.body, HasSubstr("reeve show TR-1"));
    }
  }
  EXPECT_THAT(wait_for_told(1).front(), HasSubstr("<Completed: reeve_zoo (TR-1)><"));
}

// The steps of an execution are not reported one by one.
TEST_F(Notify, completed_execution_is_reported_once) {
  const WebReceiver receiver;
  notify(webhook(receiver, "completed", ", format: text"),
         "tools: {step: {command: [\"true\"]}}\nroles: {r: {tool: step}}\n");
  scratch().write("project/w.yaml",
                  "id: w\nname: W\nentry_point: a\nexit_points: [b]\nnodes:\n"
                  "  - {id: a, type: task, task_config: {role: r, task_template: x}}\n"
                  "  - {id: b, type: task, task_config: {role: r, task_template: x}}\n"
                  "edges: [{id: e, source: a, target: b}]\n");
  const Outcome flow = reeve({"flow", "run", "w.yaml"});
  ASSERT_EQ(flow.code, 0) << flow.err;
  EXPECT_EQ(run({}, {"lines", "1"}).code, 0);
  const auto posts = receiver.wait_for(2);
  ASSERT_THAT(posts, SizeIs(2));
  EXPECT_EQ(ReceivedPost(posts[0]).headers["title"], "Completed: EX-1");
  EXPECT_EQ(ReceivedPost(posts[1]).headers["title"], "Completed: reeve_zoo (TR-3)");
}

// A daemon that was started without notifications sends the ones that the config has when something happens.
TEST_F(Notify, changes_take_effect_without_a_restart) {
  const WebReceiver first;
  const WebReceiver second;
  EXPECT_EQ(run({}, fails).code, 1);
  const std::string daemon = testing::read_text(state() / "reeve.lock");
  notify(webhook(first, "failed"));
  EXPECT_EQ(run({}, fails).code, 1);
  EXPECT_EQ(testing::parse_object(first.wait_for(1).front().body).value()["tool_run_id"], "TR-2");
  // A file that is not valid changes nothing.
  scratch().write("project/.reeve/config.yaml", "notify: [{on: [failed], command: [x, \"{qestion}\"]}]\n");
  EXPECT_EQ(reeve({"config", "show"}).code, 2);
  notify(webhook(second, "failed"));
  EXPECT_EQ(run({}, fails).code, 1);
  EXPECT_EQ(testing::parse_object(second.wait_for(1).front().body).value()["tool_run_id"], "TR-3");
  EXPECT_THAT(first.posts(), SizeIs(1));
  EXPECT_EQ(testing::read_text(state() / "reeve.lock"), daemon);
}

// SPEC §7: what an agent writes into the project's config takes effect only after it was trusted.
TEST_F(Notify, changed_config_takes_effect_only_when_trusted) {
  const WebReceiver receiver;
  const WebReceiver trusted;
  notify(webhook(trusted, "failed"));
  EXPECT_EQ(run({}, fails).code, 1);
  trusted.wait_for(1);
  scratch().write("project/.reeve/config.yaml", "notify: [" + webhook(receiver, "failed") + "]\n");
  EXPECT_EQ(run({}, fails).code, 1);
  ASSERT_EQ(reeve({"config", "trust", "--yes"}).code, 0);
  EXPECT_EQ(run({}, fails).code, 1);
  EXPECT_EQ(testing::parse_object(receiver.wait_for(1).front().body).value()["tool_run_id"], "TR-3");
}

// The common daemon's notifications are in the config of its user.
TEST_F(CommonNotify, changes_of_the_users_config_take_effect_without_a_restart) {
  const WebReceiver first;
  const WebReceiver second;
  const auto configure_user = [&](const WebReceiver& receiver) {
    scratch().write("home/.config/reeve/config.yaml",
                    "notify: [{on: [failed], webhook: \"" + receiver.address() + "\"}]\n");
  };
  const testing::Words fails_in_a_shell = {"run", "--", "sh", "-c", "exit 7"};
  EXPECT_EQ(in(shop(), fails_in_a_shell).code, 7);
  const std::string daemon = testing::read_text(common() / "reeve.lock");
  configure_user(first);
  EXPECT_EQ(in(shop(), fails_in_a_shell).code, 7);
  EXPECT_EQ(testing::parse_object(first.wait_for(1).front().body).value()["tool_run_id"], "TR-2");
  configure_user(second);
  EXPECT_EQ(in(site(), fails_in_a_shell).code, 7);
  EXPECT_EQ(testing::parse_object(second.wait_for(1).front().body).value()["tool_run_id"], "TR-3");
  EXPECT_THAT(first.posts(), SizeIs(1));
  EXPECT_EQ(testing::read_text(common() / "reeve.lock"), daemon);
}

TEST_F(Notify, test_reports_each_result) {
  const WebReceiver good;
  const WebReceiver bad([](std::size_t) { return 500; });
  EXPECT_EQ(reeve({"notify", "test"}).code, 1);
  notify(webhook(good, "failed") + ", " + webhook(bad, "completed", ", format: text") + ", {on: [stalled], command: [" +
         teller() + ", \"{event}\", \"{title}\"]}");
  const Outcome outcome = reeve({"notify", "test"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("\tfailed\tdelivered"));
  EXPECT_THAT(outcome.out, HasSubstr("\tcompleted\tfailed\tthe server answered 500"));
  ReceivedPost post = good.wait_for(1).front();
  EXPECT_EQ(post.headers["reeve-event"], "test");
  EXPECT_EQ(post.headers["reeve-sequence"], "0");
  EXPECT_EQ(testing::parse_object(post.body).value()["event"], "notification_test");
  EXPECT_THAT(wait_for_told(1), ElementsAre("<test><Test of Reeve>"));
  // Nothing is retried.
  notify(webhook(good, "failed"));
  EXPECT_EQ(reeve({"notify", "test"}).code, 0);
  EXPECT_THAT(bad.posts(), SizeIs(1));
}

// APR-11: otherwise a tool could send messages in the user's name.
TEST_F(Notify, test_is_refused_inside_a_run) {
  const WebReceiver receiver;
  notify(webhook(receiver, "failed"));
  const Outcome outcome = reeve({"run", "--", testing::reeve_binary(), "notify", "test"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_EQ(ReceivedPost(receiver.wait_for(1).front()).headers["reeve-event"], "failed");
  EXPECT_THAT(receiver.posts(), SizeIs(1)) << "only the failed run itself is reported";
}

// LOG-3: names and questions of tools are data.
TEST_F(Notify, hostile_text_stays_one_argument) {
  const std::string name = "-n x\"; touch pwned; $(touch pwned) `touch pwned` 'q' {id}\n\033[31m";
  const fs::path tool = scratch().write("bin/" + name, "#!/bin/sh\nexit 90\n");
  fs::permissions(tool, fs::perms::owner_all);
  notify("{on: [approval_needed], command: [" + teller() + ", \"{question}\", \"{id}\"]}");
  ASSERT_EQ(reeve({"run", "--detach", "--", tool.string()}).code, 0);
  const auto lines = wait_for_told(1);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines.front(), "< -n x\"; touch pwned; $(touch pwned) `touch pwned` 'q' {id} [31m asks to continue><AP-1>");
  EXPECT_THAT(testing::find_processes("pwned"), SizeIs(0));
  EXPECT_FALSE(fs::exists(project() / "pwned") || fs::exists("/pwned"));
}

// Which environment variables commands receive.
TEST_F(Notify, command_gets_a_minimal_environment) {
  const fs::path file = scratch().write("show", "#!/bin/sh\nenv > " + told().string() + "\n");
  fs::permissions(file, fs::perms::owner_all);
  const WebReceiver receiver;
  notify("{on: [failed], command: [" + file.string() + "]}, " +
         webhook(receiver, "failed", ", secret_env: HOOK_SECRET"));
  ASSERT_EQ(reeve(run_words({"--detach"}, fails),
                  {{"HOOK_SECRET", "x"}, {"MY_TOKEN", "y"}, {"DBUS_SESSION_BUS_ADDRESS", "unix:path=/bus"}})
                .code,
            0);
  receiver.wait_for(1);
  std::string text;
  EXPECT_TRUE(eventually([&] {
    text = fs::exists(told()) ? testing::read_text(told()) : "";
    return text.contains("PATH=");
  }));
  EXPECT_THAT(text, HasSubstr("DBUS_SESSION_BUS_ADDRESS=unix:path=/bus\n"));
  EXPECT_THAT(text, Not(HasSubstr("HOOK_SECRET")));
  EXPECT_THAT(text, Not(HasSubstr("MY_TOKEN")));
  EXPECT_THAT(text, Not(HasSubstr("REEVE_")));
}

TEST_F(Notify, doctor_checks_for_curl) {
  EXPECT_THAT(reeve({"doctor"}).out, Not(HasSubstr("curl\t")));
  const WebReceiver receiver;
  notify(webhook(receiver, "failed"));
  EXPECT_THAT(reeve({"doctor"}).out, HasSubstr("curl\tok\t"));
  testing::Launch elsewhere = launch({"doctor"});
  std::ranges::find(elsewhere.environment, "PATH", &std::pair<std::string, std::string>::first)->second = "/nowhere";
  EXPECT_THAT(testing::run_program(elsewhere).out, HasSubstr("curl\twarn\tmissing"));
}

// A missing command, one that fails, one that hangs, an unreachable server, one that does not respond, one that fails:
// runs continue, and the daemon stops when requested.
TEST_F(Notify, broken_notifiers_do_not_affect_runs) {
  const WebReceiver silent([](std::size_t) { return 0; });
  const WebReceiver broken([](std::size_t) { return 500; });
  const WebReceiver healthy;
  const std::string on = "{on: [failed, approval_needed], ";
  notify(on + "command: [no-such-program, \"{summary}\"]}, " + on + "command: [sh, -c, \"echo oh no; exit 3\"]}, " +
         on + "command: [" + testing::zoo_binary() + ", silent, \"1000\"]}, " + on +
         "webhook: \"http://127.0.0.1:1/\"}, " + webhook(silent, "failed, approval_needed") + ", " +
         webhook(broken, "failed") + ", " + webhook(healthy, "failed, approval_needed"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run({}, fails).code, 1);
  EXPECT_EQ(finish(detach({}, {"lines", "3"}))["status"], "completed");
  const std::string asking = detach({}, asks);
  wait_for_status(asking, "waiting_approval");
  EXPECT_EQ(reeve({"cancel", asking}).code, 0);
  EXPECT_TRUE(complains("`no-such-program`: No such file or directory"));
  EXPECT_TRUE(complains("`sh`: exit code 3: oh no"));
  EXPECT_TRUE(complains("Failed to connect"));
  EXPECT_TRUE(complains("the server answered 500; will retry"));
  // A working notifier is served though the others hang.
  EXPECT_THAT(healthy.wait_for(21), SizeIs(21));
  EXPECT_EQ(run({}, {"lines", "3"}).code, 0);
  EXPECT_EQ(reeve({"stop"}).code, 0);
}

}  // namespace
}  // namespace reeve
