#include "engine/policy_match.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/enum.h"
#include "base/glob.h"
#include "base/text.h"
#include "engine/condition.h"
#include "engine/shell_call.h"
#include "model/policy_conditions.h"
#include "model/program_kinds.h"

namespace reeve::engine {

namespace {

using model::Policy;
using Texts = std::vector<std::string>;

RuleMatch yes_or_no(bool matches) { return matches ? RuleMatch::yes : RuleMatch::no; }

bool matches_located(std::string_view pattern, const CallPath& path) {
  while (pattern.starts_with("./")) pattern.remove_prefix(2);
  if (pattern.starts_with('/')) return base::matches_glob(pattern, path.absolute);
  return path.beneath && base::matches_glob(pattern, *path.beneath);
}

class Matcher {
 public:
  Matcher(const model::PolicyRule& rule, const CallSubject& subject)
      : approves_(rule.policy == Policy::auto_approve), subject_(subject) {}

  RuleMatch match(const std::string& name, const base::Value& wanted) const {
    if (name == "argv") return match_argv(model::find_condition_argvs(wanted));
    const auto texts = model::find_condition_texts(wanted);
    if (!texts) return RuleMatch::unknown;
    if (name == "path") return match_paths(*texts, find_paths(subject_.arguments));
    if (name == "program") return match_program(*texts);
    if (name == "sandbox") return match_sandbox(*texts);
    // Nothing confines the network of a run yet, so nobody knows what it can reach.
    if (name == "network") return RuleMatch::unknown;
    if (name == "role") return match_name(*texts, subject_.role);
    if (name == "project") return match_name(*texts, subject_.project);
    return match_argument(name, *texts);
  }

 private:
  RuleMatch match_paths(const Texts& globs, const std::optional<Texts>& paths) const {
    if (!paths || paths->empty()) return RuleMatch::unknown;
    const auto fits = [&](const std::string& path) { return fits_path(globs, path); };
    if (approves_) return yes_or_no(std::ranges::all_of(*paths, fits));
    if (std::ranges::any_of(*paths, fits)) return RuleMatch::yes;
    const auto is_open = [&](const std::string& path) { return may_lead_elsewhere(path); };
    return std::ranges::any_of(*paths, is_open) ? RuleMatch::unknown : RuleMatch::no;
  }

  // A pattern of files to read, or a text whose target nobody can tell.
  bool may_lead_elsewhere(const std::string& path) const {
    constexpr auto pattern_tools = std::to_array<std::string_view>({"file_read", "list_directory", "search_files"});
    const bool takes_patterns = std::ranges::find(pattern_tools, subject_.tool) != pattern_tools.end();
    return (takes_patterns && has_wildcard(path)) ||
           std::ranges::any_of(locate_all(subject_.place, path), &CallPath::is_unclear);
  }

  bool fits_path(const Texts& globs, const std::string& path) const {
    const std::vector<CallPath> all = locate_all(subject_.place, path);
    const auto fits = [&](const CallPath& each) {
      return std::ranges::any_of(globs, [&](const std::string& glob) {
        return matches_located(glob, each) || (!approves_ && base::matches_glob(glob, each.absolute));
      });
    };
    return approves_ ? std::ranges::all_of(all, fits) : std::ranges::any_of(all, fits);
  }

  RuleMatch match_program(const Texts& programs) const {
    const auto argv = find_call_argv(subject_.arguments);
    if (!argv) return RuleMatch::unknown;
    RuleMatch best = RuleMatch::no;
    for (const std::string& program : programs) {
      const std::vector<std::string_view> words = base::split(program, ' ');
      const std::string_view subcommand = words.size() > 1 ? words[1] : std::string_view();
      const RuleMatch found = approves_ ? match_approved(*argv, words.front(), subcommand)
                                        : match_refused(*argv, words.front(), subcommand);
      best = std::max(best, words.size() > 2 ? RuleMatch::unknown : found);
    }
    return best;
  }

  static RuleMatch match_approved(const Texts& argv, std::string_view program, std::string_view subcommand) {
    if (model::find_program_objection(program, subcommand)) return RuleMatch::no;
    return yes_or_no(argv.front() == program && (subcommand.empty() || (argv.size() > 1 && argv[1] == subcommand)));
  }

