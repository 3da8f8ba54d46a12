#include "runtime/runs/run_outputs.h"

#include <algorithm>
#include <array>
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
#include "runtime/output/redact_event.h"
#include "runtime/runs/run_plan.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::Value;

constexpr std::size_t text_bytes = 16UL * 1024;
constexpr std::size_t summary_bytes = 500;
// Limit of the tool's own result object.
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

// Reads one byte more than the limit, to detect a larger file.
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

void merge_file(Value& outputs, const std::string& folder, const base::SecretSet& secrets) {
  const auto log_warning = [&](std::string_view what) { put(outputs, "result_error", Value::string(what)); };
  // Opened beneath the attempt's folder: the tool may have put a link or a pipe there.
  const os::Folder attempt = os::Folder::open(folder);
  const auto file = attempt.open_file(keeper::result_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) {
    if (file.error() != ENOENT) log_warning("its result file cannot be read");
    return;
  }
  struct stat status{};
  if (::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return log_warning("its result file is not a regular file");
  }
  const std::string text = read_bounded(*file, result_bytes);
  if (text.size() > result_bytes) return log_warning("its result file is too large");
  if (base::trim(text).empty()) return;
  auto parsed = json::parse(text);
  if (!parsed) {
    return log_warning(
        base::redact(secrets, fmt::format("its result file is not valid JSON: {}", parsed.error().text())));
  }
  redact_value(*parsed, secrets);
  merge(outputs, *parsed);
}

// Event lines are not meant for people.
bool is_event(std::string_view line) {
  if (!line.starts_with('{')) return false;
  const auto parsed = json::parse(line);
  const Value* event = parsed ? parsed->find("event") : nullptr;
  return event != nullptr && event->as_string() != nullptr;
}

std::string last_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t at = text.rfind('\n');
    const std::string_view line = base::trim(at == std::string_view::npos ? text : text.substr(at + 1));
    if (!line.empty() && !is_event(line)) return std::string(base::truncate_utf8(line, summary_bytes));
    if (at == std::string_view::npos) break;
    text = text.substr(0, at);
  }
  return {};
}

// The last `most` bytes at most, whole characters.
std::string_view tail_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t from = text.size() - most;
  while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0U) == 0x80U) ++from;
  return text.substr(from);
}

std::string attempt_of(const std::string& folder, const model::Run& run) {
  return fmt::format("{}/{}", folder, run.attempt);
}

struct Printed {
  // Both streams in output order.
  std::string text;
  // Standard output and standard error separately.
  std::array<std::string, 2> streams;
};

Printed read_redacted(const std::string& folder, const model::Run& run, std::size_t most) {
  std::vector<std::string> values;
  // Without the file, no secrets were printed.
  if (const auto packed = os::find_file(folder + "/secrets", base::limits::json_bytes)) {
    keeper::Unpacker(*packed).get(values);
  }
  const auto secrets = prepare_secrets(values);
  const os::Folder attempt = os::Folder::open(attempt_of(folder, run));
  keeper::OutputReader reader(attempt);
  Printed printed;
  if (!reader.seek(std::numeric_limits<std::uint64_t>::max())) return printed;
  // Starts earlier, to allow for frame headers.
  const std::uint64_t back = 4 * most;
  reader.seek(reader.position() - std::min(back, reader.position()));
  // If the text does not start at the beginning of the output, it may start with the end of a secret, whose length
  // includes escapes.
  constexpr std::size_t escape_bytes = 12;
  std::size_t longest = 0;
  for (const std::string& value : values) longest = std::max(longest, value.size() * escape_bytes);
  const std::size_t unsure = reader.position() > 0 ? longest : 0;
  std::array<std::size_t, 2> unsure_bytes = {unsure, unsure};
  std::array<base::Redactor, 2> redactors = {base::Redactor(*secrets), base::Redactor(*secrets)};
  const auto add = [&](std::size_t stream, const std::string& shown) {
    const std::size_t skipped = std::min(unsure_bytes[stream], shown.size());
    unsure_bytes[stream] -= skipped;
    printed.text.append(shown, skipped);
    printed.streams[stream].append(shown, skipped);
  };
  while (const auto frame = reader.next()) {
    const std::size_t stream = frame->header.stream == 0 ? 0 : 1;
    add(stream, redactors[stream].feed(frame->bytes));
  }
  for (const std::size_t stream : {0UL, 1UL}) add(stream, redactors[stream].finish());
  return printed;
}

// A run that never began has printed nothing.
Printed read_printed(const std::string& folder, const model::Run& run, std::size_t most) try {
  Printed printed = read_redacted(folder, run, most);
  const auto cut = [most](std::string& text) { text = tail_of(base::replace_invalid_utf8(text), most); };
  cut(printed.text);
  for (std::string& stream : printed.streams) cut(stream);
  return printed;
} catch (const Error&) {
  return {};
}

}  // namespace

std::string read_text(const std::string& folder, const model::Run& run, std::size_t most) {
  return read_printed(folder, run, most).text;
}

Value make_task_outputs(const std::string& folder, const model::Run& run, const TaskReport& report) {
  const Printed printed = read_printed(folder, run, text_bytes);
  std::string summary = last_line(printed.streams[0]);
  if (summary.empty()) summary = last_line(printed.streams[1]);
  Value outputs = Value::object();
  outputs.set("status", Value::string(base::spell(run.status)));
  outputs.set("exit_code", run.exit_code ? Value::integer(*run.exit_code) : Value());
  outputs.set("summary", Value::string(summary));
  outputs.set("text", Value::string(printed.text));
  try {
    merge_file(outputs, attempt_of(folder, run), *prepare_secrets(report.secrets));
  } catch (const Error&) {
    // No folder: the run never began.
  }
  if (report.result) merge(outputs, *report.result);
  return outputs;
}

Value make_gate_outputs(const std::string& folder, const model::Run& run) {
  const bool passed = read_gate_word(run) == GateWord::yes;
  Value outputs = Value::object();
  outputs.set("passed", Value::boolean(passed));
  outputs.set("test_status", Value::string(passed ? "passed" : "failed"));
  outputs.set("output", Value::string(read_text(folder, run, text_bytes)));
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
