#include "spec/policy_cases.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "spec/bind.h"

namespace reeve::spec {

using namespace std::string_view_literals;

template <>
inline constexpr std::array required_keys<PolicyCase> = {"tool"sv, "expect"sv};

namespace {

using base::ErrorCode;

void check_case(const YamlNode& yaml, const PolicyCase& call, Binder& binder) {
  const YamlNode* arguments = yaml.find("arguments");
  if (call.arguments && call.arguments->as_object() == nullptr && arguments != nullptr) {
    binder.report_wrong(*arguments, "a mapping");
  }
}

}  // namespace

base::Result<std::vector<LocatedPolicyCase>> parse_policy_cases(std::shared_ptr<const Source> source) {
  base::Problems problems;
  const auto document = parse_yaml(std::move(source), problems);
  if (!document) return std::unexpected(std::move(problems));
  Binder binder(config_codes, problems);
  const YamlNode& root = document->root;
  std::vector<LocatedPolicyCase> cases;
  if (root.kind != YamlKind::sequence || root.items.empty()) {
    binder.report(root, ErrorCode::config_wrong_type, "a table of tool calls is a list with at least one call",
                  "begin with `- {tool: file_read, arguments: {path: src/a.c}, expect: auto_approve}`");
  } else if (root.items.size() > max_policy_cases) {
    binder.report(root, ErrorCode::config_wrong_type, fmt::format("more than {} calls", max_policy_cases),
                  "divide the table into several files");
  } else {
    for (const YamlNode& item : root.items) {
      LocatedPolicyCase& located = cases.emplace_back();
      located.line = item.line;
      binder.bind(item, located.call);
      check_case(item, located.call, binder);
    }
  }
  problems.sort();
  if (problems.has_errors()) return std::unexpected(std::move(problems));
  return cases;
}

}  // namespace reeve::spec
