#include "base/redaction.h"

#include <algorithm>
#include <deque>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

namespace reeve::base {

namespace {

constexpr std::string_view mark = "***";
constexpr std::size_t longest_window = 24;
constexpr std::size_t shift_count = 4'096;

// Where the shift for two bytes is; others may share the place, with the smaller shift of both.
std::size_t place_of(char first, char second) noexcept {
  const auto a = static_cast<unsigned char>(first);
  const auto b = static_cast<unsigned char>(second);
  return ((std::size_t{a} << 5U) ^ b) % shift_count;
}

}  // namespace

bool names_secret(std::string_view variable) {
  const std::string name = to_ascii_upper(variable);
  return name.ends_with("_KEY") || name.ends_with("_TOKEN") || name.ends_with("_SECRET") ||
         name.find("PASSWORD") != std::string::npos;
}

std::string mask_address(std::string_view address) {
  std::string_view parameters;
  if (const std::size_t question = address.find('?'); question != std::string_view::npos) {
    parameters = address.substr(question + 1);
    address = address.substr(0, question);
  }
  std::string result;
  const std::size_t start = address.find("//");
  const std::size_t at = address.rfind('@');
  const std::size_t colon = start == std::string_view::npos ? address.find(':') : address.find(':', start + 2);
  if (at != std::string_view::npos && colon < at) {
    result.append(address.substr(0, colon)).append(":").append(mark).append(address.substr(at));
  } else {
    result = address;
  }
  if (parameters.empty()) return result;
  char separator = '?';
  for (const std::string_view parameter : split(parameters, '&')) {
    result += separator;
    const std::size_t equals = parameter.find('=');
    result += parameter.substr(0, equals);
    if (equals != std::string_view::npos) result.append("=").append(mark);
    separator = '&';
  }
  return result;
}

SecretSet::SecretSet() : nodes_(1) {}

SecretSet::Added SecretSet::add(std::string_view secret) {
  if (secret.size() < limits::secret_min_bytes) return Added::too_short;
  if (secret.size() > limits::secret_bytes) return Added::too_long;
  if (count_ == limits::secret_count) return Added::too_many;
  State state = 0;
  for (const char c : secret) {
    const auto byte = static_cast<unsigned char>(c);
    auto edge = std::ranges::find(nodes_[state].edges, byte, &Edge::byte);
    if (edge == nodes_[state].edges.end()) {
      const auto target = static_cast<State>(nodes_.size());
      nodes_[state].edges.push_back({byte, target});
      const std::uint32_t depth = nodes_[state].depth + 1;
      nodes_.emplace_back().depth = depth;
      state = target;
    } else {
      state = edge->target;
    }
  }
  nodes_[state].match = static_cast<std::uint32_t>(secret.size());
  starts_.emplace_back(secret.substr(0, longest_window));
  ++count_;
  return Added::yes;
}

void SecretSet::prepare() {
  for (Node& node : nodes_) std::ranges::sort(node.edges, {}, &Edge::byte);
  for (const Edge& edge : nodes_[0].edges) root_[edge.byte] = edge.target;
  std::deque<State> queue;
  for (const Edge& edge : nodes_[0].edges) queue.push_back(edge.target);
  while (!queue.empty()) {
    const State state = queue.front();
    queue.pop_front();
    for (const Edge& edge : nodes_[state].edges) {
      Node& target = nodes_[edge.target];
      target.fallback = step(nodes_[state].fallback, edge.byte);
      target.match = std::max(target.match, nodes_[target.fallback].match);
      queue.push_back(edge.target);
    }
  }
  prepare_shifts();
}

void SecretSet::prepare_shifts() {
  if (starts_.empty()) return;
  window_ = std::ranges::min(starts_, {}, &std::string::size).size();
  shifts_.assign(shift_count, static_cast<std::uint8_t>(window_ - 1));
  for (const std::string& start : starts_) {
    for (std::size_t i = 0; i + 1 < window_; ++i) {
      std::uint8_t& shift = shifts_[place_of(start[i], start[i + 1])];
      shift = std::min(shift, static_cast<std::uint8_t>(window_ - 2 - i));
    }
  }
  starts_ = {};
}

bool SecretSet::may_occur_in(std::string_view text) const noexcept {
  if (empty()) return false;
  for (std::size_t last = window_ - 1; last < text.size();) {
    const std::size_t shift = shifts_[place_of(text[last - 1], text[last])];
    if (shift == 0 && root_[static_cast<unsigned char>(text[last + 1 - window_])] != 0) return true;
    last += std::max<std::size_t>(shift, 1);
  }
  return false;
}

const SecretSet::Edge* SecretSet::find_edge(const Node& node, unsigned char byte) noexcept {
  const auto edge = std::ranges::lower_bound(node.edges, byte, {}, &Edge::byte);
  return edge != node.edges.end() && edge->byte == byte ? &*edge : nullptr;
}

SecretSet::State SecretSet::step(State from, unsigned char byte) const noexcept {
  while (from != 0) {
    if (const Edge* edge = find_edge(nodes_[from], byte)) return edge->target;
    from = nodes_[from].fallback;
  }
  return root_[byte];
}

std::string Redactor::feed(std::string_view bytes) {
  if (secrets_->empty()) return std::string(bytes);
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (state_ == 0 && pending_.empty()) {
      const std::size_t innocent = count_innocent(bytes.substr(i));
      out.append(bytes, i, innocent);
      if (innocent > 0) inside_mask_ = false;
      i += innocent;
      if (i == bytes.size()) break;
    }
    pending_.push_back(bytes[i]);
    state_ = secrets_->step(state_, static_cast<unsigned char>(bytes[i]));
    const SecretSet::Node& node = secrets_->nodes_[state_];
    if (node.match > 0) {
      // A match never begins before what is pending: the automaton's depth, which is held back, covers it.
      Span span{pending_.size() - node.match, pending_.size()};
      while (!masked_.empty() && masked_.back().end >= span.start) {
        span.start = std::min(span.start, masked_.back().start);
        masked_.pop_back();
      }
      masked_.push_back(span);
    }
    if (pending_.size() > std::size_t{2} * node.depth) release(pending_.size() - node.depth, out);
  }
  release(pending_.size() - secrets_->nodes_[state_].depth, out);
  return out;
}

