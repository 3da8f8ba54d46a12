#include "base/redaction.h"

#include <algorithm>
#include <deque>

#include "base/base64.h"
#include "base/limits.h"
#include "base/text.h"

namespace reeve::base {

namespace {

constexpr std::string_view asterisks = "***";
constexpr std::size_t longest_window = 24;
constexpr std::size_t shift_count = 16'384;

// Limits for base64 forms: size of one value, total size of a set's forms, and size of a value wrapped into lines.
constexpr std::size_t base64_value_bytes = 4'096;
constexpr std::size_t base64_total_bytes = 1'048'576;
constexpr std::size_t wrapped_value_bytes = 512;
// A shorter last line reveals little and would match unrelated text.
constexpr std::size_t wrapped_line_min = 12;

// Index of the shift for two bytes; byte pairs that collide share the smaller shift.
std::size_t place_of(char first, char second) noexcept {
  const auto a = static_cast<unsigned char>(first);
  const auto b = static_cast<unsigned char>(second);
  return ((std::size_t{a} << 7U) ^ b) % shift_count;
}

// The base64 characters determined by the value alone when `before` bytes of a three-byte group precede it.
std::string encode_within(std::string_view value, std::size_t before) {
  const std::size_t whole = (before + value.size()) * 8 / 6;
  const std::size_t first = (before * 8 + 5) / 6;
  return encode_base64(std::string(before, '\0').append(value)).substr(first, whole - first);
}

std::string to_url_alphabet(std::string text) {
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
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
    result.append(address.substr(0, colon)).append(":").append(asterisks).append(address.substr(at));
  } else {
    result = address;
  }
  if (parameters.empty()) return result;
  char separator = '?';
  for (const std::string_view parameter : split(parameters, '&')) {
    result += separator;
    const std::size_t equals = parameter.find('=');
    result += parameter.substr(0, equals);
    if (equals != std::string_view::npos) result.append("=").append(asterisks);
    separator = '&';
  }
  return result;
}

SecretSet::SecretSet() : nodes_(1), trie_(1) {}

SecretSet::Added SecretSet::check(std::string_view secret) const noexcept {
  if (secret.size() < limits::secret_min_bytes) return Added::too_short;
  if (secret.size() > limits::secret_bytes) return Added::too_long;
  return count_ == limits::secret_count ? Added::too_many : Added::yes;
}

SecretSet::Added SecretSet::add(std::string_view secret) {
  const Added added = add_part(secret);
  if (added != Added::yes) return added;
  add_base64(secret);
  // Forms encode a blank as `+`; all other escapes are decoded while reading.
  if (secret.find(' ') != std::string_view::npos) {
    std::string in_form(secret);
    std::ranges::replace(in_form, ' ', '+');
    insert(in_form);
  }
  return added;
}

SecretSet::Added SecretSet::add_part(std::string_view part) {
  const Added added = check(part);
  if (added != Added::yes) return added;
  insert(part);
  ++count_;
  return added;
}

void SecretSet::add_base64(std::string_view secret) {
  if (secret.size() > base64_value_bytes || base64_bytes_ > base64_total_bytes) return;
  const auto add_form = [&](const std::string& form) {
    base64_bytes_ += form.size();
    insert(form);
    insert(to_url_alphabet(form));
  };
  for (const std::size_t before : {0UL, 1UL, 2UL}) add_form(encode_within(secret, before));
  if (secret.size() > wrapped_value_bytes) return;
  // 57 and 48 bytes encode to lines of 76 and 64 characters.
  for (const std::size_t width : {57UL, 48UL}) {
    if (secret.size() <= width) continue;
    for (std::size_t at = 0; at < secret.size(); at += width) {
      const std::string line = encode_within(secret.substr(at, width), 0);
      if (line.size() >= wrapped_line_min) add_form(line);
    }
  }
}

void SecretSet::insert(std::string_view pattern) {
  State state = 0;
  for (const char c : pattern) {
    const auto byte = static_cast<unsigned char>(c);
    const auto edge = std::ranges::lower_bound(trie_[state], byte, {}, &Edge::byte);
    if (edge != trie_[state].end() && edge->byte == byte) {
      state = edge->target;
      continue;
    }
    const auto target = static_cast<State>(nodes_.size());
    trie_[state].insert(edge, {byte, target});
    trie_.emplace_back();
    const std::uint32_t depth = nodes_[state].depth + 1;
    nodes_.emplace_back().depth = depth;
    state = target;
  }
  nodes_[state].match = static_cast<std::uint32_t>(pattern.size());
  starts_.emplace_back(pattern.substr(0, longest_window));
}

void SecretSet::prepare() {
  edges_.reserve(nodes_.size());
  for (State state = 0; state < trie_.size(); ++state) {
    nodes_[state].first_edge = static_cast<std::uint32_t>(edges_.size());
    edges_.insert(edges_.end(), trie_[state].begin(), trie_[state].end());
  }
  // A sentinel marks where the last node's edges end.
  nodes_.emplace_back().first_edge = static_cast<std::uint32_t>(edges_.size());
  std::deque<State> queue;
  for (const Edge& edge : trie_[0]) {
    root_[edge.byte] = edge.target;
    queue.push_back(edge.target);
  }
  while (!queue.empty()) {
    const State state = queue.front();
    queue.pop_front();
    for (const Edge& edge : trie_[state]) {
      Node& target = nodes_[edge.target];
      target.fallback = step(nodes_[state].fallback, edge.byte);
      target.match = std::max(target.match, nodes_[target.fallback].match);
      queue.push_back(edge.target);
    }
  }
  trie_ = {};
  nodes_.shrink_to_fit();
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

// Whether the text begins with the first bytes of a pattern, compared over at most one window.
bool SecretSet::begins(std::string_view text) const noexcept {
  State state = root_[static_cast<unsigned char>(text.front())];
  if (state == 0) return false;
  for (const char c : text.substr(1, window_ - 1)) {
    const Edge* edge = find_edge(state, static_cast<unsigned char>(c));
    if (edge == nullptr) return false;
    state = edge->target;
  }
  return true;
}

// Start of the first window in which a pattern may begin; if there is none, the start of the remainder, which is
// shorter than a window. `last` is the window end at which to start searching.
std::size_t SecretSet::find_window(std::string_view text, std::size_t& last) const noexcept {
  while (last < text.size()) {
    const std::size_t shift = shifts_[place_of(text[last - 1], text[last])];
    const std::size_t start = last + 1 - window_;
    if (shift == 0 && begins(text.substr(start))) return start;
    last += std::max<std::size_t>(shift, 1);
  }
  return last + 1 - window_;
}

// Number of leading bytes at which no pattern begins.
std::size_t SecretSet::count_innocent(std::string_view text) const noexcept {
  std::size_t last = window_ - 1;
  std::size_t start = find_window(text, last);
  while (start < text.size() && !begins(text.substr(start))) ++start;
  return std::min(start, text.size());
}

// Length of the escape at the start if no pattern begins in it, encoded or decoded; 0 if one may, or if the text is too
// short. A fast path: most escapes in output are line ends and quotes.
std::size_t SecretSet::count_innocent_escape(std::string_view text) const noexcept {
  if (text.size() < 2) return 0;
  const auto begins = [this](int byte) { return root_[static_cast<unsigned char>(byte)] != 0; };
  const auto second = static_cast<unsigned char>(text[1]);
  if (text[0] == '%') return JsonEscapes::hex_digit(second) < 0 && !begins('%') ? 1 : 0;
  const int meant = text[0] == '\\' ? JsonEscapes::short_escape(second) : -1;
  // A decoded backslash may start another escape.
  if (meant < 0 || meant == '\\') return 0;
  return begins('\\') || begins(second) || begins(meant) ? 0 : 2;
}

bool SecretSet::may_occur_in(std::string_view text) const noexcept {
  if (empty()) return false;
  // Escapes are not decoded here: the caller must check the text.
  if (text.find('\\') != std::string_view::npos) return true;
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    const bool is_escape = at + 2 < text.size() &&
                           JsonEscapes::hex_digit(static_cast<unsigned char>(text[at + 1])) >= 0 &&
                           JsonEscapes::hex_digit(static_cast<unsigned char>(text[at + 2])) >= 0;
    if (is_escape) return true;
  }
  std::size_t last = window_ - 1;
  find_window(text, last);
  return last < text.size();
}

const SecretSet::Edge* SecretSet::find_edge(State node, unsigned char byte) const noexcept {
  const Edge* first = edges_.data() + nodes_[node].first_edge;
  const Edge* end = edges_.data() + nodes_[node + 1].first_edge;
  const Edge* edge = std::ranges::lower_bound(first, end, byte, {}, &Edge::byte);
  return edge != end && edge->byte == byte ? edge : nullptr;
}

SecretSet::State SecretSet::step(State from, unsigned char byte) const noexcept {
  while (from != 0) {
    if (const Edge* edge = find_edge(from, byte)) return edge->target;
    from = nodes_[from].fallback;
  }
  return root_[byte];
}

void SecretMatcher::wake(SecretSet::State state, std::uint64_t position) {
  state_ = state;
  origin_ = position;
  starts_.clear();
  plain_ = 0;
}

std::optional<SecretMatcher::Span> SecretMatcher::feed(const SecretSet& secrets, DecodedByte in) {
  // No match begins further back than the automaton's depth.
  constexpr std::size_t max_kept = 1'024;
  const std::uint32_t depth = secrets.nodes_[state_].depth;
  if (starts_.size() > max_kept && starts_.size() > std::size_t{2} * depth) {
    starts_.erase(starts_.begin(), starts_.end() - static_cast<std::ptrdiff_t>(depth));
  }
  starts_.push_back(in.start);
  plain_ = in.is_plain() ? plain_ + 1 : 0;
  state_ = secrets.step(state_, in.byte);
  const std::uint32_t match = secrets.nodes_[state_].match;
  if (match == 0) return std::nullopt;
  return Span{start_of(match), in.end};
}

bool SecretMatcher::agrees(const SecretSet& secrets, SecretSet::State state) const noexcept {
  return state_ == state && plain_ >= secrets.nodes_[state_].depth;
}

std::uint64_t SecretMatcher::held_from(const SecretSet& secrets, std::uint64_t position) const noexcept {
  const std::uint32_t depth = secrets.nodes_[state_].depth;
  return depth > 0 ? start_of(depth) : position;
}

std::uint64_t SecretMatcher::start_of(std::size_t back) const noexcept {
  return back <= starts_.size() ? starts_[starts_.size() - back] : origin_ - (back - starts_.size());
}

std::string Redactor::feed(std::string_view bytes) {
  if (secrets_->empty()) return std::string(bytes);
  std::string out;
  out.reserve(bytes.size());
  // Position of the next possible escape, each searched for only once.
  std::size_t backslash = bytes.find('\\');
  std::size_t percent = bytes.find('%');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (pending_.empty()) {
      if (backslash < i) backslash = bytes.find('\\', i);
      if (percent < i) percent = bytes.find('%', i);
      const std::size_t end = std::min({backslash, percent, bytes.size()});
      // A decoded secret may continue after an escape, like one that is split over writes.
      const std::size_t innocent = secrets_->count_innocent(bytes.substr(i, end - i));
      out.append(bytes, i, innocent);
      if (innocent > 0) inside_mask_ = false;
      i += innocent;
      position_ += innocent;
      if (i == bytes.size()) break;
      if (const std::size_t escape = secrets_->count_innocent_escape(bytes.substr(i)); escape > 0) {
        out.append(bytes, i, escape);
        inside_mask_ = false;
        position_ += escape;
        i += escape - 1;
        continue;
      }
    }
    take(static_cast<unsigned char>(bytes[i]));
    const std::uint64_t held = held_from();
    if (pending_.size() > 2 * (position_ - held)) release(held, out);
  }
  release(held_from(), out);
  return out;
}

