#include "tests/support/flow_proof.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>

#include "tests/support/socket.h"

namespace reeve::testing {

namespace {

int size_of(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

bool is_mended_later(const Members& execution) { return member(execution, "workflow_id").starts_with("mended"); }

}  // namespace

ProofSize proof_size(ProofSize otherwise) {
  return {.executions = size_of("REEVE_PROOF_EXECUTIONS", otherwise.executions),
          .kills = size_of("REEVE_PROOF_KILLS", otherwise.kills),
          .restarts = size_of("REEVE_PROOF_RESTARTS", otherwise.restarts),
          .seed = static_cast<unsigned>(size_of("REEVE_PROOF_SEED", static_cast<int>(otherwise.seed)))};
}

void FlowProofTest::TearDown() {
  const Site other = site("b");
  if (std::filesystem::exists(other / "reeve.sock")) EXPECT_EQ(reeve_at(other, {"stop"}).code, 0);
  DaemonTest::TearDown();
}

// --- daemons ---

Outcome FlowProofTest::reeve_at(const Site& at, const Words& words) const {
  Launch made = launch(words);
  for (auto& [key, value] : made.environment) {
    if (key == "REEVE_STATE") value = at.string();
  }
  return run_program(made);
}

std::optional<std::string> FlowProofTest::ask(const Site& at, const std::string& method, const std::string& target,
                                              const std::string& body, const std::string& headers) const {
  const std::string request = fmt::format(
      "{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n{}Content-Length: "
      "{}\r\n\r\n{}",
      method, target, headers, body.size(), body);
  const auto answer = try_request(at / "reeve.sock", request);
  if (!answer) return std::nullopt;
  return answer->substr(answer->find("\r\n\r\n") + 4);
}

std::string FlowProofTest::insist(const Site& at, const std::string& target) const {
  std::optional<std::string> answer;
  EXPECT_TRUE(eventually([&] {
    answer = ask(at, "GET", target);
    // The store may be unavailable for a moment.
    return answer && !member(parse_object(*answer).value_or(Members()), "status").starts_with("5");
  })) << "nobody answers at "
      << at;
  return answer.value_or("{}");
}

pid_t FlowProofTest::daemon_pid(const Site& at) const {
  std::ifstream file(at / "reeve.lock");
  pid_t pid = 0;
  file >> pid;
  return pid;
}

void FlowProofTest::revive(const Site& at, std::mt19937& random) const {
  const bool is_left_to_guard = random() % 4 == 0;
  const auto answers = [&] { return ask(at, "GET", "/healthz").has_value(); };
  if (is_left_to_guard && eventually(answers, std::chrono::milliseconds(1'500))) return;
  const Outcome listed = reeve_at(at, {"flow", "list", "--limit", "1"});
  EXPECT_EQ(listed.code, 0) << listed.err;
}

bool FlowProofTest::is_step_alive() const {
  return std::ranges::any_of(tools(), [](const auto& process) { return process.command.contains(" step "); });
}

bool FlowProofTest::kill_a_keeper(std::mt19937& random) const {
  std::vector<FoundProcess> steps = tools();
  std::erase_if(steps, [](const auto& process) { return !process.command.contains(" step "); });
  if (steps.empty()) return false;
  std::ifstream stat(fmt::format("/proc/{}/stat", steps[random() % steps.size()].pid));
  std::string pid;
  std::string name;
  std::string state;
  pid_t keeper = 0;
  stat >> pid >> name >> state >> keeper;
  return keeper > 1 && ::kill(keeper, SIGKILL) == 0;
}

// --- executions ---

std::string FlowProofTest::start_flow(const Site& at, const std::string& shape, const std::string& label) const {
  const std::string body = fmt::format(R"({{"workflow":"{}","label":"{}","project":"{}","inputs":{{"x":1}},)"
                                       R"("environment":{{"PATH":"/usr/bin:/bin"}}}})",
                                       shape, label, project().string());
  std::string id;
  EXPECT_TRUE(eventually([&] {
    const auto answer = ask(at, "POST", "/api/executions", body, fmt::format("Idempotency-Key: start-{}\r\n", label));
    if (!answer) return false;
    const Members record = parse_object(*answer).value_or(Members());
    id = member(record, "execution_id");
    const bool is_refused = id.empty() && !member(record, "status").starts_with("5");
    EXPECT_FALSE(is_refused) << *answer;
    return !id.empty() || is_refused;
  })) << "nobody starts "
      << shape;
  return id;
}

std::vector<StoredExecution> FlowProofTest::read_all(const Site& at) const {
  std::vector<StoredExecution> all;
  std::string cursor;
  do {
    const Members page = parse_object(insist(at, "/api/executions?limit=500" + cursor)).value_or(Members());
    for (const Members& item : objects(member(page, "items"))) {
      const std::string target = "/api/executions/" + member(item, "execution_id");
      all.push_back(read_execution(insist(at, target + "?outputs=0"), insist(at, target + "/history")));
    }
    cursor = member(page, "next_cursor");
    if (!cursor.empty()) cursor = "&cursor=" + cursor;
  } while (!cursor.empty());
  return all;
}

// --- people ---

void FlowProofTest::answer_questions(People& people, const Site& at) const {
  const auto listed = ask(at, "GET", "/api/approvals?limit=100");
  const Members page = parse_object(listed.value_or("")).value_or(Members());
  if (!page.contains("items")) return;
  for (const Members& approval : objects(member(page, "items"))) {
    if (people.must_end) return;
    const bool is_no = member(approval, "question").starts_with("Reject");
    const std::string target =
        fmt::format("/api/approvals/{}/{}", member(approval, "approval_id"), is_no ? "reject" : "approve");
    const auto answer = ask(at, "POST", target, "{}");
    const Members decided = parse_object(answer.value_or("")).value_or(Members());
    if (!decided.contains("decided_by")) continue;
    ++people.answered;
    if (member(approval, "question").contains("was interrupted")) ++people.interruptions;
  }
}

void FlowProofTest::cancel_and_retry(People& people, const Site& at, std::mt19937& random) const {
  const auto listed = ask(at, "GET", "/api/executions?status=running,failed&limit=500");
  const Members page = parse_object(listed.value_or("")).value_or(Members());
  if (!page.contains("items")) return;
  for (const Members& execution : objects(member(page, "items"))) {
    const std::string target = "/api/executions/" + member(execution, "execution_id");
    const bool is_running = member(execution, "status") == "running";
    const bool is_unwanted = is_running && member(execution, "workflow_id") == "unwanted" && random() % 4 == 0;
    if (is_unwanted && ask(at, "POST", target + "/cancel", "{}")) ++people.cancelled;
    const bool is_root = member(execution, "parent").empty();
    const bool is_mended = !is_running && is_root && is_mended_later(execution);
    if (is_mended && ask(at, "POST", target + "/retry", "{}")) ++people.retried;
  }
}

void FlowProofTest::act(People& people, const std::vector<Site>& sites, unsigned seed) const {
  std::mt19937 random(seed);
  while (!people.must_end) {
    const Site& at = sites[random() % sites.size()];
    answer_questions(people, at);
    cancel_and_retry(people, at, random);
    ::usleep(static_cast<useconds_t>(random() % 60'000));
  }
}

// --- the end ---

std::vector<std::string> FlowProofTest::list_unfinished(const Site& at) const {
  std::vector<std::string> left;
  const Members page =
      parse_object(insist(at, "/api/executions?status=running,waiting_approval,failed&limit=500")).value_or(Members());
  for (const Members& item : objects(member(page, "items"))) {
    if (member(item, "status") == "failed" && !is_mended_later(item)) continue;
    left.push_back(fmt::format("{} {} {} {}", member(item, "execution_id"), member(item, "workflow_id"),
                               member(item, "status"), member(item, "tally")));
  }
  return left;
}

void FlowProofTest::wait_until_over(const Site& at) const {
  constexpr auto stuck = std::chrono::seconds(2);
  constexpr auto most = std::chrono::seconds(120);
  const auto give_up = std::chrono::steady_clock::now() + most;
  auto moved = std::chrono::steady_clock::now();
  std::vector<std::string> before;
  while (true) {
    const std::vector<std::string> left = list_unfinished(at);
    if (left.empty()) return;
    const auto time = std::chrono::steady_clock::now();
    if (left != before || is_step_alive()) moved = time;
    before = left;
    if (time - moved > stuck || time > give_up) {
      std::string text;
      for (const std::string& line : left) text += line + "\n";
      ADD_FAILURE() << "stuck:\n" << text;
      return;
    }
    pause_briefly();
  }
}

void FlowProofTest::expect_proved(const Site& at) const {
  // GRF-7: a cancelled execution ends at once, its runs when their processes have exited.
  std::vector<StoredExecution> all;
  eventually([&] {
    all = read_all(at);
    return std::ranges::none_of(all, [](const StoredExecution& one) { return one.is_over() && one.has_live_run(); });
  });
  expect_agreement(all, ledger());
  for (const StoredExecution& execution : all) {
    const auto found = shapes().find(execution.workflow);
    ASSERT_NE(found, shapes().end()) << execution.workflow;
    EXPECT_EQ(execution.status, found->second) << execution.id << " " << execution.workflow << ": " << execution.reason;
  }
  const Outcome verified = reeve_at(at, {"audit", "verify"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
}

}  // namespace reeve::testing
