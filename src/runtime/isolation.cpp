#include "runtime/isolation.h"

#include "runtime/isolation_core.h"

namespace reeve::runtime {

using base::Error;

Isolation::Isolation(Surroundings& around)
    : core_(std::make_unique<Core>(around, Core::Branches::local)),
      shared_(std::make_unique<Core>(around, Core::Branches::shared)) {}
Isolation::~Isolation() = default;

void Isolation::survey(std::string project, std::optional<RemoteWish> remote, Answer<Survey> answer) {
  Core& core = remote ? *shared_ : *core_;
  core.ask<Survey>(
      [project = std::move(project), remote = std::move(remote)](IsolationSteps& steps) {
        Survey survey = steps.survey(project);
        if (survey.base_commit && remote) steps.check_remote(project, *remote);
        return survey;
      },
      std::move(answer));
}

void Isolation::share(const IsolationGround& ground, base::ExecutionId root) {
  shared_->ask<void>(
      [this, ground, root](IsolationSteps& steps) {
        shared_->try_to(root.text() + " is not pushed yet", [&] { steps.share(ground, root); });
      },
      [](const std::expected<void, Error>&) {});
}

void Isolation::visit(const IsolationGround& ground, base::ExecutionId root, Answer<std::string> answer) {
  shared_->ask<std::string>([ground, root](IsolationSteps& steps) { return steps.visit(ground, root); },
                            std::move(answer));
}

void Isolation::prepare(const IsolationGround& ground, NodePlace place, Answer<std::string> answer) {
  if (!ground.base_commit) return core_of(ground).post([answer, project = ground.project] { answer(project); });
  core_of(ground).prepare(ground, place, std::move(answer));
}

void Isolation::collect(const IsolationGround& ground, NodePlace place, Answer<Collected> answer) {
  if (!ground.base_commit) return core_of(ground).post([answer] { answer(Collected{}); });
  core_of(ground).ask<Collected>(
      [ground, place = std::move(place)](IsolationSteps& steps) { return steps.collect(ground, place); },
      std::move(answer));
}

void Isolation::checkout(const IsolationGround& ground, NodePlace place, std::optional<std::string> commit,
                         std::string name, Answer<Checkout> answer) {
  if (!ground.base_commit) {
    return core_of(ground).post(
        [answer, project = ground.project] { answer(Checkout{.folder = project, .commit = {}, .tree = {}}); });
  }
  const auto begin = [ground, place, commit = std::move(commit), name = std::move(name)](IsolationSteps& steps) {
    return steps.begin_checkout(ground, place, commit, name);
  };
  Core& core = core_of(ground);
  const Answer<Checkout> bound = core.bind(std::move(answer));
  core.work_on<Checkout>(place, [&core, place, begin, bound] { core.checkout(place, begin, bound); }, bound);
}

void Isolation::check_out_merge(const IsolationGround& ground, const GateCheck& check, std::string gate,
                                Answer<Checkout> answer) {
  const NodePlace place{
      .root = check.root, .execution = check.root, .node = check.name, .iteration = 0, .attempt = 0, .worktree_id = {}};
  const auto begin = [ground, check, gate = std::move(gate)](IsolationSteps& steps) {
    return steps.begin_merge_checkout(ground, check, gate);
  };
  Core& core = core_of(ground);
  const Answer<Checkout> bound = core.bind(std::move(answer));
  core.work_on<Checkout>(place, [&core, place, begin, bound] { core.checkout(place, begin, bound); }, bound);
}

void Isolation::renew_checkout(const IsolationGround& ground, base::ExecutionId root, const Checkout& checkout,
                               Answer<Checkout> answer) {
  const NodePlace place{
      .root = root, .execution = root, .node = checkout.folder, .iteration = 0, .attempt = 0, .worktree_id = {}};
  const auto begin = [ground, root, checkout](IsolationSteps& steps) {
    return steps.begin_renewal(ground, root, checkout);
  };
  Core& core = core_of(ground);
  const Answer<Checkout> bound = core.bind(std::move(answer));
  core.work_on<Checkout>(place, [&core, place, begin, bound] { core.checkout(place, begin, bound); }, bound);
}

void Isolation::set_back(const IsolationGround& ground, NodePlace place, Answer<void> answer) {
  if (!ground.base_commit) return core_of(ground).post([answer] { answer({}); });
  core_of(ground).ask<void>(
      [ground, place = std::move(place)](IsolationSteps& steps) { steps.set_back(ground, place); }, std::move(answer));
}

void Isolation::set_gates(GateHooks hooks) {
  core_->gates_ = hooks;
  shared_->gates_ = std::move(hooks);
}

void Isolation::discard(const IsolationGround& ground, std::string folder) {
  if (!ground.base_commit) return;
  core_of(ground).ask<void>(
      [core = &core_of(ground), ground, folder = std::move(folder)](IsolationSteps& steps) {
        core->try_to("a checkout of a gate stays", [&] { steps.discard(ground, folder); });
      },
      [](const std::expected<void, Error>&) {});
}

void Isolation::accept(const IsolationGround& ground, NodePlace place, Answer<Accepted> answer) {
  if (!ground.base_commit) return core_of(ground).post([answer] { answer(Accepted{}); });
  core_of(ground).ask<Accepted>(
      [core = &core_of(ground), ground, place = std::move(place)](IsolationSteps& steps) {
        Accepted accepted = steps.accept(ground, place);
        core->serve_waiting(place.root);
        return accepted;
      },
      std::move(answer));
}

void Isolation::reject(const IsolationGround& ground, NodePlace place, model::PatchState state, std::string reason,
                       Answer<void> answer) {
  if (!ground.base_commit) return core_of(ground).post([answer] { answer({}); });
  core_of(ground).leave(place, std::move(answer),
                        [ground, place, state, reason = std::move(reason)](IsolationSteps& steps) {
                          steps.reject(ground, place, state, reason);
                        });
}

void Isolation::withdraw(const IsolationGround& ground, NodePlace place, std::string reason, Answer<void> answer) {
  if (!ground.base_commit) return core_of(ground).post([answer] { answer({}); });
  core_of(ground).leave(place, std::move(answer), [ground, place, reason = std::move(reason)](IsolationSteps& steps) {
    steps.withdraw(ground, place, reason);
  });
}

void Isolation::apply(const IsolationGround& ground, base::ExecutionId root, model::ApplyWhen mode,
                      Answer<Applied> answer) {
  if (!ground.base_commit) return core_of(ground).post([answer] { answer(Applied{}); });
  Core& core = core_of(ground);
  const Answer<Applied> bound = core.bind(std::move(answer));
  core.submit([&core, root, mode, bound] { core.apply(root, mode, bound); },
              [bound](Error error) { bound(std::unexpected(std::move(error))); });
}

void Isolation::close(const IsolationGround& ground, base::ExecutionId root, std::function<void(bool)> done) {
  if (!ground.base_commit) return core_of(ground).post([done = std::move(done)] { done(true); });
  Core& core = core_of(ground);
  const Answer<bool> answer = core.bind<bool>(
      [done = std::move(done)](const std::expected<bool, Error>& is_done) { done(is_done.value_or(false)); });
  core.submit([&core, root, answer] { core.close(root, answer); },
              [answer](Error error) { answer(std::unexpected(std::move(error))); });
}

void Isolation::begin(std::set<base::ExecutionId> alive, std::function<void()> done) {
  const auto left = std::make_shared<int>(2);
  for (Core* core : {core_.get(), shared_.get()}) {
    core->ask<void>([core, alive](IsolationSteps&) { core->begin(alive); },
                    [left, done](const std::expected<void, Error>&) {
                      if (--*left == 0) done();
                    });
  }
}

bool Isolation::is_busy() const noexcept { return core_->is_busy() || shared_->is_busy(); }
void Isolation::apply_granted() {
  core_->apply_granted();
  shared_->apply_granted();
}
void Isolation::set_asked(std::function<void(const model::Approval&)> asked) {
  core_->asked_ = asked;
  shared_->asked_ = std::move(asked);
}

void Isolation::act(base::PatchId patch, PatchAction action, std::string by, Answer<model::Patch> answer) {
  core_->ask<bool>([patch](IsolationSteps& steps) { return steps.is_of_shared(patch); },
                   [this, patch, action, by = std::move(by), answer](const std::expected<bool, Error>& is_shared) {
                     if (!is_shared) return answer(std::unexpected(is_shared.error()));
                     act_in(*is_shared ? *shared_ : *core_, patch, action, by, answer);
                   });
}

void Isolation::act_in(Core& core, base::PatchId patch, PatchAction action, const std::string& by,
                       const Answer<model::Patch>& answer) {
  if (action == PatchAction::apply) {
    const Answer<model::Patch> bound = core.bind(answer);
    return core.submit([&core, patch, by, bound] { core.apply_patch(patch, by, bound); },
                       [bound](Error error) { bound(std::unexpected(std::move(error))); });
  }
  core.ask<model::Patch>(
      [&core, patch, action, by](IsolationSteps& steps) {
        const model::Patch done = steps.act(patch, action, by);
        core.forget_ground(done.root_id);
        return done;
      },
      answer);
}

}  // namespace reeve::runtime
