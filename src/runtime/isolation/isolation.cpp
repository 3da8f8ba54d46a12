#include "runtime/isolation/isolation.h"

#include "runtime/isolation/isolation_core.h"

namespace reeve::runtime {

using base::Error;

Isolation::Isolation(RuntimeContext& context)
    : core_(std::make_unique<Core>(context, Core::Branches::local)),
      shared_(std::make_unique<Core>(context, Core::Branches::shared)) {}
Isolation::~Isolation() = default;

void Isolation::survey(std::string project, std::optional<RemoteOptions> remote, Answer<Survey> answer) {
  Core& core = remote ? *shared_ : *core_;
  core.ask<Survey>(
      [project = std::move(project), remote = std::move(remote)](IsolationSteps& steps) {
        Survey survey = steps.survey(project);
        if (survey.base_commit && remote) steps.check_remote(project, *remote);
        return survey;
      },
      std::move(answer));
}

void Isolation::share(const IsolationSettings& settings, base::ExecutionId root) {
  shared_->ask<void>(
      [this, settings, root](IsolationSteps& steps) {
        shared_->try_to(root.text() + " is not pushed yet", [&] { steps.share(settings, root); });
      },
      [](const std::expected<void, Error>&) {});
}

void Isolation::migrate(const IsolationSettings& settings, base::ExecutionId root, Answer<std::string> answer) {
  shared_->ask<std::string>([settings, root](IsolationSteps& steps) { return steps.migrate(settings, root); },
                            std::move(answer));
}

void Isolation::prepare(const IsolationSettings& settings, NodeAttemptId place, Answer<std::string> answer) {
  if (!settings.base_commit) return core_of(settings).post([answer, project = settings.project] { answer(project); });
  core_of(settings).prepare(settings, place, std::move(answer));
}

void Isolation::collect(const IsolationSettings& settings, NodeAttemptId place, Answer<Collected> answer) {
  if (!settings.base_commit) return core_of(settings).post([answer] { answer(Collected{}); });
  core_of(settings).ask<Collected>(
      [settings, place = std::move(place)](IsolationSteps& steps) { return steps.collect(settings, place); },
      std::move(answer));
}

void Isolation::checkout(const IsolationSettings& settings, NodeAttemptId place, std::optional<std::string> commit,
                         std::string name, Answer<Checkout> answer) {
  if (!settings.base_commit) {
    return core_of(settings).post(
        [answer, project = settings.project] { answer(Checkout{.folder = project, .commit = {}, .tree = {}}); });
  }
  const auto begin = [settings, place, commit = std::move(commit), name = std::move(name)](IsolationSteps& steps) {
    return steps.begin_checkout(settings, place, commit, name);
  };
  Core& core = core_of(settings);
  const Answer<Checkout> bound = core.bind(std::move(answer));
  core.work_on<Checkout>(place, [&core, place, begin, bound] { core.checkout(place, begin, bound); }, bound);
}

void Isolation::check_out_merge(const IsolationSettings& settings, const GateCheck& check, std::string gate,
                                Answer<Checkout> answer) {
  const NodeAttemptId place{
      .root = check.root, .execution = check.root, .node = check.name, .iteration = 0, .attempt = 0, .worktree_id = {}};
  const auto begin = [settings, check, gate = std::move(gate)](IsolationSteps& steps) {
    return steps.begin_merge_checkout(settings, check, gate);
  };
  Core& core = core_of(settings);
  const Answer<Checkout> bound = core.bind(std::move(answer));
  core.work_on<Checkout>(place, [&core, place, begin, bound] { core.checkout(place, begin, bound); }, bound);
}

void Isolation::renew_checkout(const IsolationSettings& settings, base::ExecutionId root, const Checkout& checkout,
                               Answer<Checkout> answer) {
  const NodeAttemptId place{
      .root = root, .execution = root, .node = checkout.folder, .iteration = 0, .attempt = 0, .worktree_id = {}};
  const auto begin = [settings, root, checkout](IsolationSteps& steps) {
    return steps.begin_renewal(settings, root, checkout);
  };
  Core& core = core_of(settings);
  const Answer<Checkout> bound = core.bind(std::move(answer));
  core.work_on<Checkout>(place, [&core, place, begin, bound] { core.checkout(place, begin, bound); }, bound);
}

void Isolation::set_back(const IsolationSettings& settings, NodeAttemptId place, Answer<void> answer) {
  if (!settings.base_commit) return core_of(settings).post([answer] { answer({}); });
  core_of(settings).ask<void>(
      [settings, place = std::move(place)](IsolationSteps& steps) { steps.set_back(settings, place); },
      std::move(answer));
}

void Isolation::set_gates(GateHooks hooks) {
  core_->gates_ = hooks;
  shared_->gates_ = std::move(hooks);
}

void Isolation::discard(const IsolationSettings& settings, std::string folder) {
  if (!settings.base_commit) return;
  core_of(settings).ask<void>(
      [core = &core_of(settings), settings, folder = std::move(folder)](IsolationSteps& steps) {
        core->try_to("cannot remove the checkout of a gate", [&] { steps.discard(settings, folder); });
      },
      [](const std::expected<void, Error>&) {});
}

void Isolation::accept(const IsolationSettings& settings, NodeAttemptId place, Answer<Accepted> answer) {
  if (!settings.base_commit) return core_of(settings).post([answer] { answer(Accepted{}); });
  core_of(settings).ask<Accepted>(
      [core = &core_of(settings), settings, place = std::move(place)](IsolationSteps& steps) {
        Accepted accepted = steps.accept(settings, place);
        core->serve_waiting(place.root);
        return accepted;
      },
      std::move(answer));
}

void Isolation::reject(const IsolationSettings& settings, NodeAttemptId place, model::PatchState state,
                       std::string reason, Answer<void> answer) {
  if (!settings.base_commit) return core_of(settings).post([answer] { answer({}); });
  core_of(settings).leave(place, std::move(answer),
                          [settings, place, state, reason = std::move(reason)](IsolationSteps& steps) {
                            steps.reject(settings, place, state, reason);
                          });
}

void Isolation::withdraw(const IsolationSettings& settings, NodeAttemptId place, std::string reason,
                         Answer<void> answer) {
  if (!settings.base_commit) return core_of(settings).post([answer] { answer({}); });
  core_of(settings).leave(place, std::move(answer),
                          [settings, place, reason = std::move(reason)](IsolationSteps& steps) {
                            steps.withdraw(settings, place, reason);
                          });
}

void Isolation::apply(const IsolationSettings& settings, base::ExecutionId root, model::ApplyWhen mode,
                      Answer<Applied> answer) {
  if (!settings.base_commit) return core_of(settings).post([answer] { answer(Applied{}); });
  Core& core = core_of(settings);
  const Answer<Applied> bound = core.bind(std::move(answer));
  core.submit([&core, root, mode, bound] { core.apply(root, mode, bound); },
              [bound](Error error) { bound(std::unexpected(std::move(error))); });
}

void Isolation::close(const IsolationSettings& settings, base::ExecutionId root, std::function<void(bool)> done) {
  if (!settings.base_commit) return core_of(settings).post([done = std::move(done)] { done(true); });
  Core& core = core_of(settings);
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
        core.forget_settings(done.root_id);
        return done;
      },
      answer);
}

}  // namespace reeve::runtime
