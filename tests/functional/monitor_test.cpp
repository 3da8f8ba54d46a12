#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tests/support/approvals.h"

// /metrics and /readyz, and docs/METRICS.md that describes them.
namespace reeve {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::lines_of;
using testing::Members;
using ::testing::Not;

struct Family {
  std::string type;
  // Without `le`, which every histogram has.
  std::set<std::string> labels;
  friend bool operator==(const Family&, const Family&) = default;
  friend void PrintTo(const Family& family, std::ostream* out) {
    *out << family.type << " {" << fmt::format("{}", fmt::join(family.labels, ", ")) << "}";
  }
};

// A metrics page, parsed as strictly as the format allows. Errors fail the test.
class Page {
 public:
  explicit Page(const std::string& text) {
    EXPECT_TRUE(text.ends_with('\n'));
    for (const std::string& line : lines_of(text)) read(line);
    for (const auto& [name, family] : families_) {
      if (family.type == "histogram") check_histogram(name);
    }
  }

  const std::map<std::string, Family>& families() const noexcept { return families_; }
  // The value of `name{label="value"}`; -1 if missing.
  double value(const std::string& sample) const {
    const auto found = samples_.find(sample);
    return found != samples_.end() ? found->second : -1;
  }
  bool has(const std::string& name) const { return families_.contains(name); }

 private:
  void read(const std::string& line) {
    static const std::regex help(R"(# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (?:[^\\]|\\\\|\\n)+)");
    static const std::regex type(R"(# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram))");
    static const std::regex sample(
        R"(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|[+-]Inf|NaN))");
    std::smatch found;
    if (std::regex_match(line, found, help)) {
      EXPECT_TRUE(helped_.insert(found[1]).second) << "twice: " << line;
      current_ = found[1];
    } else if (std::regex_match(line, found, type)) {
      EXPECT_EQ(found[1], current_) << "TYPE follows its HELP";
      EXPECT_TRUE(families_.emplace(found[1], Family{found[2], {}}).second) << "twice: " << line;
    } else if (std::regex_match(line, found, sample)) {
      take(found[1], found[2], found[3]);
    } else {
      ADD_FAILURE() << "no line of the format: " << line;
    }
  }

  void take(const std::string& name, const std::string& labels, const std::string& value) {
    ASSERT_TRUE(families_.contains(current_)) << name << " has no TYPE before it";
    Family& family = families_[current_];
    const bool is_histogram = family.type == "histogram";
    const std::set<std::string> allowed =
        is_histogram ? std::set{current_ + "_bucket", current_ + "_sum", current_ + "_count"} : std::set{current_};
    EXPECT_TRUE(allowed.contains(name)) << name << " stands beneath " << current_;
    EXPECT_EQ(family.type == "counter", current_.ends_with("_total")) << current_;
    static const std::regex label(R"re(([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\\\|\\"|\\n)*)"(,|\}))re");
    std::string rest = labels.empty() ? labels : labels.substr(1);
    std::smatch found;
    while (std::regex_search(rest, found, label, std::regex_constants::match_continuous)) {
      if (found[1] == "le") {
        bounds_[current_].emplace_back(std::stod(found[2] == "+Inf" ? "inf" : found[2].str()), std::stod(value));
      } else {
        family.labels.insert(found[1]);
      }
      rest = found.suffix();
    }
    EXPECT_EQ(rest, "") << labels;
    EXPECT_TRUE(samples_.emplace(name + labels, value == "+Inf" ? HUGE_VAL : std::stod(value)).second)
        << "twice: " << name << labels;
  }

  void check_histogram(const std::string& name) {
    const auto& buckets = bounds_[name];
    ASSERT_GE(buckets.size(), 2U) << name;
    for (std::size_t i = 1; i < buckets.size(); ++i) {
      EXPECT_GT(buckets[i].first, buckets[i - 1].first) << name;
      EXPECT_GE(buckets[i].second, buckets[i - 1].second) << name;
    }
    EXPECT_EQ(buckets.back().first, HUGE_VAL) << name;
    EXPECT_EQ(buckets.back().second, value(name + "_count")) << name;
    EXPECT_GE(value(name + "_sum"), 0) << name;
  }

  std::string current_;
  std::set<std::string> helped_;
  std::map<std::string, Family> families_;
  std::map<std::string, double> samples_;
  std::map<std::string, std::vector<std::pair<double, double>>> bounds_;
};

int status_of(const std::string& answer) { return std::stoi(answer.substr(answer.find(' ') + 1)); }
std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

