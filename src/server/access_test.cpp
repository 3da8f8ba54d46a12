#include "server/access.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/error.h"
#include "server/api.h"

namespace reeve::server {
namespace {

using model::Scope;

// API, SPEC §7: nothing can be asked for without somebody having thought of who may.
TEST(Access, every_route_has_a_scope) {
  for (const Route& route : all_routes()) {
    EXPECT_TRUE(access_of(route.method, route.path)) << route.method << " " << route.path;
  }
}

TEST(Access, only_two_routes_are_open_to_all) {
  std::vector<std::string> open;
  for (const Route& route : all_routes()) {
    const auto access = access_of(route.method, route.path);
    if (access && !access->scope) open.emplace_back(route.path);
  }
  std::ranges::sort(open);
  EXPECT_EQ(open, (std::vector<std::string>{"/healthz", "/sign-in"}));
}

TEST(Access, decisions_need_approve_and_tokens_admin) {
  for (const Route& route : all_routes()) {
    const auto access = access_of(route.method, route.path);
    ASSERT_TRUE(access);
    const bool decides =
        route.path.ends_with("/approve") || route.path.ends_with("/reject") || route.path.ends_with("/decide");
    if (decides) EXPECT_EQ(access->scope, Scope::approve) << route.path;
    if (route.path.starts_with("/api/tokens")) EXPECT_EQ(access->scope, Scope::admin) << route.path;
  }
}

Request from_port(std::vector<Scope> scopes) {
  Request request{.method = "POST"};
  request.peer.entrance = Entrance::tcp;
  request.caller = {"anna", std::move(scopes)};
  return request;
}

TEST(Access, what_nobody_thought_of_is_for_admins) {
  EXPECT_FALSE(access_of("POST", "/api/new"));
  EXPECT_NO_THROW(require_access(from_port({Scope::admin}), "/api/new"));
  EXPECT_THROW(require_access(from_port({Scope::operate, Scope::approve}), "/api/new"), base::Error);
  EXPECT_THROW(require_access(from_port({}), "/api/runs"), base::Error);
  EXPECT_NO_THROW(require_access(Request{.method = "POST"}, "/api/new"));
}

TEST(Access, reading_is_a_part_of_everything) {
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
