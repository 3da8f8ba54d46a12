#include "os/descent_mark.h"

#include <algorithm>
#include <string>
#include <sys/resource.h>

#include "os/pseudo_file.h"

namespace reeve::os {

namespace {

constexpr std::uint64_t lowest = 1ULL << 62U;
constexpr std::uint64_t highest = (1ULL << 63U) - 1;
constexpr std::uint64_t may_stay_bit = 1ULL << 61U;

std::uint64_t own_limit() noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_LOCKS, &limit);
  return limit.rlim_max;
}

// FNV-1a: different nonces give different marks, which need not be unguessable.
std::uint64_t hash(std::string_view text) noexcept {
  std::uint64_t value = 0xcbf29ce484222325ULL;
  for (const char letter : text) value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  return value;
}

}  // namespace

std::uint64_t make_descent_mark(std::string_view nonce, MarkKind kind) noexcept {
  return lowest | (kind == MarkKind::may_stay ? may_stay_bit : 0) | (hash(nonce) & (may_stay_bit - 1));
}

void set_descent_mark(std::uint64_t mark) noexcept {
  const std::uint64_t value = std::min(mark, own_limit());
  const rlimit limit{.rlim_cur = value, .rlim_max = value};
  ::setrlimit(RLIMIT_LOCKS, &limit);
}

std::optional<std::uint64_t> find_lock_limit(pid_t pid) {
  constexpr std::string_view name = "\nMax file locks ";
  const std::string text = read_pseudo_file(proc_path(pid, "limits").c_str());
  const std::size_t at = text.find(name);
  if (at == std::string::npos) return std::nullopt;
  // "Max file locks            SOFT                 HARD                 locks"
  std::string_view line = std::string_view(text).substr(at + name.size());
  line = line.substr(0, line.find('\n'));
  for (int column = 0; column < 2; ++column) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (column == 0) line.remove_prefix(std::min(line.find(' '), line.size()));
  }
  const std::string_view hard = line.substr(0, line.find(' '));
  if (hard.empty()) return std::nullopt;
  return hard == "unlimited" ? RLIM_INFINITY : parse_unsigned(hard);
}

bool is_descent_mark(std::uint64_t limit) noexcept { return limit >= lowest && limit <= highest; }

bool descends_from_marked(std::uint64_t limit) noexcept { return limit <= highest && own_limit() > highest; }

bool ends_with_its_tool(std::uint64_t limit) noexcept {
  return descends_from_marked(limit) && limit < (lowest | may_stay_bit);
}

}  // namespace reeve::os
