#pragma once

#include <string>
#include <vector>

#include "base/redaction.h"
#include "term/question.h"

// The screen that a prompt is on, as shown beside its question (RUN-10).
namespace reeve::runtime {

struct ScreenContext {
  // The last 40 lines of the screen, in any case with the prompt, without secrets; at most 16 KiB. Empty if the screen
  // is.
  std::string text;
  // The part of it around the prompt, from which its risk is read.
  std::string dialog;
};
ScreenContext make_screen_context(const term::ScreenQuestion& seen, const base::SecretSet& secrets);

// LOG-4: hides secrets in the lines of a screen, also those that the program has wrapped in a box. All lines with a
// part of such a secret are hidden.
std::vector<std::string> hide_on_screen(std::vector<std::string> lines, const base::SecretSet& secrets);

}  // namespace reeve::runtime
