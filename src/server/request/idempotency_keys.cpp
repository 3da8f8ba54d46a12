#include "server/request/idempotency_keys.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "json/encode.h"
#include "json/parse.h"
#include "server/http/forwarding.h"

namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;

constexpr std::size_t longest_key = 255;
// Limits for the responses kept in memory.
constexpr std::size_t max_kept = 4'096;
constexpr std::size_t max_kept_bytes = 16UL << 20U;
constexpr auto kept_for = std::chrono::hours(24 * 7);
constexpr auto forget_pause = std::chrono::hours(6);

// Secrets are not stored, not even as a hash, which would allow guessing.
std::string without_secret(const std::string& body) {
  if (body.find("\"secret\"") == std::string::npos && body.find('\\') == std::string::npos) return body;
  auto value = json::parse(body);
  if (!value || value->as_object() == nullptr || value->find("secret") == nullptr) return body;
  std::erase_if(*value->as_object(), [](const base::Member& member) { return member.key == "secret"; });
  return json::encode(*value);
}

// Includes the caller, so that no client gets a response meant for another.
std::string hash_request(const Exchange& exchange) {
  std::string text = fmt::format("{}\n{} {}\n", exchange.actor(), exchange.request.method, exchange.request.path);
  for (const auto& [name, value] : exchange.request.query) text += fmt::format("{}={}\n", name, value);
  return base::sha256_hex(text + without_secret(exchange.request.body));
}

bool is_replayed(const Response& response) {
  return std::ranges::any_of(response.headers, [](const auto& header) { return header.first == replayed_header; });
}

Error reused() {
  return {ErrorCode::api_key_reused, "this Idempotency-Key was used for another request", "send a new key"};
}

}  // namespace

struct IdempotencyKeys::Table {
  struct Entry {
    std::string hash;
    // Nothing while the request is in progress.
    std::optional<Response> answer;
  };
  std::map<std::string, Entry, std::less<>> entries;
  // Answered keys, oldest first, and the total size of their responses.
  std::deque<std::string> answered;
  std::size_t bytes = 0;

  void keep(const std::string& key, Response answer) {
    const auto found = entries.find(key);
    if (found == entries.end() || found->second.answer) return;
    bytes += answer.body.size();
    found->second.answer = std::move(answer);
    answered.push_back(key);
    while (answered.size() > max_kept || bytes > max_kept_bytes) {
      const auto oldest = entries.find(answered.front());
      bytes -= oldest->second.answer->body.size();
      entries.erase(oldest);
      answered.pop_front();
    }
  }
};

namespace {

// The key is in progress as long as this object lives.
template <class Table>
class Work {
 public:
  Work(std::shared_ptr<Table> table, std::string key) : table_(std::move(table)), key_(std::move(key)) {}
  ~Work() {
    const auto found = table_->entries.find(key_);
    if (found != table_->entries.end() && !found->second.answer) table_->entries.erase(found);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void keep(Response answer) { table_->keep(key_, std::move(answer)); }

 private:
  std::shared_ptr<Table> table_;
  std::string key_;
};

// Stores the response that is sent.
template <class Table>
class KeyedResponder final : public ForwardingResponder {
 public:
  struct Task {
    runtime::Daemon& daemon;
    runtime::Idempotency key;
    IdempotencyMode idempotency;
    std::shared_ptr<Work<Table>> work;
  };
  KeyedResponder(std::shared_ptr<Responder> inner, Task task)
      : ForwardingResponder(std::move(inner)), task_(std::move(task)) {}

  void send(Response response) override {
    const auto work = std::exchange(task_.work, nullptr);
    const bool is_done = response.status < 300 && !is_replayed(response);
    if (work && is_done) remember(*work, response);
    inner().send(std::move(response));
  }

 private:
  void remember(Work<Table>& work, const Response& response) {
    const bool is_long = response.body.size() > runtime::longest_kept_answer;
    // The response, or for a long one its resource, is already stored with the change.
    if (task_.idempotency == IdempotencyMode::change ||
        (task_.idempotency == IdempotencyMode::change_then_answer && is_long))
      return;
    const runtime::SentAnswer answer{response.status, is_long ? std::string() : response.body};
    // At once, so that a repetition sent after this response never finds it half stored.
    work.keep({.status = answer.status, .body = answer.body});
    if (task_.idempotency == IdempotencyMode::memory) return;
    task_.daemon.stored_answers().complete(task_.key, answer);
  }

  Task task_;
};

}  // namespace

IdempotencyKeys::IdempotencyKeys(runtime::Daemon& daemon) : daemon_(daemon), table_(std::make_shared<Table>()) {}
IdempotencyKeys::~IdempotencyKeys() = default;

void IdempotencyKeys::admit(const SharedExchange& exchange, IdempotencyMode idempotency, std::function<void()> go) {
  auto key = exchange->request.header("idempotency-key");
  if (!key || idempotency == IdempotencyMode::none) return go();
  if (key->empty() || key->size() > longest_key || key->find('\0') != std::string::npos) {
    throw Error(ErrorCode::api_bad_request, fmt::format("Idempotency-Key must be 1 to {} bytes", longest_key));
  }
  // Each TCP caller has its own keys.
  if (exchange->request.peer.entrance == Entrance::tcp)
    *key = fmt::format("{}:{}", exchange->request.caller.name, *key);
  // So do callers inside runs, so that they never get a response meant for a caller outside.
  if (exchange->in_run_caller) *key = fmt::format("{}:{}", exchange->in_run_caller->run, *key);
  const std::string hash = hash_request(*exchange);
  if (const auto found = table_->entries.find(*key); found != table_->entries.end()) {
    if (found->second.hash != hash) throw reused();
    if (found->second.answer) return exchange->replay(*found->second.answer);
    throw Error(ErrorCode::api_key_in_progress, "the first request with this Idempotency-Key is still in progress",
                "send it again in a moment");
  }
  table_->entries.emplace(*key, Table::Entry{hash, std::nullopt});
  exchange->key = runtime::Idempotency{*key, hash, idempotency == IdempotencyMode::change ? 201 : 0};
  exchange->responder = std::make_shared<KeyedResponder<Table>>(
      exchange->responder,
      KeyedResponder<Table>::Task{daemon_, *exchange->key, idempotency, std::make_shared<Work<Table>>(table_, *key)});
  if (idempotency != IdempotencyMode::memory) forget_old();
  if (idempotency == IdempotencyMode::answer) return admit_from_store(exchange, std::move(go));
  go();
}

// Responses stored after the change are looked up before it.
void IdempotencyKeys::admit_from_store(const SharedExchange& exchange, std::function<void()> go) {
  daemon_.stored_answers().find(
      *exchange->key,
      [exchange, go = std::move(go)](const std::expected<std::optional<runtime::SentAnswer>, Error>& answer) {
        if (!answer) return exchange->refuse(answer.error());
        if (*answer) return exchange->replay({.status = (*answer)->status, .body = (*answer)->body});
        exchange->go_on(go);
      });
}

void IdempotencyKeys::forget_old() {
  const base::BootTime now = daemon_.loop().now();
  if (forgotten_at_ != base::BootTime{} && now - forgotten_at_ < forget_pause) return;
  forgotten_at_ = now;
  daemon_.stored_answers().forget_older_than(kept_for);
}

}  // namespace reeve::server
