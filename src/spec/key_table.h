#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

// What a workflow, pipelines or config file may contain, taken from the type descriptions that the Binder reads with.
// Schemas, reference pages and manual pages are generated from these tables.
namespace reeve::spec {

enum class FileType { workflow, pipelines, config };

struct KeyEntry;
using Keys = std::vector<KeyEntry>;

// The values that a key accepts.
struct ValueForm {
  enum class Kind {
    text,
    boolean,
    integer,
    number,
    duration,
    // A duration, or `off`.
    time_limit,
    size,
    word,
    // `approve`, `fail` or `answer=TEXT`.
    on_prompt,
    // A policy, a rule, or a list of them.
    rules,
    anything,
    list,
    // Names chosen by the user.
    map,
    block,
  };
  Kind kind = Kind::anything;
  bool may_be_null = false;
  // For `word`.
  std::vector<std::string> words = {};
  // For `list` and `map`: the form of each item.
  std::shared_ptr<const ValueForm> items = nullptr;
  // For `block`.
  std::shared_ptr<const Keys> keys = nullptr;
};

struct KeyEntry {
  std::string name;
  ValueForm form;
  bool is_required = false;
  // Null if an omitted key has no value.
  base::Value fallback;
};

const ValueForm& file_form(FileType type);

// Where a key may occur: "tools.*.timeout", "nodes[].type"; `*` is a name chosen by the user.
using KeyVisitor = std::function<void(const std::string& path, const KeyEntry& key)>;
// The same for people: "tools.NAME.timeout".
std::string show_path(std::string_view path);
// Visits every key of a file, blocks before their keys.
void visit_keys(const ValueForm& form, const KeyVisitor& visit);

// The path of the items of `form` when `form` itself is at `path`.
std::string path_of_items(const ValueForm& form, const std::string& path);
// The block that a key contains, directly or as items of lists and maps, with its path; nullptr if there is none.
struct InnerBlock {
  std::string path;
  const ValueForm* form = nullptr;
};
InnerBlock find_block(const ValueForm& form, std::string path);

// For people, with words to type in backticks: "a list of durations".
std::string describe_form(const ValueForm& form);
// A default as one would write it in YAML, on one line; empty for null.
std::string format_default(const base::Value& value);

}  // namespace reeve::spec
