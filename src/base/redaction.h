#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/escapes.h"

namespace reeve::base {

// Whether a variable's name says that its value is a secret: *_KEY, *_TOKEN, *_SECRET, *PASSWORD* (LOG-4).
bool names_secret(std::string_view variable);

// An address with what it may carry of secrets as `***`: the password before `@`, and the values of all parameters
// behind
// `?`, of which nobody can say which are harmless.
std::string mask_address(std::string_view address);

// The secrets of one run, ready to be searched for. Immutable once in use, so that any number of streams share one.
class SecretSet {
 public:
  enum class Added { yes, too_short, too_long, too_many };

  SecretSet();
  // Every byte counts; case does too. Its base64 forms are added with it: both alphabets, at each place within a longer
  // text, and cut into the lines of `base64` and `openssl base64`; not of a value over 4 KiB.
  Added add(std::string_view secret);
  // A part of a secret that is printed by itself: without base64 forms.
  Added add_part(std::string_view part);
  // Must be called after the last add and before the first Redactor.
  void prepare();
  bool empty() const noexcept { return count_ == 0; }
  // False: none of them is in this text. True: perhaps one is. Looks at few of its bytes.
  bool may_occur_in(std::string_view text) const noexcept;

 private:
  friend class Redactor;
  friend class SecretMatcher;
  using State = std::uint32_t;

  struct Edge {
    unsigned char byte;
    State target;
  };
  // A node of the Aho-Corasick automaton: one prefix of one or more patterns.
  struct Node {
    // Its edges end where those of the next node begin.
    std::uint32_t first_edge = 0;
    State fallback = 0;
    std::uint32_t depth = 0;
    // Length of the longest pattern that ends here, 0 for none.
    std::uint32_t match = 0;
  };

  Added check(std::string_view secret) const noexcept;
  void add_base64(std::string_view secret);
  void insert(std::string_view pattern);
  void prepare_shifts();
  State step(State from, unsigned char byte) const noexcept;
  const Edge* find_edge(State node, unsigned char byte) const noexcept;
  bool begins(std::string_view text) const noexcept;
  std::size_t find_window(std::string_view text, std::size_t& last) const noexcept;
  std::size_t count_innocent(std::string_view text) const noexcept;
  std::size_t count_innocent_escape(std::string_view text) const noexcept;

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  // Only until they are prepared: the edges of each node, sorted by byte, and how each pattern begins.
  std::vector<std::vector<Edge>> trie_;
  std::vector<std::string> starts_;
  // From the root, where nearly all bytes of innocent text are decided.
  std::array<State, 256> root_{};
  std::size_t count_ = 0;
  std::size_t base64_bytes_ = 0;
  // Wu and Manber's search: by the last two bytes of a window as long as the shortest start, how far it may move on
  // without passing over one.
  std::vector<std::uint8_t> shifts_;
  std::size_t window_ = 0;
};

// Where the automaton stands in one decoded form of a stream. While the last bytes stand for themselves, all forms
// agree with the stream itself and only that one is read.
class SecretMatcher {
 public:
  struct Span {
    std::uint64_t start;
    std::uint64_t end;
  };

  void wake(SecretSet::State state, std::uint64_t position);
  std::optional<Span> feed(const SecretSet& secrets, DecodedByte in);
  // It would go on as the stream itself does, which is in that state.
  bool agrees(const SecretSet& secrets, SecretSet::State state) const noexcept;
  // Where the prefix of a secret begins that was read last; `position` without one.
  std::uint64_t held_from(const SecretSet& secrets, std::uint64_t position) const noexcept;

 private:
  std::uint64_t start_of(std::size_t back) const noexcept;

  SecretSet::State state_ = 0;
  // Where it woke: what was read before stood for itself.
  std::uint64_t origin_ = 0;
  // Of each decoded byte since then, where it began.
  std::vector<std::uint64_t> starts_;
  std::size_t plain_ = 0;
};

// Replaces each secret in a stream by `***`, also one that is split over writes, escaped as in JSON (once or twice) or
// as in a URL. What overlaps becomes one mark, so that no part of a secret is ever shown. Holds back only what may
// still become one: at most the longest pattern less one byte, as long as its escapes make it.
class Redactor {
 public:
  // `secrets` must be prepared and outlive this.
  explicit Redactor(const SecretSet& secrets) noexcept : secrets_(&secrets) {}

  // What may be shown after these bytes came.
  std::string feed(std::string_view bytes);
  // The stream is over: what was held back.
  std::string finish();
  // Whether something is held back now. If not, another redactor can go on with what comes next.
  bool holds_back() const noexcept { return !pending_.empty(); }

 private:
  using Span = SecretMatcher::Span;

  void take(unsigned char byte);
  void wake(unsigned char byte, SecretSet::State before);
  void sleep();
  void mark(Span span);
  std::uint64_t held_from() const noexcept;
  void release(std::uint64_t end, std::string& out);

  const SecretSet* secrets_;
  SecretSet::State state_ = 0;
  // Bytes that came.
  std::uint64_t position_ = 0;
  // The last of them, which are not shown yet.
  std::string pending_;
  // Spans that are secret, apart from each other and ascending.
  std::vector<Span> masked_;
  // The last shown bytes were a secret: what is masked right behind it belongs to the same mark.
  bool inside_mask_ = false;

  // JSON within JSON: the second reads what the first has decoded.
  bool reads_json_ = false;
  JsonEscapes json_;
  JsonEscapes json_again_;
  SecretMatcher in_json_;
  SecretMatcher in_json_again_;
  bool reads_percent_ = false;
  PercentEscapes percent_;
  SecretMatcher in_percent_;
};

// All at once, for short texts.
std::string redact(const SecretSet& secrets, std::string_view text);

}  // namespace reeve::base
