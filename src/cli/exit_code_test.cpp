#include "cli/exit_code.h"

#include <gtest/gtest.h>

#include "client/refusal.h"

namespace reeve::cli {
namespace {

using base::ErrorCode;
using model::Run;
using model::RunStatus;

int code_of(const Run& run) { return static_cast<int>(exit_code_of(run)); }

// SPEC §7.
TEST(ExitCode, run_status_determines_the_code) {
  EXPECT_EQ(code_of({.status = RunStatus::completed, .exit_code = 0}), 0);
  EXPECT_EQ(code_of({.status = RunStatus::failed, .reason = "exit_code != 0", .exit_code = 7}), 7);
  EXPECT_EQ(code_of({.status = RunStatus::failed, .reason = "failure marker", .exit_code = 0}), 1);
  EXPECT_EQ(code_of({.status = RunStatus::failed, .reason = "signal 9"}), 137);
  EXPECT_EQ(code_of({.status = RunStatus::failed, .reason = "signal 15 (SIGTERM)"}), 143);
  EXPECT_EQ(code_of({.status = RunStatus::failed, .reason = "command not found: foo", .exit_code = 127}), 127);
  EXPECT_EQ(code_of({.status = RunStatus::failed, .reason = "blocked on stdin"}), 1);
  EXPECT_EQ(code_of({.status = RunStatus::failed_timeout, .reason = "timeout", .exit_code = 143}), 124);
  EXPECT_EQ(code_of({.status = RunStatus::cancelled}), 130);
  EXPECT_EQ(code_of({.status = RunStatus::waiting_approval, .exit_code = 90}), 90);
}

TEST(ExitCode, error_code_determines_the_code) {
  EXPECT_EQ(exit_code_of(base::Error(ErrorCode::run_not_found, "")), ExitCode::not_found);
  EXPECT_EQ(exit_code_of(base::Error(ErrorCode::run_illegal_move, "")), ExitCode::conflict);
  EXPECT_EQ(exit_code_of(base::Error(ErrorCode::run_not_running, "")), ExitCode::conflict);
  EXPECT_EQ(exit_code_of(base::Error(ErrorCode::approval_already_resolved, "")), ExitCode::conflict);
  EXPECT_EQ(exit_code_of(base::Error(ErrorCode::config_denied, "")), ExitCode::denied);
  EXPECT_EQ(exit_code_of(base::Error(ErrorCode::cli_usage, "")), ExitCode::usage);
  EXPECT_EQ(exit_code_of(base::Error(ErrorCode::file_too_large, "")), ExitCode::usage);
  EXPECT_EQ(exit_code_of(base::Error(ErrorCode::daemon_unavailable, "")), ExitCode::no_daemon);
  EXPECT_EQ(exit_code_of(base::Error(ErrorCode::config_invalid, "")), ExitCode::usage);
  EXPECT_EQ(exit_code_of(base::Error(ErrorCode::pipeline_no_file, "")), ExitCode::not_found);
  EXPECT_EQ(exit_code_of(base::Error(ErrorCode::os_failed, "")), ExitCode::failed);
}

client::Refusal refused(int status, const std::string& body) {
  return client::make_refusal({.status = status, .headers = {}, .body = body});
}

TEST(ExitCode, http_status_determines_the_code) {
  const std::string body = R"({"code":"tool.unknown","title":"no tool `x`","detail":"","fix":"add it","errors":[]})";
  EXPECT_EQ(exit_code_of(refused(422, body)), ExitCode::usage);
  EXPECT_EQ(exit_code_of(refused(404, body)), ExitCode::not_found);
  EXPECT_EQ(exit_code_of(refused(409, body)), ExitCode::conflict);
  EXPECT_EQ(exit_code_of(refused(403, body)), ExitCode::denied);
  EXPECT_EQ(exit_code_of(refused(500, body)), ExitCode::failed);
}

TEST(Refusal, keeps_the_daemons_message_and_fix) {
  const auto refusal = refused(
      422, R"({"code":"run.invalid","title":"t","detail":"2 errors","fix":"mend it","errors":[{"message":"no `a`"},)"
           R"({"message":"no `b`"}]})");
  EXPECT_EQ(refusal.code(), "run.invalid");
  EXPECT_EQ(refusal.message(), "2 errors: no `a`; no `b`");
  EXPECT_EQ(refusal.fix(), "mend it");
  EXPECT_NE(refusal.document().find("errors"), nullptr);
  EXPECT_EQ(refused(502, "<html>").code(), "daemon.bad_answer");
}

}  // namespace
}  // namespace reeve::cli
