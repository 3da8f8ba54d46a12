#include "server/access/access.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/error.h"
#include "server/resources/contract.h"

namespace reeve::server {
namespace {

using model::Scope;

// API, SPEC §7: operations that change something require more than the scope `read`.
TEST(Access, changes_need_more_than_the_read_scope) {
  for (const Operation& operation : contract().operations) {
    if (operation.method == "GET") continue;
    // These change nothing: POST is used because the input is too long for a URL. Signing out ends only the caller's
    // session.
    const bool is_question = operation.path == "/api/workflows/validate" || operation.path == "/api/policy/check" ||
                             operation.path == "/api/sign-out";
    EXPECT_EQ(operation.scope == Scope::read, is_question) << operation.method << " " << operation.path;
  }
}

TEST(Access, only_health_and_sign_in_need_no_scope) {
  std::vector<std::string> open;
  for (const Operation& operation : contract().operations) {
    if (!needed_scope(operation)) open.emplace_back(operation.path);
  }
  std::ranges::sort(open);
  EXPECT_EQ(open, (std::vector<std::string>{"/healthz", "/sign-in"}));
}

TEST(Access, decisions_need_approve_and_tokens_admin) {
  for (const Operation& operation : contract().operations) {
    const std::string_view path = operation.path;
    const bool decides = path.ends_with("/approve") || path.ends_with("/reject") || path.ends_with("/decide");
    if (decides) EXPECT_EQ(operation.scope, Scope::approve) << path;
    if (path.starts_with("/api/tokens") || path == "/api/web" || path == "/api/daemon/stop" || path == "/api/import") {
      EXPECT_EQ(operation.scope, Scope::admin) << path;
    }
  }
}

Request from_port(std::vector<Scope> scopes) {
  Request request{.method = "POST"};
  request.peer.entrance = Entrance::tcp;
  request.caller = {"anna", std::move(scopes)};
  return request;
}

TEST(Access, unknown_operations_need_admin) {
  EXPECT_NO_THROW(require_access(from_port({Scope::admin}), nullptr));
  EXPECT_THROW(require_access(from_port({Scope::operate, Scope::approve}), nullptr), base::Error);
  EXPECT_NO_THROW(require_access(Request{.method = "POST"}, nullptr));
}

TEST(Access, scopes_are_checked_only_on_the_tcp_port) {
  const auto& operations = contract().operations;
  const auto start = std::ranges::find(operations, "startRun", &Operation::name);
  ASSERT_NE(start, operations.end());
  EXPECT_THROW(require_access(from_port({Scope::read, Scope::approve}), &*start), base::Error);
  EXPECT_THROW(require_access(from_port({}), &*start), base::Error);
  EXPECT_NO_THROW(require_access(from_port({Scope::operate}), &*start));
  EXPECT_NO_THROW(require_access(Request{.method = "POST"}, &*start));
}

TEST(Access, every_scope_includes_read) {
  for (const Scope scope : {Scope::read, Scope::operate, Scope::approve, Scope::admin}) {
    EXPECT_TRUE(model::allows(std::vector{scope}, Scope::read));
    EXPECT_TRUE(model::allows(std::vector{Scope::admin}, scope));
  }
  EXPECT_FALSE(model::allows(std::vector{Scope::operate}, Scope::approve));
  EXPECT_FALSE(model::allows(std::vector{Scope::approve}, Scope::operate));
  EXPECT_FALSE(model::allows(std::vector{Scope::operate, Scope::approve}, Scope::admin));
  EXPECT_FALSE(model::allows({}, Scope::read));
}

}  // namespace
}  // namespace reeve::server