// | `name` | type | `label`, `label` | meaning |
std::map<std::string, Family> documented() {
  const std::string page = testing::read_text(testing::source_folder() / "docs/METRICS.md");
  static const std::regex row(R"(\| `([a-z_]+)` \| (counter|gauge|histogram) \| ([^|]*) \| [^|]+ \|)");
  static const std::regex word("`([a-z_]+)`");
  std::map<std::string, Family> all;
  for (const std::string& line : lines_of(page)) {
    std::smatch found;
    if (!std::regex_match(line, found, row)) continue;
    Family family{found[2], {}};
    const std::string labels = found[3];
    for (std::sregex_iterator it(labels.begin(), labels.end(), word), end; it != end; ++it) {
      family.labels.insert((*it)[1]);
    }
    EXPECT_TRUE(all.emplace(found[1], family).second) << "twice: " << found[1];
  }
  return all;
}

class Monitor : public testing::ApprovalsTest {
 protected:
  Page metrics() const { return Page(body_of(request("GET", "/metrics"))); }
  // Values from the store may be a second old.
  bool becomes(const std::string& sample, double value) const {
    return eventually([&] { return metrics().value(sample) == value; });
  }
  bool reaches(const std::string& sample, double value) const {
    return eventually([&] { return metrics().value(sample) >= value; });
  }

