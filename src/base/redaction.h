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

// Whether a variable's name marks its value as a secret: *_KEY, *_TOKEN, *_SECRET, *PASSWORD* (LOG-4).
bool names_secret(std::string_view variable);

// Masks what may be secret in an address: the password before `@`, and the values of all query parameters, because any
// of them may be one.
std::string mask_address(std::string_view address);

// The secrets of one run, compiled for searching. Immutable once in use, so that any number of streams can share it.
class SecretSet {
 public:
  enum class Added { yes, too_short, too_long, too_many };

  SecretSet();
  // Matches exactly, including case. Also adds the secret's base64 forms: both alphabets, at each alignment within a
  // longer text, and wrapped into the lines of `base64` and `openssl base64`; none for values over 4 KiB.
  Added add(std::string_view secret);
  // A part of a secret that may be printed on its own; its base64 forms are not added.
  Added add_part(std::string_view part);
  // Must be called after the last add and before the first Redactor.
  void prepare();
  bool empty() const noexcept { return count_ == 0; }
  // False: no secret occurs in the text. True: one may. Reads only a few of its bytes.
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
    // The node's edges end where those of the next node begin.
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
  // Used only before prepare(): the edges of each node, sorted by byte, and the first bytes of each pattern.
  std::vector<std::vector<Edge>> trie_;
  std::vector<std::string> starts_;
  // Transitions from the root, which handle nearly all bytes of ordinary text.
  std::array<State, 256> root_{};
  std::size_t count_ = 0;
  std::size_t base64_bytes_ = 0;
  // Wu-Manber search: indexed by the last two bytes of a window as long as the shortest start, how far the window can
  // advance without skipping a match.
  std::vector<std::uint8_t> shifts_;
  std::size_t window_ = 0;
};

// The automaton's position in one decoded form of a stream. While the last bytes are unescaped, all forms agree with
// the raw stream and only that is matched.
class SecretMatcher {
 public:
  struct Span {
    std::uint64_t start;
    std::uint64_t end;
  };

  void wake(SecretSet::State state, std::uint64_t position);
  std::optional<Span> feed(const SecretSet& secrets, DecodedByte in);
  // True if this form would continue exactly like the raw stream, which is in `state`.
  bool agrees(const SecretSet& secrets, SecretSet::State state) const noexcept;
  // Start of the secret's prefix matched so far; `position` if there is none.
  std::uint64_t held_from(const SecretSet& secrets, std::uint64_t position) const noexcept;

 private:
  std::uint64_t start_of(std::size_t back) const noexcept;

  SecretSet::State state_ = 0;
  // Position of wake(): earlier bytes were unescaped.
  std::uint64_t origin_ = 0;
  // Start position of each byte decoded since then.
  std::vector<std::uint64_t> starts_;
  std::size_t plain_ = 0;
};

// Replaces each secret in a stream by `***`, including secrets that are split over writes, escaped as in JSON (once or
// twice) or as in a URL. Overlapping matches become one mark, so that no part of a secret is ever shown. Holds back
// only bytes that may still become a secret: at most the longest pattern (with its escapes) less one byte.
class Redactor {
 public:
  // `secrets` must be prepared and outlive this.
  explicit Redactor(const SecretSet& secrets) noexcept : secrets_(&secrets) {}

  // Returns the text that may be shown once these bytes have been read.
  std::string feed(std::string_view bytes);
  // Ends the stream and returns the bytes held back.
  std::string finish();
  // Whether bytes are held back now. If not, another redactor can take over from here.
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
  // Bytes read so far.
  std::uint64_t position_ = 0;
  // The last of those bytes, not yet shown.
  std::string pending_;
  // Secret spans, disjoint and ascending.
  std::vector<Span> masked_;
  // The last bytes shown were a secret: a secret that follows immediately is part of the same mark.
  bool inside_mask_ = false;

  // JSON within JSON: the second decoder reads the output of the first.
  bool reads_json_ = false;
  JsonEscapes json_;
  JsonEscapes json_again_;
  SecretMatcher in_json_;
  SecretMatcher in_json_again_;
  bool reads_percent_ = false;
  PercentEscapes percent_;
  SecretMatcher in_percent_;
};

// Redacts a short text at once.
std::string redact(const SecretSet& secrets, std::string_view text);

}  // namespace reeve::base
