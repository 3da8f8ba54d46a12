#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "term/question.h"

namespace {

// The text is shown and stored elsewhere: well-formed, bounded, and without terminal controls except line ends.
void check_text(std::string_view text, std::size_t most) {
  using namespace reeve;
  REEVE_ASSERT(text.size() <= most && !base::find_invalid_utf8(text));
  while (!text.empty()) {
    const base::Character first = base::first_character(text);
    REEVE_ASSERT(first.value == U'\n' || !base::is_harmful(first.value));
    text.remove_prefix(first.length);
  }
}

}  // namespace

// Any bytes on a screen whose size is given by the first two.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reeve;
  if (size < 2) return 0;
  const std::string_view output(reinterpret_cast<const char*>(data) + 2, size - 2);
  for (const bool is_secret : {false, true}) {
    const term::ScreenQuestion found = term::read_question(output, data[0], data[1], is_secret);
    check_text(found.question, 8'192);
    REEVE_ASSERT(found.is_free_text == found.choices.empty());
    REEVE_ASSERT(!is_secret || found.choices.empty());
    for (const term::Choice& choice : found.choices) {
      check_text(choice.value, 32);
      check_text(choice.label, 4'096);
      REEVE_ASSERT(!choice.value.empty() && choice.value.find('\n') == std::string::npos);
    }
    if (found.default_value) check_text(*found.default_value, 256);
  }
  return 0;
}
