#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/port.h"
#include "tests/support/projects.h"

// `reeve serve` beside a running daemon and under systemd, and what becomes of a port that cannot be opened.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::Port;
using testing::Words;

class Serve : public testing::PortTest {
 protected:
  std::string daemon_pid() const {
    return testing::parse_object(body(request("GET", "/healthz"))).value_or(testing::Members())["pid"];
  }
  static std::string body(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }
};

TEST_F(Serve, replace_takes_the_place_of_the_running_daemon) {
  const Outcome started = reeve({"run", "--detach", "--", "sleep", "60"});
  const std::string run = started.out.substr(0, started.out.find('\n'));
  const std::string before = daemon_pid();
  const Outcome refused = reeve({"serve"});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("reeve serve --replace"));
  const auto next = start({"serve", "--replace"});
  ASSERT_TRUE(next->wait_for_error("listening at"));
  EXPECT_NE(daemon_pid(), before);
  EXPECT_EQ(show(run)["status"], "running") << "the run continues";
  EXPECT_EQ(reeve({"cancel", run}).code, 0);
  next->signal(SIGTERM);
  EXPECT_EQ(next->wait(), 0);
}

TEST_F(Serve, http_opens_the_port_of_a_running_daemon) {
  ASSERT_EQ(reeve({"runs"}).code, 0);
  const Outcome opened = reeve({"serve", "--http", "127.0.0.1:0", "--json"});
  ASSERT_EQ(opened.code, 0) << opened.err;
  const std::string url = testing::parse_object(opened.out).value_or(testing::Members())["url"];
  ASSERT_THAT(url, HasSubstr("http://127.0.0.1:"));
  const Port port{static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)))};
  EXPECT_EQ(testing::status_of(ask(port, compose(port, "GET", "/api/runs", bearer(own_token())))), 200);
  const Outcome other = reeve({"serve", "--http", "127.0.0.1:1"});
  EXPECT_EQ(other.code, 4);
  EXPECT_THAT(other.err, HasSubstr("already listens at " + url));
  EXPECT_EQ(reeve({"serve", "--http", url.substr(7)}).code, 0) << "it is open already";
  EXPECT_THAT(reeve({"serve", "--http", "0.0.0.0:0"}).err, HasSubstr("error["));
}

TEST_F(Serve, unusable_address_leaves_the_running_daemon_as_it_was) {
  ASSERT_EQ(reeve({"runs"}).code, 0);
  EXPECT_THAT(reeve({"serve", "--http", "0.0.0.0:7433"}).err, HasSubstr("error[daemon.not_loopback]"));
  EXPECT_THAT(reeve({"serve", "--http", "nowhere"}).err, HasSubstr("error[daemon.bad_address]"));
  EXPECT_THAT(body(request("GET", "/healthz")), Not(HasSubstr("\"port\"")));
  EXPECT_EQ(reeve({"serve", "--http", "127.0.0.1:0"}).code, 0);
}

TEST_F(Serve, a_port_that_cannot_be_opened_is_shown) {
  configure("server: {http: \"127.0.0.1:0\", tls: {certificate: cert.pem, key: key.pem}}\n");
  ASSERT_EQ(reeve({"runs"}).code, 0);
  const std::string place = (project() / ".reeve/cert.pem").string();
  const auto overview = start({}, testing::Session::Ends::terminal);
  EXPECT_TRUE(overview->wait_for("The daemon's port could not be opened"));
  overview->wait();
  EXPECT_THAT(reeve({"doctor"}).out, AllOf(HasSubstr("port\twarn\tcould not be opened"), HasSubstr(place)))
      << "a relative path is relative to the config file";
  EXPECT_THAT(reeve({"token", "create", "ci"}).err, HasSubstr("could not be opened"));
}

TEST_F(Serve, token_create_says_where_the_token_can_be_used) {
  EXPECT_THAT(reeve({"token", "create", "ci"}).err,
              AllOf(HasSubstr("all projects"), HasSubstr("reeve serve --http 127.0.0.1:7433 opens one")));
  open_port();
  EXPECT_THAT(reeve({"token", "create", "cd"}).err, HasSubstr("The daemon listens at http://127.0.0.1:"));
}

