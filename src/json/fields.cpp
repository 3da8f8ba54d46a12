#include "json/fields.h"

namespace reeve::json {

std::string text_of(const base::Value& document, std::string_view key) {
  const base::Value* found = document.find(key);
  const std::string* text = found != nullptr ? found->as_string() : nullptr;
  return text != nullptr ? *text : std::string();
}

std::optional<std::int64_t> integer_of(const base::Value& document, std::string_view key) {
  const base::Value* found = document.find(key);
  const std::int64_t* number = found != nullptr ? found->as_integer() : nullptr;
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

}  // namespace reeve::json
