#include <array>
#include <charconv>
#include <cstdio>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/watching.h"
#include "client/lines.h"
#include "json/fields.h"
#include "view/event_text.h"

namespace reeve::cli {

namespace {

using base::Value;

std::string text_of(const Value& event, std::string_view key) { return base::visible(json::text_of(event, key)); }

std::int64_t number_of(const Value& event) { return json::integer_of(event, "seq").value_or(0); }

// "node_status_change" → "node": what has changed is in the line itself.
std::string_view kind_of(std::string_view name) {
  for (const std::string_view ending : {"_status_change", "_state_change"}) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

void print_event(const Call& call, const Value& event) {
  const std::array<std::string, 6> cells = {
      fmt::format("{}", number_of(event)), text_of(event, "timestamp"), text_of(event, "event"),
      view::event_subject(event),          view::event_status(event),   view::event_note(event)};
  if (!call.out_is_terminal) {
    fmt::print("{}\n", fmt::join(cells, "\t"));
    return;
  }
  // "2026-11-15T06:07:52.123Z" → the time of day.
  const std::string time = cells[1].size() > 19 ? cells[1].substr(11, 8) : cells[1];
  // A question may be long; what is longer than this is for `--json`.
  constexpr std::size_t most_columns = 300;
  const std::string rest = fmt::format("{:<15}  {:<10}  {}{}{}", kind_of(cells[2]), cells[3], cells[4],
                                       cells[4].empty() || cells[5].empty() ? "" : ": ", cells[5]);
  fmt::print("{}  {}\n", call.out.paint(view::Tint::dim, fmt::format("{:>6}  {}", cells[0], time)),
             base::fit_width(rest, most_columns, call.out.ascii));
}

std::optional<std::int64_t> parse_number(std::string_view word) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_number = error == std::errc() && end == word.data() + word.size() && number >= 0;
  return is_number ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> since_of(const Call& call) {
  const auto word = call.arguments.value("--since");
  if (!word) return std::nullopt;
  const auto number = parse_number(*word);
  if (!number) {
    throw base::Error("cli.usage", fmt::format("{} is no number of an event", base::quoted(*word)),
                      "0 for all, or the number of the last one seen");
  }
  return number;
}

ExitCode run(const Call& call) {
  const bool follows = call.arguments.has("--follow");
  std::optional<std::int64_t> since = since_of(call);
  client::Daemon daemon(patient_place(call));
  const Watching watching("stopped watching");
  JsonListing listing(follows ? JsonListing::Form::lines : JsonListing::Form::array);
  client::JsonLines lines;
  const auto question = [&] {
    const std::string from = since ? fmt::format("since={}&", *since) : std::string();
    return client::Question{.target = fmt::format("/api/events?{}follow={}", from, follows ? 1 : 0)};
  };
  const auto begin = [&](const client::Answer& head) {
    lines.clear();
    const auto began = head.header("Reeve-Since");
    if (!since && began) since = parse_number(*began);
  };
  const auto take = [&](std::string_view bytes) {
    lines.add(bytes);
    while (const auto event = lines.next()) {
      since = number_of(*event);
      if (call.is_json) {
        listing.add(*event);
      } else {
        print_event(call, *event);
      }
    }
    return std::fflush(stdout) == 0;
  };
  daemon.follow({.question = question, .begin = begin, .take = take});
  if (call.is_json) listing.end();
  return ExitCode::done;
}

}  // namespace

Command make_events() {
  return {
      .name = "events",
      .summary = "What happened, in its order",
      .about = R"(Every change of a status is an event with a number, without gaps. `-f` goes on with what happens from
now; `--since N` begins after the event of that number, so that a script misses nothing and sees nothing
twice. In a pipe a line has, separated by tabs: number, time, event, what it is about, status, and
what else there is to say: who, what was asked or answered, why.

With `--json` one array, with `-f` too one document a line.

Exit codes: 0 done, 4 no event has that number yet (is it another store?), 130 Ctrl-C.)",
      .examples = {{"reeve events -f", "what happens from now on"},
                   {"reeve events --since 0 --json", "everything, for a script"}},
      .positionals = {},
      .options = {{.name = "--follow", .help = "go on with what happens", .brief = "-f"},
                  {.name = "--since", .value = "N", .help = "begin after the event of that number"}},
      .run = run,
  };
}

}  // namespace reeve::cli
