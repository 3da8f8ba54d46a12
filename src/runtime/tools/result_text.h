#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "wire/tool_call.h"

namespace reeve::runtime {

// The result of a tool as it grows: valid UTF-8 within the limit of hosted calls, with notes at its end that say what
// was left out.
class ResultText {
 public:
  ResultText();

  // Adds as much as fits. False if something did not fit: the text is then full for good.
  bool add(std::string_view text);
  // Adds all of it or nothing.
  bool add_whole(std::string_view text);
  // One sentence, shown in brackets on a line of its own. Notes beyond their room are dropped.
  void note(std::string_view sentence);
  bool is_full() const noexcept { return is_full_; }
  bool is_empty() const noexcept { return text_.empty(); }
  wire::CallResult finish() &&;

 private:
  std::string text_;
  std::string notes_;
  std::size_t room_;
  bool is_full_ = false;
};

wire::CallResult make_failure(std::string_view message);
// A path or name in a message: in backquotes, bounded, and harmless to show.
std::string shown(std::string_view path);

}  // namespace reeve::runtime
