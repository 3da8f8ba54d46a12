#include "runtime/notify/notifier.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/redaction.h"
#include "base/text.h"
#include "json/decode.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/parse.h"
#include "os/file.h"
#include "runtime/events/event_line.h"
#include "runtime/loop/store_task.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using model::Notification;
using store::Sql;
using Kind = WebhookVerdict::Kind;

// Per entry, so that one hanging delivery does not delay other entries.
constexpr int max_active = 4;
constexpr std::size_t max_waiting = 1'000;
// How many of the events missed while no daemon was running are considered.
constexpr std::int64_t max_missed = 10'000;
constexpr std::size_t longest_file = 1UL << 20U;

constexpr int max_tries = 8;
constexpr auto longest_trying = std::chrono::hours(1);
constexpr base::Milliseconds first_pause = std::chrono::seconds(1);
constexpr base::Milliseconds longest_pause = std::chrono::seconds(60);
constexpr base::Milliseconds parting_time = std::chrono::seconds(1);

struct Position {
  std::string key;
  std::int64_t seq = 0;
  std::vector<std::int64_t> done;
};
BOOST_DESCRIBE_STRUCT(Position, (), (key, seq, done))

std::string name_of(const Notification& settings) {
  return settings.webhook ? base::quoted(base::mask_address(*settings.webhook))
                          : base::quoted(settings.command.front());
}

}  // namespace

Notifier::Notifier(Loop& loop, ledger::Ledger& ledger, const base::Clock& clock, Options options)
    : loop_(loop), ledger_(ledger), clock_(clock), options_(std::move(options)) {
  for (const Notification& settings : options_.entries) {
    std::string key = base::sha256_hex(json::encode_canonical(json::to_value(settings)));
    // Duplicate entries are delivered once.
    if (std::ranges::find(entries_, key, &Entry::key) != entries_.end()) continue;
    entries_.push_back({.settings = settings, .key = std::move(key)});
  }
  const std::int64_t last = ledger_.call(
      [](ledger::Transaction& transaction) { return transaction.session().query_number(Sql::events_last, {}); });
  load_positions(last);
  take(find_missed(last));
  last_seen_ = last;
  save_positions();
}

Notifier::~Notifier() {
  const base::BootTime deadline = loop_.now() + parting_time;
  for (auto& [_, active] : active_) {
    const auto left = std::chrono::duration_cast<base::Milliseconds>(deadline - loop_.now());
    const auto end =
        active.hook_command ? active.hook_command->wait(std::max(left, base::Milliseconds(0))) : std::nullopt;
    // Deliveries not known to be done are repeated by the next daemon.
    const bool is_done = end && judge(active, *end).kind != Kind::again;
    if (is_done) close(entries_[active.entry], active.delivery.notice.seq);
  }
  save_positions();
}

// An entry that is not in the file starts with new events.
void Notifier::load_positions(std::int64_t last) {
  std::vector<Position> positions;
  std::error_code error;
  if (std::filesystem::exists(options_.positions, error)) {
    try {
      const auto value = json::parse(os::read_file(options_.positions, longest_file));
      auto read = value ? json::from_value<std::vector<Position>>(*value) : std::unexpected(value.error().text());
      if (!read) throw Error(ErrorCode::file_unreadable, read.error());
      positions = std::move(*read);
    } catch (const Error& failure) {
      options_.log_warning(fmt::format("notify: {} is damaged ({}); undelivered notifications are dropped",
                                       options_.positions.string(), failure.message()));
    }
  }
  for (Entry& entry : entries_) {
    const auto found = std::ranges::find(positions, entry.key, &Position::key);
    // A number beyond the last event means that the file belongs to another store.
    const bool is_known = found != positions.end() && found->seq <= last;
    entry.seq = is_known ? found->seq : last;
    if (is_known) entry.done.insert(found->done.begin(), found->done.end());
  }
}

void Notifier::save_positions() {
  std::vector<Position> positions;
  for (Entry& entry : entries_) {
    entry.seq = entry.open.empty() ? std::max(entry.seq, last_seen_) : *entry.open.begin() - 1;
    entry.done.erase(entry.done.begin(), entry.done.upper_bound(entry.seq));
    positions.push_back({entry.key, entry.seq, {entry.done.begin(), entry.done.end()}});
  }
  try {
    os::replace_file(options_.positions, json::encode(json::to_value(positions)) + "\n");
    has_complained_ = false;
  } catch (const Error& error) {
    if (!std::exchange(has_complained_, true)) options_.log_warning(fmt::format("notify: {}", error.message()));
  }
}

std::vector<Notice> Notifier::find_missed(std::int64_t last) {
  std::int64_t after = last;
  for (const Entry& entry : entries_) after = std::min(after, entry.seq);
  after = std::max(after, last - max_missed);
  if (after >= last) return {};
  return ledger_.call([&](ledger::Transaction& transaction) {
    std::vector<Notice> missed;
    transaction.session().query(Sql::events_since, {{"after", after}, {"most", max_missed}},
                                [&](const store::Row& row) {
                                  if (const auto notice = find_notice(ledger::read_event(row)))
                                    missed.push_back(*notice);
                                });
    return missed;
  });
}

void Notifier::take(std::span<const Notice> notices) {
  for (const Notice& notice : notices) {
    for (Entry& entry : entries_) queue(entry, notice);
    last_seen_ = std::max(last_seen_, notice.seq);
  }
  pump();
}

