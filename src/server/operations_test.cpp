#include "server/operations.h"

#include <set>

#include <gmock/gmock.h>

#include "json/encode.h"
#include "server/api.h"
#include "tests/support/files.h"
#include "wire/problem.h"

namespace reeve::server {
namespace {

using base::Value;

// API: what is served is described, and what is described is served.
TEST(Operations, every_route_is_described_and_every_description_has_its_route) {
  std::set<std::string> routes;
  for (const Route& route : all_routes()) {
    EXPECT_TRUE(routes.emplace(std::string(route.method) + " " + std::string(route.path)).second)
        << route.method << " " << route.path;
  }
  std::set<std::string> operations;
  std::set<std::string_view> names;
  for (const Operation& operation : contract().operations) {
    EXPECT_TRUE(operations.emplace(std::string(operation.method) + " " + route_path(operation)).second)
        << operation.path;
    EXPECT_TRUE(names.emplace(operation.name).second) << operation.name;
    EXPECT_FALSE(operation.replies.empty()) << operation.path;
  }
  EXPECT_EQ(routes, operations);
}

// UX: `Idempotency-Key` on any mutation. Those that change nothing are asked by POST for their bodies alone.
TEST(Operations, whatever_changes_something_keeps_its_key) {
  const std::set<std::string_view> harmless = {"validateWorkflow", "checkPolicy"};
  for (const Operation& operation : contract().operations) {
    // No state change on GET.
    const bool changes = operation.method != "GET" && !harmless.contains(operation.name);
    EXPECT_EQ(operation.keeping != Keeping::none, changes) << operation.name;
    // Who may come in is for those alone who let others in.
    const Scope needed = operation.name == "listTokens" ? Scope::admin : Scope::read;
    if (operation.method == "GET") EXPECT_EQ(operation.scope, needed) << operation.name;
  }
}

// APR-11, SPEC §7: what a process inside a run may do is said of each, and only of looks and of starting that it may.
TEST(Operations, each_says_what_a_process_inside_a_run_may_do) {
  const std::set<std::string_view> own_acts = {"cancelRun", "resizeRun", "signalRun"};
  for (const Operation& operation : contract().operations) {
    EXPECT_NE(operation.inside, Inside::unsaid) << operation.name;
    const bool is_own = operation.inside == Inside::own_run || operation.inside == Inside::own_approval ||
                        operation.inside == Inside::own_approvals || operation.inside == Inside::own_execution;
    if (is_own) EXPECT_TRUE(operation.method == "GET" || own_acts.contains(operation.name)) << operation.name;
    if (operation.inside == Inside::starts) EXPECT_EQ(operation.name, "startRun");
    // Decisions, and whatever else people alone may do, is reported.
    if (operation.scope == Scope::approve || operation.scope == Scope::admin) {
      EXPECT_TRUE(operation.inside == Inside::reported || operation.name == "listTokens") << operation.name;
    }
  }
  std::set<std::string_view> open;
  for (const Operation& operation : contract().operations) {
    if (operation.inside == Inside::anyone) open.insert(operation.name);
  }
  EXPECT_EQ(open, (std::set<std::string_view>{"getDescription", "getHealth", "getReadiness", "signIn", "signOut",
                                              "welcome"}));
}

// A code that HTTP knows nothing special of would be told as a failure of the daemon.
TEST(Operations, every_refusal_has_a_status_of_its_own) {
  for (const Operation& operation : contract().operations) {
    for (const std::string& code : error_codes(operation)) {
      EXPECT_NE(wire::http_status(code), 500) << operation.name << ": " << code;
    }
  }
}

// Listings are pages, and take `limit` and `cursor` (UX).
TEST(Operations, every_listing_is_a_page) {
  for (const Operation& operation : contract().operations) {
    if (!operation.name.starts_with("list")) continue;
    const Value& schema = contract().schemas.resolve(operation.replies.front().schema);
    EXPECT_EQ(json::encode(*schema.find("required")), R"(["next_cursor","items"])") << operation.name;
    std::set<std::string_view> names;
    for (const Parameter& parameter : operation.query) names.insert(parameter.name);
    EXPECT_TRUE(names.contains("limit") && names.contains("cursor")) << operation.name;
  }
}

void expect_references_hold(const Value& value, const Value& document) {
  if (const auto* array = value.as_array()) {
    for (const Value& item : *array) expect_references_hold(item, document);
  }
  if (value.as_object() == nullptr) return;
  for (const base::Member& member : *value.as_object()) {
    expect_references_hold(member.value, document);
    if (member.key != "$ref") continue;
    const std::string name = member.value.as_string()->substr(std::string("#/components/schemas/").size());
    EXPECT_NE(document.find("components")->find("schemas")->find(name), nullptr) << name;
  }
}

TEST(Operations, every_reference_of_the_description_holds) {
  const Value document = openapi_document();
  expect_references_hold(document, document);
}

// The contract in the repository is the one that is served: a change of it is seen in review.
TEST(Operations, the_description_is_the_one_in_the_repository) {
  testing::expect_golden(testing::source_folder() / "docs/openapi.json",
                         json::encode_pretty(openapi_document()) + "\n");
}

}  // namespace
}  // namespace reeve::server
