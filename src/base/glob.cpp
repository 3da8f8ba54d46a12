#include "base/glob.h"

#include <vector>

namespace reeve::base {

bool matches_glob(std::string_view pattern, std::string_view text) {
  // reached[j]: the part of the pattern read so far matches text[0, j).
  std::vector<bool> reached(text.size() + 1, false);
  reached[0] = true;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool is_star = pattern[i] == '*';
    const bool crosses = is_star && i + 1 < pattern.size() && pattern[i + 1] == '*';
    if (crosses) ++i;
    std::vector<bool> next(text.size() + 1, false);
    for (std::size_t j = 0; j <= text.size(); ++j) {
      if (is_star) {
        next[j] = reached[j] || (j > 0 && next[j - 1] && (crosses || text[j - 1] != '/'));
      } else if (j > 0 && reached[j - 1]) {
        next[j] = pattern[i] == '?' ? text[j - 1] != '/' : pattern[i] == text[j - 1];
      }
    }
    reached = std::move(next);
  }
  return reached[text.size()];
}

}  // namespace reeve::base
