#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <numeric>

#include <fmt/format.h>

#include "bench/raw_commits.h"
#include "ledger/leases.h"
#include "ledger/ledger.h"
#include "ledger/runs.h"
#include "ledger/units.h"
#include "spec/workflow_file.h"
#include "tests/support/store/flows.h"

// The durable core, compared with its floor: raw commits of the same rows, one by one, through the database's C API.
// Floor and Reeve alternate, medians of five rounds. Every step is durable before the next begins.
//   reeve_store_bench [sqlite|postgresql URL]
namespace reeve::bench {
namespace {

using namespace ledger;
using std::chrono::steady_clock;
constexpr int rounds = 5;

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Runs executions of empty steps to their end: each step is started by the commit of the previous one and takes the
// same path as a real step.
class NoOpWorker {
 public:
  NoOpWorker(Ledger& ledger, const WorkerCapacity& worker) : ledger_(ledger), worker_(worker) {}

  // Returns the number of completed steps.
  int run(const std::vector<NewExecution>& wanted) {
    left_ = static_cast<int>(wanted.size());
    steps_ = 0;
    for (const NewExecution& execution : wanted) start(execution);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return left_ == 0; });
    return steps_;
  }

 private:
  class Start final : public Unit {
   public:
    Start(NoOpWorker& owner, const NewExecution& wanted) : owner_(owner), wanted_(wanted) {}
    void run(Transaction& transaction) override {
      result_ = {};
      owner_.ledger_.executions().start(transaction, wanted_, owner_.worker_, result_);
    }
    void finish(const std::optional<base::Error>& error) override { owner_.take(error, result_); }

   private:
    NoOpWorker& owner_;
    const NewExecution& wanted_;
    StepResult result_;
  };

  void start(const NewExecution& execution) {
    if (!ledger_.submit(std::make_unique<Start>(*this, execution))) std::abort();
  }

  void take(const std::optional<base::Error>& error, StepResult& result) {
    if (error || result.is_stale) {
      std::fprintf(stderr, "a step failed: %s\n", error ? error->what() : "stale");
      std::abort();
    }
    for (Work& work : result.work) {
      auto* begun = std::get_if<StartWork>(&work);
      if (begun == nullptr) continue;
      ++running_[begun->claim.execution.number()];
      const Claim claim = begun->claim;
      base::Value outputs = base::Value::object();
      outputs.set("status", base::Value::string("completed"));
      auto unit =
          make_conclude(ledger_.executions(), worker_, claim, engine::NodeFinished{claim.node, std::move(outputs)},
                        [this, claim](const std::optional<base::Error>& failure, StepResult& next) {
                          ++steps_;
                          take(failure, next);
                          end_one(claim.execution.number());
                        });
      if (!ledger_.submit(std::move(unit))) std::abort();
    }
  }

  // On the store thread: an execution has ended when none of its steps is running.
  void end_one(std::int64_t execution) {
    if (--running_[execution] > 0) return;
    running_.erase(execution);
    const std::lock_guard lock(mutex_);
    if (--left_ == 0) done_.notify_all();
  }

  Ledger& ledger_;
  const WorkerCapacity& worker_;
  std::map<std::int64_t, int> running_;
  std::mutex mutex_;
  std::condition_variable done_;
  int left_ = 0;
  std::atomic<int> steps_ = 0;
};

// Keeps a constant number of units pending: each committed unit submits the next.
class UnitStream {
 public:
  UnitStream(Ledger& ledger, int total) : ledger_(ledger), left_(total), to_submit_(total) {}

  double per_second(int waiting) {
    const double total = left_;
    const auto start = steady_clock::now();
    {
      const std::lock_guard lock(mutex_);
      for (int i = 0; i < waiting; ++i) submit();
    }
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return left_ == 0; });
    return total / seconds_since(start);
  }

 private:
  class CreateRun final : public Unit {
   public:
    explicit CreateRun(UnitStream& stream) : stream_(stream) {}
    void run(Transaction& transaction) override { create_run(transaction, {.tool_name = "t", .cwd = "/"}); }
    void finish(const std::optional<base::Error>& error) override {
      if (error) std::abort();
      const std::lock_guard lock(stream_.mutex_);
      stream_.submit();
      if (--stream_.left_ == 0) stream_.done_.notify_all();
    }

   private:
    UnitStream& stream_;
  };

  void submit() {
    if (to_submit_ == 0) return;
    --to_submit_;
    if (!ledger_.submit(std::make_unique<CreateRun>(*this))) std::abort();
  }

  Ledger& ledger_;
  int left_;
  int to_submit_;
  std::mutex mutex_;
  std::condition_variable done_;
};

double units_per_second(Ledger& ledger, int total, int waiting) {
  return UnitStream(ledger, total).per_second(waiting);
}