  // Holds a foreign lock on the database.
  auto hold_database() const {
    sqlite3* opened = nullptr;
    EXPECT_EQ(::sqlite3_open_v2((state() / "reeve.db").c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
    ::sqlite3_busy_timeout(opened, 20'000);
    EXPECT_EQ(::sqlite3_exec(opened, "PRAGMA wal_autocheckpoint = 0; BEGIN IMMEDIATE", nullptr, nullptr, nullptr),
              SQLITE_OK);
    return std::unique_ptr<sqlite3, decltype(&::sqlite3_close)>(opened, ::sqlite3_close);
  }
};

// API, SPEC §7
TEST_F(Monitor, metrics_and_documentation_match) {
  reeve({"runs"});
  const std::string answer = request("GET", "/metrics");
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(Page(body_of(answer)).families(), ::testing::ContainerEq(documented()));
}

TEST_F(Monitor, counts_runs_and_decisions) {
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_EQ(run({}, {"exit", "3"}).code, 3);
  EXPECT_TRUE(becomes(R"(reeve_runs_ended_total{status="completed"})", 1));
  const std::string first = ask();
  const std::string second = ask();
  EXPECT_TRUE(becomes("reeve_approvals_pending", 2));
  EXPECT_TRUE(becomes(R"(reeve_runs{status="waiting_approval"})", 2));
  EXPECT_TRUE(reaches("reeve_approvals_oldest_pending_seconds", 0.001));
  EXPECT_EQ(reeve({"approve", "--yes", first}).code, 0);
  EXPECT_EQ(reeve({"reject", second}).code, 0);
  EXPECT_TRUE(becomes(R"(reeve_decisions_total{outcome="approved"})", 1));
  EXPECT_TRUE(becomes(R"(reeve_decisions_total{outcome="rejected"})", 1));
  EXPECT_TRUE(becomes("reeve_approvals_pending", 0));
  EXPECT_TRUE(becomes("reeve_approvals_oldest_pending_seconds", 0));
  EXPECT_TRUE(becomes(R"(reeve_runs_ended_total{status="completed"})", 2));
  EXPECT_TRUE(becomes(R"(reeve_runs_ended_total{status="failed"})", 2));
  EXPECT_TRUE(becomes("reeve_run_duration_seconds_count", 4));
  EXPECT_TRUE(becomes(R"(reeve_runs{status="waiting_approval"})", 0));
  // An event may arrive while the page is written.
  EXPECT_TRUE(eventually([&] {
    const Page now = metrics();
    const double commits = now.value("reeve_commits_total");
    return now.value("reeve_commit_duration_seconds_count") == commits &&
           now.value("reeve_commit_group_units_count") == commits;
  }));
  const Page page = metrics();
  EXPECT_GT(page.value("reeve_commits_total"), 4);
  EXPECT_GT(page.value("reeve_events_last_number"), 4);
  EXPECT_GT(page.value(R"(reeve_events_total{event="tool_status_change"})"), 4);
  EXPECT_GT(page.value("reeve_event_delivery_seconds_count"), 0);
  EXPECT_GT(page.value(R"(reeve_http_requests_total{door="api",code="2xx"})"), 4);
  EXPECT_GE(page.value(R"(reeve_http_connections{door="api"})"), 1);
  EXPECT_EQ(page.value("reeve_store_up"), 1);
  EXPECT_GT(page.value("process_resident_memory_bytes"), page.value("reeve_memory_proportional_bytes") / 2);
  EXPECT_GT(page.value("reeve_memory_proportional_bytes"), 1'000'000);
  EXPECT_GT(page.value("process_open_fds"), 3);
  EXPECT_GT(page.value("process_start_time_seconds"), 1.7e9);
}

// LOG-3: text from tools and people appears in events, and is not counted.
TEST_F(Monitor, text_in_events_is_not_counted) {
  const std::string words = R"(no","status":"approved","x":"\"status\":\"approved\")";
  const std::string id = ask();
  EXPECT_EQ(reeve({"reject", id, "--comment", words}).code, 0);
  EXPECT_TRUE(becomes(R"(reeve_decisions_total{outcome="rejected"})", 1));
  EXPECT_EQ(reeve({"run", "--", "sh", "-c", "echo '" + words + "' >&2; exit 7", words}).code, 7);
  EXPECT_TRUE(becomes(R"(reeve_runs_ended_total{status="failed"})", 2));
  const Page page = metrics();
  EXPECT_EQ(page.value(R"(reeve_decisions_total{outcome="approved"})"), 0);
  EXPECT_EQ(page.value(R"(reeve_runs_ended_total{status="completed"})"), 0);
}

// GRF-13
TEST_F(Monitor, counts_steps_and_executions) {
  scratch().write("project/flow.yaml",
                  "id: two\nname: Two\nentry_point: a\nnodes:\n"
                  "  - {id: a, type: task, task_config: {role: noop}}\n"
                  "  - {id: b, type: task, task_config: {role: noop}}\n"
                  "edges:\n  - {id: e, source: a, target: b}\n");
  const auto outcome = reeve({"flow", "run", "flow.yaml"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(becomes(R"(reeve_steps_total{status="completed"})", 2));
  EXPECT_TRUE(becomes(R"(reeve_executions_ended_total{status="completed"})", 1));
  EXPECT_TRUE(becomes(R"(reeve_executions{status="running"})", 0));
}

TEST_F(Monitor, requests_are_counted_by_status_class) {
  reeve({"runs"});
  const double before = metrics().value(R"(reeve_http_requests_total{door="api",code="4xx"})");
  EXPECT_EQ(status_of(request("GET", "/api/nothing")), 404);
  EXPECT_EQ(status_of(request("POST", "/api/runs", "{")), 400);
  EXPECT_EQ(metrics().value(R"(reeve_http_requests_total{door="api",code="4xx"})"), before + 2);
}

TEST_F(Monitor, readyz_is_ok_when_all_checks_pass) {
  reeve({"runs"});
  const std::string answer = request("GET", "/readyz");
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_EQ(testing::parse_object(body_of(answer)).value_or(Members())["status"], "ready");
  for (const char* check : {"recovery", "store", "loop"}) {
    EXPECT_THAT(answer, HasSubstr(fmt::format(R"({{"name":"{}","status":"ok"}})", check)));
  }
}

// A store that does not respond delays no request for long, and the values show it.
TEST_F(Monitor, readyz_fails_while_the_store_does_not_respond) {
  reeve({"runs"});
  {
    const auto held = hold_database();
    ASSERT_TRUE(eventually([&] { return status_of(request("GET", "/readyz")) == 503; }));
    const std::string answer = request("GET", "/readyz");
    EXPECT_EQ(status_of(answer), 503);
    EXPECT_THAT(answer, HasSubstr("Content-Type: application/problem+json\r\n"));
    EXPECT_THAT(answer, HasSubstr(R"("code":"daemon.not_ready")"));
    EXPECT_THAT(answer, HasSubstr(R"({"name":"store","status":"failed","message":")"));
    EXPECT_THAT(answer, HasSubstr(R"({"name":"loop","status":"ok"})"));
    EXPECT_EQ(status_of(request("GET", "/healthz")), 200);
    const Page page = metrics();
    EXPECT_EQ(page.value("reeve_store_up"), 0);
    EXPECT_FALSE(page.has("reeve_runs"));
    EXPECT_TRUE(page.has("reeve_commits_total"));
  }
  EXPECT_TRUE(eventually([&] { return status_of(request("GET", "/readyz")) == 200; }));
  EXPECT_TRUE(becomes("reeve_store_up", 1));
}

}  // namespace
}  // namespace reeve