  RuleMatch match_refused(const Texts& argv, std::string_view program, std::string_view subcommand) const {
    const Texts names = names_of_program(argv, subject_);
    if (std::ranges::find(names, program) == names.end()) return may_start(argv, names, program);
    if (subcommand.empty()) return RuleMatch::yes;
    if (argv.size() < 2) return RuleMatch::no;
    // Its options may take values, so the subcommand is not known.
    if (argv[1].starts_with('-')) return RuleMatch::unknown;
    return yes_or_no(argv[1] == subcommand);
  }

  static RuleMatch may_start_others(const Texts& names) {
    const auto starts_others = [](const std::string& name) {
      const model::ProgramKind kind = model::kind_of_program(name);
      return kind == model::ProgramKind::interpreter || kind == model::ProgramKind::starter;
    };
    return std::ranges::any_of(names, starts_others) ? RuleMatch::unknown : RuleMatch::no;
  }

  // A program of which nothing is known may start one that its arguments name.
  static RuleMatch may_start(const Texts& argv, const Texts& names, std::string_view wanted) {
    const auto is_known = [](const std::string& name) {
      return model::kind_of_program(name) != model::ProgramKind::unknown;
    };
    if (may_start_others(names) == RuleMatch::unknown) return RuleMatch::unknown;
    if (std::ranges::all_of(names, is_known)) return RuleMatch::no;
    const auto is_named = [&](const std::string& word) {
      return last_part(word) == last_part(wanted) || may_start_others({word}) == RuleMatch::unknown;
    };
    return std::any_of(argv.begin() + 1, argv.end(), is_named) ? RuleMatch::unknown : RuleMatch::no;
  }

  static std::string_view last_part(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
  }

  RuleMatch match_argv(const std::optional<std::vector<Texts>>& wanted) const {
    const auto argv = find_call_argv(subject_.arguments);
    if (!wanted || !argv) return RuleMatch::unknown;
    if (approves_) return yes_or_no(std::ranges::find(*wanted, *argv) != wanted->end());
    const Texts names = names_of_program(*argv, subject_);
    RuleMatch best = RuleMatch::no;
    for (Texts each : *wanted) {
      const std::string program = std::exchange(each.front(), argv->front());
      const bool is_program = std::ranges::find(names, program) != names.end();
      if (is_program && each == *argv) return RuleMatch::yes;
      best = std::max(best, is_program ? may_start_others(names) : may_start(*argv, names, program));
    }
    return best;
  }

  // The guard confines neither the network nor HOME yet, so a rule that trusts it must not match.
  RuleMatch match_sandbox(const Texts& words) const {
    if (std::ranges::find(words, base::spell(model::Sandbox::guard)) != words.end()) return RuleMatch::unknown;
    return yes_or_no(std::ranges::find(words, base::spell(subject_.sandbox)) != words.end());
  }

  static RuleMatch match_name(const Texts& globs, const std::string& name) {
    const auto fits = [&](const std::string& glob) { return base::matches_glob(glob, name); };
    return yes_or_no(!name.empty() && std::ranges::any_of(globs, fits));
  }

  // Only strings are matched: a pattern has no defined meaning for a number or an object.
  RuleMatch match_argument(const std::string& name, const Texts& globs) const {
    const base::Value* argument = find_field(subject_.arguments, name);
    if (argument == nullptr || argument->as_string() == nullptr) return RuleMatch::no;
    if (names_path(name)) return match_paths(globs, Texts{*argument->as_string()});
    const auto fits = [&](const std::string& glob) { return base::matches_glob(glob, *argument->as_string()); };
    return yes_or_no(std::ranges::any_of(globs, fits));
  }

  bool approves_;
  const CallSubject& subject_;
};

}  // namespace

RuleMatch match_rule(const model::PolicyRule& rule, const CallSubject& subject) {
  RuleMatch worst = RuleMatch::yes;
  const Matcher matcher(rule, subject);
  for (const auto& [name, wanted] : rule.when) worst = std::min(worst, matcher.match(name, wanted));
  return worst;
}

}  // namespace reeve::engine
