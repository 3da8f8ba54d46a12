#include "server/contract/operations.h"

#include <set>

#include <gmock/gmock.h>

#include "json/encode.h"
#include "server/resources/contract.h"
#include "tests/support/files.h"
#include "wire/problem.h"

namespace reeve::server {
namespace {

using base::Value;

TEST(Operations, no_method_path_or_name_is_used_twice) {
  std::set<std::string> requests;
  std::set<std::string_view> names;
  for (const Operation& operation : contract().operations) {
    EXPECT_TRUE(requests.emplace(std::string(operation.method) + " " + std::string(operation.path)).second)
        << operation.path;
    EXPECT_TRUE(names.emplace(operation.name).second) << operation.name;
    EXPECT_FALSE(operation.replies.empty()) << operation.path;
  }
}

// UX: `Idempotency-Key` on any mutation. Operations that change nothing use POST only for their bodies.
TEST(Operations, every_change_accepts_an_idempotency_key) {
  // A question over MCP is asked once by its reference.
  const std::set<std::string_view> harmless = {"validateWorkflow", "checkPolicy", "previewGrant", "callMcp"};
  for (const Operation& operation : contract().operations) {
    // No state change on GET.
    const bool changes = operation.method != "GET" && !harmless.contains(operation.name);
    EXPECT_EQ(operation.idempotency != IdempotencyMode::none, changes) << operation.name;
    // Managing access requires the right to grant it.
    // The sender of a run's input keeps this one open.
    const Scope least = operation.name == "followStdin" ? Scope::operate : Scope::read;
    const Scope needed = operation.name == "listTokens" ? Scope::admin : least;
    if (operation.method == "GET") EXPECT_EQ(operation.scope, needed) << operation.name;
  }
}

// APR-11, SPEC §7: each operation states what a process inside a run may do: at most read and control its own run, and
// start runs.
TEST(Operations, each_declares_what_in_run_callers_may_do) {
  const std::set<std::string_view> own_acts = {"cancelRun", "resizeRun", "signalRun", "sendStdin"};
  for (const Operation& operation : contract().operations) {
    EXPECT_NE(operation.inside, InRunAccess::unsaid) << operation.name;
    const bool is_own = operation.inside == InRunAccess::own_run || operation.inside == InRunAccess::own_approval ||
                        operation.inside == InRunAccess::own_approvals ||
                        operation.inside == InRunAccess::own_execution || operation.inside == InRunAccess::own_call ||
                        operation.inside == InRunAccess::own_calls;
    if (is_own) EXPECT_TRUE(operation.method == "GET" || own_acts.contains(operation.name)) << operation.name;
    if (operation.inside == InRunAccess::starts) EXPECT_EQ(operation.name, "startRun");
    // Attempts at decisions, and at anything else reserved for people, are reported.
    if (operation.scope == Scope::approve || operation.scope == Scope::admin) {
      EXPECT_TRUE(operation.inside == InRunAccess::reported || operation.name == "listTokens") << operation.name;
    }
  }
  std::set<std::string_view> open;
  for (const Operation& operation : contract().operations) {
    if (operation.inside == InRunAccess::anyone) open.insert(operation.name);
  }
  EXPECT_EQ(open, (std::set<std::string_view>{"getDescription", "getHealth", "getReadiness", "signIn", "signOut",
                                              "welcome"}));
}

// A code without an HTTP status would look like a failure of the daemon.
TEST(Operations, no_declared_error_code_maps_to_500) {
  for (const Operation& operation : contract().operations) {
    for (const base::ErrorCode code : error_codes(operation)) {
      EXPECT_NE(base::row_of(code).http_status, 500) << operation.name << ": " << base::spell(code);
    }
  }
}

// Lists are paged, and accept `limit` and `cursor` (UX).
TEST(Operations, every_listing_is_paginated) {
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

TEST(Operations, every_schema_reference_resolves) {
  const Value document = openapi_document();
  expect_references_hold(document, document);
}

// The contract in the repository is the one that is served, so that changes appear in review.
TEST(Operations, openapi_document_matches_the_repository) {
  testing::expect_golden(testing::source_folder() / "docs/openapi.json",
                         json::encode_pretty(openapi_document()) + "\n");
}

}  // namespace
}  // namespace reeve::server
