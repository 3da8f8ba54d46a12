#include "cli/question_teller.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <sys/socket.h>
#include <thread>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/controls.h"
#include "json/parse.h"
#include "model/approval.h"
#include "model/run.h"
#include "os/terminal.h"
#include "view/approval_text.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

// Short runs pay nothing for it.
constexpr std::chrono::milliseconds first_pause{300};
// After a lost connection: whoever follows the run finds the daemon again.
constexpr std::chrono::milliseconds pause_time{500};

}  // namespace

class QuestionTeller::Core {
 public:
  Core(const Call& call, const client::DaemonPlace& place, base::RunId run)
      : call_(call), endpoint_(place.endpoint()), run_(run), thread_([this] { work(); }) {}

  ~Core() {
    {
      const std::lock_guard lock(mutex_);
      is_ended_ = true;
      // Whoever waits for an answer on it loses it now.
      if (connection_) ::shutdown(connection_->fd(), SHUT_RDWR);
    }
    ended_.notify_one();
    thread_.join();
  }

 private:
  // False when it is to end.
  bool pause(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return !ended_.wait_for(lock, time, [this] { return is_ended_; });
  }

  void work() {
    bool goes_on = pause(first_pause);
    while (goes_on) {
      try {
        goes_on = watch();
      } catch (const client::Lost&) {
        goes_on = pause(pause_time);
      } catch (const base::Error&) {
        // What is wrong is told by the one who follows the run.
        return;
      }
    }
  }

  base::Value ask(const std::string& target) {
    {
      const std::lock_guard lock(mutex_);
      if (is_ended_) throw client::Lost{"ended"};
      if (!connection_) connection_.emplace(endpoint_);
    }
    try {
      const client::Answer answer = connection_->ask({.target = target});
      auto document = json::parse(answer.body);
      if (answer.status != 200 || !document) throw base::Error("daemon.bad_answer", "no record");
      return std::move(*document);
    } catch (const client::Lost&) {
      const std::lock_guard lock(mutex_);
      connection_.reset();
      throw;
    }
  }

  // Until it waits, and then until it does not; false when it is over.
  bool watch() {
    const auto run =
        client::decode<model::Run>(ask(fmt::format("/api/runs/{}/wait?through_approvals=0&timeout=60s", run_.text())));
    if (model::is_final(run.status)) return false;
    if (run.status != model::RunStatus::waiting_approval) return true;
    const base::Value page = ask(fmt::format("/api/approvals?run={}&status=pending", run_.text()));
    const base::Value* items = page.find("items");
    if (items == nullptr || items->as_array() == nullptr) return false;
    // Decided meanwhile, and the run not yet told.
    if (items->as_array()->empty()) return pause(pause_time);
    std::optional<base::ApprovalId> oldest;
    for (const base::Value& item : *items->as_array()) {
      const auto approval = client::decode<model::Approval>(item);
      if (!oldest) oldest = approval.approval_id;
      tell(approval);
    }
    ask(fmt::format("/api/approvals/{}/wait?timeout=60s", oldest->text()));
    return true;
  }

  void tell(const model::Approval& approval) {
    constexpr std::size_t columns = 60;
    if (told_ && approval.approval_id <= *told_) return;
    told_ = approval.approval_id;
    // Somebody sits at that very terminal and sees it.
    if (approval.delivery == model::Delivery::terminal && os::RawTerminal::is_active()) return;
    const view::Look look = view::look_of(approval.status);
    const std::string id = approval.approval_id.text();
    print_beside(call_, fmt::format("{} {} asks: {}   reeve approve {}",
                                    call_.err.paint(look.tint, call_.err.pick(look.sign, look.ascii)), id,
                                    base::fit_width(view::question_line(approval), columns, call_.err.ascii), id));
  }

  const Call& call_;
  client::Endpoint endpoint_;
  base::RunId run_;
  std::optional<base::ApprovalId> told_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ended_ = false;
  std::optional<client::Connection> connection_;
  // Last: it uses all of the above.
  std::thread thread_;
};

QuestionTeller::QuestionTeller(const Call& call, const client::DaemonPlace& place, base::RunId run)
    : core_(std::make_unique<Core>(call, place, run)) {}

QuestionTeller::~QuestionTeller() = default;

}  // namespace reeve::cli