TEST_F(Serve, systemd_passes_the_socket) {
  fs::create_directories(state());
  fs::permissions(state(), fs::perms::owner_all);
  testing::Launch unit = launch({});
  unit.argv = {"systemd-socket-activate", "--setenv=HOME",
               "--setenv=PATH",           "--setenv=LANG",
               "--setenv=REEVE_STATE",    "--listen=" + socket().string(),
               testing::reeve_binary(),   "serve"};
  testing::Session activated(unit);
  ASSERT_TRUE(activated.wait_for_error("Listening on"));
  // The first client starts the daemon by connecting.
  const Outcome ran = reeve({"run", "--", "echo", "hello"});
  EXPECT_EQ(ran.out, "hello\n") << ran.err;
  const std::string pid = daemon_pid();
  EXPECT_EQ(pid, std::to_string(activated.pid())) << "no other daemon was started";
  EXPECT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(activated.wait(), 0);
  EXPECT_TRUE(fs::exists(socket())) << "the socket belongs to systemd";
  fs::remove(socket());
}

// A socket unit that is enabled while a daemon runs takes its socket: its daemon takes over, and nothing is lost.
TEST_F(Serve, a_socket_unit_takes_over_from_a_running_daemon) {
  const std::string go = (scratch().path() / "go").string();
  const std::string run = detach({}, {"wait-file", go});
  wait_for_output(run, "waiting");
  const Outcome asking = reeve({"run", "--detach", "--", "sh", "-c", "exit 90"});
  const std::string asked = asking.out.substr(0, asking.out.find('\n'));
  wait_for_status(asked, "waiting_approval");
  const std::string before = daemon_pid();
  testing::Launch unit = launch({});
  unit.argv = {"systemd-socket-activate", "--setenv=HOME",
               "--setenv=PATH",           "--setenv=LANG",
               "--setenv=REEVE_STATE",    "--listen=" + socket().string(),
               testing::reeve_binary(),   "serve"};
  testing::Session activated(unit);
  // Whichever is first: the old daemon notices that its socket was replaced, or the new one asks it to leave.
  ASSERT_TRUE(activated.wait_for_error("Listening"));
  EXPECT_EQ(show(run)["status"], "running");
  EXPECT_EQ(daemon_pid(), std::to_string(activated.pid()));
  EXPECT_NE(daemon_pid(), before);
  EXPECT_EQ(show("AP-1")["status"], "pending");
  scratch().write("go", "x");
  EXPECT_EQ(finish(run).at("status"), "completed");
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
  EXPECT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(activated.wait(), 0);
  fs::remove(socket());
}

// A daemon that nobody can reach is found by its lock, and ended by its identity.
TEST_F(Serve, stop_ends_a_daemon_that_was_cut_off) {
  const auto daemon = start({"serve"});
  ASSERT_TRUE(daemon->wait_for_error("listening at"));
  // Held, so that it cannot notice that its socket is replaced.
  daemon->signal(SIGSTOP);
  fs::remove(socket());
  testing::Launch unit = launch({});
  unit.argv = {"systemd-socket-activate", "--listen=" + socket().string(), "/bin/true"};
  testing::Session other(unit);
  ASSERT_TRUE(other.wait_for_error("Listening on"));
  EXPECT_THAT(reeve({"doctor"}).out, HasSubstr("another program listens at its socket"));
  const Outcome suspended = reeve({"stop"});
  EXPECT_THAT(suspended.err, HasSubstr("kill -CONT"));
  daemon->signal(SIGCONT);
  EXPECT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(daemon->wait(), 0);
  other.signal(SIGTERM);
  other.wait();
  fs::remove(socket());
}

TEST_F(Serve, replace_names_the_port_that_it_closes) {
  open_port();
  const auto next = start({"serve", "--replace"});
  ASSERT_TRUE(next->wait_for_error("listened at http://127.0.0.1:"));
  ASSERT_TRUE(next->wait_for_error("listening at"));
  next->signal(SIGTERM);
  EXPECT_EQ(next->wait(), 0);
}

