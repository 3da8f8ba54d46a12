#include "runtime/isolation/worktree_requests.h"

#include <utility>

#include <fmt/format.h>

#include "runtime/isolation/attempt.h"

namespace reeve::runtime {

using base::Error;
using base::ErrorCode;

void WorktreeRequests::prepare(Request request) {
  const NodeAttemptId place = request.place;
  setups_.when_free(place, [this, request = std::move(request)] { prepare_now(request); });
}

void WorktreeRequests::prepare_now(const Request& request) {
  const auto prepared = attempt([&] { return nodes_.begin_prepare(request.settings, request.place); });
  if (!prepared) return request.answer(std::unexpected(prepared.error()));
  if (!*prepared) return waiting_.push_back(request);
  if (!(*prepared)->setup) return request.answer((*prepared)->folder);
  set_up<std::string>(request.place, *(*prepared)->setup, request.answer,
                      [this, request] { return nodes_.finish_prepare(request.settings, request.place); });
}

void WorktreeRequests::checkout(const NodeAttemptId& place, const std::function<PreparedFolder()>& begin,
                                const Answer<Isolation::Checkout>& answer) {
  const auto prepared = attempt(begin);
  if (!prepared) return answer(std::unexpected(prepared.error()));
  const Isolation::Checkout made{.folder = prepared->folder, .commit = prepared->commit, .tree = prepared->tree};
  if (!prepared->setup) return answer(made);
  set_up<Isolation::Checkout>(place, *prepared->setup, answer, [made] { return made; });
}

template <class T>
void WorktreeRequests::set_up(const NodeAttemptId& place, const SetupPlan& plan, const Answer<T>& answer,
                              std::function<T()> finish) {
  setups_.begin(place, plan, [answer, finish = std::move(finish)](std::optional<Error> failure) {
    if (failure) return answer(std::unexpected(std::move(*failure)));
    answer(attempt(finish));
  });
}

void WorktreeRequests::on_released(base::ExecutionId root) {
  std::deque<Request> waiting = std::exchange(waiting_, {});
  for (Request& request : waiting) {
    if (request.place.root == root) {
      prepare(std::move(request));
    } else {
      waiting_.push_back(std::move(request));
    }
  }
}

void WorktreeRequests::remove(const NodeAttemptId& place) {
  std::erase_if(waiting_, [&place](const Request& request) { return request.place == place; });
}

void WorktreeRequests::refuse_all(base::ExecutionId root) {
  for (const Request& request : waiting_) {
    if (request.place.root != root) continue;
    request.answer(std::unexpected(Error(ErrorCode::execution_over, fmt::format("{} has ended", root.text()))));
  }
  std::erase_if(waiting_, [root](const Request& request) { return request.place.root == root; });
}

}  // namespace reeve::runtime
