#include "adapter/options.h"

#include <charconv>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"

namespace reeve::adapter {

namespace {

constexpr std::int64_t max_release_seconds = std::int64_t{7} * 24 * 3600;
constexpr std::size_t max_words = 4'096;

template <class Number>
std::optional<Number> parse_number(const std::string& word) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_whole = error == std::errc() && end == word.data() + word.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

std::string kinds() { return fmt::format("{}", fmt::join(base::spellings<agents::AgentKind>(), ", ")); }

// Reads the words one after the other.
class Reader {
 public:
  explicit Reader(const std::vector<std::string>& words) : words_(words) {}

  std::expected<Options, std::string> read() {
    if (words_.empty()) return std::unexpected("KIND is missing: it is one of " + kinds());
    if (words_[0] == "--help") {
      options_.wants_help = true;
      return options_;
    }
    const auto kind = base::find_enum<agents::AgentKind>(words_[0]);
    if (!kind)
      return std::unexpected(fmt::format("unknown kind {}: it is one of {}", base::quoted(words_[0]), kinds()));
    options_.kind = *kind;
    for (next_ = 1; next_ < words_.size() && words_[next_] != "--";) {
      if (std::string fault = read_option(); !fault.empty()) return std::unexpected(std::move(fault));
    }
    if (next_ + 1 >= words_.size()) return std::unexpected("the agent's command is missing: write it after `--`");
    options_.command.assign(words_.begin() + static_cast<std::ptrdiff_t>(next_) + 1, words_.end());
    if (options_.command.front().empty()) return std::unexpected("the agent's program is empty");
    if (options_.command.size() > max_words) {
      return std::unexpected(fmt::format("the agent's command has over {} words", max_words));
    }
    return options_;
  }

 private:
  // Empty, or what is wrong.
  std::string read_option() {
    const std::string& name = words_[next_++];
    const bool is_known = name == "--model" || name == "--budget-usd" || name == "--resume" ||
                          name == "--release-after" || name == "--reeve";
    if (!is_known) return fmt::format("unknown option {}", base::quoted(name));
    if (next_ >= words_.size() || words_[next_] == "--") return fmt::format("{} needs a value", name);
    const std::string& value = words_[next_++];
    if (value.empty()) return fmt::format("the value of {} is empty", name);
    if (name == "--model") options_.model = value;
    if (name == "--resume") options_.session = value;
    if (name == "--budget-usd") return read_budget(value);
    if (name == "--release-after") return read_release(value);
    if (name != "--reeve") return {};
    options_.reeve_program = value;
    return value.starts_with('/') ? std::string() : "--reeve needs an absolute path";
  }

  std::string read_budget(const std::string& value) {
    options_.budget_usd = parse_number<double>(value);
    const bool is_amount = options_.budget_usd && std::isfinite(*options_.budget_usd) && *options_.budget_usd > 0;
    return is_amount ? std::string() : fmt::format("--budget-usd needs an amount above 0, not {}", base::quoted(value));
  }

  std::string read_release(const std::string& value) {
    options_.release_after.reset();
    if (value == "off") return {};
    const auto seconds = parse_number<std::int64_t>(value);
    if (!seconds || *seconds < 1 || *seconds > max_release_seconds) {
      return fmt::format("--release-after needs a number of seconds from 1 to {}, or `off`, not {}",
                         max_release_seconds, base::quoted(value));
    }
    options_.release_after = std::chrono::seconds(*seconds);
    return {};
  }

  const std::vector<std::string>& words_;
  std::size_t next_ = 0;
  Options options_;
};

}  // namespace

std::expected<Options, std::string> parse_options(const std::vector<std::string>& words) {
  return Reader(words).read();
}

std::string describe_usage() {
  return fmt::format(
      "usage: reeve-agent KIND [--model M] [--budget-usd X] [--resume SESSION] [--release-after SECONDS|off]\n"
      "                   [--reeve PATH] -- PROGRAM [WORD…]\n\n"
      "Drives an agent inside a run of Reeve and asks Reeve about every call. KIND: {}.\n"
      "The prompt is read from standard input. `reeve agent run` starts it.\n",
      kinds());
}

}  // namespace reeve::adapter
