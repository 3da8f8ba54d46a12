#include "cli/demo/demo_stage.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "client/refusal.h"
#include "json/fields.h"
#include "json/parse.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Value;
using client::Until;
using model::RunStatus;

// The delay with which Ctrl-C is noticed.
constexpr base::Milliseconds poll_interval{200};

// The text of an event; nullopt for plain output, empty for events without a text.
std::optional<std::string> words_of_event(std::string_view line) {
  if (!line.starts_with('{')) return std::nullopt;
  const auto document = json::parse(line);
  if (!document) return std::nullopt;
  const std::string event = json::text_of(*document, "event");
  if (event == "progress") {
    const Value* percent = document->find("percent");
    const bool has_percent = percent != nullptr && percent->as_integer() != nullptr;
    return fmt::format("{:>3} %  {}", has_percent ? *percent->as_integer() : 0, json::text_of(*document, "message"));
  }
  if (event == "heartbeat" || event == "approval_needed") return std::string();
  return std::nullopt;
}

// The command meant by a word or its first letter.
std::string_view meant(std::string_view word) {
  for (const std::string_view known : {"apply", "reject", "look"}) {
    if (!word.empty() && known.starts_with(base::to_ascii_lower(word))) return known;
  }
  return {};
}

}  // namespace

void DemoStage::check() const {
  if (const auto number = signals_.take()) throw DemoInterrupted{*number};
}

void DemoStage::line(std::string_view text) const {
  if (call_.is_json) return;
  fmt::print("{}\n", call_.out.words(text));
  std::fflush(stdout);
}

void DemoStage::line(const view::Look& look, std::string_view text) const {
  line(fmt::format("   {} {}", call_.out.paint(look.tint, call_.out.pick(look.sign, look.ascii)), text));
}

void DemoStage::title(std::string_view text) const { line("\n" + call_.out.paint(view::Tint::bold, text)); }

void DemoStage::command(std::string_view text) const {
  line("   " + call_.out.paint(view::Tint::dim, fmt::format("$ {}", text)));
}

void DemoStage::tool_line(std::string_view text) const {
  const auto words = words_of_event(text);
  if (words && words->empty()) return;
  line(fmt::format("   {} {}", call_.out.paint(view::Tint::dim, call_.out.pick("│", "|")),
                   base::visible(words ? *words : std::string(text))));
}

client::RunRecord DemoStage::follow(client::Daemon& daemon, base::RunId run, int attempt, const TakeLine& take) const {
  client::OutputPlace place{.attempt = attempt};
  std::string rest;
  const auto write = [&](model::Stream, std::string_view bytes) {
    check();
    rest += bytes;
    for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
      const std::string whole = rest.substr(0, end);
      rest.erase(0, end + 1);
      take(whole);
    }
    return true;
  };
  while (true) {
    try {
      client::follow_output(daemon, run, place, write, [](std::uint64_t) {});
    } catch (const client::Refusal& refusal) {
      // The output does not exist until the attempt prints something.
      if (refusal.status() != 404) throw;
    }
    check();
    auto record = client::wait_run(daemon, run, Until::final_or_waiting, poll_interval);
    if (model::is_final(record.run.status) || record.run.status == RunStatus::waiting_approval) return record;
  }
}

client::RunRecord DemoStage::wait_for_attempt(client::Daemon& daemon, base::RunId run, int attempt) const {
  constexpr base::Milliseconds moment{20};
  while (true) {
    check();
    auto record = client::wait_run(daemon, run, Until::final, moment);
    if (model::is_final(record.run.status) || record.run.attempt >= attempt) return record;
  }
}

void DemoStage::prompt() const {
  fmt::print("   {} ", call_.out.paint(view::Tint::bold, "apply / reject / look?"));
  std::fflush(stdout);
}

std::string DemoStage::wait_for_line_or_event(client::Connection& events) const {
  while (true) {
    check();
    if (events.has_buffered()) break;
    std::array<pollfd, 3> wanted = {{{STDIN_FILENO, POLLIN, 0}, {signals_.fd(), POLLIN, 0}, {events.fd(), POLLIN, 0}}};
    if (::poll(wanted.data(), wanted.size(), -1) < 0) continue;
    if (wanted[2].revents != 0) break;
    if (wanted[0].revents == 0) continue;
    std::array<char, 256> bytes{};
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) {
      throw base::Error(ErrorCode::cli_given_up, "the demo was cancelled at its question; nothing was changed");
    }
    // Never empty, even for an empty line.
    return std::string(bytes.data(), static_cast<std::size_t>(count)) + "\n";
  }
  // The event itself is ignored; the caller checks whether the question was answered.
  if (events.read().empty()) throw client::ConnectionLost{"the end of the events"};
  return {};
}

DemoStage::Answered DemoStage::ask(client::Daemon& daemon, const model::Approval& approval,
                                   const std::function<void()>& look) const {
  const std::string id = approval.approval_id.text();
  std::optional<client::Connection> events;
  prompt();
  while (true) {
    try {
      if (!events) {
        events.emplace(daemon.connect());
        events->begin({.target = "/api/events?follow=1"});
      }
      auto record = client::get_approval(daemon, approval.approval_id);
      if (record.approval.status != model::ApprovalStatus::pending) {
        line("");
        return {.record = std::move(record)};
      }
      const std::string typed = wait_for_line_or_event(*events);
      if (typed.empty()) continue;
      const std::string_view word = meant(base::trim(typed));
      if (word == "look") {
        look();
      } else if (!word.empty()) {
        using client::Verdict;
        const auto verdict = word == "apply" ? Verdict::Word::approve : Verdict::Word::reject;
        return {.record = client::decide(daemon, approval.approval_id, {.word = verdict}), .is_from_here = true};
      } else {
        line("   type apply, reject or look and press Enter");
      }
      prompt();
    } catch (const client::ConnectionLost&) {
      events.reset();
    } catch (const client::Refusal& refusal) {
      // The question was just decided elsewhere; the record says by whom.
      if (refusal.status() != 409) throw;
    }
  }
}

}  // namespace reeve::cli
