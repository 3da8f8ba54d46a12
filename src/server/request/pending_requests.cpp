#include "server/request/pending_requests.h"

#include <fmt/format.h>

namespace reeve::server {

namespace {

using base::ErrorCode;
using ledger::Ledger;

// Shorter than the timeout of clients, so that they learn the reason.
constexpr base::Milliseconds store_timeout(3'000);
constexpr base::Milliseconds look_pause(250);

bool is_look(const Request& request) { return request.method == "GET" || request.method == "HEAD"; }

bool waits_by_nature(const Request& request) {
  if (!is_look(request)) return false;
  const auto follow = request.query.find("follow");
  const bool follows = follow != request.query.end() && follow->second != "0" && follow->second != "false";
  return follows || request.path.ends_with("/wait") || request.path == "/api/events" || request.path == "/api/log" ||
         request.is_upgrade();
}

// False for reads that record the reader, because they write.
bool only_reads(const Request& request) {
  return is_look(request) && request.path != "/sign-in" && !request.path.ends_with("/terminal");
}

base::Error describe(const Ledger::Stall& stall, ledger::RequestTerms& terms) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(stall.duration).count();
  std::string reason = fmt::format("another program has held the database locked for {} s", seconds);
  std::string fix = "end its transaction, and try again";
  if (stall.kind == Ledger::Stall::Kind::unreachable) {
    reason = fmt::format("the PostgreSQL server has not answered for {} s", seconds);
    fix = "check the server, and try again";
  }
  const ErrorCode code =
      stall.kind == Ledger::Stall::Kind::unreachable ? ErrorCode::store_unavailable : ErrorCode::store_busy;
  if (terms.only_reads()) return {code, std::move(reason), std::move(fix)};
  if (terms.withdraw()) return {code, reason + "; nothing was changed", std::move(fix)};
  return {
      ErrorCode::store_unknown_outcome, reason + "; it is not known yet whether this change was stored",
      "check the record once the store answers; the same request with the same Idempotency-Key is performed only once"};
}

bool is_over(const std::shared_ptr<Exchange>& exchange) { return !exchange || exchange->is_answered; }

}  // namespace

void PendingRequests::add(const SharedExchange& exchange) {
  if (waits_by_nature(exchange->request)) return;
  exchange->terms = std::make_shared<ledger::RequestTerms>(only_reads(exchange->request));
  while (!pending_.empty() && is_over(pending_.front().exchange.lock())) pending_.pop_front();
  const base::BootTime now = daemon_.loop().now();
  pending_.push_back({exchange, now});
  if (!timer_) timer_ = daemon_.loop().at(now + look_pause, [this] { look(); });
}

void PendingRequests::look() {
  const base::BootTime now = daemon_.loop().now();
  std::erase_if(pending_, [](const Pending& one) { return is_over(one.exchange.lock()); });
  const Ledger::Stall stall = daemon_.ledger().stall();
  // A busy store will finish its work, for example an import.
  if (stall.kind == Ledger::Stall::Kind::locked || stall.kind == Ledger::Stall::Kind::unreachable) {
    // Collected first, because a response may add the next request.
    std::vector<std::shared_ptr<Exchange>> late;
    for (const Pending& one : pending_) {
      if (now - one.since < store_timeout) break;
      if (auto exchange = one.exchange.lock()) late.push_back(std::move(exchange));
    }
    for (const auto& exchange : late) exchange->refuse(describe(stall, *exchange->terms));
  }
  timer_ = {};
  if (!pending_.empty()) timer_ = daemon_.loop().at(now + look_pause, [this] { look(); });
}

}  // namespace reeve::server
