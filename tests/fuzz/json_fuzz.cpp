#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "json/decode.h"
#include "json/encode.h"
#include "json/parse.h"
#include "json/plain_reader.h"
#include "model/run.h"

namespace {

using namespace reeve;

template <class T>
bool is_same(const T& one, const T& other) {
  return one == other;
}
// Two number parsers may differ in the last bit.
bool is_same(const std::optional<double>& one, const std::optional<double>& other) {
  if (!one || !other) return one == other;
  constexpr double last_bits = 1e-14;
  return std::abs(*one - *other) <= last_bits * std::abs(*one);
}
bool is_same(const model::Progress& one, const model::Progress& other) {
  return is_same(one.percent, other.percent) && one.message == other.message;
}
bool is_same(const model::Usage& one, const model::Usage& other) {
  return one.input_tokens == other.input_tokens && one.output_tokens == other.output_tokens &&
         is_same(one.cost_usd, other.cost_usd);
}

// Whatever the fast reader accepts means the same to the other one.
template <class T>
void check_plain(std::string_view text) {
  T value{};
  json::PlainReader reader(text);
  if (!reader.read(value) || !reader.is_over()) return;
  const auto parsed = json::parse(text);
  REEVE_ASSERT(parsed.has_value());
  const auto decoded = json::from_value<T>(*parsed);
  REEVE_ASSERT(decoded.has_value() && is_same(*decoded, value));
}

}  // namespace

// Any bytes as JSON: refused, or encoded and parsed again to the same value.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_plain<std::vector<std::string>>(input);
  check_plain<std::map<std::string, std::string>>(input);
  check_plain<std::vector<model::ToolError>>(input);
  check_plain<model::Progress>(input);
  check_plain<model::Usage>(input);
  const auto parsed = json::parse(input);
  if (!parsed) {
    REEVE_ASSERT(!parsed.error().message.empty());
    return 0;
  }
  const std::string text = json::encode(*parsed);
  const auto again = json::parse(text);
  REEVE_ASSERT(again.has_value());
  REEVE_ASSERT(json::encode(*again) == text);
  REEVE_ASSERT(json::encode_canonical(*again) == json::encode_canonical(*parsed));
  return 0;
}
