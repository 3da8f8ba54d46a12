#include "runtime/isolation.h"

#include "runtime/isolation_core.h"

namespace reeve::runtime {

using base::Error;

Isolation::Isolation(Surroundings& around) : core_(std::make_unique<Core>(around)) {}
Isolation::~Isolation() = default;

void Isolation::survey(std::string project, Answer<Survey> answer) {
  core_->ask<Survey>([project = std::move(project)](IsolationSteps& steps) { return steps.survey(project); },
                     std::move(answer));
}

void Isolation::prepare(const IsolationGround& ground, NodePlace place, Answer<std::string> answer) {
  if (!ground.base_commit) return core_->post([answer, project = ground.project] { answer(project); });
  core_->prepare(ground, place, std::move(answer));
}

void Isolation::collect(const IsolationGround& ground, NodePlace place, Answer<Collected> answer) {
  if (!ground.base_commit) return core_->post([answer] { answer(Collected{}); });
  core_->ask<Collected>(
      [ground, place = std::move(place)](IsolationSteps& steps) { return steps.collect(ground, place); },
      std::move(answer));
}

void Isolation::checkout(const IsolationGround& ground, NodePlace place, std::optional<std::string> commit,
                         std::string name, Answer<std::string> answer) {
  if (!ground.base_commit) return core_->post([answer, project = ground.project] { answer(project); });
  core_->work_on<std::string>(
      place,
      [core = core_.get(), ground, place, commit = std::move(commit), name = std::move(name), answer] {
        core->checkout(ground, place, commit, name, answer);
      },
      answer);
}

void Isolation::discard(const IsolationGround& ground, std::string folder) {
  if (!ground.base_commit) return;
  core_->ask<void>(
      [this, ground, folder = std::move(folder)](IsolationSteps& steps) {
        core_->try_to("a checkout of a gate stays", [&] { steps.discard(ground, folder); });
      },
      [](const std::expected<void, Error>&) {});
}

void Isolation::accept(const IsolationGround& ground, NodePlace place, Answer<Accepted> answer) {
  if (!ground.base_commit) return core_->post([answer] { answer(Accepted{}); });
  core_->ask<Accepted>(
      [this, ground, place = std::move(place)](IsolationSteps& steps) {
        Accepted accepted = steps.accept(ground, place);
        core_->serve_waiting(place.root);
        return accepted;
      },
      std::move(answer));
}

void Isolation::reject(const IsolationGround& ground, NodePlace place, model::PatchState state, std::string reason,
                       Answer<void> answer) {
  if (!ground.base_commit) return core_->post([answer] { answer({}); });
  core_->leave(place, answer, [ground, place, state, reason = std::move(reason)](IsolationSteps& steps) {
    steps.reject(ground, place, state, reason);
  });
}

void Isolation::withdraw(const IsolationGround& ground, NodePlace place, std::string reason, Answer<void> answer) {
  if (!ground.base_commit) return core_->post([answer] { answer({}); });
  core_->leave(place, answer, [ground, place, reason = std::move(reason)](IsolationSteps& steps) {
    steps.withdraw(ground, place, reason);
  });
}

void Isolation::apply(const IsolationGround& ground, base::ExecutionId root, model::ApplyWhen mode,
                      Answer<Applied> answer) {
  if (!ground.base_commit) return core_->post([answer] { answer(Applied{}); });
  core_->ask<Applied>([this, root, mode](IsolationSteps&) { return core_->apply(root, mode); }, std::move(answer));
}

void Isolation::close(const IsolationGround& ground, base::ExecutionId root, std::function<void(bool)> done) {
  if (!ground.base_commit) return core_->post([done = std::move(done)] { done(true); });
  const Answer<bool> answer = [done = std::move(done)](const std::expected<bool, Error>& is_done) {
    done(is_done.value_or(false));
  };
  core_->submit([core = core_.get(), root, answer] { core->close(root, answer); },
                [answer](Error error) { answer(std::unexpected(std::move(error))); });
}

void Isolation::begin(std::set<base::ExecutionId> alive, std::function<void()> done) {
  core_->ask<void>(
      [this, alive = std::move(alive)](IsolationSteps& steps) {
        core_->try_to("what was approved cannot be applied", [&] {
          steps.recover_checkouts();
          for (const base::PatchId id : steps.find_queued_patches()) {
            core_->try_to(id.text() + " cannot be applied",
                          [&] { steps.act(id, PatchAction::apply, "Reeve, after a restart"); });
          }
          for (const base::ExecutionId root : steps.find_queued()) core_->try_granted(root);
          for (const base::ExecutionId root : steps.find_granted()) core_->try_granted(root);
        });
        core_->try_to("what executions left behind stays", [&] {
          for (const base::ExecutionId root : steps.find_left()) {
            if (alive.contains(root) || !core_->setups().is_free(root)) continue;
            core_->try_to(root.text() + " leaves its worktrees", [&] { steps.close(root); });
          }
        });
      },
      [done = std::move(done)](const std::expected<void, Error>&) { done(); });
}

bool Isolation::is_busy() const noexcept { return core_->is_busy(); }
void Isolation::apply_granted() { core_->apply_granted(); }
void Isolation::set_asked(std::function<void(const model::Approval&)> asked) { core_->asked_ = std::move(asked); }

void Isolation::act(base::PatchId patch, PatchAction action, std::string by, Answer<model::Patch> answer) {
  core_->ask<model::Patch>(
      [patch, action, by = std::move(by)](IsolationSteps& steps) { return steps.act(patch, action, by); },
      std::move(answer));
}

}  // namespace reeve::runtime
