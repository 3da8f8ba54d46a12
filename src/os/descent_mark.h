#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <sys/types.h>

// A mark that all descendants of a process inherit and none can remove without CAP_SYS_RESOURCE: the hard limit on file
// locks (RLIMIT_LOCKS), which Linux has not enforced since 2.4.25. It survives fork, exec, setsid, new namespaces, an
// empty environment and the death of the parent; it can be lowered, never raised.
namespace reeve::os {

// Whether the processes may outlive the tool that started them (RUN-17). Marks of processes that may are higher, and a
// limit cannot be raised, so no process can gain that permission.
enum class MarkKind { ends_with_its_tool, may_stay };

// The mark of one attempt, derived from its nonce (hexadecimal digits).
std::uint64_t make_descent_mark(std::string_view nonce, MarkKind kind) noexcept;

// Marks this process and all processes that it starts from now on. No effect if the limit is already lower.
void set_descent_mark(std::uint64_t mark) noexcept;

// The hard limit shown by the kernel, also for processes of other users; nullopt if the process is gone.
std::optional<std::uint64_t> find_lock_limit(pid_t pid);

// Whether the limit is a value of make_descent_mark(): no administrator would choose such a number.
bool is_descent_mark(std::uint64_t limit) noexcept;
// Whether a process with this limit descends from a marked one, even if it has lowered its limit since. False if this
// process is itself limited, because a low limit then proves nothing.
bool descends_from_marked(std::uint64_t limit) noexcept;
// Whether a process with this limit ends with its tool, as far as the limit shows.
bool ends_with_its_tool(std::uint64_t limit) noexcept;

}  // namespace reeve::os
