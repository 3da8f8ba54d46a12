#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "keeper/records.h"

// The file with the standard input that a client streams to a run (keeper/records.h).
namespace reeve::runtime {

// Nothing if the run has no such file, or its head is damaged.
std::optional<keeper::StdinHead> read_stdin_head(const std::string& run_folder);

struct StdinWrite {
  keeper::StdinHead head;
  // An errno; 0 if everything was written.
  int error_number = 0;
};
// Adds bytes, and the end if `is_end`. What is overwritten must have been read. Blocking.
StdinWrite append_stdin(const std::string& run_folder, const keeper::StdinHead& head, std::string_view bytes,
                        bool is_end);

// Notes that the run got a stream without a byte, so that a new run of its command needs none either. Without the note,
// its input must be sent again.
void note_empty_stdin(const std::string& run_folder);
bool had_empty_stdin(const std::string& run_folder);

}  // namespace reeve::runtime
