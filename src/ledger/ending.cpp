#include "ledger/ending.h"

#include "json/decode.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/parse.h"

namespace reeve::ledger {

std::string encode_ending(const model::RunEnding& ending) { return json::encode(json::to_value(ending)); }

std::optional<model::RunEnding> decode_ending(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const auto value = json::parse(*text);
  if (!value) return std::nullopt;
  auto ending = json::from_value<model::RunEnding>(*value);
  return ending ? std::optional(std::move(*ending)) : std::nullopt;
}

}  // namespace reeve::ledger
