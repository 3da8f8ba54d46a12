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
#include "runtime/errand.h"
#include "runtime/notice.h"
#include "runtime/webhook.h"

namespace reeve::runtime {

// Tells people of what needs them, by the commands and webhooks of the config as it was when the daemon began: what
// changes it later, an agent perhaps, starts nothing. Whatever becomes of a notification, it harms nothing but itself.
//
// How far each entry has come is kept in a file, so that a daemon that begins goes on where the last one left. After a
// crash what was on its way is sent again; a receiver knows it by its number.
class Notifier {
 public:
  struct Options {
    // Of the file.
    std::filesystem::path positions;
    std::vector<model::Notification> entries;
    // By the names that `secret_env` may give.
    std::map<std::string, std::string> secrets;
    // What commands get.
    std::vector<std::string> environment;
    std::function<void(const std::string&)> complain;
  };

  // Everything that is called must outlive this. Asks the ledger for what was missed, and waits for it.
  Notifier(Loop& loop, ledger::Ledger& ledger, const base::Clock& clock, Options options);
  // Waits a moment for what is on its way, and kills what stays.
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // In the order of their numbers; one that is known already counts once.
  void take(std::span<const Notice> notices);
  // Whether something waits to be delivered.
  bool is_busy() const noexcept;

 private:
  struct Delivery {
    Notice notice;
    int tries = 0;
    base::BootTime first_try = {};
  };
  struct Entry {
    model::Notification settings;
    // Its name in the file: another entry, another name.
    std::string key;
    // All up to this one are over and done with, and so are those of `done`.
    std::int64_t seq = 0;
    std::set<std::int64_t> done = {};
    // Taken and not done.
    std::set<std::int64_t> open = {};
    std::deque<Delivery> waiting = {};
    int dropped = 0;
    int active = 0;
    Loop::Hold pause = {};
  };
  struct Active {
    std::size_t entry = 0;
    Delivery delivery;
    std::unique_ptr<Errand> errand = nullptr;
  };
  using Number = std::uint64_t;

  void load_positions(std::int64_t last);
  void save_positions();
  std::vector<Notice> find_missed(std::int64_t last);
  void queue(Entry& entry, const Notice& notice);
  void pump();
  static bool may_start(const Entry& entry) noexcept;
  void start(std::size_t index);
  void send(Number number, const ledger::StoredEvent& event);
  WebhookVerdict judge(const Active& active, const Errand::End& end) const;
  void conclude(Number number, const WebhookVerdict& verdict);
  void retry(Entry& entry, Delivery delivery, const std::string& why);
  void close(Entry& entry, std::int64_t seq);
  void complain_of(const Entry& entry, const Delivery& delivery, const std::string& why) const;

  Loop& loop_;
  ledger::Ledger& ledger_;
  const base::Clock& clock_;
  Options options_;
  base::SystemRandom random_;
  std::vector<Entry> entries_;
  std::map<Number, Active> active_;
  Number next_number_ = 1;
  std::int64_t last_seen_ = 0;
  bool has_complained_ = false;
};

}  // namespace reeve::runtime
