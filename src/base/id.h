#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace reeve::base {

namespace detail {
std::string format_id(std::string_view prefix, std::int64_t number);
// "TR-17", "tr-17": a prefix in any case, a hyphen and a number ≥ 1 without leading zeros.
std::optional<std::int64_t> parse_id(std::string_view prefix, std::string_view text) noexcept;
}  // namespace detail

// A short id as users see and type it: a prefix and a number assigned by the store. Each noun has its own type, so that
// an approval id cannot be passed where a run id is expected.
template <class Noun>
class Id {
 public:
  static constexpr std::string_view prefix = Noun::prefix;

  constexpr explicit Id(std::int64_t number) noexcept : number_(number) {}

  static std::optional<Id> parse(std::string_view text) noexcept {
    const auto number = detail::parse_id(prefix, text);
    return number ? std::optional<Id>(Id(*number)) : std::nullopt;
  }

  constexpr std::int64_t number() const noexcept { return number_; }
  std::string text() const { return detail::format_id(prefix, number_); }

  friend constexpr auto operator<=>(Id, Id) noexcept = default;

 private:
  std::int64_t number_;
};

struct RunNoun {
  static constexpr std::string_view prefix = "TR";
};
struct ApprovalNoun {
  static constexpr std::string_view prefix = "AP";
};
struct ExecutionNoun {
  static constexpr std::string_view prefix = "EX";
};
struct AgentNoun {
  static constexpr std::string_view prefix = "AG";
};
struct TaskNoun {
  static constexpr std::string_view prefix = "TK";
};
struct PatchNoun {
  static constexpr std::string_view prefix = "PA";
};
struct CallNoun {
  static constexpr std::string_view prefix = "TC";
};
struct GrantNoun {
  static constexpr std::string_view prefix = "GR";
};

using RunId = Id<RunNoun>;
using ApprovalId = Id<ApprovalNoun>;
using ExecutionId = Id<ExecutionNoun>;
using AgentId = Id<AgentNoun>;
using TaskId = Id<TaskNoun>;
using PatchId = Id<PatchNoun>;
using CallId = Id<CallNoun>;
using GrantId = Id<GrantNoun>;

}  // namespace reeve::base

template <class Noun>
struct std::hash<reeve::base::Id<Noun>> {
  std::size_t operator()(reeve::base::Id<Noun> id) const noexcept { return std::hash<std::int64_t>{}(id.number()); }
};
