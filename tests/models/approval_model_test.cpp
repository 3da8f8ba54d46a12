#include <array>
#include <charconv>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/program.h"

// Exhaustive verification of docs/models/approval.pml (APR-2, APR-4, APR-7, APR-8, APR-10, APR-13).
namespace reeve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using Words = std::vector<std::string>;

struct Verdict {
  std::int64_t errors = -1;
  std::int64_t states = 0;
  std::string text;
};

// The number before, or after, that mark.
std::int64_t number_before(const std::string& text, const std::string& mark) {
  const std::size_t end = text.find(mark);
  if (end == std::string::npos) return -1;
  const std::size_t start = text.find_last_not_of("0123456789", end - 1) + 1;
  std::int64_t number = -1;
  std::from_chars(text.data() + start, text.data() + end, number);
  return number;
}

std::int64_t number_behind(const std::string& text, const std::string& mark) {
  const std::size_t start = text.find(mark);
  std::int64_t number = -1;
  if (start != std::string::npos) std::from_chars(text.data() + start + mark.size(), text.data() + text.size(), number);
  return number;
}

enum class Claim { assertions, progress };

// Generates, compiles and runs the verifier of the model, with these macros defined.
Verdict verify(Claim claim, const Words& defines = {}) {
  const testing::ScratchFolder scratch;
  const auto run = [&](const Words& argv) {
    Outcome outcome = testing::run_program(
        {.argv = argv, .folder = scratch.path(), .environment = {{"PATH", "/usr/bin:/bin"}, {"LANG", "C.UTF-8"}}});
    EXPECT_EQ(outcome.code, 0) << argv.front() << ": " << outcome.out << outcome.err;
    return outcome.out;
  };
  const bool is_progress = claim == Claim::progress;
  Words generate = {"spin", "-Pclang-19 -E -x c"};
  if (is_progress) generate.emplace_back("-DPROGRESS");
  generate.insert(generate.end(), defines.begin(), defines.end());
  generate.emplace_back("-a");
  generate.push_back((testing::source_folder() / "docs/models/approval.pml").string());
  run(generate);
  Words compile = {"clang-19", "-O2", "-w", "-DCOLLAPSE", "-o", "pan", "pan.c"};
  if (!is_progress) compile.insert(compile.end(), {"-DSAFETY", "-DNOCLAIM"});
  run(compile);
  Words search = {"./pan", "-m10000"};
  if (is_progress) search.emplace_back("-a");
  Verdict verdict{.text = run(search)};
  verdict.errors = number_behind(verdict.text, "errors: ");
  verdict.states = number_before(verdict.text, " states, stored");
  return verdict;
}

// One effect per decision, one decision per question, nothing after a rejection or a void grant.
TEST(ApprovalModel, safety_assertions_hold) {
  const Verdict verdict = verify(Claim::assertions, {"-DMARKS"});
  EXPECT_EQ(verdict.errors, 0) << verdict.text;
  // Fewer states: something blocks the model. More: it is not the model that could be verified in seconds.
  EXPECT_GT(verdict.states, 500'000) << verdict.text;
  EXPECT_LT(verdict.states, 20'000'000) << verdict.text;
  EXPECT_THAT(verdict.text, Not(HasSubstr("max search depth too small")));
  // Every marked situation is reached.
  for (int mark = 1; mark <= 19; ++mark) {
    EXPECT_THAT(verdict.text, HasSubstr("reached " + std::to_string(mark) + "\n"));
  }
}

// APR-13: in the end the run has ended or a person is asked, whichever process died.
TEST(ApprovalModel, every_decision_leads_to_progress) {
  const Verdict verdict = verify(Claim::progress);
  EXPECT_EQ(verdict.errors, 0) << verdict.text;
  EXPECT_GT(verdict.states, 300'000) << verdict.text;
  EXPECT_THAT(verdict.text, HasSubstr("never claim         \t+ (progress)"));
}

struct Break {
  const char* define;
  Claim claim;
  const char* found;
};

class BrokenApprovalModel : public ::testing::TestWithParam<Break> {};

TEST_P(BrokenApprovalModel, defect_is_detected) {
  const Verdict verdict = verify(GetParam().claim, {GetParam().define});
  EXPECT_GE(verdict.errors, 1) << verdict.text;
  EXPECT_THAT(verdict.text, HasSubstr(GetParam().found));
}

constexpr std::array breaks = {Break{"-DBREAK_1", Claim::assertions, "assertion violated"},
                               Break{"-DBREAK_2", Claim::assertions, "assertion violated"},
                               Break{"-DBREAK_3", Claim::assertions, "wins==1"},
                               Break{"-DBREAK_4", Claim::assertions, "is_settled"},
                               Break{"-DBREAK_5", Claim::assertions, "digest_now"},
                               Break{"-DBREAK_6", Claim::assertions, "effects==1"},
                               Break{"-DBREAK_7", Claim::assertions, "effects==1"},
                               Break{"-DBREAK_8", Claim::progress, "acceptance cycle"}};
INSTANTIATE_TEST_SUITE_P(Models, BrokenApprovalModel, ::testing::ValuesIn(breaks),
                         [](const auto& info) { return std::string(info.param.define).substr(2); });

}  // namespace
}  // namespace reeve
