#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/id.h"
#include "base/value.h"

namespace reeve::adapter {

// How a result of the agent finds the call that was asked about: by the agent's own id, or, where the agent's gate has
// no ids, by tool and arguments.
enum class CallMatch { by_id, by_content };

enum class CallState { undecided, allowed, denied };

struct BookedCall {
  std::uint64_t number = 0;
  // The agent's own id, or one that was made up for it.
  std::string call;
  std::string tool;
  CallState state = CallState::undecided;
  // Its result was seen, or that it was refused.
  bool has_ended = false;
  // Of the answer, for the agent.
  std::string reason;
  std::optional<base::CallId> reeve_call;
  base::BootTime allowed_at{};
};

// The calls of one agent: what was asked, what was allowed, what has ended. It says whether a result belongs to an
// allowed call (AGT-5). Pure.
class CallBook {
 public:
  explicit CallBook(CallMatch match) : match_(match) {}

  // The entry of a call that the agent's gate asks about: the same one for the same id, tool and arguments. The
  // reference is valid until the next ask().
  BookedCall& ask(std::string_view call, std::string_view tool, const base::Value& arguments);
  BookedCall* find(std::uint64_t number);
  void decide(std::uint64_t number, CallState state, std::string reason);

  // The agent shows a call.
  void announce(std::string_view call, std::string_view tool, const base::Value& arguments,
                const std::optional<std::string>& parent);
  // Whether a call with that id was shown or asked about.
  bool knows(std::string_view call) const;
  // The call that this one is part of, as far as the agent has shown it.
  std::optional<std::string> find_parent(std::string_view call) const;
  // Whether that call was denied, and a failed result with this digest is only the reason that the agent was given.
  bool is_denial(std::string_view call, std::string_view digest) const;
  // A call that was shown, allowed, and has no result yet.
  bool has_unfinished() const;

  enum class Verdict {
    // Each allowed call ends once where it is matched by content.
    allowed,
    refused,
    // It was asked about, and not allowed.
    not_allowed,
    // Nobody asked.
    unknown,
  };
  struct Ended {
    Verdict verdict = Verdict::unknown;
    // The call that it belongs to, if there is one.
    std::optional<std::uint64_t> number;
    // The tool, if the agent has shown the call or asked about it.
    std::string tool;
    // Its first result.
    bool is_news = false;
  };
  // The agent has a result of a call, or says that it was refused.
  Ended end(std::string_view call, bool was_refused);

  // Beyond these, the oldest that have ended are forgotten; then a result of them is one that nobody allowed.
  static constexpr std::size_t max_calls = 20'000;
  static constexpr std::size_t max_announced = 20'000;

 private:
  struct Entry {
    BookedCall call;
    std::string digest;
  };
  struct Announced {
    std::string tool;
    std::string digest;
    std::optional<std::string> parent;
  };

  Entry* find_for_result(std::string_view call, bool was_refused);
  Entry* find_entry(std::uint64_t number);
  void forget_old();

  CallMatch match_;
  std::uint64_t last_ = 0;
  std::deque<Entry> entries_;
  std::map<std::string, Announced, std::less<>> announced_;
  // In the order in which they were shown.
  std::deque<std::string> announced_order_;
};

}  // namespace reeve::adapter
