#include <string>
#include <string_view>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "base/redaction.h"
#include "runtime/output/line_splitter.h"
#include "runtime/output/log_line.h"
#include "runtime/output/tool_line.h"
#include "runtime/output/tool_line_failure.h"

// The log thread's work for each line of a tool: split, parse, redact, write as JSON. Bytes are those of the tool.
namespace {

using namespace reeve;
using runtime::Line;

constexpr std::size_t frame_bytes = 64 * 1024;

// Lines of about 100 bytes, as agents print them.
std::string make_json_lines() {
  std::string text;
  for (int i = 0; text.size() < 4'000'000; ++i) {
    text += fmt::format(
        R"({{"type":"assistant","id":"msg_{:06}","delta":{{"text":"reading src/net/socket_{}.cpp now"}},"index":{}}})"
        "\n",
        i, i % 97, i % 7);
  }
  return text;
}

// Output with many escapes, as when agents print files that they read.
std::string make_escaped_lines() {
  std::string text;
  for (int i = 0; text.size() < 4'000'000; ++i) {
    text += fmt::format(
        R"({{"type":"tool_result","id":"msg_{:06}","content":"#include <map>\n\nint main() {{\n\tputs(\"{}%\");\n}}\n"}})"
        "\n",
        i, i % 97);
  }
  return text;
}

std::string make_plain_lines() {
  std::string text;
  while (text.size() < 4'000'000) {
    text += "[12:00:00] compiling src/net/socket.cpp: 3 warnings, token budget 4096 of 16000, all is well so far\n";
  }
  return text;
}

base::SecretSet make_secrets() {
  base::SecretSet secrets;
  for (int i = 0; i < 8; ++i) secrets.add(fmt::format("sk-{}-abcdefghijklmnop", i));
  secrets.prepare();
  return secrets;
}

template <class Fn>
void for_each_frame(std::string_view text, Fn&& fn) {
  for (std::size_t at = 0; at < text.size(); at += frame_bytes) fn(at, text.substr(at, frame_bytes));
}

void count_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

void split_lines(benchmark::State& state) {
  const std::string text = make_plain_lines();
  for (auto _ : state) {
    std::size_t bytes = 0;
    runtime::LineSplitter splitter([&](const Line& line) { bytes += line.text.size(); });
    for_each_frame(text, [&](std::size_t at, std::string_view frame) { splitter.feed(at, frame); });
    benchmark::DoNotOptimize(bytes);
  }
  count_bytes(state, text.size());
}
BENCHMARK(split_lines)->Unit(benchmark::kMillisecond);

void read_lines(benchmark::State& state, const std::string& text) {
  runtime::LineReader reader;
  for (auto _ : state) {
    std::size_t events = 0;
    runtime::LineSplitter splitter([&](const Line& line) { events += reader.read(line.text).has_value() ? 1 : 0; });
    for_each_frame(text, [&](std::size_t at, std::string_view frame) { splitter.feed(at, frame); });
    benchmark::DoNotOptimize(events);
  }
  count_bytes(state, text.size());
}
BENCHMARK_CAPTURE(read_lines, plain, make_plain_lines())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_lines, json, make_json_lines())->Unit(benchmark::kMillisecond);

// Every line contains a word that makes the reader search for an event.
void read_foreign_events(benchmark::State& state) {
  std::string text;
  while (text.size() < 4'000'000) {
    text += R"({"event":"content_block_delta","index":3,"delta":{"text":"reading src/net/socket.cpp line by line"}})";
    text += '\n';
  }
  read_lines(state, text);
}
BENCHMARK(read_foreign_events)->Unit(benchmark::kMillisecond);

void judge_lines(benchmark::State& state) {
  const std::string text = make_plain_lines();
  for (auto _ : state) {
    std::size_t found = 0;
    runtime::LineSplitter splitter([&](const Line& line) { found += runtime::looks_like_error(line.text) ? 1 : 0; });
    for_each_frame(text, [&](std::size_t at, std::string_view frame) { splitter.feed(at, frame); });
    benchmark::DoNotOptimize(found);
  }
  count_bytes(state, text.size());
}
BENCHMARK(judge_lines)->Unit(benchmark::kMillisecond);

void write_lines(benchmark::State& state, const std::string& text) {
  const runtime::OutputLineWriter writer("claude", base::RunId(17), base::ExecutionId(3), 1);
  std::string out;
  for (auto _ : state) {
    runtime::LineSplitter splitter(
        [&](const Line& line) { writer.append(out, "2026-11-15T06:07:52.123Z", model::Stream::out, line); });
    for_each_frame(text, [&](std::size_t at, std::string_view frame) {
      out.clear();
      splitter.feed(at, frame);
      benchmark::DoNotOptimize(out.data());
    });
  }
  count_bytes(state, text.size());
}
BENCHMARK_CAPTURE(write_lines, plain, make_plain_lines())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_lines, json, make_json_lines())->Unit(benchmark::kMillisecond);

// All steps together. Goal: 250 MB/s.
void log_output(benchmark::State& state, const std::string& text) {
  const base::SecretSet secrets = make_secrets();
  const runtime::OutputLineWriter writer("claude", base::RunId(17), base::ExecutionId(3), 1);
  runtime::LineReader reader;
  std::string out;
  for (auto _ : state) {
    std::size_t events = 0;
    runtime::LineSplitter splitter([&](Line line) {
      events += reader.read(line.text).has_value() ? 1 : 0;
      const std::string shown = base::redact(secrets, line.text);
      line.text = shown;
      writer.append(out, "2026-11-15T06:07:52.123Z", model::Stream::out, line);
    });
    for_each_frame(text, [&](std::size_t at, std::string_view frame) {
      out.clear();
      splitter.feed(at, frame);
      benchmark::DoNotOptimize(out.data());
    });
    benchmark::DoNotOptimize(events);
  }
  count_bytes(state, text.size());
}
BENCHMARK_CAPTURE(log_output, plain, make_plain_lines())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(log_output, json, make_json_lines())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(log_output, escaped, make_escaped_lines())->Unit(benchmark::kMillisecond);

void redact_lines(benchmark::State& state, const std::string& text) {
  const base::SecretSet secrets = make_secrets();
  for (auto _ : state) {
    std::string shown;
    runtime::LineSplitter splitter([&](Line line) { shown = base::redact(secrets, line.text); });
    for_each_frame(text, [&](std::size_t at, std::string_view frame) { splitter.feed(at, frame); });
    benchmark::DoNotOptimize(shown.data());
  }
  count_bytes(state, text.size());
}
BENCHMARK_CAPTURE(redact_lines, plain, make_plain_lines())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(redact_lines, json, make_json_lines())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(redact_lines, escaped, make_escaped_lines())->Unit(benchmark::kMillisecond);

}  // namespace
