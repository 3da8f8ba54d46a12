#include "runtime/runs/sandbox.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "keeper/confine.h"
#include "os/file.h"
#include "os/spawn.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;

constexpr std::size_t status_bytes = 4'096;
constexpr auto probe_timeout = std::chrono::seconds(10);

Error unavailable(std::string_view why) {
  return {ErrorCode::run_sandbox_unavailable,
          fmt::format("the tool asks for `sandbox: guard`, but bubblewrap cannot start: {}", why),
          "`reeve doctor` shows what is missing"};
}

std::vector<std::string> make_words(const SandboxPlace& place, const std::string& status_file,
                                    const std::string& bubblewrap, const project::Confinement& confinement,
                                    const std::optional<os::KnownFolder>& folder = {}) {
  std::vector<std::string> words = {place.keeper_program, "confine", status_file, "--", bubblewrap};
  for (std::string& word : project::make_bubblewrap_words(confinement)) words.push_back(std::move(word));
  for (const char* word : {"--", place.keeper_program.c_str(), "enter"}) words.emplace_back(word);
  if (folder) {
    for (std::string& word : keeper::make_folder_words(*folder)) words.push_back(std::move(word));
  }
  words.emplace_back("--");
  return words;
}

}  // namespace

std::vector<std::string> make_wrapper(const SandboxPlace& place, const SandboxRun& run) {
  const std::string status_file = run.attempt_folder + "/" + keeper::sandbox_name;
  ::unlink(status_file.c_str());
  const auto bubblewrap = project::find_bubblewrap();
  auto confinement = project::find_confinement(run.working_folder, place.state);
  // Incomplete on purpose: the program reports that and exits, and without a status file the run fails.
  if (!bubblewrap || !confinement) return {place.keeper_program, "confine"};
  confinement->start_folder = run.start_folder;
  confinement->own_folders = run.own_folders;
  confinement->programs = {place.keeper_program};
  return make_words(place, status_file, *bubblewrap, *confinement, run.known_folder);
}

void settle_sandboxed_exit(keeper::ExitRecord& record, const std::string& attempt_folder) {
  // Bubblewrap's own helper, which exits with it, was not left behind by the tool (RUN-17).
  std::erase_if(record.descendants, [](const std::string& one) { return one.ends_with(" bwrap"); });
  if (record.exec_errno) return;
  const auto text = os::find_file(attempt_folder + "/" + keeper::sandbox_name, status_bytes);
  const auto entry = text ? keeper::parse_sandbox_entry(*text) : std::nullopt;
  if (entry && entry->error_number != 0) {
    record.exec_errno = entry->error_number;
    record.exec_stage = static_cast<std::uint8_t>(entry->stage);
  } else if (!entry && record.ended_by == keeper::EndedBy::itself) {
    record.exec_errno = EPERM;
    record.exec_stage = keeper::sandbox_stage;
  } else {
    return;
  }
  record.code.reset();
  record.signal.reset();
}

void SandboxProbe::ask(const std::string& working_folder, Answer answer) {
  auto confinement = project::find_confinement(working_folder, place_.state);
  if (!confinement) {
    // A missing folder is reported when the tool is started, as without a sandbox.
    if (::access(working_folder.c_str(), F_OK) != 0) return answer(std::nullopt);
    return answer(unavailable(fmt::format("{} contains paths that the sandbox hides; start the tool in its own folder",
                                          base::quoted(working_folder))));
  }
  if (works_) return answer(std::nullopt);
  const auto bubblewrap = project::find_bubblewrap();
  if (!bubblewrap) return answer(unavailable(bubblewrap.error()));
  waiting_.push_back(std::move(answer));
  if (process_) return;
  confinement->programs = {place_.keeper_program};
  try {
    os::Pipe pipe = os::make_pipe();
    auto process =
        os::spawn({.argv = make_words(place_, "/dev/null", *bubblewrap, *confinement), .error = pipe.write.get()});
    if (!process) return tell(unavailable(std::generic_category().message(process.error().error_number)));
    process_ = std::move(*process);
    complaints_ = std::move(pipe.read);
  } catch (const base::Error& error) {
    return tell(unavailable(error.message()));
  }
  ::fcntl(complaints_.get(), F_SETFL, O_NONBLOCK);
  watch_ = loop_.watch(process_->fd(), [this] { see_end(); });
  timer_ = loop_.at(loop_.now() + probe_timeout, [this] { process_->signal(SIGKILL); });
}

void SandboxProbe::see_end() {
  const auto status = process_->try_wait();
  if (!status) return;
  std::array<char, status_bytes> text{};
  const ssize_t count = ::read(complaints_.get(), text.data(), text.size());
  process_.reset();
  complaints_ = os::Fd();
  watch_ = {};
  timer_ = {};
  works_ = status->code == 0;
  if (works_) return tell(std::nullopt);
  std::string why(base::trim({text.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))}));
  if (why.empty()) why = "it exited without an error message";
  tell(unavailable(base::visible(base::replace_invalid_utf8(why))));
}

void SandboxProbe::tell(const std::optional<Error>& error) {
  for (const Answer& answer : std::exchange(waiting_, {})) answer(error);
}

}  // namespace reeve::runtime
