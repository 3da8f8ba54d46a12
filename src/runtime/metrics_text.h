#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/meters.h"

namespace reeve::runtime {

// Figures in the text format of Prometheus, version 0.0.4. Names are those that OpenMetrics takes as well: a counter
// ends in `_total`, and a unit stands last before that.
class MetricsText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  enum class Type { counter, gauge, histogram };

  // What the samples after it belong to. Each name once.
  void begin(std::string_view name, Type type, std::string_view help);
  void sample(double value) { sample({}, value); }
  void sample(Labels labels, double value);

  // Of one value each.
  void counter(std::string_view name, std::string_view help, double value);
  void gauge(std::string_view name, std::string_view help, double value);
  void histogram(std::string_view name, std::string_view help, const Histogram& values);

  std::string take() { return std::move(text_); }

 private:
  void line(std::string_view name, Labels labels, double value);

  std::string text_;
  std::string name_;
};

}  // namespace reeve::runtime
