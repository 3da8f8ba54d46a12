#include "tests/support/engine/sample_files.h"

#include <fmt/format.h>

#include "base/text.h"

namespace reeve::testing {

namespace {

using spec::ValueForm;
using Kind = ValueForm::Kind;

std::vector<std::string> good_values(const ValueForm& form) {
  switch (form.kind) {
    case Kind::text:
      return {"some", "7", "true", "''"};
    case Kind::boolean:
      return {"true", "false"};
    case Kind::integer:
      return {"3"};
    case Kind::number:
      return {"0.5", "2"};
    case Kind::duration:
      return {"90", "500ms", "5m", "'2h'"};
    case Kind::time_limit:
      return {"0", "3d", "off", "never"};
    case Kind::size:
      return {"4096", "64KiB", "1GiB"};
    case Kind::word: {
      // YAML gives some operators a meaning of their own.
      std::vector<std::string> quoted;
      for (const std::string& word : form.words) quoted.push_back(fmt::format("'{}'", word));
      return quoted;
    }
    case Kind::on_prompt:
      return {"approve", "fail", "answer=y"};
    case Kind::rules:
      return {"deny", "[{policy: deny, when: {path: 'a*'}}, auto_approve]", "{require_approval, even_if_denied: true}"};
    case Kind::anything:
      return {"{a: [1]}", "text"};
    case Kind::list:
      return {"[]", fmt::format("[{}]", good_values(*form.items).back())};
    case Kind::map:
      return {"{}", fmt::format("{{some: {}}}", good_values(*form.items).back())};
    case Kind::block:
      return {"{}"};
  }
  return {};
}

std::vector<std::string> bad_values(const ValueForm& form) {
  switch (form.kind) {
    case Kind::text:
      return {"[some]", "{some: 1}"};
    case Kind::boolean:
      return {"yes", "1", "[]"};
    case Kind::integer:
      return {"many", "2.5", "true"};
    case Kind::number:
      return {"many", "[1]"};
    case Kind::duration:
      return {"soon", "off", "-1", "5 m"};
    case Kind::time_limit:
      return {"soon", "none", "5min"};
    case Kind::size:
      return {"large", "64kb", "[]"};
    case Kind::word:
      return {"no_such_word", "[]", "{}"};
    case Kind::on_prompt:
      return {"ask", "[]"};
    case Kind::rules:
      return {"allow", "{policy: allow}", "{when: 7, policy: deny}", "[{policy: deny, unless: {}}]"};
    case Kind::anything:
      return {};
    case Kind::list:
      return {"some", "{}", "[null]"};
    case Kind::map:
    case Kind::block:
      return {"some", "[]"};
  }
  return {};
}

// {tools: {some: {timeout: VALUE}}} for "tools.*.timeout".
std::string wrap(const std::string& path, std::string value) {
  const std::vector<std::string_view> parts = base::split(path, '.');
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    std::string_view name = *part;
    while (name.ends_with("[]")) {
      value = fmt::format("[{}]", value);
      name.remove_suffix(2);
    }
    value = fmt::format("{{{}: {}}}", name == "*" ? "some" : name, value);
  }
  return value;
}

}  // namespace

std::vector<SampleFile> sample_files(spec::FileType type) {
  std::vector<SampleFile> files;
  visit_keys(spec::file_form(type), [&](const std::string& path, const spec::KeyEntry& key) {
    for (const std::string& value : good_values(key.form)) files.push_back({path, wrap(path, value), true});
    for (const std::string& value : bad_values(key.form)) files.push_back({path, wrap(path, value), false});
    // Whether a block may be empty depends on its required keys.
    if (key.form.kind != Kind::block) files.push_back({path, wrap(path, "null"), key.form.may_be_null});
  });
  return files;
}

std::vector<SampleFile> files_with_unknown_keys(spec::FileType type) {
  std::vector<SampleFile> files = {{"", "{no_such_key: 1}", false}};
  visit_keys(spec::file_form(type), [&](const std::string& path, const spec::KeyEntry& key) {
    const spec::InnerBlock inner = find_block(key.form, path);
    if (inner.form != nullptr) files.push_back({inner.path, wrap(inner.path, "{no_such_key: 1}"), false});
  });
  return files;
}

}  // namespace reeve::testing
