#include "runtime/isolation.h"

namespace reeve::runtime {
class Isolation::Core {};
Isolation::Isolation(Surroundings&) {}
Isolation::~Isolation() = default;
void Isolation::survey(std::string, Answer<Survey> a) { a(Survey{}); }
void Isolation::prepare(const IsolationGround& g, NodePlace, Answer<std::string> a) { a(g.project); }
void Isolation::collect(const IsolationGround&, NodePlace, Answer<Collected> a) { a(Collected{}); }
void Isolation::checkout(const IsolationGround& g, NodePlace, std::optional<std::string>, std::string,
                         Answer<std::string> a) {
  a(g.project);
}
void Isolation::discard(const IsolationGround&, std::string) {}
void Isolation::accept(const IsolationGround&, NodePlace, Answer<Accepted> a) { a(Accepted{}); }
void Isolation::reject(const IsolationGround&, NodePlace, model::PatchState, std::string, Answer<void> a) { a({}); }
void Isolation::apply(const IsolationGround&, base::ExecutionId, model::ApplyWhen, Answer<Applied> a) { a(Applied{}); }
void Isolation::close(const IsolationGround&, base::ExecutionId, std::function<void()> d) { d(); }
void Isolation::begin(std::string, std::set<base::ExecutionId>, std::function<void()> d) { d(); }
}  // namespace reeve::runtime
