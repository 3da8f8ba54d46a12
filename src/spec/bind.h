#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/enum.h"
#include "base/problem.h"
#include "base/quantity.h"
#include "base/text.h"
#include "json/describe.h"
#include "model/config.h"
#include "spec/file_codes.h"
#include "spec/requirements.h"
#include "spec/yaml.h"

// Binds YAML to described types: members are the keys, and member types define the allowed values. Every error is
// reported with its location, and reading continues.
namespace reeve::spec {

class Binder {
 public:
  // `ignore` is for one of several layers, whose required keys another layer may supply.
  enum class Required { check, ignore };

  Binder(const FileCodes& codes, base::Problems& problems, Required required = Required::check)
      : codes_(codes), problems_(problems), required_(required) {}

  template <class T>
  void bind(const YamlNode& node, T& out) {
    read(node, out);
  }

  // What was reported so far.
  const base::Problems& problems() const noexcept { return problems_; }

  // The codes of this type of file.
  const FileCodes& codes() const noexcept { return codes_; }

  // Adds a problem with the caret beneath this node.
  base::Problem& report(const YamlNode& node, base::ErrorCode code, std::string message, std::string fix = {}) {
    return add(base::Severity::error, node, code, std::move(message), std::move(fix));
  }
  base::Problem& warn(const YamlNode& node, base::ErrorCode code, std::string message, std::string fix = {}) {
    return add(base::Severity::warning, node, code, std::move(message), std::move(fix));
  }

  // Reports "unknown role `implementor`" with a suggestion and the known names.
  base::Problem& report_unknown(const YamlNode& node, base::ErrorCode code, std::string_view noun,
                                std::string_view name, const std::vector<std::string>& known);

  // The closest known name. Compares a bounded number of names per file, so that a file with many mistakes and many
  // names stays cheap.
  std::optional<std::string> suggest(std::string_view name, const std::vector<std::string>& known);

  // Reports a node whose value is not what was expected.
  base::Problem& report_wrong(const YamlNode& node, std::string_view expected);

 private:
  base::Problem& add(base::Severity severity, const YamlNode& node, base::ErrorCode code, std::string message,
                     std::string fix);
  void read(const YamlNode& node, std::string& out);
  void read(const YamlNode& node, bool& out);
  void read(const YamlNode& node, std::int64_t& out);
  void read(const YamlNode& node, double& out);
  void read(const YamlNode& node, base::Milliseconds& out);
  void read(const YamlNode& node, base::TimeLimit& out);
  void read(const YamlNode& node, base::ByteSize& out);
  void read(const YamlNode& node, base::Value& out) { out = to_value(node); }
  void read(const YamlNode& node, model::OnPrompt& out);
  void read(const YamlNode& node, model::PolicyRule& out);
  void read_conditions(const YamlNode& node, model::PolicyConditions& out);
  void read(const YamlNode& node, std::vector<model::PolicyRule>& out);

  template <base::DescribedEnum E>
  void read(const YamlNode& node, E& out) {
    if (node.kind != YamlKind::scalar || node.is_null()) {
      report_wrong(node, enum_words<E>.noun).allowed = base::join(base::spellings<E>(), ", ");
    } else if (const auto value = base::find_enum<E>(node.text)) {
      out = *value;
    } else {
      report_unknown_word(node, enum_words<E>, base::spellings<E>());
    }
  }

  template <class T>
  void read(const YamlNode& node, std::optional<T>& out) {
    if (node.is_null()) return;
    T value{};
    const std::size_t before = problems_.errors();
    read(node, value);
    if (problems_.errors() == before || json::DescribedStruct<T>) out = std::move(value);
  }

  template <class T>
  void read(const YamlNode& node, std::vector<T>& out) {
    if (node.kind != YamlKind::sequence) {
      base::Problem& problem = report_wrong(node, "a list");
      if (node.kind == YamlKind::scalar && !node.is_null()) {
        problem.fix = fmt::format("write it as a list: [{}]", base::visible(base::truncate_utf8(node.text, 40)));
      }
      return;
    }
    out.clear();
    out.reserve(node.items.size());
    for (const YamlNode& item : node.items) {
      if (item.is_null()) report_wrong(item, "a value");
      read(item, out.emplace_back());
    }
  }

