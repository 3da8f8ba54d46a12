#include "json/schema.h"

#include <gtest/gtest.h>

#include "json/encode.h"
#include "model/config.h"
#include "model/execution.h"
#include "model/run.h"

namespace reeve::json {
namespace {

struct Inner {
  int number = 0;
};
BOOST_DESCRIBE_STRUCT(Inner, (), (number))

struct Outer : Inner {
  base::RunId id{0};
  std::optional<model::RunStatus> status;
  std::optional<Inner> inner;
  std::vector<base::WallTime> times;
  std::map<std::string, double> amounts;
  base::Value anything;
  std::optional<base::TimeLimit> limit;
  model::OnPrompt on_prompt;
};
BOOST_DESCRIBE_STRUCT(Outer, (Inner), (id, status, inner, times, amounts, anything, limit, on_prompt))

// API: schemas are derived from the types themselves.
TEST(JsonSchema, described_type_yields_its_schema) {
  Schemas schemas;
  EXPECT_EQ(encode(schemas.of<Outer>()), R"({"$ref":"#/components/schemas/Outer"})");
  const base::Value& outer = schemas.named().at("Outer");
  const auto member = [&](std::string_view name) { return encode(*outer.find("properties")->find(name)); };
  EXPECT_EQ(member("number"), R"({"type":"integer"})");
  EXPECT_EQ(member("id"), R"({"type":"string","pattern":"^TR-[1-9][0-9]*$"})");
  EXPECT_EQ(member("status"),
            R"({"type":["string","null"],"enum":["queued","running","stalled","waiting_approval","completed",)"
            R"("failed","failed_timeout","cancelled",null]})");
  EXPECT_EQ(member("inner"), R"({"anyOf":[{"$ref":"#/components/schemas/Inner"},{"type":"null"}]})");
  EXPECT_EQ(member("times"), R"({"type":"array","items":{"type":"string","format":"date-time"}})");
  EXPECT_EQ(member("amounts"), R"({"type":"object","additionalProperties":{"type":"number"}})");
  EXPECT_EQ(member("anything"), "{}");
  EXPECT_EQ(member("limit"), R"({"type":["string","null"],"pattern":"^([0-9]+(ms|s|m|h|d)?|off|never)$"})");
  EXPECT_EQ(member("on_prompt"), R"({"type":"string"})");
  EXPECT_EQ(outer.find("required")->as_array()->size(), 9U);
  EXPECT_EQ(encode(schemas.named().at("Inner")),
            R"({"type":"object","properties":{"number":{"type":"integer"}},"required":["number"]})");
}

TEST(JsonSchema, request_requires_named_members_and_accepts_null_for_others) {
  Schemas schemas;
  schemas.of_request<Outer>({"id"});
  const base::Value& outer = schemas.named().at("Outer");
  EXPECT_EQ(encode(*outer.find("required")), R"(["id"])");
  EXPECT_EQ(encode(*outer.find("properties")->find("number")), R"({"type":["integer","null"]})");
}

TEST(JsonSchema, record_variants_omit_or_add_members) {
  Schemas schemas;
  const base::Value node = schemas.of<model::NodeExecution>();
  EXPECT_EQ(encode(schemas.without(node, "BriefNode", {"inputs", "outputs"})),
            R"({"$ref":"#/components/schemas/BriefNode"})");
  const base::Value& brief = schemas.named().at("BriefNode");
  EXPECT_EQ(brief.find("properties")->find("outputs"), nullptr);
  EXPECT_NE(brief.find("properties")->find("node_id"), nullptr);
  schemas.with(node, "ArchivedNode", {{"archived_at", schemas.of<base::WallTime>()}});
  EXPECT_NE(schemas.named().at("ArchivedNode").find("properties")->find("archived_at"), nullptr);
  EXPECT_NE(schemas.named().at("NodeExecution").find("properties")->find("outputs"), nullptr);
}

}  // namespace
}  // namespace reeve::json
