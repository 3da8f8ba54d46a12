#include "runtime/runs/attempt_keeper.h"

#include <utility>

namespace reeve::runtime {

namespace {

// A keeper says what it can do as soon as it is connected.
constexpr auto keeper_timeout = std::chrono::seconds(2);

}  // namespace

void AttemptKeeper::begin(Loop::Own<KeeperLink> link, Events events) {
  events_ = std::move(events);
  link_ = std::move(link);
  link_->set_events(link_events());
  // From the same installation as this daemon.
  abilities_ = keeper::Abilities{.can_freeze = true};
  takes_lines_ = true;
  awaits_go_ = true;
}

void AttemptKeeper::adopt(os::Fd socket, Events events) {
  events_ = std::move(events);
  link_ = loop_.make<KeeperLink>(loop_, std::move(socket), link_events());
  connected_at_ = loop_.now();
}

KeeperLink::Events AttemptKeeper::link_events() {
  return {.message = [this](const keeper::FromKeeper& message) { on_message(message); },
          .gone =
              [this] {
                // A copy, because the handler may destroy this object.
                const auto gone = events_.gone;
                gone();
              }};
}

void AttemptKeeper::on_message(const keeper::FromKeeper& message) {
  if (const auto* started = std::get_if<keeper::Started>(&message)) {
    tool_pid_ = static_cast<pid_t>(started->pid);
  } else if (const auto* abilities = std::get_if<keeper::Abilities>(&message)) {
    on_abilities(*abilities);
  } else if (std::holds_alternative<keeper::TakesInputLines>(message)) {
    takes_lines_ = true;
    send_next_line();
  } else if (const auto* line = std::get_if<keeper::InputLineTaken>(&message)) {
    on_line_taken(*line);
  } else if (const auto* input = std::get_if<keeper::InputTaken>(&message)) {
    inputs_.confirm(input->ticket, input->is_taken);
  } else {
    const auto handle = events_.message;
    handle(message);
  }
}

void AttemptKeeper::send(const keeper::ToKeeper& message) {
  if (link_) link_->send(message);
}

void AttemptKeeper::go() {
  awaits_go_ = false;
  send(keeper::Go{});
}

bool AttemptKeeper::drop_unstarted() {
  if (!awaits_go_) return false;
  link_ = {};
  return true;
}

void AttemptKeeper::close() {
  const std::weak_ptr alive(alive_);
  inputs_.refuse_all();
  if (!alive.expired()) lines_.close();
}

AttemptKeeper::Freezing AttemptKeeper::freezing() const {
  if (abilities_) return abilities_->can_freeze ? Freezing::possible : Freezing::impossible;
  return loop_.now() - connected_at_ < keeper_timeout ? Freezing::unknown : Freezing::impossible;
}

void AttemptKeeper::on_abilities(const keeper::Abilities& abilities) {
  abilities_ = abilities;
  if (const auto freeze = std::exchange(unsent_freeze_, std::nullopt)) send_freeze(*freeze);
}

void AttemptKeeper::freeze() {
  if (!awaits_go_) send_freeze(true);
}

bool AttemptKeeper::thaw() {
  if (awaits_go_) {
    go();
    return true;
  }
  send_freeze(false);
  return false;
}

void AttemptKeeper::send_freeze(bool is_frozen) {
  if (!abilities_) {
    unsent_freeze_ = is_frozen;
  } else if (abilities_->can_freeze && is_frozen) {
    send(keeper::Freeze{});
  } else if (abilities_->can_freeze) {
    send(keeper::Thaw{});
  }
}

void AttemptKeeper::send_input(std::string bytes, std::function<void(bool)> done) {
  if (!link_ || bytes.size() > keeper::input_bytes) return done(false);
  // Kept for the refusal: add() takes it only with a ticket.
  auto shared = std::make_shared<std::function<void(bool)>>(std::move(done));
  const auto ticket = inputs_.add([shared](bool is_taken) { (*shared)(is_taken); });
  if (!ticket) return (*shared)(false);
  send(keeper::Input{*ticket, std::move(bytes)});
}

void AttemptKeeper::send_line(std::string line, ToolLines::Done done) {
  if (!link_) return done(false);
  const std::weak_ptr alive(alive_);
  lines_.add(std::move(line), std::move(done));
  if (!alive.expired()) send_next_line();
}

void AttemptKeeper::send_next_line() {
  // Until the keeper has said that it takes lines, the line waits.
  if (!takes_lines_ || !link_) return;
  for (keeper::InputLine& part : lines_.take_next()) send(std::move(part));
}

void AttemptKeeper::on_line_taken(const keeper::InputLineTaken& taken) {
  const std::weak_ptr alive(alive_);
  const auto pause = lines_.on_taken(taken);
  if (alive.expired()) return;
  if (!pause) return send_next_line();
  line_retry_ = loop_.at(loop_.now() + *pause, [this] { send_next_line(); });
}

}  // namespace reeve::runtime