// How many bytes at the start begin no secret.
std::size_t Redactor::count_innocent(std::string_view bytes) const noexcept {
  const auto begins = [&](char c) { return secrets_->root_[static_cast<unsigned char>(c)] != 0; };
  return static_cast<std::size_t>(std::ranges::find_if(bytes, begins) - bytes.begin());
}

std::string Redactor::finish() {
  std::string out;
  release(pending_.size(), out);
  state_ = 0;
  inside_mask_ = false;
  return out;
}

// Shows the first `count` bytes of what is pending; the automaton can no longer reach back into them.
void Redactor::release(std::size_t count, std::string& out) {
  std::size_t at = 0;
  std::size_t used = 0;
  while (at < count) {
    const bool in_span = used < masked_.size() && masked_[used].start <= at;
    if (in_span) {
      if (!inside_mask_) out += mark;
      inside_mask_ = true;
      at = std::min(count, masked_[used].end);
      if (at == masked_[used].end) ++used;
    } else {
      const std::size_t end = used < masked_.size() ? std::min(count, masked_[used].start) : count;
      out.append(pending_, at, end - at);
      inside_mask_ = false;
      at = end;
    }
  }
  masked_.erase(masked_.begin(), masked_.begin() + static_cast<std::ptrdiff_t>(used));
  for (Span& span : masked_) {
    span.start = span.start > count ? span.start - count : 0;
    span.end -= count;
  }
  pending_.erase(0, count);
}

std::string redact(const SecretSet& secrets, std::string_view text) {
  Redactor redactor(secrets);
  std::string out = redactor.feed(text);
  out += redactor.finish();
  return out;
}

}  // namespace reeve::base
