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

// An entry keeps its key, and with it its position, when a newer Reeve knows more settings.
std::string make_key(const Notification& settings) {
  base::Value value = json::to_value(settings);
  std::erase_if(*value.as_object(), [&](const base::Member& member) {
    return (member.key == "format" && settings.format == model::NotifyFormat::event) ||
           (member.key == "secret_file" && !settings.secret_file);
  });
  return base::sha256_hex(json::encode_canonical(value));
}

}  // namespace

Notifier::Notifier(Loop& loop, ledger::Ledger& ledger, const base::Clock& clock, Options options)
    : loop_(loop), ledger_(ledger), clock_(clock), options_(std::move(options)) {
  add_entries(options_.entries);
  const std::int64_t last = ledger_.call(
      [](ledger::Transaction& transaction) { return transaction.session().query_number(Sql::events_last, {}); });
  load_positions(last);
  take(find_missed(last));
  last_seen_ = last;
  save_positions();
}

void Notifier::add_entries(const std::vector<Notification>& entries) {
  for (const Notification& settings : entries) {
    std::string key = make_key(settings);
    // Duplicate entries are delivered once.
    const auto has_key = [&](const auto& entry) { return entry->key == key; };
    if (std::ranges::any_of(entries_, has_key)) continue;
    entries_.push_back(std::make_shared<Entry>(Entry{.settings = settings, .key = std::move(key), .seq = last_seen_}));
  }
}

void Notifier::configure(const std::vector<Notification>& entries) {
  std::vector<std::string> keys;
  for (const Notification& settings : entries) keys.push_back(make_key(settings));
  std::erase_if(entries_, [&](const std::shared_ptr<Entry>& entry) {
    entry->is_removed = std::ranges::find(keys, entry->key) == keys.end();
    if (entry->is_removed) entry->waiting.clear();
    if (entry->is_removed) entry->pause = {};
    return entry->is_removed;
  });
  add_entries(entries);
  save_positions();
}