void Notifier::queue(Entry& entry, const Notice& notice) {
  const bool is_wanted = std::ranges::find(entry.settings.on, notice.on) != entry.settings.on.end();
  const bool is_known = notice.seq <= entry.seq || entry.done.contains(notice.seq) || entry.open.contains(notice.seq);
  if (!is_wanted || is_known) return;
  entry.open.insert(notice.seq);
  entry.waiting.push_back({notice});
  if (entry.waiting.size() <= max_waiting) return;
  const Delivery oldest = entry.waiting.front();
  entry.waiting.pop_front();
  close(entry, oldest.notice.seq);
  constexpr int seldom = 100;
  if (entry.dropped++ % seldom == 0) {
    complain_of(entry, oldest, fmt::format("too many notifications are queued ({} dropped so far)", entry.dropped));
  }
}

bool Notifier::is_busy() const noexcept {
  return !active_.empty() || std::ranges::any_of(entries_, [](const Entry& entry) { return !entry.waiting.empty(); });
}

// Commands run in parallel; a webhook gets one event at a time.
bool Notifier::may_start(const Entry& entry) noexcept {
  const int most = entry.settings.webhook ? 1 : max_active;
  return entry.active < most && !entry.waiting.empty() && !entry.pause;
}

void Notifier::pump() {
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    while (may_start(entries_[index])) start(index);
  }
}

// Only event numbers are queued; the event is read when its turn comes.
void Notifier::start(std::size_t index) {
  Entry& entry = entries_[index];
  Delivery delivery = entry.waiting.front();
  entry.waiting.pop_front();
  ++entry.active;
  if (delivery.tries == 0) delivery.first_try = loop_.now();
  const Number number = next_number_++;
  const std::int64_t before = delivery.notice.seq - 1;
  active_.emplace(number, Active{index, delivery});
  ask_store(
      ledger_, loop_,
      [before](ledger::Transaction& transaction) {
        std::vector<ledger::StoredEvent> events;
        transaction.session().query(Sql::events_since, {{"after", before}, {"most", 1}},
                                    [&](const store::Row& row) { events.push_back(ledger::read_event(row)); });
        return events;
      },
      [this, number](std::expected<std::vector<ledger::StoredEvent>, Error> events) {
        if (events && !events->empty()) return send(number, events->front());
        conclude(number, {Kind::again, events ? "its event was not found" : events.error().message()});
      });
}

void Notifier::send(Number number, const ledger::StoredEvent& event) {
  Active& active = active_.at(number);
  const Notice& notice = active.delivery.notice;
  const Notification& settings = entries_[active.entry].settings;
  HookCommand::Plan plan;
  if (settings.webhook) {
    WebhookCall call{.address = *settings.webhook,
                     .event = std::string(base::spell(notice.on)),
                     .seq = notice.seq,
                     .body = event_line(event),
                     .secret = std::nullopt,
                     .now = clock_.wall_now()};
    call.body.pop_back();
    if (settings.secret_env) {
      const auto found = options_.secrets.find(*settings.secret_env);
      // Never sent unsigned if the receiver expects a signature.
      if (found == options_.secrets.end()) {
        return conclude(number, {Kind::again, fmt::format("{} was not set when the daemon was started",
                                                          base::quoted(*settings.secret_env))});
      }
      call.secret = found->second;
    }
    plan = plan_webhook(call, options_.environment);
  } else {
    plan = {.argv = expand_command(settings.command, describe_notice(notice, event)),
            .environment = options_.environment};
  }
  active.hook_command =
      std::make_unique<HookCommand>(loop_, std::move(plan), [this, number](const HookCommand::End& end) {
        const auto found = active_.find(number);
        if (found != active_.end()) conclude(number, judge(found->second, end));
      });
}

// A command is not retried, because it may have done part of its work.
WebhookVerdict Notifier::judge(const Active& active, const HookCommand::End& end) const {
  if (entries_[active.entry].settings.webhook) return judge_webhook(end);
  return end.is_good() ? WebhookVerdict{Kind::delivered} : WebhookVerdict{Kind::unwanted, end.why()};
}

void Notifier::conclude(Number number, const WebhookVerdict& verdict) {
  auto taken = active_.extract(number);
  Active& active = taken.mapped();
  Entry& entry = entries_[active.entry];
  --entry.active;
  if (verdict.kind == Kind::again) {
    retry(entry, active.delivery, verdict.why);
  } else {
    if (verdict.kind == Kind::unwanted) complain_of(entry, active.delivery, verdict.why);
    close(entry, active.delivery.notice.seq);
  }
  save_positions();
  pump();
}

void Notifier::retry(Entry& entry, Delivery delivery, const std::string& why) {
  ++delivery.tries;
  const bool is_over = delivery.tries >= max_tries || loop_.now() - delivery.first_try > longest_trying;
  // Logs the first and the last failure; those in between would say the same.
  if (is_over || delivery.tries == 1) {
    complain_of(entry, delivery, fmt::format("{}{}", why, is_over ? "; giving up" : "; will retry"));
  }
  if (is_over) return close(entry, delivery.notice.seq);
  const base::Milliseconds doubled = std::min(longest_pause, first_pause * (1 << (delivery.tries - 1)));
  // Adds up to 25 % jitter, so that deliveries that failed together are not retried together.
  const auto more = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(doubled.count()) / 4 + 1));
  entry.waiting.push_front(delivery);
  entry.pause = loop_.at(loop_.now() + doubled + base::Milliseconds(more), [this, key = entry.key] {
    loop_.post([this, key] {
      std::ranges::find(entries_, key, &Entry::key)->pause = {};
      pump();
    });
  });
}

void Notifier::close(Entry& entry, std::int64_t seq) {
  entry.open.erase(seq);
  entry.done.insert(seq);
}

void Notifier::complain_of(const Entry& entry, const Delivery& delivery, const std::string& why) const {
  options_.log_warning(fmt::format("notify: {} of event {} to {}: {}", base::spell(delivery.notice.on),
                                   delivery.notice.seq, name_of(entry.settings), why));
}

}  // namespace reeve::runtime
