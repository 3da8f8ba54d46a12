#include "adapter/call_book.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "json/encode.h"

namespace reeve::adapter {

namespace {

std::string digest_of(std::string_view tool, const base::Value& arguments) {
  const base::Value content = base::Value::array({base::Value::string(tool), arguments});
  return base::sha256_hex(json::encode_canonical(content));
}

}  // namespace

BookedCall& CallBook::ask(std::string_view call, std::string_view tool, const base::Value& arguments) {
  const std::string digest = digest_of(tool, arguments);
  const auto same = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.call.call == call && entry.digest == digest; });
  if (same != entries_.end()) return same->call;
  forget_old();
  entries_.push_back(
      {.call = {.number = ++last_, .call = std::string(call), .tool = std::string(tool)}, .digest = digest});
  return entries_.back().call;
}

BookedCall* CallBook::find(std::uint64_t number) {
  Entry* entry = find_entry(number);
  return entry != nullptr ? &entry->call : nullptr;
}

CallBook::Entry* CallBook::find_entry(std::uint64_t number) {
  const auto found = std::ranges::find(entries_, number, [](const Entry& entry) { return entry.call.number; });
  return found != entries_.end() ? &*found : nullptr;
}

void CallBook::decide(std::uint64_t number, CallState state, std::string reason) {
  BookedCall* call = find(number);
  if (call == nullptr || call->state != CallState::undecided) return;
  call->state = state;
  call->reason = std::move(reason);
}

void CallBook::announce(std::string_view call, std::string_view tool, const base::Value& arguments,
                        const std::optional<std::string>& parent) {
  Announced news{.tool = std::string(tool), .digest = digest_of(tool, arguments), .parent = parent};
  const auto [at, is_new] = announced_.insert_or_assign(std::string(call), std::move(news));
  if (!is_new) return;
  announced_order_.push_back(at->first);
  if (announced_order_.size() > max_announced) {
    announced_.erase(announced_order_.front());
    announced_order_.pop_front();
  }
}

bool CallBook::knows(std::string_view call) const {
  return announced_.contains(call) ||
         std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.call.call == call; });
}

std::optional<std::string> CallBook::find_parent(std::string_view call) const {
  const auto found = announced_.find(call);
  return found != announced_.end() ? found->second.parent : std::nullopt;
}

bool CallBook::is_denial(std::string_view call, std::string_view digest) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    const bool is_denied = entry.call.call == call && entry.call.state == CallState::denied;
    return is_denied && digest == "sha256:" + base::sha256_hex(entry.call.reason);
  });
}

bool CallBook::has_unfinished() const {
  const auto was_shown = [&](const Entry& entry) {
    if (match_ == CallMatch::by_id) return announced_.contains(entry.call.call);
    return std::ranges::any_of(announced_, [&](const auto& shown) { return shown.second.digest == entry.digest; });
  };
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return entry.call.state == CallState::allowed && !entry.call.has_ended && was_shown(entry);
  });
}

// The entry that a result belongs to: one that allows it, if there is one.
CallBook::Entry* CallBook::find_for_result(std::string_view call, bool was_refused) {
  const auto shown = announced_.find(call);
  const bool is_by_content = match_ == CallMatch::by_content;
  if (is_by_content && shown == announced_.end()) return nullptr;
  Entry* found = nullptr;
  for (Entry& entry : entries_) {
    const bool is_same = is_by_content ? entry.digest == shown->second.digest : entry.call.call == call;
    // Where only the content tells calls apart, an answer covers one of them.
    if (!is_same || (is_by_content && entry.call.has_ended)) continue;
    const bool fits = (entry.call.state == CallState::allowed) != was_refused;
    if (found == nullptr || fits) found = &entry;
    if (fits) break;
  }
  return found;
}

CallBook::Ended CallBook::end(std::string_view call, bool was_refused) {
  const auto shown = announced_.find(call);
  Ended ended;
  if (shown != announced_.end()) ended.tool = shown->second.tool;
  Entry* entry = find_for_result(call, was_refused);
  if (was_refused) ended.verdict = Verdict::refused;
  if (entry == nullptr) return ended;
  ended.number = entry->call.number;
  if (ended.tool.empty()) ended.tool = entry->call.tool;
  ended.is_news = !std::exchange(entry->call.has_ended, true);
  if (was_refused) return ended;
  ended.verdict = entry->call.state == CallState::allowed ? Verdict::allowed : Verdict::not_allowed;
  return ended;
}

void CallBook::forget_old() {
  if (entries_.size() < max_calls) return;
  auto old = std::ranges::find_if(entries_, [](const Entry& entry) { return entry.call.has_ended; });
  if (old == entries_.end()) {
    old = std::ranges::find_if(entries_, [](const Entry& entry) { return entry.call.state != CallState::undecided; });
  }
  entries_.erase(old != entries_.end() ? old : entries_.begin());
}

}  // namespace reeve::adapter
