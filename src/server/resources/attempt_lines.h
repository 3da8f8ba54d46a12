#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/redaction.h"
#include "base/value.h"
#include "keeper/output_reader.h"
#include "os/beneath.h"
#include "runtime/output/line_splitter.h"
#include "runtime/output/tool_line_selection.h"
#include "server/request/exchange.h"

// The stored output of an attempt as lines, redacted.
namespace reeve::server {

// Where to resume: a position for each stream, which differ when one of them is inside a line.
using OutputPosition = std::array<std::uint64_t, 2>;

// The secrets that the run printed, kept as long as its output.
std::shared_ptr<const base::SecretSet> find_output_secrets(runtime::Daemon& daemon, base::RunId run);
// No more output will be added to that attempt.
bool is_output_over(runtime::Daemon& daemon, base::RunId run, int attempt);

// `grep`, `since` and `tail` of a request. Throws `api.bad_request`.
runtime::LineSelection::Terms parse_line_terms(const Exchange& exchange);
std::vector<Parameter> line_terms_parameters();
// The schema of a line, with these members in addition.
base::Value output_line_schema(json::Schemas& schemas, base::Value::Object more);

struct OutputLine {
  base::WallTime at;
  std::string text;
  // As the API returns it.
  base::Value record;
};

class AttemptLines {
 public:
  struct Start {
    base::RunId run{0};
    int attempt = 1;
    OutputPosition from{};
    // If set: that far before the end.
    std::optional<std::uint64_t> back = {};
  };
  using Take = std::function<void(OutputLine)>;

  // Throws if the attempt has no output. `take` must not destroy this object.
  AttemptLines(runtime::Daemon& daemon, const Start& start, std::shared_ptr<const base::SecretSet> secrets, Take take);
  AttemptLines(const AttemptLines&) = delete;
  AttemptLines& operator=(const AttemptLines&) = delete;

  // Reads the next frame; false at the current end.
  bool read();
  // Passes on an unterminated line as a piece.
  void flush();
  bool has_unfinished() const;
  // There is no more: passes on the unterminated rest.
  void finish();
  // Of the next frame.
  std::uint64_t position() const noexcept { return reader_.position(); }

 private:
  void add(std::size_t stream, const runtime::Line& line);

  int attempt_;
  os::Folder folder_;
  keeper::OutputReader reader_;
  std::shared_ptr<const base::SecretSet> secrets_;
  Take take_;
  std::array<base::Redactor, 2> redactors_;
  std::array<std::unique_ptr<runtime::LineSplitter>, 2> splitters_;
  OutputPosition fed_;
  // For each stream, the end of the last line before any held-back bytes.
  OutputPosition safe_;
  OutputPosition next_{};
  // The last piece of the stream did not end its line.
  std::array<bool, 2> is_inside_{};
  base::WallTime at_;
};

}  // namespace reeve::server
