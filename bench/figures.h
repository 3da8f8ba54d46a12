#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

// Statistics and output of measurements.
namespace reeve::bench {

// The value below which this share of the values lies.
inline double percentile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const auto at = static_cast<std::size_t>(static_cast<double>(values.size()) * share);
  return values[std::min(at, values.size() - 1)];
}

inline double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

inline void row(const std::string& what, const std::string& figure, const std::string& beside) {
  fmt::print("{:<46} {:>16}   {}\n", what, figure, beside);
  std::fflush(stdout);
}

}  // namespace reeve::bench
