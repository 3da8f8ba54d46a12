#include "runtime/metrics/metrics_text.h"

#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "base/text.h"

namespace reeve::runtime {

namespace {

std::string_view spell(MetricsText::Type type) {
  switch (type) {
    case MetricsText::Type::counter:
      return "counter";
    case MetricsText::Type::gauge:
      return "gauge";
    case MetricsText::Type::histogram:
      return "histogram";
  }
  return "untyped";
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

enum class Within { help, label };

// A newline would begin another sample, and a quote would end the label.
std::string escape(std::string_view text, Within within) {
  std::string escaped;
  for (const char c : base::replace_invalid_utf8(text)) {
    if (c == '\n') {
      escaped += "\\n";
    } else if (c == '\\') {
      escaped += "\\\\";
    } else if (c == '"' && within == Within::label) {
      escaped += "\\\"";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

void MetricsText::begin(std::string_view name, Type type, std::string_view help) {
  name_ = name;
  fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, escape(help, Within::help), name,
                 spell(type));
}

void MetricsText::sample(Labels labels, double value) { line(name_, labels, value); }

void MetricsText::line(std::string_view name, Labels labels, double value) {
  text_ += name;
  if (labels.size() > 0) {
    char before = '{';
    for (const auto& [key, word] : labels) {
      fmt::format_to(std::back_inserter(text_), "{}{}=\"{}\"", before, key, escape(word, Within::label));
      before = ',';
    }
    text_ += '}';
  }
  fmt::format_to(std::back_inserter(text_), " {}\n", number(value));
}

void MetricsText::counter(std::string_view name, std::string_view help, double value) {
  begin(name, Type::counter, help);
  sample(value);
}

void MetricsText::gauge(std::string_view name, std::string_view help, double value) {
  begin(name, Type::gauge, help);
  sample(value);
}

void MetricsText::histogram(std::string_view name, std::string_view help, const Histogram& values) {
  begin(name, Type::histogram, help);
  const Histogram::Reading reading = values.read();
  const std::string buckets = fmt::format("{}_bucket", name);
  for (std::size_t i = 0; i < reading.at_most.size(); ++i) {
    const double bound = i < values.bounds().size() ? values.bounds()[i] : std::numeric_limits<double>::infinity();
    line(buckets, {{"le", number(bound)}}, static_cast<double>(reading.at_most[i]));
  }
  line(fmt::format("{}_sum", name), {}, reading.sum);
  line(fmt::format("{}_count", name), {}, static_cast<double>(reading.at_most.back()));
}

}  // namespace reeve::runtime
