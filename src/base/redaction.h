#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reeve::base {

// Whether a variable's name says that its value is a secret: *_KEY, *_TOKEN, *_SECRET, *PASSWORD* (LOG-4).
bool names_secret(std::string_view variable);

// An address with what it may carry of secrets as `***`: the password before `@`, and the values of all parameters
// behind
// `?`, of which nobody can say which are harmless.
std::string mask_address(std::string_view address);

// The secrets of one run, ready to be looked for. Immutable once in use, so that any number of streams share one.
class SecretSet {
 public:
  enum class Added { yes, too_short, too_long, too_many };

  SecretSet();
  // Every byte counts; case does too.
  Added add(std::string_view secret);
  // Must be called after the last add and before the first Redactor.
  void prepare();
  bool empty() const noexcept { return count_ == 0; }
  // False: none of them is in this text. True: perhaps one is. Looks at few of its bytes.
  bool may_occur_in(std::string_view text) const noexcept;

 private:
  friend class Redactor;
  using State = std::uint32_t;

  struct Edge {
    unsigned char byte;
    State target;
  };
  // A node of the Aho-Corasick automaton: one prefix of one or more secrets.
  struct Node {
    std::vector<Edge> edges;  // sorted by byte once prepared
    State fallback = 0;
    std::uint32_t depth = 0;
    // Length of the longest secret that ends here, 0 for none.
    std::uint32_t match = 0;
  };

  void prepare_shifts();
  State step(State from, unsigned char byte) const noexcept;
  static const Edge* find_edge(const Node& node, unsigned char byte) noexcept;

  std::vector<Node> nodes_;
  // From the root, where nearly all bytes of innocent text are decided.
  std::array<State, 256> root_{};
  std::size_t count_ = 0;
  // How each begins, as far as that is looked at; only until they are prepared.
  std::vector<std::string> starts_;
  // Wu and Manber's search: by the last two bytes of a window as long as the shortest start, how far it may move on
  // without passing over one.
  std::vector<std::uint8_t> shifts_;
  std::size_t window_ = 0;
};

// Replaces each secret in a stream by `***`, also one that is split over writes. What overlaps becomes one mark, so
// that no part of a secret is ever shown. Holds back only what may still become one: at most the longest secret less
// one byte.
class Redactor {
 public:
  // `secrets` must be prepared and outlive this.
  explicit Redactor(const SecretSet& secrets) noexcept : secrets_(&secrets) {}

  // What may be shown after these bytes came.
  std::string feed(std::string_view bytes);
  // The stream is over: what was held back.
  std::string finish();

 private:
  std::size_t count_innocent(std::string_view bytes) const noexcept;
  void release(std::size_t count, std::string& out);

  const SecretSet* secrets_;
  SecretSet::State state_ = 0;
  // Bytes that came and are not shown yet.
  std::string pending_;
  struct Span {
    std::size_t start;
    std::size_t end;
  };
  // Spans of `pending_` that are secret, apart from each other and ascending.
  std::vector<Span> masked_;
  // The last shown bytes were a secret: what is masked right behind it belongs to the same mark.
  bool inside_mask_ = false;
};

// All at once, for short texts.
std::string redact(const SecretSet& secrets, std::string_view text);

}  // namespace reeve::base