// Taking the socket of a socket unit would leave it without clients.
TEST_F(Serve, a_socket_unit_is_not_replaced) {
  fs::create_directories(state());
  fs::permissions(state(), fs::perms::owner_all);
  testing::Launch unit = launch({});
  unit.argv = {"systemd-socket-activate", "--listen=" + socket().string(), "/bin/true"};
  testing::Session unit_running(unit);
  ASSERT_TRUE(unit_running.wait_for_error("Listening on"));
  const Outcome refused = reeve({"serve"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("another program listens at"), HasSubstr("reeve.socket")));
  unit_running.signal(SIGTERM);
  unit_running.wait();
  fs::remove(socket());
}

TEST_F(Serve, options_of_systemd_units_apply_to_the_activated_daemon) {
  fs::create_directories(state());
  fs::permissions(state(), fs::perms::owner_all);
  testing::Launch unit = launch({});
  unit.argv = {"systemd-socket-activate",
               "--setenv=HOME",
               "--setenv=PATH",
               "--setenv=LANG",
               "--setenv=REEVE_STATE",
               "--listen=" + socket().string(),
               testing::reeve_binary(),
               "serve",
               "--http",
               "127.0.0.1:0",
               "--replace"};
  testing::Session activated(unit);
  ASSERT_TRUE(activated.wait_for_error("Listening on"));
  EXPECT_EQ(reeve({"run", "--", "echo", "hello"}).out, "hello\n");
  EXPECT_THAT(body(request("GET", "/healthz")), HasSubstr("\"port\""));
  EXPECT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(activated.wait(), 0);
  fs::remove(socket());
}

TEST_F(Serve, another_host_is_never_stopped_or_opened) {
  for (const char* option : {"--replace", "--http=127.0.0.1:0"}) {
    const Outcome refused = reeve({"serve", option}, {{"REEVE_HOST", "http://127.0.0.1:1"}});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("REEVE_HOST is set"));
  }
}

