#include <filesystem>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/port.h"

// `reeve --host`: the same commands, another daemon (SPEC §7).
namespace reeve {
namespace {

using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::Port;
using testing::Variables;
using testing::Words;

class Host : public testing::PortTest {
 protected:
  // As a user who has neither the state folder nor the project.
  Outcome from_outside(const Words& words, const Variables& more = {}) const {
    testing::Launch launch{.argv = {testing::reeve_binary()}, .folder = scratch().path()};
    launch.argv.insert(launch.argv.end(), words.begin(), words.end());
    launch.environment = {
        {"HOME", (scratch().path() / "home").string()}, {"PATH", "/usr/bin:/bin"}, {"LANG", "C.UTF-8"}};
    launch.environment.insert(launch.environment.end(), more.begin(), more.end());
    return testing::run_program(launch);
  }
  static std::string url(Port port, const std::string& scheme = "http") {
    return fmt::format("{}://127.0.0.1:{}", scheme, port.number);
  }
  std::filesystem::path write_secret(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    const auto path = scratch().write(name, text);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
};

TEST_F(Host, runs_are_started_followed_and_approved_remotely) {
  const Port port = open_port();
  const Variables token = {{"REEVE_TOKEN", make_token("anna", "operate,approve")}};
  const std::string host = url(port);
  const Outcome run = from_outside({"--host", host, "run", "--", "sh", "-c", "echo out; echo err >&2; exit 3"}, token);
  EXPECT_EQ(run.code, 3) << run.err;
  EXPECT_EQ(run.out, "out\n");
  EXPECT_THAT(run.err, HasSubstr("err\n"));
  EXPECT_THAT(from_outside({"--host", host, "logs", "TR-1"}, token).out, HasSubstr("out\n"));
  EXPECT_THAT(from_outside({"runs", "--host", host}, token).out, HasSubstr("TR-1"));
  EXPECT_EQ(from_outside({"--host", host, "show", "TR-9"}, token).code, 3);

  Words asks = {"--host", host, "run", "--detach", "--"};
  for (const std::string& word : asking(R"("question":"Go on?")")) asks.push_back(word);
  EXPECT_EQ(from_outside(asks, token).out, "TR-2\n");
  wait_for_status("TR-2", "waiting_approval");
  const Variables by_variable = {{"REEVE_HOST", host}, token.front()};
  EXPECT_THAT(from_outside({"approvals"}, by_variable).out, HasSubstr("AP-1"));
  const Outcome approved = from_outside({"approve", "--yes", "AP-1"}, by_variable);
  EXPECT_EQ(approved.code, 0) << approved.err;
  EXPECT_EQ(from_outside({"wait", "TR-2"}, by_variable).code, 0);
  EXPECT_EQ(sql("SELECT decided_by FROM approvals"), "anna");
  // An address without a scheme.
  const std::string bare = fmt::format("127.0.0.1:{}", port.number);
  const Outcome listed = from_outside({"--host", bare, "runs"}, token);
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("TR-1"));
  // No state folder was created locally.
  EXPECT_FALSE(std::filesystem::exists(scratch().path() / "home/.local/state/reeve/id"));
}

TEST_F(Host, workflow_file_is_sent_to_the_daemon) {
  const Port port = open_port();
  const Variables token = {{"REEVE_TOKEN", make_token("anna", "operate")}};
  scratch().write("one.yaml", chain("one", {{"a", "echo hello"}}));
  const Outcome flow =
      from_outside({"--host", url(port), "flow", "run", "one.yaml", "--project", project().string()}, token);
  EXPECT_EQ(flow.code, 0) << flow.err;
  EXPECT_EQ(from_outside({"--host", url(port), "flow", "list"}, token).code, 0);
}

// The daemon's own config counts, not the local one.
TEST_F(Host, config_and_validation_come_from_the_daemon) {
  const Port port = open_port();
  const Variables token = {{"REEVE_TOKEN", make_token("anna", "read,operate")}};
  scratch().write(".reeve/config.yaml", "gates: {only_here: {command: [\"true\"]}}\n");
  configure(testing::read_text(project() / ".reeve/config.yaml") +
            "\ngates: {only_there: {command: [\"true\"], env: {A_TOKEN: hidden}}}\n");
  EXPECT_THAT(from_outside({"config", "show"}).out, HasSubstr("gates.only_here.command"));
  const Outcome there = from_outside({"--host", url(port), "config", "show", "--origin"}, token);
  EXPECT_EQ(there.code, 0) << there.err;
  EXPECT_THAT(there.out, HasSubstr("gates.only_there.command"));
  EXPECT_THAT(there.out, HasSubstr(project().string()));
  EXPECT_THAT(there.out, Not(HasSubstr("only_here")));
  EXPECT_THAT(there.out, Not(HasSubstr("hidden")));
  EXPECT_THAT(from_outside({"--host", url(port), "config", "show", "--json"}, token).out,
              HasSubstr(R"({"key":"gates.only_there.command","value":["true"],"origin":)"));
  EXPECT_EQ(from_outside({"--host", url(port), "config", "show", "--set", "store=x"}, token).code, 2);

  const auto gated = [](const std::string& gate) {
    return fmt::format(
        "id: w\nname: W\nentry_point: g\nconfig: {{isolation: none}}\nnodes:\n"
        "  - {{id: g, type: gate, gate_config: {{gate_type: {}}}}}\nedges: []\n",
        gate);
  };
  scratch().write("here.yaml", gated("only_here"));
  scratch().write("there.yaml", gated("only_there"));
  EXPECT_EQ(from_outside({"flow", "validate", "here.yaml"}).code, 0);
  EXPECT_EQ(from_outside({"flow", "validate", "there.yaml"}).code, 2);
  const Outcome wrong = from_outside({"--host", url(port), "flow", "validate", "here.yaml"}, token);
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("flow.unknown_gate"));
  EXPECT_THAT(wrong.err, HasSubstr("here.yaml:6:"));
  const Outcome right = from_outside({"--host", url(port), "flow", "validate", "there.yaml"}, token);
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_THAT(right.out, HasSubstr("1 node, 0 edges, 1 level, 0 loops"));
  EXPECT_THAT(right.err, HasSubstr("checked against the config of the daemon at " + url(port)));
  EXPECT_THAT(from_outside({"--host", url(port), "flow", "validate", "there.yaml", "--json"}, token).out,
              HasSubstr(R"("warnings":[])"));
}

TEST_F(Host, token_file_must_be_private) {
  const Port port = open_port();
  const std::string token = make_token("anna", "read");
  const std::string file = write_secret("token", token + "\n");
  EXPECT_EQ(from_outside({"--host", url(port), "--token-file", file, "runs"}).code, 0);
  const std::string open = write_secret("open", token, 0644);
  const Outcome refused = from_outside({"--host", url(port), "--token-file", open, "runs"});
  EXPECT_THAT(refused.err, HasSubstr("cli.token_file"));
  EXPECT_NE(refused.code, 0);

  write_secret("home/.config/reeve/tokens",
               fmt::format("# mine\nother:1 reeve_x\n127.0.0.1:{} {}\n", port.number, token));
  EXPECT_EQ(from_outside({"--host", url(port), "runs"}).code, 0);
  ASSERT_EQ(::chmod((scratch().path() / "home/.config/reeve/tokens").c_str(), 0640), 0);
  EXPECT_THAT(from_outside({"--host", url(port), "runs"}).err, HasSubstr("cli.token_file"));
}

TEST_F(Host, missing_token_scope_or_daemon_is_reported) {
  const Port port = open_port();
  const Outcome none = from_outside({"--host", url(port), "runs"});
  EXPECT_EQ(none.code, 5);
  EXPECT_THAT(none.err, HasSubstr("REEVE_TOKEN"));
  const Variables reader = {{"REEVE_TOKEN", make_token("anna", "read")}};
  const Outcome refused = from_outside({"--host", url(port), "run", "--", "true"}, reader);
  EXPECT_EQ(refused.code, 5);
  EXPECT_THAT(refused.err, HasSubstr("--scope operate"));
  EXPECT_EQ(reeve({"stop"}).code, 0);
  const Outcome gone = from_outside({"--host", url(port), "runs"}, reader);
  EXPECT_EQ(gone.code, 6) << gone.err;
  EXPECT_THAT(gone.err, HasSubstr(url(port)));
  EXPECT_THAT(gone.err, Not(HasSubstr(reader.front().second)));
}

TEST_F(Host, invalid_addresses_are_refused) {
  for (const char* address : {"ftp://x", "http://", "http://x:0", "http://x:99999", "http://x/path",
                              "http://user:pass@x", "unix://reeve.sock", "http://[::1", ""}) {
    const Outcome outcome = from_outside({"--host", address, "runs"});
    EXPECT_EQ(outcome.code, 2) << address;
    EXPECT_THAT(outcome.err, HasSubstr("cli.usage")) << address;
    EXPECT_THAT(outcome.err, Not(HasSubstr("pass@"))) << address;
  }
  EXPECT_EQ(reeve({"--host", "http://127.0.0.1:1", "--state", state().string(), "runs"}).code, 2);
  for (const char* command : {"serve", "doctor", "init", "demo"}) {
    EXPECT_EQ(from_outside({"--host", "http://127.0.0.1:1", command}).code, 2) << command;
  }
}

TEST_F(Host, unix_socket_needs_no_token) {
  EXPECT_EQ(reeve({"runs"}).code, 0);
  const std::string host = "unix://" + socket().string();
  EXPECT_EQ(from_outside({"--host", host, "run", "--", "echo", "hello"}).out, "hello\n");
  const Outcome stopped = from_outside({"--host", host, "stop"});
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_EQ(from_outside({"--host", host, "runs"}).code, 6);
}

class EncryptedHost : public Host {
 protected:
  void SetUp() override {
    const std::filesystem::path folder = scratch().path();
    const Outcome made = testing::run_program(
        {.argv = {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                  "2", "-subj", "/CN=reeve test", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout",
                  "key.pem", "-out", "certificate.pem"},
         .folder = folder,
         .environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", folder.string()}}});
    ASSERT_EQ(made.code, 0) << made.err;
    configure(
        fmt::format("server: {{http: \"127.0.0.1:0\", tls: {{certificate: {0}/certificate.pem, key: {0}/key.pem}}}}\n",
                    folder.string()));
    const Outcome web = reeve({"web", "--json"});
    ASSERT_EQ(web.code, 0) << web.err;
    Members link = testing::parse_object(web.out).value_or(Members());
    EXPECT_TRUE(link["url"].starts_with("https://")) << link["url"];
    const std::string address = link["address"];
    port_ = {static_cast<std::uint16_t>(std::stoi("0" + address.substr(address.find(':') + 1)))};
    trusting_ = {{"SSL_CERT_FILE", (folder / "certificate.pem").string()}, {"REEVE_TOKEN", own_token()}};
  }

  Port port_;
  Variables trusting_;
};

TEST_F(EncryptedHost, works_over_https) {
  const std::string host = url(port_, "https");
  // More than any buffer on the way can hold.
  const Outcome run = from_outside({"--host", host, "run", "--", "sh", "-c", "seq 1 200000; exit 7"}, trusting_);
  EXPECT_EQ(run.code, 7) << run.err;
  EXPECT_EQ(testing::count_of(run.out, "\n"), 200'000);
  EXPECT_THAT(run.out, ::testing::EndsWith("\n200000\n"));
  EXPECT_EQ(from_outside({"--host", host, "logs", "TR-1"}, trusting_).out.size(), run.out.size());
  EXPECT_EQ(from_outside({"--host", fmt::format("https://localhost:{}", port_.number), "runs"}, trusting_).code, 0);
}

TEST_F(EncryptedHost, needs_a_trusted_certificate) {
  const Variables token = {trusting_.back()};
  const Outcome untrusted = from_outside({"--host", url(port_, "https"), "runs"}, token);
  EXPECT_NE(untrusted.code, 0);
  EXPECT_THAT(untrusted.err, HasSubstr("daemon.untrusted"));
  const Outcome misnamed =
      from_outside({"--host", fmt::format("https://127.0.0.2:{}", port_.number), "runs"}, trusting_);
  EXPECT_NE(misnamed.code, 0);
}

TEST_F(EncryptedHost, plain_connections_get_no_response) {
  testing::RawSocket plain(port_);
  ASSERT_TRUE(plain.send(compose(port_, "GET", "/healthz")));
  EXPECT_THAT(plain.read_to_end(), Not(HasSubstr("HTTP/1.1 200")));
  // A client that only connects is disconnected, with or without a handshake.
  testing::RawSocket silent(port_);
  EXPECT_EQ(silent.read_to_end(), "");
  EXPECT_EQ(from_outside({"--host", url(port_, "https"), "runs"}, trusting_).code, 0);
}

TEST_F(EncryptedHost, old_tls_versions_are_refused) {
  for (const char* version : {"-tls1", "-tls1_1"}) {
    const Outcome outcome =
        testing::run_program({.argv = {"openssl", "s_client", version, "-cipher", "ALL:@SECLEVEL=0", "-connect",
                                       fmt::format("127.0.0.1:{}", port_.number)},
                              .folder = scratch().path(),
                              .environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", scratch().path().string()}}});
    EXPECT_NE(outcome.code, 0) << version;
  }
}

TEST_F(EncryptedHost, session_cookie_is_secure) {
  Members link = testing::parse_object(reeve({"web", "--json"}).out).value_or(Members());
  const Outcome answer = testing::run_program(
      {.argv = {"curl", "-s", "-i", "--cacert", (scratch().path() / "certificate.pem").string(), link["url"]},
       .folder = scratch().path(),
       .environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", scratch().path().string()}}});
  EXPECT_THAT(answer.out, HasSubstr("303 See Other"));
  EXPECT_THAT(answer.out, HasSubstr("; Secure"));
  // The __Host- prefix: browsers accept it only from this host and only over an encrypted connection.
  EXPECT_THAT(answer.out, HasSubstr("Set-Cookie: __Host-reeve_session_"));
}

}  // namespace
}  // namespace reeve
