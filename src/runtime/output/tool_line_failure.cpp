#include "runtime/output/tool_line_failure.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <re2/re2.h>
#include <re2/set.h>
#include <utility>

#include "base/text.h"

namespace reeve::runtime {

namespace {

constexpr std::array<std::string_view, 7> error_words = {"error",     "failed", "fatal",   "exception",
                                                         "traceback", "panic",  "panicked"};

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
bool is_name_character(char c) noexcept { return base::is_ascii_letter(c) || base::is_ascii_digit(c); }

constexpr std::array<bool, 256> first_letters = [] {
  std::array<bool, 256> letters{};
  for (const std::string_view word : error_words) {
    letters[static_cast<unsigned char>(word[0])] = true;
    letters[static_cast<unsigned char>(word[0] - 'a' + 'A')] = true;
  }
  return letters;
}();

// Whether a word begins here, or the last part of a name: `_error`, `TypeError`.
bool begins_word(std::string_view line, std::size_t at) noexcept {
  if (at == 0 || !is_name_character(line[at - 1])) return true;
  return is_upper(line[at]) && at + 1 < line.size() && !is_upper(line[at + 1]);
}

bool has_word_at(std::string_view line, std::size_t at, std::string_view word) noexcept {
  if (line.size() - at < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (lower(line[at + i]) != word[i]) return false;
  }
  const std::size_t end = at + word.size();
  return end == line.size() || (!is_name_character(line[end]) && line[end] != '_');
}

}  // namespace

bool looks_like_error(std::string_view line) noexcept {
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (!first_letters[static_cast<unsigned char>(line[at])] || !begins_word(line, at)) continue;
    const auto is_here = [&](std::string_view word) { return has_word_at(line, at, word); };
    if (std::ranges::any_of(error_words, is_here)) return true;
  }
  return false;
}

struct FailureMarkers::Patterns {
  re2::RE2::Set all{re2::RE2::Quiet, re2::RE2::UNANCHORED};
  std::vector<std::unique_ptr<re2::RE2>> each;
  // Otherwise the set exceeded its memory limit, and each pattern is matched separately.
  bool is_compiled = false;
};

FailureMarkers::FailureMarkers(const std::vector<std::string>& patterns) {
  if (patterns.empty()) return;
  patterns_ = std::make_unique<Patterns>();
  for (const std::string& pattern : patterns) {
    if (patterns_->all.Add(pattern, nullptr) < 0) continue;
    patterns_->each.push_back(std::make_unique<re2::RE2>(pattern, re2::RE2::Quiet));
  }
  patterns_->is_compiled = patterns_->all.Compile();
}

FailureMarkers::~FailureMarkers() = default;
FailureMarkers::FailureMarkers(FailureMarkers&&) noexcept = default;
FailureMarkers& FailureMarkers::operator=(FailureMarkers&&) noexcept = default;

bool FailureMarkers::match(std::string_view line) const {
  if (!patterns_) return false;
  const re2::StringPiece text(line.data(), line.size());
  if (patterns_->is_compiled) {
    re2::RE2::Set::ErrorInfo error{};
    if (patterns_->all.Match(text, nullptr, &error)) return true;
    if (error.kind == re2::RE2::Set::kNoError) return false;
  }
  return std::ranges::any_of(patterns_->each,
                             [&](const auto& pattern) { return re2::RE2::PartialMatch(text, *pattern); });
}

}  // namespace reeve::runtime
