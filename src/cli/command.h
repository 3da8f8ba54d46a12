#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "view/style.h"

// Descriptions of commands and options, used by help, parsing, completion and "did you mean".
namespace reeve::cli {

struct Option {
  // "--format".
  std::string_view name;
  // "FORMAT"; empty for a switch.
  std::string_view value = {};
  std::string_view help = {};
  // The accepted values, if they can be listed.
  std::vector<std::string_view> choices = {};
  bool is_repeatable = false;
  bool is_required = false;
  // The short form, "-f", if any.
  std::string_view brief = {};
  // With it, foreign words are plain text and need no `--`.
  bool frees_words = false;
};

struct Positional {
  std::string_view name;
  std::string_view help;
  std::vector<std::string_view> choices = {};
  bool is_required = true;
  bool is_repeatable = false;
  bool is_file = false;
  // The id of a record, with a prefix if the record is in another state folder.
  bool is_id = false;
  // Only after `--`: the words of another command, whose options are not parsed here.
  bool is_foreign = false;
};

struct Example {
  std::string_view line;
  std::string_view what;
};

// The arguments of one call, checked against the description of its command.
class Arguments {
 public:
  bool has(std::string_view option) const { return values_.contains(option); }
  std::optional<std::string> value(std::string_view option) const;
  std::vector<std::string> values(std::string_view option) const;
  // Omitted ones are empty.
  std::string positional(std::size_t i) const { return i < positionals_.size() ? positionals_[i] : std::string(); }
  const std::vector<std::string>& positionals() const noexcept { return positionals_; }
  // Those that name a record, as typed: "TR-17", "@last", "shop/AP-1". positionals() has them without a prefix.
  const std::vector<std::string>& ids() const noexcept { return ids_; }

  void add_option(std::string_view name, std::vector<std::string> values);
  void add_positional(std::string word) { positionals_.push_back(std::move(word)); }
  void add_id(std::string word) { ids_.push_back(std::move(word)); }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> positionals_;
  std::vector<std::string> ids_;
};

// SPEC §7. `reeve run`, `attach` and `wait` also return the tool's own code, and 128 + N for signal N.
enum class ExitCode {
  done = 0,
  failed = 1,
  usage = 2,
  not_found = 3,
  conflict = 4,
  denied = 5,
  no_daemon = 6,
  waiting = 90,
  timed_out = 124,
  cancelled = 130,
  // The reader of the output is gone, as if SIGPIPE had ended the program.
  reader_gone = 141,
};

// What a command needs besides its arguments.
struct Call {
  Arguments arguments;
  // For standard output and standard error, which may differ.
  view::Style out;
  view::Style err;
  bool is_json = false;
  bool out_is_terminal = false;
  // Of the ids that the call names: "shop" for shop/AP-1. Ids that are printed for the user to type begin with it.
  std::string prefix = {};
};

struct Command {
  // Its name on the command line: "flow validate".
  std::string_view name;
  std::string_view summary;
  // The full help, in paragraphs.
  std::string_view about;
  std::vector<Example> examples;
  std::vector<Positional> positionals;
  std::vector<Option> options;
  ExitCode (*run)(const Call& call);
  // Called by scripts that Reeve writes; not in lists, completions and reference pages.
  bool is_internal = false;
};

// Every command, in the order of the help.
const std::vector<Command>& all_commands();
// Without the internal ones.
std::vector<Command> shown_commands();
// The options of every command.
const std::vector<Option>& common_options();

}  // namespace reeve::cli
