#include "tests/support/keeper/kept_run.h"

#include <array>
#include <filesystem>
#include <grp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "keeper/output_reader.h"
#include "keeper/run_keeper.h"
#include "os/unix_socket.h"

namespace reeve::testing {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

bool become(User user) {
  if (user == User::own || ::geteuid() != 0) return true;
  return ::setgroups(0, nullptr) == 0 && ::setgid(nobody_id) == 0 && ::setuid(nobody_id) == 0;
}

KeptRun::KeptRun(const Argv& argv, Setting setting)
    : attempt_((scratch_.path() / "run/1").string()), endpoints_((scratch_.path() / "keepers").string()) {
  fs::create_directories(attempt_);
  fs::create_directories(endpoints_);
  keeper::Launch launch{.argv = argv, .environment = std::move(setting.environment)};
  launch.folder = scratch_.path().string();
  launch.environment.insert(launch.environment.end(),
                            {"PATH=/usr/bin:/bin", "TERM=xterm", "LC_ALL=C.UTF-8", "HOME=" + launch.folder});
  scratch_.write(fs::path("run") / keeper::launch_name, keeper::encode_launch(launch));
  if (setting.user == User::nobody && ::geteuid() == 0) {
    EXPECT_EQ(::chown(scratch_.path().c_str(), nobody_id, nobody_id), 0);
    for (const auto& entry : fs::recursive_directory_iterator(scratch_.path())) {
      EXPECT_EQ(::chown(entry.path().c_str(), nobody_id, nobody_id), 0);
    }
  }
  os::SocketPair pair = os::make_socket_pair(os::SocketKind::packets);
  keeper_ = ::fork();
  if (keeper_ == 0) {
    pair.ours = os::Fd();
    ::_exit(become(setting.user) ? keeper::hold_run(std::move(pair.theirs), endpoints_) : 99);
  }
  pair.theirs = os::Fd();
  socket_ = std::move(pair.ours);
  keeper::Assign assign{.run_folder = (scratch_.path() / "run").string(), .attempt_folder = attempt_, .nonce = "test"};
  assign.mode = setting.mode;
  send(assign);
  if (setting.start_in) send(*setting.start_in);
  send(keeper::Go{});
}

KeptRun::~KeptRun() {
  if (!has_exited_) send(keeper::Stop{.grace_ms = 0});
  wait_for_exit();
  ::waitpid(keeper_, nullptr, 0);
}

void KeptRun::send(const keeper::ToKeeper& message) {
  const std::string bytes = keeper::encode(message);
  // Large messages fill the buffer.
  pollfd ready{socket_.get(), POLLOUT, 0};
  ::poll(&ready, 1, 20'000);
  ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void KeptRun::receive() {
  std::array<char, 4'096> bytes{};
  const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count == 0) has_exited_ = true;
  if (count <= 0) return;
  const auto message = keeper::decode_from_keeper({bytes.data(), static_cast<std::size_t>(count)});
  ASSERT_TRUE(message);
  if (const auto* hello = std::get_if<keeper::Hello>(&*message)) {
    endpoint_ = keeper::endpoint_name(hello->pid, hello->started);
  } else if (const auto* grew = std::get_if<keeper::Grew>(&*message)) {
    read_output();
    send(keeper::Consumed{grew->position});
  } else if (const auto* prompt = std::get_if<keeper::Prompt>(&*message)) {
    prompts_.push_back(*prompt);
  } else if (const auto* over = std::get_if<keeper::PromptOver>(&*message)) {
    over_.insert(over->serial);
  } else if (const auto* taken = std::get_if<keeper::AnswerTaken>(&*message)) {
    taken_.push_back(*taken);
  } else if (const auto* line = std::get_if<keeper::InputLineTaken>(&*message)) {
    lines_.push_back(*line);
  }
}

void KeptRun::read_output() {
  const auto folder = os::Folder::open(attempt_);
  keeper::OutputReader reader(folder);
  if (!reader.seek(0)) return;
  output_.clear();
  while (const auto frame = reader.next()) output_ += frame->bytes;
}

template <class Condition>
bool KeptRun::wait_until(std::chrono::milliseconds most, Condition is_met) {
  const auto end = Clock::now() + most;
  while (!is_met()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0 || has_exited_) return is_met();
    pollfd ready{socket_.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(left.count())) > 0) receive();
  }
  return true;
}

std::optional<keeper::Prompt> KeptRun::wait_for_prompt(std::chrono::milliseconds most) {
  if (!wait_until(most, [&] { return !prompts_.empty(); })) return std::nullopt;
  const keeper::Prompt prompt = prompts_.front();
  prompts_.pop_front();
  return prompt;
}

bool KeptRun::wait_for_over(std::uint32_t serial) {
  return wait_until(std::chrono::seconds(20), [&] { return over_.contains(serial); });
}

bool KeptRun::wait_for_output(std::string_view text) {
  return wait_until(std::chrono::seconds(20), [&] { return output_.find(text) != std::string::npos; });
}

std::optional<keeper::ExitRecord> KeptRun::wait_for_exit() {
  wait_until(std::chrono::seconds(30), [&] { return has_exited_; });
  read_output();
  const fs::path record = fs::path(attempt_) / keeper::exit_name;
  return fs::exists(record) ? keeper::decode_exit(read_text(record)) : std::nullopt;
}

std::optional<bool> KeptRun::answer(std::uint64_t number, std::uint32_t serial, std::string_view bytes) {
  send(keeper::Answer{.number = number, .serial = serial, .bytes = std::string(bytes)});
  if (!wait_until(std::chrono::seconds(20), [&] { return !taken_.empty(); })) return std::nullopt;
  const keeper::AnswerTaken taken = taken_.front();
  taken_.pop_front();
  EXPECT_EQ(taken.number, number);
  return taken.is_taken;
}

std::optional<keeper::InputLineTaken::Outcome> KeptRun::send_line(const keeper::InputLine& line) {
  send(line);
  if (!wait_until(std::chrono::seconds(20), [&] { return !lines_.empty(); })) return std::nullopt;
  const keeper::InputLineTaken taken = lines_.front();
  lines_.pop_front();
  EXPECT_EQ(taken.ticket, line.ticket);
  return taken.outcome;
}

bool KeptRun::reconnect() {
  prompts_.clear();
  auto socket = os::connect_to(endpoints_ + "/" + endpoint_ + ".sock", os::SocketKind::packets);
  if (!socket) return false;
  socket_ = std::move(*socket);
  return true;
}

}  // namespace reeve::testing
