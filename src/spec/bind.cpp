#include "spec/bind.h"

#include <algorithm>

namespace reeve::spec {

namespace {

using base::ErrorCode;

// YAML 1.1 read these words as booleans; 1.2 does not, but people still write them.
std::optional<bool> find_old_boolean(std::string_view text) {
  const std::string word = base::to_ascii_lower(text);
  if (word == "yes" || word == "on" || word == "y" || word == "true") return true;
  if (word == "no" || word == "off" || word == "n" || word == "false") return false;
  return std::nullopt;
}

}  // namespace

base::Problem& Binder::add(base::Severity severity, const YamlNode& node, ErrorCode code, std::string message,
                           std::string fix) {
  if (problems_.is_full()) return problems_.add({.severity = severity});
  return problems_.add({.severity = severity,
                        .code = code,
                        .message = std::move(message),
                        .place = node.place(),
                        .fix = std::move(fix)});
}

base::Problem& Binder::report_unknown(const YamlNode& node, ErrorCode code, std::string_view noun,
                                      std::string_view name, const std::vector<std::string>& known) {
  if (problems_.is_full()) return report(node, code, {});
  base::Problem& problem = report(node, code, fmt::format("unknown {} {}", noun, base::quoted(name)));
  if (const auto meant = suggest(name, known)) problem.hint = fmt::format("did you mean `{}`?", *meant);
  constexpr std::size_t max_shown = 24;
  if (!known.empty() && known.size() <= max_shown) problem.allowed = base::join(known, ", ");
  return problem;
}

std::optional<std::string> Binder::suggest(std::string_view name, const std::vector<std::string>& known) {
  if (known.size() > suggestions_left_) return std::nullopt;
  suggestions_left_ -= known.size();
  return base::find_closest(name, known);
}

base::Problem& Binder::report_wrong(const YamlNode& node, std::string_view expected) {
  return report(node, codes_.wrong_type, fmt::format("expected {}, found {}", expected, node.kind_name()));
}

bool Binder::expect_mapping(const YamlNode& node, std::vector<std::string> (*keys)()) {
  if (node.kind == YamlKind::mapping || node.is_null()) return true;
  base::Problem& problem = report_wrong(node, "a mapping");
  std::vector<std::string> members;
  for (const std::string& key : keys()) members.push_back(fmt::format("{}: …", key));
  if (members.empty()) members.emplace_back("NAME: …");
  problem.fix = fmt::format("write it as a mapping: {{ {} }}", base::join(members, ", "));
  return false;
}

// An unknown "value" is reported with its key; a noun such as "node type" needs no key.
void Binder::report_unknown_word(const YamlNode& node, const EnumWords& words, const std::vector<std::string>& known) {
  base::Problem& problem =
      report_unknown(node, words.code.value_or(codes_.unknown_value), words.noun, node.text, known);
  if (words.noun == "value") problem.message += fmt::format(" for {}", base::quoted(key_));
}

std::string Binder::report_unknown_key(const YamlNode& key, const std::vector<std::string>& known,
                                       std::span<const KeySynonym> synonyms) {
  if (problems_.is_full()) {
    report(key, codes_.unknown_key, {});
    return {};
  }
  base::Problem& problem = report_unknown(key, codes_.unknown_key, "key", key.text, known);
  const auto synonym = std::ranges::find(synonyms, key.text, &KeySynonym::written);
  if (synonym != synonyms.end()) {
    problem.hint = fmt::format("did you mean `{}`?", synonym->meant);
    return std::string(synonym->meant);
  }
  if (key.text == "<<") problem.fix = "merge keys are not part of YAML 1.2: use the whole block as an alias";
  return suggest(key.text, known).value_or("");
}

void Binder::report_missing(const YamlNode& owner, std::string_view name) {
  report(owner, codes_.missing_key, fmt::format("{} is missing", base::quoted(name)), fmt::format("add `{}: …`", name));
}

void Binder::read(const YamlNode& node, std::string& out) {
  if (node.kind != YamlKind::scalar) {
    report_wrong(node, "a string");
    return;
  }
  // A number or `true` where a string is expected is taken as text: `version: 1.0`.
  if (!node.is_null()) out = node.text;
}

void Binder::read(const YamlNode& node, bool& out) {
  const base::Value value = node.kind == YamlKind::scalar ? resolve_scalar(node) : base::Value();
  if (const bool* flag = value.as_bool()) {
    out = *flag;
    return;
  }
  base::Problem& problem = report_wrong(node, "true or false");
  const auto meant = node.kind == YamlKind::scalar ? find_old_boolean(node.text) : std::nullopt;
  if (meant) problem.hint = fmt::format("did you mean `{}`?", *meant);
}

void Binder::read(const YamlNode& node, std::int64_t& out) {
  const base::Value value = node.kind == YamlKind::scalar ? resolve_scalar(node) : base::Value();
  if (const std::int64_t* number = value.as_integer()) {
    out = *number;
  } else {
    report_wrong(node, "a whole number");
  }
}

void Binder::read(const YamlNode& node, double& out) {
  const base::Value value = node.kind == YamlKind::scalar ? resolve_scalar(node) : base::Value();
  if (const double* number = value.as_number()) {
    out = *number;
  } else if (const std::int64_t* integer = value.as_integer()) {
    out = static_cast<double>(*integer);
  } else {
    report_wrong(node, "a number");
  }
}

namespace {

template <class T>
std::optional<T> parse_word(const YamlNode& node, std::optional<T> (*parse)(std::string_view)) {
  return node.kind == YamlKind::scalar ? parse(node.text) : std::nullopt;
}

}  // namespace

void Binder::read(const YamlNode& node, base::Milliseconds& out) {
  if (const auto duration = parse_word<base::Milliseconds>(node, base::parse_duration)) {
    out = *duration;
  } else {
    report(node, codes_.bad_duration, fmt::format("{} is not a duration", base::quoted(node.text))).allowed =
        base::duration_forms;
  }
}

void Binder::read(const YamlNode& node, base::TimeLimit& out) {
  if (const auto limit = parse_word<base::TimeLimit>(node, base::parse_time_limit)) {
    out = *limit;
  } else {
    report(node, codes_.bad_duration, fmt::format("{} is not a duration", base::quoted(node.text))).allowed =
        fmt::format("{}; `off` or `never` for none", base::duration_forms);
  }
}

void Binder::read(const YamlNode& node, base::ByteSize& out) {
  if (const auto size = parse_word<base::ByteSize>(node, base::parse_byte_size)) {
    out = *size;
  } else {
    report(node, ErrorCode::config_bad_size, fmt::format("{} is not a size", base::quoted(node.text))).allowed =
        base::size_forms;
  }
}

void Binder::read(const YamlNode& node, model::OnPrompt& out) {
  if (const auto on_prompt = parse_word<model::OnPrompt>(node, model::parse_on_prompt)) {
    out = *on_prompt;
  } else {
    report_unknown_word(node, {}, {"approve", "fail", "answer=TEXT"});
  }
}

namespace {

// A text, a list of texts, or a list of such lists; a number counts as text. Null for anything else.
base::Value condition_value(const YamlNode& node, int depth) {
  if (node.kind == YamlKind::scalar && !node.is_null()) return base::Value::string(node.text);
  if (node.kind != YamlKind::sequence || depth == 0) return {};
  base::Value list = base::Value::array();
  for (const YamlNode& item : node.items) {
    base::Value value = condition_value(item, depth - 1);
    if (value.is_null()) return {};
    list.as_array()->push_back(std::move(value));
  }
  return list;
}

}  // namespace

// check_config() says which of the forms a condition may have.
void Binder::read_conditions(const YamlNode& node, model::PolicyConditions& out) {
  if (!expect_mapping(node, no_keys)) return;
  for (std::size_t i = 0; i < node.member_count(); ++i) {
    base::Value value = condition_value(node.value(i), 2);
    if (value.is_null()) {
      report_wrong(node.value(i), "a text or a list of texts");
      continue;
    }
    out.insert_or_assign(node.key(i).text, std::move(value));
  }
}

// `require_approval`, `{policy: require_approval, when: {…}}` or, as SPEC writes it, `{require_approval, when: {…}}`.
void Binder::read(const YamlNode& node, model::PolicyRule& out) {
  if (node.kind != YamlKind::mapping) return read(node, out.policy);
  int policies = 0;
  for (std::size_t i = 0; i < node.member_count(); ++i) {
    const YamlNode& key = node.key(i);
    const YamlNode& value = node.value(i);
    const auto bare = base::find_enum<model::Policy>(key.text);
    if (key.text == "policy") {
      read(value, out.policy);
      ++policies;
    } else if (bare && value.is_null()) {
      out.policy = *bare;
      ++policies;
    } else if (key.text == "when") {
      read_conditions(value, out.when);
    } else if (key.text == "even_if_denied") {
      read(value, out.even_if_denied);
    } else {
      report_unknown_key(key, {"policy", "when", "even_if_denied"});
    }
  }
  if (policies == 0) report_missing(node, "policy");
  if (policies > 1)
    report(node, ErrorCode::config_two_policies, "a rule must have exactly one policy", "keep one of them");
}

// One rule, or a list of them.
void Binder::read(const YamlNode& node, std::vector<model::PolicyRule>& out) {
  if (node.kind != YamlKind::sequence) return read(node, out.emplace_back());
  for (const YamlNode& item : node.items) read(item, out.emplace_back());
}

}  // namespace reeve::spec