TEST_F(Serve, options_that_a_running_daemon_cannot_take_are_refused) {
  ASSERT_EQ(reeve({"runs"}).code, 0);
  const Outcome refused = reeve({"serve", "--http", "127.0.0.1:0", "--behind-proxy"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("reeve serve --replace"));
}

TEST_F(Serve, a_socket_at_another_path_is_refused) {
  const std::string elsewhere = (scratch().path() / "other.sock").string();
  testing::Launch unit = launch({});
  unit.argv = {"systemd-socket-activate", "--setenv=HOME",         "--setenv=PATH", "--setenv=REEVE_STATE",
               "--listen=" + elsewhere,   testing::reeve_binary(), "serve"};
  testing::Session activated(unit);
  // The file exists before the socket listens.
  ASSERT_TRUE(activated.wait_for_error("Listening on"));
  testing::RawSocket peer{fs::path(elsewhere)};
  EXPECT_TRUE(activated.wait_for_error("ListenStream="));
  EXPECT_EQ(activated.wait(), 1);
}

TEST_F(Serve, the_units_are_valid) {
  const fs::path folder = scratch().path() / "units";
  fs::create_directories(folder);
  for (const char* name : {"reeve.service", "reeve.socket"}) {
    std::string text = testing::read_text(testing::source_folder() / "packaging" / name);
    // It need not be installed.
    const std::size_t program = text.find("/usr/bin/reeve");
    if (program != std::string::npos) text.replace(program, 14, testing::reeve_binary());
    scratch().write(fs::path("units") / name, text);
  }
  testing::Launch check = launch({});
  check.argv = {"systemd-analyze", "verify", "--user", "--man=no", folder / "reeve.service", folder / "reeve.socket"};
  check.environment.emplace_back("XDG_RUNTIME_DIR", scratch().path().string());
  const Outcome verified = run_program(check);
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_EQ(verified.out + verified.err, "");
}

// The packaged units, for a user with the usual folders.
class UserUnits : public testing::ProjectsTest {
 protected:
  // The value of a key in that unit, with systemd's name of the home folder replaced.
  std::string find_setting(const std::string& unit, const std::string& key) const {
    for (const std::string& line :
         testing::lines_of(testing::read_text(testing::source_folder() / "packaging" / unit))) {
      if (!line.starts_with(key + "=")) continue;
      std::string value = line.substr(key.size() + 1);
      if (value.starts_with("%h/")) value = home().string() + value.substr(2);
      return value;
    }
    ADD_FAILURE() << unit << " has no " << key;
    return {};
  }
};

TEST_F(UserUnits, socket_of_the_packaged_unit_is_that_of_the_common_daemon) {
  const fs::path listens = find_setting("reeve.socket", "ListenStream");
  ASSERT_EQ(listens, common() / "reeve.sock");
  ASSERT_EQ(find_setting("reeve.socket", "DirectoryMode"), "0700");
  // Made by systemd.
  fs::create_directories(common());
  fs::permissions(common(), fs::perms::owner_all);
  testing::Launch unit = launch_in("/", {});
  unit.argv = {"systemd-socket-activate",      "--setenv=HOME",         "--setenv=PATH", "--setenv=LANG",
               "--listen=" + listens.string(), testing::reeve_binary(), "serve"};
  testing::Session activated(unit);
  ASSERT_TRUE(activated.wait_for_error("Listening on"));
  const Outcome ran = in(shop(), {"run", "--", "echo", "hello"});
  EXPECT_EQ(ran.out, "hello\n") << ran.err;
  const std::string lock = testing::read_text(common() / "reeve.lock");
  EXPECT_TRUE(lock.starts_with(std::to_string(activated.pid()))) << "no other daemon was started";
  EXPECT_EQ(in("/", {"stop"}).code, 0);
  EXPECT_EQ(activated.wait(), 0);
  EXPECT_TRUE(fs::exists(listens)) << "the socket belongs to systemd";
  fs::remove(listens);
}

// A token that is limited to one project.
class LimitedToken : public testing::PortTest {
 protected:
  std::string other() const {
    const fs::path folder = scratch().path() / "other";
    fs::create_directories(folder / ".reeve");
    return folder.string();
  }
  std::string make(const std::string& scopes) const {
    const Outcome made = reeve({"token", "create", "limited", "--scope", scopes, "--project", project().string()});
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(made.err, HasSubstr(project().string()));
    return made.out.substr(0, made.out.find('\n'));
  }
  // One run that asks in each project.
  void ask_in_both() const {
    for (const std::string& folder : {project().string(), other()}) {
      testing::Launch in_folder = launch({"run", "--detach", "--", "sh", "-c", "exit 90"});
      in_folder.folder = folder;
      const Outcome started = run_program(in_folder);
      wait_for_status(started.out.substr(0, started.out.find('\n')), "waiting_approval");
    }
  }
};

TEST_F(LimitedToken, sees_and_decides_only_its_project) {
  ask_in_both();
  const Port port = open_port();
  const std::string token = bearer(make("approve,operate"));
  const auto get = [&](const std::string& target) { return ask(port, compose(port, "GET", target, token)); };
  for (const std::string kind : {"runs", "approvals"}) {
    const std::string listed = get("/api/" + kind);
    EXPECT_THAT(listed, AllOf(HasSubstr("-1\""), Not(HasSubstr("-2\"")))) << listed;
    EXPECT_EQ(testing::status_of(get("/api/" + kind + "?project=" + other())), 403);
  }
  EXPECT_EQ(testing::status_of(get("/api/runs/TR-1")), 200);
  EXPECT_EQ(testing::status_of(get("/api/runs/TR-2")), 404);
  EXPECT_EQ(testing::status_of(get("/api/runs/TR-2/output")), 404);
  EXPECT_EQ(testing::status_of(get("/api/approvals/AP-2")), 404);
  EXPECT_EQ(testing::status_of(get("/api/approvals?run=TR-2")), 403);
  EXPECT_THAT(get("/api/approvals?run=TR-1"), HasSubstr("AP-1"));
  EXPECT_EQ(testing::status_of(get("/api/patches")), 200);
  const auto without_id = [](std::string text, const std::string& id) {
    for (std::size_t at = text.find(id); at != std::string::npos; at = text.find(id)) text.erase(at, id.size());
    return text.substr(text.find("\r\n\r\n"));
  };
  EXPECT_EQ(without_id(get("/api/runs/TR-2"), "TR-2"), without_id(get("/api/runs/TR-9"), "TR-9"))
      << "it cannot tell which ids exist";
  const auto post = [&](const std::string& target, const std::string& body) {
    return testing::status_of(ask(port, compose(port, "POST", target, token, body)));
  };
  EXPECT_EQ(post("/api/approvals/AP-2/approve", "{}"), 404);
  EXPECT_EQ(post("/api/runs/TR-2/cancel", "{}"), 404);
  EXPECT_EQ(show("AP-2")["status"], "pending");
  EXPECT_EQ(post("/api/approvals/AP-1/reject", "{}"), 200);
  EXPECT_EQ(post("/api/runs", fmt::format(R"({{"argv":["true"],"cwd":"{}"}})", other())), 403);
  EXPECT_EQ(post("/api/runs", fmt::format(R"({{"argv":["true"],"cwd":"{}"}})", project().string())), 201);
}

// SPEC §7: without `project`, a request concerns the token's project.
TEST_F(LimitedToken, reads_the_workflows_and_the_config_of_its_project) {
  ask_in_both();
  configure("tools: {mine: {command: [\"true\"]}}\n");
  write_workflow("ship", chain("ship", {{"hold", "human Go on?"}}));
  const Port port = open_port();
  const std::string token = bearer(make("read"));
  const auto get = [&](const std::string& target) { return ask(port, compose(port, "GET", target, token)); };
  EXPECT_THAT(get("/api/workflows"), HasSubstr("ship.yaml"));
  EXPECT_THAT(get("/api/workflows?project=" + project().string()), HasSubstr("ship.yaml"));
  EXPECT_THAT(get("/api/workflows/ship"), HasSubstr("\"Go on?\""));
  EXPECT_THAT(get("/api/workflows/ship/graph"), HasSubstr("hold"));
  EXPECT_THAT(get("/api/tools"), HasSubstr("\"mine\""));
  EXPECT_EQ(testing::status_of(get("/api/tools/mine")), 200);
  EXPECT_EQ(testing::status_of(get("/api/policy")), 200);
  for (const std::string target : {"/api/workflows", "/api/workflows/ship", "/api/tools", "/api/policy"}) {
    EXPECT_EQ(testing::status_of(get(target + "?project=" + other())), 403) << target;
  }
  for (const std::string target : {"/api/workflows/sha256:0", "/api/workflows/ship/versions", "/api/config"}) {
    EXPECT_EQ(testing::status_of(get(target)), 403) << target << ": may show another project's";
  }
}

TEST_F(LimitedToken, starts_in_its_project_without_naming_it) {
  ask_in_both();
  write_workflow("ship", chain("ship", {{"hold", "human Go on?"}}));
  const Port port = open_port();
  const std::string token = bearer(make("operate"));
  const auto post = [&](const std::string& target, const std::string& body) {
    return ask(port, compose(port, "POST", target, token, body));
  };
  const std::string own = fmt::format(R"("path":"{}")", project().string());
  EXPECT_THAT(post("/api/executions", R"({"workflow":"ship"})"), AllOf(HasSubstr("201 "), HasSubstr(own)));
  EXPECT_THAT(post("/api/runs", R"({"argv":["true"]})"), AllOf(HasSubstr("201 "), HasSubstr(own)));
  EXPECT_EQ(
      testing::status_of(post("/api/executions", fmt::format(R"({{"workflow":"ship","project":"{}"}})", other()))),
      403);
}

TEST_F(LimitedToken, cannot_use_what_concerns_all_projects) {
  ask_in_both();
  const Port port = open_port();
  const std::string token = bearer(make("approve,operate"));
  for (const std::string target : {"/api/events", "/api/audit", "/api/config", "/api/tokens", "/api/projects",
                                   "/api/log", "/metrics", "/api/doctor"}) {
    EXPECT_EQ(testing::status_of(ask(port, compose(port, "GET", target, token))), 403) << target;
  }
  EXPECT_EQ(testing::status_of(ask(port, compose(port, "POST", "/api/daemon/stop", token, "{}"))), 403);
  EXPECT_EQ(testing::status_of(ask(port, compose(port, "GET", "/healthz", token))), 200);
}

TEST_F(LimitedToken, cannot_be_an_admin) {
  ask_in_both();
  const Outcome refused = reeve({"token", "create", "x", "--scope", "admin", "--project", project().string()});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("cannot have the scope `admin`"));
}

}  // namespace
}  // namespace reeve