double raw_per_second(RawCommits& raw, int total) {
  const auto start = steady_clock::now();
  for (int i = 0; i < total; ++i) raw.commit_one();
  return total / seconds_since(start);
}

void row(const std::string& what, const std::string& figure, const std::string& beside) {
  fmt::print("{:<46} {:>16}   {}\n", what, figure, beside);
  std::fflush(stdout);
}

void measure(const store::Place& place, const std::function<std::unique_ptr<RawCommits>()>& open_raw) {
  const base::SystemClock clock;
  auto session = store::open_writer(place, clock);
  session->begin();
  Transaction transaction(*session);
  const WorkerCapacity worker{register_daemon(transaction, {"host", "boot"}, std::chrono::hours(1)), 1'000'000};
  session->commit();
  Ledger ledger(std::move(session), {.worker = worker});
  const auto raw = open_raw();
  NoOpWorker steps(ledger, worker);

  const NewExecution chain = testing::make_execution(testing::make_chain(1'000));
  const std::vector<NewExecution> chains(100, testing::make_execution(testing::make_chain(20)));
  const NewExecution fan = testing::make_execution(testing::make_fan(100));
  std::map<std::string, std::vector<double>> figures;
  const auto per_second = [&](const std::vector<NewExecution>& wanted) {
    const auto start = steady_clock::now();
    const int done = steps.run(wanted);
    return done / seconds_since(start);
  };
  units_per_second(ledger, 200, 10);
  for (int round = 0; round < rounds; ++round) {
    figures["raw"].push_back(raw_per_second(*raw, 300));
    figures["single"].push_back(units_per_second(ledger, 300, 1));
    figures["raw"].push_back(raw_per_second(*raw, 300));
    figures["hundred"].push_back(units_per_second(ledger, 5'000, 100));
    figures["chain"].push_back(per_second({chain}));
    figures["chains"].push_back(per_second(chains));
    const auto start = steady_clock::now();
    steps.run({fan});
    figures["fan"].push_back(seconds_since(start) * 1'000);
  }
  const double floor = median(figures["raw"]);
  row("raw commits, one by one", fmt::format("{:.0f}/s", floor), "floor");
  row("single durable units", fmt::format("{:.0f}/s", median(figures["single"])),
      fmt::format("{:.2f} x the floor's time; goal at most 1.5", floor / median(figures["single"])));
  row("units, 100 pending", fmt::format("{:.0f}/s", median(figures["hundred"])),
      fmt::format("{:.1f} x the floor; goal 15", median(figures["hundred"]) / floor));
  const bool is_sqlite = place.kind != store::Place::Kind::postgresql;
  row("chain of 1,000 no-op steps", fmt::format("{:.0f} steps/s", median(figures["chain"])),
      fmt::format("{:.2f} x the floor; goal {}", median(figures["chain"]) / floor,
                  is_sqlite ? "0.4, aim 0.7" : "800 steps/s, aim 2,500"));
  row("100 chains of 20", fmt::format("{:.0f} steps/s", median(figures["chains"])),
      is_sqlite ? "goal 12,000, aim 50,000" : "goal 4,000, aim 20,000");
  row("fan-out 1 -> 100 -> 1", fmt::format("{:.1f} ms", median(figures["fan"])),
      is_sqlite ? "goal under 10" : "pg-boss 33");

  // Cost of a step in a large and in a small graph, alternating: chains of 100 steps at a time.
  std::vector<double> small;
  std::vector<double> large;
  const std::vector<NewExecution> hundred(10, testing::make_execution(testing::make_chain(100)));
  const NewExecution ten_thousand = testing::make_execution(testing::make_chain(10'000));
  for (int round = 0; round < 3; ++round) {
    small.push_back(per_second(hundred));
    large.push_back(per_second(std::vector<NewExecution>(10, ten_thousand)));
  }
  row("a step among 10,000 nodes, 10 in parallel", fmt::format("{:.0f} steps/s", median(large)),
      fmt::format("{:.2f} x the time in a graph of 100 ({:.0f} steps/s); goal at most 1.5",
                  median(small) / median(large), median(small)));
}

}  // namespace
}  // namespace reeve::bench

int main(int argc, char** argv) {
  using namespace reeve;
  if (argc == 3 && std::string_view(argv[1]) == "sqlite") {
    const std::string path = argv[2];
    bench::measure({store::Place::Kind::file, path}, [&] { return bench::open_raw_sqlite(path); });
  } else if (argc == 3 && std::string_view(argv[1]) == "postgresql") {
    const std::string url = argv[2];
    bench::measure({store::Place::Kind::postgresql, url}, [&] { return bench::open_raw_postgresql(url); });
  } else {
    std::fprintf(stderr, "usage: reeve_store_bench sqlite FILE | postgresql URL\n");
    return 2;
  }
}