void Redactor::take(unsigned char byte) {
  wake(byte, state_);
  pending_.push_back(static_cast<char>(byte));
  state_ = secrets_->step(state_, byte);
  const DecodedByte raw{byte, position_, position_ + 1};
  ++position_;
  const auto watch = [this](SecretMatcher& matcher, DecodedByte in) {
    if (const auto span = matcher.feed(*secrets_, in)) mark(*span);
  };
  if (const std::uint32_t match = secrets_->nodes_[state_].match; match > 0) mark({position_ - match, position_});
  if (reads_json_) {
    json_.feed(raw, [&](DecodedByte once) {
      watch(in_json_, once);
      json_again_.feed(once, [&](DecodedByte twice) { watch(in_json_again_, twice); });
    });
  }
  if (reads_percent_) percent_.feed(raw, [&](DecodedByte in) { watch(in_percent_, in); });
  sleep();
}

// An escape may begin here: from now on the decoded text is matched as well.
void Redactor::wake(unsigned char byte, SecretSet::State before) {
  if (byte == '\\' && !reads_json_) {
    reads_json_ = true;
    in_json_.wake(before, position_);
    in_json_again_.wake(before, position_);
  }
  if (byte == '%' && !reads_percent_) {
    reads_percent_ = true;
    in_percent_.wake(before, position_);
  }
}

