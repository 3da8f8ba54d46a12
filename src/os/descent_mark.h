#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <sys/types.h>

// A mark that all descendants of a process inherit and none of them can remove without CAP_SYS_RESOURCE: the hard limit
// of file locks (RLIMIT_LOCKS), which Linux has not enforced since 2.4.25. fork, exec, setsid, new namespaces, an empty
// environment and a dead parent leave it as it is; it can be lowered, never raised.
namespace reeve::os {

// Whether the processes may outlive the tool that started them (RUN-17). Marks of those that may are higher, so that
// nothing can pass itself off as one of them.
enum class MarkKind { ends_with_its_tool, may_stay };

// Of one attempt, from its nonce (hexadecimal digits).
std::uint64_t make_descent_mark(std::string_view nonce, MarkKind kind) noexcept;

// Marks this process and all that it starts from now on. Without effect where the limit is lower already.
void set_descent_mark(std::uint64_t mark) noexcept;

// The limit as the kernel shows it, also of processes of other users; nothing when the process is gone.
std::optional<std::uint64_t> find_lock_limit(pid_t pid);

// Whether the limit is one that make_descent_mark() gives: no administrator chooses such a number.
bool is_descent_mark(std::uint64_t limit) noexcept;
// Whether a process with this limit descends from a marked one: also when it has lowered its limit since. Says no where
// this process is limited itself, since then a low limit means nothing.
bool descends_from_marked(std::uint64_t limit) noexcept;
// Whether it is the limit of something that ends with its tool, as far as it can be known.
bool ends_with_its_tool(std::uint64_t limit) noexcept;

}  // namespace reeve::os
