#include "adapter/main.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <expected>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "adapter/attempt.h"
#include "adapter/loop.h"
#include "adapter/options.h"
#include "adapter/printed_line.h"
#include "adapter/session_plan.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "client/run_socket.h"
#include "os/beneath.h"
#include "os/write.h"

namespace reeve::adapter {

namespace {

namespace fs = std::filesystem;

constexpr int usage_exit_code = 2;
constexpr std::size_t max_prompt = 16UZ * 1024 * 1024;
// A daemon that restarts is back by then.
constexpr std::chrono::seconds session_time(60);
constexpr const char* private_name = "agent";
constexpr const char* socket_name = "hook.sock";
// Random bytes of the agent's secret.
constexpr std::size_t secret_bytes = 24;

// Ends the program with a message.
struct Refusal {
  std::string text;
  int exit_code = failed_exit_code;
};

std::string read_prompt() {
  std::string prompt;
  std::array<char, 64UZ * 1024> part{};
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, part.data(), part.size());
    if (got == 0) return prompt;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Refusal{"the prompt cannot be read: " + std::generic_category().message(errno)};
    prompt.append(part.data(), static_cast<std::size_t>(got));
    if (prompt.size() > max_prompt) throw Refusal{"the prompt is larger than 16 MiB"};
  }
}

// Without an answer it is not known whether the prompt was given before.
std::optional<StoredSession> read_session(const Attempt& attempt) {
  client::RunSocket socket(attempt.socket, {.deadline = base::SystemClock().boot_now() + session_time});
  const auto document = socket.find("/api/session");
  if (!document) throw Refusal{"the run's session cannot be read: " + document.error()};
  return *document ? parse_stored_session(**document) : std::nullopt;
}

std::string find_reeve() { return (fs::read_symlink("/proc/self/exe").parent_path() / "reeve").string(); }

// A folder that nobody else has filled.
os::Folder make_private_folder(const Attempt& attempt) {
  const os::Folder around = os::Folder::open(attempt.folder);
  if (::mkdirat(around.fd(), private_name, 0700) != 0) {
    throw Refusal{
        fmt::format("cannot create {}/{}: {}", attempt.folder, private_name, std::generic_category().message(errno))};
  }
  auto folder = around.open_folder(private_name);
  if (!folder) throw Refusal{fmt::format("cannot open {}/{}", attempt.folder, private_name)};
  return std::move(*folder);
}

void write_files(const os::Folder& folder, const std::vector<agents::AgentFile>& files) {
  for (const agents::AgentFile& file : files) {
    const bool is_plain = !file.name.empty() && !file.name.contains('/') && file.name != socket_name;
    REEVE_ASSERT(is_plain);
    const auto written = folder.open_file(file.name, O_WRONLY | O_CREAT | O_EXCL, 0400);
    if (!written || !os::write_all(written->get(), file.text)) {
      throw Refusal{fmt::format("cannot write {} for the agent", base::quoted(file.name))};
    }
  }
}

std::vector<std::string> make_environment(Variables variables, const agents::AgentCommand& command,
                                          const std::string& hook_socket) {
  for (const std::string& name : command.removed_variables) variables.erase(name);
  for (const auto& [name, value] : command.default_variables) variables.emplace(name, value);
  for (const auto& [name, value] : command.environment) variables.insert_or_assign(name, value);
  variables.erase("REEVE_AGENT_WRAPPER");
  variables.insert_or_assign("REEVE_AGENT_SOCKET", hook_socket);
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(fmt::format("{}={}", name, value));
  return environment;
}

int run(const Options& options, const Variables& variables, const AgentMaker& maker) {
  const auto attempt = read_attempt(variables);
  if (!attempt) throw Refusal{attempt.error().text, attempt.error().exit_code};
  const std::string prompt = read_prompt();
  base::SystemRandom random;
  const SessionPlan session = plan_session({.kind = options.kind,
                                            .stored = read_session(*attempt),
                                            .resume = options.session,
                                            .prompt = prompt,
                                            .answers = attempt->answers},
                                           random);
  if (base::trim(session.prompt).empty())
    throw Refusal{"there is no prompt: write it to standard input", usage_exit_code};

  const os::Folder folder = make_private_folder(*attempt);
  const agents::AgentSetup setup{.command = options.command,
                                 .folder = fs::current_path().string(),
                                 .private_folder = fmt::format("{}/{}", attempt->folder, private_name),
                                 .reeve_program = options.reeve_program.empty() ? find_reeve() : options.reeve_program,
                                 .prompt = session.prompt,
                                 .session = session.session,
                                 .resumes = session.resumes,
                                 .has_deferred_call = session.has_deferred_call,
                                 .model = options.model,
                                 .budget_usd = options.budget_usd,
                                 .is_confined = !attempt->wrapper.empty(),
                                 .secret = base::random_hex(secret_bytes)};
  const agents::AgentCommand command = maker.make_command(options.kind, setup);
  const auto protocol = maker.make_protocol(options.kind, setup);
  if (protocol == nullptr) throw Refusal{fmt::format("this build cannot drive {}", base::spell(options.kind))};
  write_files(folder, command.files);

  LoopPlan plan{.attempt = *attempt,
                .terms = {.kind = options.kind,
                          .release_after = options.release_after,
                          .resumed_session = session.stored_session,
                          .stored_usage = session.usage,
                          .has_deferred_call = session.has_deferred_call,
                          .continuation = session.continuation},
                .start = {.argv = attempt->wrapper, .environment = {}, .folder = setup.folder},
                .input = command.input,
                .hook_socket = fmt::format("{}/{}", setup.private_folder, socket_name),
                .secret = setup.secret};
  plan.start.argv.insert(plan.start.argv.end(), command.argv.begin(), command.argv.end());
  plan.start.environment = make_environment(variables, command, plan.hook_socket);
  return run_loop(plan, *protocol);
}

int fail(std::string_view text, int exit_code) noexcept {
  const std::string line = make_line("reeve-agent: ", text) + "\n";
  static_cast<void>(os::write_all(STDERR_FILENO, line));
  return exit_code;
}

}  // namespace

int main(const std::vector<std::string>& words, char** environment, const AgentMaker& maker) noexcept {
  try {
    const auto options = parse_options(words);
    if (!options) return fail(options.error() + "; see reeve-agent --help", usage_exit_code);
    if (options->wants_help) {
      static_cast<void>(os::write_all(STDOUT_FILENO, describe_usage()));
      return 0;
    }
    return run(*options, read_variables(environment), maker);
  } catch (const Refusal& refusal) {
    return fail(refusal.text, refusal.exit_code);
  } catch (const base::Error& error) {
    return fail(error.message(), failed_exit_code);
  } catch (const std::exception& error) {
    return fail(error.what(), failed_exit_code);
  }
}

}  // namespace reeve::adapter
