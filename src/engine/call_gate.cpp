#include "engine/call_gate.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "engine/grants.h"
#include "engine/policy.h"
#include "engine/shell_call.h"

namespace reeve::engine {

namespace {

// Arguments come from bounded JSON; this bounds values made in any other way.
constexpr int max_depth = 100;

// Every value has one encoding: its kind, its length and its bytes; members in the order of their names.
class ValueDigest {
 public:
  void add(std::string_view kind, std::string_view bytes) {
    fmt::format_to(std::back_inserter(text_), "{}{}:{}", kind, bytes.size(), bytes);
  }

  void add(const base::Value& value, int depth = 0) {
    REEVE_ASSERT(depth < max_depth);
    if (const std::string* text = value.as_string()) return add("s", *text);
    if (const bool* flag = value.as_bool()) return add("b", *flag ? "1" : "0");
    if (const std::int64_t* integer = value.as_integer()) return add("i", fmt::format("{}", *integer));
    if (const double* number = value.as_number()) return add("n", fmt::format("{}", *number));
    if (const base::Value::Array* array = value.as_array()) {
      fmt::format_to(std::back_inserter(text_), "a{};", array->size());
      for (const base::Value& element : *array) add(element, depth + 1);
      return;
    }
    const base::Value::Object* object = value.as_object();
    if (object == nullptr) return add("z", "");
    std::vector<const base::Member*> members;
    for (const base::Member& member : *object) members.push_back(&member);
    std::ranges::sort(members, {}, &base::Member::key);
    fmt::format_to(std::back_inserter(text_), "o{};", members.size());
    for (const base::Member* member : members) {
      add("k", member->key);
      add(member->value, depth + 1);
    }
  }

  std::string take() const { return "sha256:" + base::sha256_hex(text_); }

 private:
  std::string text_;
};

}  // namespace

CallVerdict decide_call(const model::Policies& policies, const CallSubject& subject, const std::string& digest,
                        std::span<const model::Grant> grants) {
  PolicyVerdict found = resolve_policy(policies, subject);
  CallVerdict verdict{.policy = found.policy,
                      .rule = std::move(found.source),
                      .reason = std::move(found.reason),
                      .grant = std::nullopt};
  if (found.policy != model::Policy::require_approval) return verdict;
  for (const model::Grant& grant : grants) {
    // Nobody saw this very call when a wider grant was made.
    const bool is_wide = grant.match != model::GrantMatch::exact;
    if ((is_wide && found.may_be_denied) || !covers(grant, subject, digest)) continue;
    verdict.policy = model::Policy::auto_approve;
    verdict.rule = grant.grant_id.text();
    verdict.reason.clear();
    verdict.grant = grant.grant_id;
    break;
  }
  return verdict;
}

NeededFacts find_needed_facts(const CallSubject& subject) {
  NeededFacts needed;
  if (auto paths = find_paths(subject.arguments)) needed.paths = std::move(*paths);
  needed.reads = find_read_scopes(subject.tool, subject.arguments);
  if (subject.tool != "shell_execute") return needed;
  needed.paths.push_back(subject.cwd);
  if (auto argv = find_call_argv(subject.arguments)) needed.argv = std::move(*argv);
  return needed;
}

std::string digest_of_call(std::string_view tool, const base::Value& arguments, const FolderIdentity& folder) {
  ValueDigest digest;
  // The format version, so that a later format cannot match this one.
  digest.add("v", "reeve.call.1");
  digest.add("t", tool);
  digest.add("d", fmt::format("{}:{}", folder.device, folder.inode));
  const base::Value::Object* members = arguments.as_object();
  if (tool != "shell_execute" || members == nullptr) {
    digest.add(arguments);
    return digest.take();
  }
  // Agents describe the same command in other words each time; the text runs nothing.
  base::Value without = base::Value::object();
  for (const base::Member& member : *members) {
    if (member.key != "description") without.set(member.key, member.value);
  }
  digest.add(without);
  return digest.take();
}

}  // namespace reeve::engine