Notifier::~Notifier() {
  const base::BootTime deadline = loop_.now() + parting_time;
  for (auto& [_, active] : active_) {
    const auto left = std::chrono::duration_cast<base::Milliseconds>(deadline - loop_.now());
    const auto end =
        active.hook_command ? active.hook_command->wait(std::max(left, base::Milliseconds(0))) : std::nullopt;
    // Deliveries not known to be done are repeated by the next daemon.
    const bool is_done = end && judge_delivery(active.entry->settings, *end).kind != Kind::again;
    if (is_done) close(*active.entry, active.delivery.notice.seq);
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
  for (const auto& entry : entries_) {
    const auto found = std::ranges::find(positions, entry->key, &Position::key);
    // A number beyond the last event means that the file belongs to another store.
    const bool is_known = found != positions.end() && found->seq <= last;
    entry->seq = is_known ? found->seq : last;
    if (is_known) entry->done.insert(found->done.begin(), found->done.end());
  }
}

void Notifier::save_positions() {
  std::vector<Position> positions;
  for (const auto& shared : entries_) {
    Entry& entry = *shared;
    entry.seq = entry.open.empty() ? std::max(entry.seq, last_seen_) : *entry.open.begin() - 1;
    entry.done.erase(entry.done.begin(), entry.done.upper_bound(entry.seq));
    positions.push_back({entry.key, entry.seq, {entry.done.begin(), entry.done.end()}});
  }
  std::error_code error;
  if (positions.empty() && !std::filesystem::exists(options_.positions, error)) return;
  try {
    os::replace_file(options_.positions, json::encode(json::to_value(positions)) + "\n");
    has_complained_ = false;
  } catch (const Error& error) {
    if (!std::exchange(has_complained_, true)) options_.log_warning(fmt::format("notify: {}", error.message()));
  }
}

std::vector<Notice> Notifier::find_missed(std::int64_t last) {
  std::int64_t after = last;
  for (const auto& entry : entries_) after = std::min(after, entry->seq);
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
    for (const auto& entry : entries_) queue(*entry, notice);
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
  return !active_.empty() || std::ranges::any_of(entries_, [](const auto& entry) { return !entry->waiting.empty(); });
}

// Commands run in parallel; a webhook gets one event at a time.
bool Notifier::may_start(const Entry& entry) noexcept {
  const int most = entry.settings.webhook ? 1 : max_active;
  return entry.active < most && !entry.waiting.empty() && !entry.pause;
}

void Notifier::pump() {
  // A copy, because a delivery may end at once.
  for (const std::shared_ptr<Entry>& entry : std::vector(entries_)) {
    while (may_start(*entry)) start(entry);
  }
}

// Only event numbers are queued; the event is read when its turn comes.
void Notifier::start(const std::shared_ptr<Entry>& entry) {
  Delivery delivery = entry->waiting.front();
  entry->waiting.pop_front();
  ++entry->active;
  if (delivery.tries == 0) delivery.first_try = loop_.now();
  const Number number = next_number_++;
  const std::int64_t before = delivery.notice.seq - 1;
  active_.emplace(number, Active{entry, delivery});
  ask_store(
      ledger_, loop_,
      [before](ledger::Transaction& transaction) {
        std::vector<ledger::StoredEvent> events;
        transaction.session().query(Sql::events_since, {{"after", before}, {"most", 1}},
                                    [&](const store::Row& row) { events.push_back(ledger::read_event(row)); });
        return events;
      },
      [this, number, before](std::expected<std::vector<ledger::StoredEvent>, Error> events) {
        if (!events) return conclude(number, {Kind::again, events.error().message()});
        const bool is_found = !events->empty() && events->front().seq == before + 1;
        if (is_found) return send(number, events->front());
        conclude(number, {Kind::unwanted, "its event was pruned"});
      });
}

void Notifier::send(Number number, const ledger::StoredEvent& event) {
  Active& active = active_.at(number);
  const Notice& notice = active.delivery.notice;
  NoticeMessage message{.text = describe_notice(notice, event), .event = event_line(event), .seq = notice.seq};
  message.event.pop_back();
  auto plan = plan_delivery(active.entry->settings, message, options_.sender, clock_.wall_now());
  if (!plan) return conclude(number, {Kind::again, plan.error()});
  active.hook_command =
      std::make_unique<HookCommand>(loop_, std::move(*plan), [this, number](const HookCommand::End& end) {
        const auto found = active_.find(number);
        if (found == active_.end()) return;
        conclude(number, judge_delivery(found->second.entry->settings, end));
      });
}

void Notifier::conclude(Number number, const WebhookVerdict& verdict) {
  auto taken = active_.extract(number);
  Active& active = taken.mapped();
  Entry& entry = *active.entry;
  --entry.active;
  if (verdict.kind == Kind::again) {
    retry(active.entry, active.delivery, verdict.why);
  } else {
    if (verdict.kind == Kind::unwanted) complain_of(entry, active.delivery, verdict.why);
    close(entry, active.delivery.notice.seq);
  }
  save_positions();
  pump();
}

void Notifier::retry(const std::shared_ptr<Entry>& shared, Delivery delivery, const std::string& why) {
  Entry& entry = *shared;
  ++delivery.tries;
  const bool is_over =
      entry.is_removed || delivery.tries >= max_tries || loop_.now() - delivery.first_try > longest_trying;
  // Logs the first and the last failure; those in between would say the same.
  if (is_over || delivery.tries == 1) {
    complain_of(entry, delivery, fmt::format("{}{}", why, is_over ? "; giving up" : "; will retry"));
  }
  if (is_over) return close(entry, delivery.notice.seq);
  const base::Milliseconds doubled = std::min(longest_pause, first_pause * (1 << (delivery.tries - 1)));
  // Adds up to 25 % jitter, so that deliveries that failed together are not retried together.
  const auto more = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(doubled.count()) / 4 + 1));
  entry.waiting.push_front(delivery);
  entry.pause = loop_.at(loop_.now() + doubled + base::Milliseconds(more), [this, waiting = std::weak_ptr(shared)] {
    loop_.post([this, waiting] {
      if (const auto paused = waiting.lock()) {
        paused->pause = {};
        pump();
      }
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
