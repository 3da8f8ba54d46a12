#include "runtime/node_outputs.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "json/parse.h"
#include "keeper/output_reader.h"
#include "keeper/packing.h"
#include "os/beneath.h"
#include "os/file.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::Value;

constexpr std::size_t text_bytes = 16UL * 1024;
constexpr std::size_t summary_bytes = 500;
// Of the tool's own result object.
constexpr std::size_t result_bytes = 256UL * 1024;
constexpr int cannot_execute = 126;
constexpr int not_found = 127;

void put(Value& object, std::string_view key, Value value) {
  for (base::Member& member : *object.as_object()) {
    if (member.key == key) {
      member.value = std::move(value);
      return;
    }
  }
  object.set(key, std::move(value));
}

void merge(Value& outputs, const Value& result) {
  if (const Value::Object* object = result.as_object()) {
    for (const base::Member& member : *object) put(outputs, member.key, member.value);
  } else if (!result.is_null()) {
    put(outputs, "result", result);
  }
}

// At most one byte more than the bound, so that it shows.
std::string read_bounded(const os::Fd& file, std::size_t most) {
  std::string text(most + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

void merge_file(Value& outputs, const std::string& folder) {
  const auto complain = [&](std::string_view what) { put(outputs, "result_error", Value::string(what)); };
  // Opened beneath the attempt's folder: the tool may have put a link or a pipe there.
  const os::Folder attempt = os::Folder::open(folder);
  const auto file = attempt.open_file(keeper::result_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) {
    if (file.error() != ENOENT) complain("its result file cannot be read");
    return;
  }
  struct stat status{};
  if (::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode)) return complain("its result file is no file");
  const std::string text = read_bounded(*file, result_bytes);
  if (text.size() > result_bytes) return complain("its result file is too large");
  if (base::trim(text).empty()) return;
  const auto parsed = json::parse(text);
  if (!parsed) return complain(fmt::format("its result file is no JSON: {}", parsed.error().text()));
  merge(outputs, *parsed);
}

std::string last_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t at = text.rfind('\n');
    const std::string_view line = base::trim(at == std::string_view::npos ? text : text.substr(at + 1));
    if (!line.empty()) return std::string(base::truncate_utf8(line, summary_bytes));
    if (at == std::string_view::npos) break;
    text = text.substr(0, at);
  }
  return {};
}

std::string read_redacted(const Surroundings& around, const model::Run& run, std::size_t most) {
  std::vector<std::string> values;
  try {
    keeper::Unpacker(os::read_file(run_folder(around, run.tool_run_id) + "/secrets", base::limits::json_bytes))
        .get(values);
  } catch (const Error&) {
    // It printed none.
  }
  const auto secrets = prepare_secrets(values);
  const os::Folder folder = os::Folder::open(attempt_folder(around, run.tool_run_id, run.attempt));
  keeper::OutputReader reader(folder);
  if (!reader.seek(std::numeric_limits<std::uint64_t>::max())) return {};
  // Frames have headers, and a secret may be cut by the beginning: read from a little before.
  const std::uint64_t back = 4 * most;
  reader.seek(reader.position() - std::min(back, reader.position()));
  base::Redactor redactor(*secrets);
  std::string text;
  while (const auto frame = reader.next()) text += redactor.feed(std::string(frame->bytes));
  text += redactor.finish();
  return text;
}

}  // namespace

std::string read_text(const Surroundings& around, const model::Run& run, std::size_t most) {
  std::string text;
  try {
    text = base::replace_invalid_utf8(read_redacted(around, run, most));
  } catch (const Error&) {
    // A run that never began has printed nothing.
    return {};
  }
  if (text.size() <= most) return text;
  std::size_t from = text.size() - most;
  while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0U) == 0x80U) ++from;
  return text.substr(from);
}

Value make_task_outputs(const Surroundings& around, const model::Run& run, const std::optional<Value>& result) {
  const std::string text = read_text(around, run, text_bytes);
  Value outputs = Value::object();
  outputs.set("status", Value::string(base::spell(run.status)));
  outputs.set("exit_code", run.exit_code ? Value::integer(*run.exit_code) : Value());
  outputs.set("summary", Value::string(last_line(text)));
  outputs.set("text", Value::string(text));
  try {
    merge_file(outputs, attempt_folder(around, run.tool_run_id, run.attempt));
  } catch (const Error&) {
    // It has no folder: it never began.
  }
  if (result) merge(outputs, *result);
  return outputs;
}

Value make_gate_outputs(const Surroundings& around, const model::Run& run) {
  const bool passed = read_gate_word(run) == GateWord::yes;
  Value outputs = Value::object();
  outputs.set("passed", Value::boolean(passed));
  outputs.set("test_status", Value::string(passed ? "passed" : "failed"));
  outputs.set("output", Value::string(read_text(around, run, text_bytes)));
  outputs.set("exit_code", run.exit_code ? Value::integer(*run.exit_code) : Value());
  return outputs;
}

Value make_skipped_outputs(const std::string& because) {
  Value outputs = Value::object();
  outputs.set("passed", Value::boolean(false));
  outputs.set("test_status", Value::string("skipped"));
  outputs.set("output", Value::string(because));
  outputs.set("exit_code", Value());
  return outputs;
}

GateWord read_gate_word(const model::Run& run) {
  if (run.status == model::RunStatus::completed) return GateWord::yes;
  const bool has_run = run.status == model::RunStatus::failed && run.exit_code && *run.exit_code != 0 &&
                       *run.exit_code != cannot_execute && *run.exit_code != not_found;
  return has_run ? GateWord::no : GateWord::broken;
}

}  // namespace reeve::runtime