void Redactor::sleep() {
  const auto agrees = [this](const auto& escapes, const SecretMatcher& matcher) {
    return escapes.pending() == nullptr && matcher.agrees(*secrets_, state_);
  };
  if (reads_json_ && agrees(json_, in_json_) && agrees(json_again_, in_json_again_)) reads_json_ = false;
  if (reads_percent_ && agrees(percent_, in_percent_)) reads_percent_ = false;
}

void Redactor::mark(Span span) {
  while (!masked_.empty() && masked_.back().end >= span.start) {
    span.start = std::min(span.start, masked_.back().start);
    span.end = std::max(span.end, masked_.back().end);
    masked_.pop_back();
  }
  masked_.push_back(span);
}

// Start of the earliest prefix that may still become a secret. No match begins before it.
std::uint64_t Redactor::held_from() const noexcept {
  std::uint64_t from = position_ - secrets_->nodes_[state_].depth;
  const auto hold = [&](const auto& escapes, const SecretMatcher& matcher) {
    from = std::min(from, matcher.held_from(*secrets_, position_));
    if (const DecodedByte* pending = escapes.pending()) from = std::min(from, pending->start);
  };
  if (reads_json_) {
    hold(json_, in_json_);
    hold(json_again_, in_json_again_);
  }
  if (reads_percent_) hold(percent_, in_percent_);
  return from;
}

std::string Redactor::finish() {
  std::string out;
  release(position_, out);
  *this = Redactor(*secrets_);
  return out;
}

// Emits pending bytes up to `end`; no form of the stream can still match them.
void Redactor::release(std::uint64_t end, std::string& out) {
  const std::uint64_t begin = position_ - pending_.size();
  std::uint64_t at = begin;
  std::size_t used = 0;
  while (at < end) {
    const bool in_span = used < masked_.size() && masked_[used].start <= at;
    if (in_span) {
      if (!inside_mask_) out += asterisks;
      inside_mask_ = true;
      at = std::min(end, masked_[used].end);
      if (at == masked_[used].end) ++used;
    } else {
      const std::uint64_t next = used < masked_.size() ? std::min(end, masked_[used].start) : end;
      out.append(pending_, at - begin, next - at);
      inside_mask_ = false;
      at = next;
    }
  }
  masked_.erase(masked_.begin(), masked_.begin() + static_cast<std::ptrdiff_t>(used));
  pending_.erase(0, end - begin);
}

std::string redact(const SecretSet& secrets, std::string_view text) {
  Redactor redactor(secrets);
  std::string out = redactor.feed(text);
  out += redactor.finish();
  return out;
}

}  // namespace reeve::base
