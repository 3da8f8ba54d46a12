#include "term/question.h"

namespace reeve::term {
ScreenQuestion read_question(std::string_view last_output, int, int, bool) {
  return {.question = std::string(last_output), .looks_like_question = true};
}
}  // namespace reeve::term