  template <class T>
  void read(const YamlNode& node, std::map<std::string, T>& out) {
    if (!expect_mapping(node, no_keys)) return;
    for (std::size_t i = 0; i < node.member_count(); ++i) {
      T value{};
      read_named(node.key(i), node.value(i), value);
      out.insert_or_assign(node.key(i).text, std::move(value));
    }
  }

  // A block that is left empty (`gate_config:`) is a mapping without members.
  template <json::DescribedStruct T>
  void read(const YamlNode& node, T& out) {
    if (!expect_mapping(node, shape_keys<T>)) return;
    read_struct(node, node, out);
  }

  template <class T>
  void read_named(const YamlNode& key, const YamlNode& value, T& out) {
    key_ = key.text;
    if constexpr (json::DescribedStruct<T>) {
      if (expect_mapping(value, shape_keys<T>)) read_struct(key, value, out);
    } else {
      read(value, out);
    }
  }

  // `owner` is the node at which a missing key is reported: the name of the block, or its start.
  template <class T>
  void read_struct(const YamlNode& owner, const YamlNode& node, T& out) {
    // Keys that a misspelt key probably means; reporting them as missing would report one mistake twice.
    std::vector<std::string> meant;
    static const std::vector<std::string> keys = keys_of<T>();
    for (std::size_t i = 0; i < node.member_count(); ++i) {
      const YamlNode& key = node.key(i);
      bool known = false;
      boost::mp11::mp_for_each<json::MembersOf<T>>([&](auto member) {
        if (known || base::without_keyword_mark(member.name) != key.text) return;
        known = true;
        read_named(key, node.value(i), out.*member.pointer);
      });
      if (known) continue;
      std::string closest = report_unknown_key(key, keys, key_synonyms<T>);
      if (!closest.empty()) meant.push_back(std::move(closest));
    }
    if (required_ == Required::ignore) return;
    if (!alternative_key<T>.empty() && node.find(alternative_key<T>) != nullptr) return;
    for (const std::string_view name : required_keys<T>) {
      const YamlNode* value = node.find(name);
      if (std::ranges::find(meant, name) != meant.end()) continue;
      if (value == nullptr) {
        report_missing(owner, name);
      } else if (value->is_null() || (value->kind == YamlKind::scalar && value->text.empty())) {
        report_missing(*node.find_key(name), name);
      }
    }
  }

  template <class T>
  static std::vector<std::string> keys_of() {
    std::vector<std::string> keys;
    boost::mp11::mp_for_each<json::MembersOf<T>>(
        [&](auto member) { keys.emplace_back(base::without_keyword_mark(member.name)); });
    return keys;
  }

  // The keys that show what a mapping of this type looks like: the required ones, else the first few.
  template <class T>
  static std::vector<std::string> shape_keys() {
    constexpr std::size_t max_optional = 3;
    std::vector<std::string> keys(required_keys<T>.begin(), required_keys<T>.end());
    if (!keys.empty()) return keys;
    keys = keys_of<T>();
    keys.resize(std::min(keys.size(), max_optional));
    return keys;
  }

  void report_unknown_word(const YamlNode& node, const EnumWords& words, const std::vector<std::string>& known);
  // The names are free.
  static std::vector<std::string> no_keys() { return {}; }
  // Reports a value that is not a mapping, with the shape that it should have.
  bool expect_mapping(const YamlNode& node, std::vector<std::string> (*keys)());
  // Returns the key that was probably meant, or an empty string.
  std::string report_unknown_key(const YamlNode& key, const std::vector<std::string>& known,
                                 std::span<const KeySynonym> synonyms = {});
  void report_missing(const YamlNode& owner, std::string_view name);

  const FileCodes& codes_;
  // The key whose value is being read.
  std::string_view key_;
  base::Problems& problems_;
  Required required_;
  std::size_t suggestions_left_ = base::limits::spec_suggestions;
};

}  // namespace reeve::spec
