#include "adapter/attempt.h"

#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "os/file.h"

namespace reeve::adapter {

namespace {

constexpr int usage_exit_code = 2;
constexpr std::size_t max_wrapper_bytes = 1024UZ * 1024;

std::optional<std::string> find(const Variables& variables, const char* name) {
  const auto found = variables.find(name);
  return found != variables.end() && !found->second.empty() ? std::optional(found->second) : std::nullopt;
}

std::unexpected<AttemptFault> outside(const char* variable) {
  return std::unexpected(AttemptFault{
      fmt::format("{} is not set: this program works inside a run; use `reeve agent run`", variable), usage_exit_code});
}

// Words that each end with a NUL byte. An agent that was to be confined never starts without its sandbox.
std::expected<std::vector<std::string>, AttemptFault> read_wrapper(const std::string& path) {
  const auto refuse = [&](std::string_view why) {
    return std::unexpected(
        AttemptFault{fmt::format("REEVE_AGENT_WRAPPER {}: {}; the agent was not started", base::quoted(path), why)});
  };
  std::string text;
  try {
    text = os::read_file(path, max_wrapper_bytes);
  } catch (const base::Error& error) {
    return refuse(error.message());
  }
  if (text.empty() || text.front() == '\0' || text.back() != '\0') {
    return refuse("it is not a list of words that each end with a NUL byte");
  }
  text.pop_back();
  std::vector<std::string> words;
  for (const std::string_view word : base::split(text, '\0')) words.emplace_back(word);
  return words;
}

}  // namespace

Variables read_variables(char** environment) {
  Variables variables;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::expected<Attempt, AttemptFault> read_attempt(const Variables& variables) {
  Attempt attempt;
  const auto socket = find(variables, "REEVE_SOCKET");
  if (!socket) return outside("REEVE_SOCKET");
  attempt.socket = *socket;
  const auto output = find(variables, "REEVE_OUTPUT");
  const std::size_t slash = output ? output->rfind('/') : std::string::npos;
  if (!output || !output->starts_with('/') || slash == 0) return outside("REEVE_OUTPUT");
  attempt.folder = output->substr(0, slash);
  if (variables.contains("REEVE_AGENT_WRAPPER")) {
    auto wrapper = read_wrapper(variables.at("REEVE_AGENT_WRAPPER"));
    if (!wrapper) return std::unexpected(wrapper.error());
    attempt.wrapper = std::move(*wrapper);
  }
  // With a grant, the run was not released for calls: it had asked something else.
  if (!find(variables, "REEVE_APPROVAL_ID")) attempt.answers = find(variables, "REEVE_DECISIONS");
  return attempt;
}

}  // namespace reeve::adapter
