#include "spec/key_table.h"

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/enum.h"
#include "base/quantity.h"
#include "base/text.h"
#include "json/describe.h"
#include "json/encode.h"
#include "model/config.h"
#include "model/pipeline.h"
#include "model/workflow.h"
#include "spec/requirements.h"

namespace reeve::spec {

namespace {

using Kind = ValueForm::Kind;

template <class T>
struct Tag {};

// The same cases as the read() functions of Binder; key_table_test.cpp holds the two together.
template <class T>
ValueForm form_of(Tag<T>);

ValueForm form_of(Tag<std::string>) { return {.kind = Kind::text, .may_be_null = true}; }
ValueForm form_of(Tag<bool>) { return {.kind = Kind::boolean}; }
ValueForm form_of(Tag<std::int64_t>) { return {.kind = Kind::integer}; }
ValueForm form_of(Tag<double>) { return {.kind = Kind::number}; }
ValueForm form_of(Tag<base::Milliseconds>) { return {.kind = Kind::duration}; }
ValueForm form_of(Tag<base::TimeLimit>) { return {.kind = Kind::time_limit}; }
ValueForm form_of(Tag<base::ByteSize>) { return {.kind = Kind::size}; }
ValueForm form_of(Tag<base::Value>) { return {.kind = Kind::anything, .may_be_null = true}; }
ValueForm form_of(Tag<model::OnPrompt>) { return {.kind = Kind::on_prompt}; }
ValueForm form_of(Tag<std::vector<model::PolicyRule>>) { return {.kind = Kind::rules}; }

template <class T>
ValueForm form_of(Tag<std::optional<T>>) {
  ValueForm form = form_of(Tag<T>());
  form.may_be_null = true;
  return form;
}

template <class T>
ValueForm form_of(Tag<std::vector<T>>) {
  ValueForm item = form_of(Tag<T>());
  item.may_be_null = false;
  return {.kind = Kind::list, .items = std::make_shared<const ValueForm>(std::move(item))};
}

template <class T>
ValueForm form_of(Tag<std::map<std::string, T>>) {
  return {.kind = Kind::map, .may_be_null = true, .items = std::make_shared<const ValueForm>(form_of(Tag<T>()))};
}

template <class T>
bool is_required(std::string_view name) {
  for (const std::string_view required : required_keys<T>) {
    if (required == name) return true;
  }
  return false;
}

template <class T>
ValueForm block_of() {
  static const T fresh{};
  Keys keys;
  boost::mp11::mp_for_each<json::MembersOf<T>>([&](auto member) {
    using Type = std::remove_cvref_t<decltype(fresh.*member.pointer)>;
    KeyEntry key{.name = std::string(base::without_keyword_mark(member.name)), .form = form_of(Tag<Type>())};
    key.is_required = is_required<T>(key.name);
    const bool has_default = !key.is_required && key.form.kind != Kind::block;
    if (has_default) key.fallback = json::to_value(fresh.*member.pointer);
    keys.push_back(std::move(key));
  });
  return {.kind = Kind::block,
          .may_be_null = required_keys<T>.empty(),
          .keys = std::make_shared<const Keys>(std::move(keys))};
}

template <class T>
ValueForm form_of(Tag<T>) {
  if constexpr (base::DescribedEnum<T>) {
    return {.kind = Kind::word, .words = base::spellings<T>()};
  } else if constexpr (json::DescribedStruct<T>) {
    return block_of<T>();
  } else {
    return {.kind = Kind::anything, .may_be_null = true};
  }
}

void visit_at(const ValueForm& form, const std::string& path, const KeyVisitor& visit) {
  if (form.items) visit_at(*form.items, path_of_items(form, path), visit);
  if (!form.keys) return;
  for (const KeyEntry& key : *form.keys) {
    const std::string inner = path.empty() ? key.name : fmt::format("{}.{}", path, key.name);
    visit(inner, key);
    visit_at(key.form, inner, visit);
  }
}

std::string list_words(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += fmt::format("`{}`", words[i]);
  }
  return text;
}

// "texts", for "a list of texts".
std::string plural_of(const ValueForm& form) {
  switch (form.kind) {
    case Kind::text:
      return "texts";
    case Kind::boolean:
      return "true or false";
    case Kind::integer:
      return "whole numbers";
    case Kind::number:
      return "numbers";
    case Kind::duration:
      return "durations";
    case Kind::time_limit:
      return "durations or `off`";
    case Kind::size:
      return "sizes";
    case Kind::word:
    case Kind::on_prompt:
      return describe_form(form);
    case Kind::rules:
      return "rules";
    case Kind::anything:
      return "values";
    case Kind::list:
      return fmt::format("lists of {}", plural_of(*form.items));
    case Kind::map:
      return fmt::format("mappings of names to {}", plural_of(*form.items));
    case Kind::block:
      return "blocks";
  }
  return {};
}

}  // namespace

const ValueForm& file_form(FileType type) {
  static const ValueForm workflow = form_of(Tag<model::Workflow>());
  static const ValueForm pipelines = form_of(Tag<model::Pipelines>());
  static const ValueForm config = form_of(Tag<model::Config>());
  switch (type) {
    case FileType::workflow:
      return workflow;
    case FileType::pipelines:
      return pipelines;
    case FileType::config:
      return config;
  }
  return config;
}

void visit_keys(const ValueForm& form, const KeyVisitor& visit) { visit_at(form, "", visit); }

std::string show_path(std::string_view path) {
  std::string shown;
  for (const char c : path) shown += c == '*' ? std::string_view("NAME") : std::string_view(&c, 1);
  return shown;
}

std::string path_of_items(const ValueForm& form, const std::string& path) {
  if (form.kind == Kind::list) return path + "[]";
  return path.empty() ? "*" : path + ".*";
}

InnerBlock find_block(const ValueForm& form, std::string path) {
  const ValueForm* inner = &form;
  while (inner->items) {
    path = path_of_items(*inner, path);
    inner = inner->items.get();
  }
  if (inner->kind != Kind::block) return {};
  return {std::move(path), inner};
}

std::string describe_form(const ValueForm& form) {
  switch (form.kind) {
    case Kind::text:
      return "text";
    case Kind::boolean:
      return "`true` or `false`";
    case Kind::integer:
      return "a whole number";
    case Kind::number:
      return "a number";
    case Kind::duration:
      return "a duration";
    case Kind::time_limit:
      return "a duration or `off`";
    case Kind::size:
      return "a size";
    case Kind::word:
      return list_words(form.words);
    case Kind::on_prompt:
      return "`approve`, `fail` or `answer=TEXT`";
    case Kind::rules:
      return "a policy or a rule, or a list of them";
    case Kind::anything:
      return "any value";
    case Kind::list:
      return fmt::format("a list of {}", plural_of(*form.items));
    case Kind::map:
      return fmt::format("a mapping of names to {}", plural_of(*form.items));
    case Kind::block:
      return "a block";
  }
  return {};
}

std::string format_default(const base::Value& value) {
  if (value.is_null()) return {};
  const auto* text = value.as_string();
  // Quoted where YAML would otherwise read something else.
  const bool is_plain = text != nullptr && !text->empty() && text->find_first_of("{}[]\":#, ") == std::string::npos;
  if (is_plain) return *text;
  if (const auto* list = value.as_array()) {
    std::vector<std::string> items;
    for (const base::Value& item : *list) items.push_back(format_default(item));
    return fmt::format("[{}]", base::join(items, ", "));
  }
  return json::encode(value);
}

}  // namespace reeve::spec
