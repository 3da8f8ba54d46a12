#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "ledger/ledger.h"
#include "runtime/notify/delivery.h"

namespace reeve::runtime {

// Notifies people through the commands and webhooks of the config. A failing notification affects nothing else.
//
// The position of each entry is saved in a file, so that a new daemon continues where the last one stopped. After a
// crash, deliveries in progress are sent again; receivers can recognise them by event number.
class Notifier {
 public:
  struct Options {
    // Path of the positions file.
    std::filesystem::path positions;
    std::vector<model::Notification> entries;
    SenderSettings sender;
    std::function<void(const std::string&)> log_warning;
  };

  // All arguments must outlive this object. Blocks while it reads missed events from the ledger.
  Notifier(Loop& loop, ledger::Ledger& ledger, const base::Clock& clock, Options options);
  // Waits briefly for deliveries in progress, then kills them.
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Replaces the entries. Those that are still configured continue where they are; new ones start with the next
  // events; what the others have not delivered is dropped, except for deliveries in progress.
  void configure(const std::vector<model::Notification>& entries);
  // Must be in order of event number; duplicates are ignored.
  void take(std::span<const Notice> notices);
  // Whether there are undelivered notifications.
  bool is_busy() const noexcept;

 private:
  struct Delivery {
    Notice notice;
    int tries = 0;
    base::BootTime first_try = {};
  };
  struct Entry {
    model::Notification settings;
    // Identifies the entry in the positions file; changed settings give a different key.
    std::string key;
    // All events up to this one are done, and so are those in `done`.
    std::int64_t seq = 0;
    std::set<std::int64_t> done = {};
    // Accepted but not done.
    std::set<std::int64_t> open = {};
    std::deque<Delivery> waiting = {};
    int dropped = 0;
    int active = 0;
    // It is no longer configured.
    bool is_removed = false;
    Loop::Hold pause = {};
  };
  struct Active {
    std::shared_ptr<Entry> entry;
    Delivery delivery;
    std::unique_ptr<HookCommand> hook_command = nullptr;
  };
  using Number = std::uint64_t;

  void add_entries(const std::vector<model::Notification>& entries);
  void load_positions(std::int64_t last);
  void save_positions();
  std::vector<Notice> find_missed(std::int64_t last);
  void queue(Entry& entry, const Notice& notice);
  void pump();
  static bool may_start(const Entry& entry) noexcept;
  void start(const std::shared_ptr<Entry>& entry);
  void send(Number number, const ledger::StoredEvent& event);
  void conclude(Number number, const WebhookVerdict& verdict);
  void retry(const std::shared_ptr<Entry>& entry, Delivery delivery, const std::string& why);
  static void close(Entry& entry, std::int64_t seq);
  void complain_of(const Entry& entry, const Delivery& delivery, const std::string& why) const;

  Loop& loop_;
  ledger::Ledger& ledger_;
  const base::Clock& clock_;
  Options options_;
  base::SystemRandom random_;
  std::vector<std::shared_ptr<Entry>> entries_;
  std::map<Number, Active> active_;
  Number next_number_ = 1;
  std::int64_t last_seen_ = 0;
  bool has_complained_ = false;
};

}  // namespace reeve::runtime
