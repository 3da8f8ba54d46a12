#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/metrics/meters.h"

namespace reeve::runtime {

// Writes metrics in the Prometheus text format, version 0.0.4. Names are valid in OpenMetrics too: a counter ends in
// `_total`, with the unit before it.
class MetricsText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  enum class Type { counter, gauge, histogram };

  // Begins a metric, to which the following samples belong. Each name only once.
  void begin(std::string_view name, Type type, std::string_view help);
  void sample(double value) { sample({}, value); }
  void sample(Labels labels, double value);

  // Metrics with a single value.
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
