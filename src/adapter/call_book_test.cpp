#include "adapter/call_book.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace reeve::adapter {
namespace {

using base::Value;
using Verdict = CallBook::Verdict;

Value command(const char* text) { return Value::object({{"command", Value::string(text)}}); }

std::uint64_t allow(CallBook& book, const char* call, const char* text) {
  const std::uint64_t number = book.ask(call, "Bash", command(text)).number;
  book.decide(number, CallState::allowed, "");
  return number;
}

TEST(CallBook, the_same_call_is_one_entry) {
  CallBook book(CallMatch::by_id);
  const std::uint64_t first = book.ask("c1", "Bash", command("ls")).number;
  EXPECT_EQ(book.ask("c1", "Bash", command("ls")).number, first);
  EXPECT_NE(book.ask("c1", "Bash", command("rm")).number, first);
  EXPECT_NE(book.ask("c2", "Bash", command("ls")).number, first);
  EXPECT_NE(book.ask("c1", "Read", command("ls")).number, first);
}

TEST(CallBook, first_decision_counts) {
  CallBook book(CallMatch::by_id);
  const std::uint64_t number = book.ask("c1", "Bash", command("ls")).number;
  book.decide(number, CallState::denied, "no");
  book.decide(number, CallState::allowed, "yes");
  EXPECT_EQ(book.find(number)->state, CallState::denied);
  EXPECT_EQ(book.find(number)->reason, "no");
  EXPECT_EQ(book.find(number + 1), nullptr);
}

// AGT-5
TEST(CallBook, results_belong_to_allowed_calls_by_id) {
  CallBook book(CallMatch::by_id);
  const std::uint64_t number = allow(book, "c1", "ls");
  const std::uint64_t waiting = book.ask("c2", "Bash", command("rm")).number;
  auto ended = book.end("c1", false);
  EXPECT_EQ(ended.verdict, Verdict::allowed);
  EXPECT_EQ(ended.number, number);
  EXPECT_EQ(ended.tool, "Bash");
  EXPECT_TRUE(ended.is_news);
  EXPECT_FALSE(book.end("c1", false).is_news);
  EXPECT_EQ(book.end("c2", false).verdict, Verdict::not_allowed);
  EXPECT_EQ(book.end("c2", false).number, waiting);
  EXPECT_EQ(book.end("c3", false).verdict, Verdict::unknown);
  EXPECT_EQ(book.end("c3", true).verdict, Verdict::refused);
}

// The arguments that were allowed under an id are not the only ones that were asked about.
TEST(CallBook, one_allowed_call_of_an_id_is_enough) {
  CallBook book(CallMatch::by_id);
  book.decide(book.ask("c1", "Bash", command("rm")).number, CallState::denied, "no");
  allow(book, "c1", "ls");
  EXPECT_EQ(book.end("c1", false).verdict, Verdict::allowed);
}

TEST(CallBook, results_belong_to_allowed_calls_by_content_once) {
  CallBook book(CallMatch::by_content);
  allow(book, "hook-1", "ls");
  book.announce("run__1", "Bash", command("ls"), {});
  book.announce("run__2", "Bash", command("ls"), {});
  book.announce("run__3", "Bash", command("rm"), {});
  EXPECT_EQ(book.end("run__1", false).verdict, Verdict::allowed);
  EXPECT_EQ(book.end("run__2", false).verdict, Verdict::unknown) << "the one permission is used up";
  EXPECT_EQ(book.end("run__3", false).verdict, Verdict::unknown);
  EXPECT_EQ(book.end("run__4", false).verdict, Verdict::unknown) << "never shown";
  allow(book, "hook-2", "ls");
  EXPECT_EQ(book.end("run__2", false).verdict, Verdict::allowed);
}

TEST(CallBook, refused_call_does_not_use_up_a_permission) {
  CallBook book(CallMatch::by_content);
  allow(book, "hook-1", "ls");
  book.decide(book.ask("hook-2", "Bash", command("ls")).number, CallState::denied, "no");
  book.announce("run__1", "Bash", command("ls"), {});
  book.announce("run__2", "Bash", command("ls"), {});
  EXPECT_EQ(book.end("run__1", true).verdict, Verdict::refused);
  EXPECT_EQ(book.end("run__2", false).verdict, Verdict::allowed);
}

TEST(CallBook, knows_calls_that_still_run) {
  CallBook book(CallMatch::by_id);
  allow(book, "c1", "make");
  EXPECT_FALSE(book.has_unfinished()) << "not a call of this session, as far as is known";
  book.announce("c1", "Bash", command("make"), {});
  EXPECT_TRUE(book.has_unfinished());
  book.end("c1", false);
  EXPECT_FALSE(book.has_unfinished());
}

TEST(CallBook, knows_calls_of_subagents) {
  CallBook book(CallMatch::by_id);
  EXPECT_FALSE(book.knows("c1"));
  book.announce("c1", "Task", Value::object(), {});
  book.announce("c2", "Bash", command("ls"), "c1");
  EXPECT_TRUE(book.knows("c1"));
  EXPECT_EQ(book.find_parent("c1"), std::nullopt);
  EXPECT_EQ(book.find_parent("c2"), "c1");
}

TEST(CallBook, is_bounded) {
  CallBook book(CallMatch::by_id);
  const std::uint64_t standing = book.ask("stands", "Bash", command("ls")).number;
  for (std::size_t i = 0; i < 100; ++i) {
    allow(book, ("c" + std::to_string(i)).c_str(), "ls");
    book.end("c" + std::to_string(i), false);
  }
  EXPECT_NE(book.find(standing), nullptr);
  for (std::size_t i = 0; i < CallBook::max_announced + 10; ++i) {
    book.announce("a" + std::to_string(i), "Bash", Value::object(), {});
  }
  EXPECT_EQ(book.end("a0", false).tool, "");
  EXPECT_EQ(book.end("a20009", false).tool, "Bash");
}

// AGT-5: the result of a call that ran, and failed, is not the reason for which it was denied.
TEST(CallBook, denial_is_known_by_its_reason) {
  CallBook book(CallMatch::by_id);
  const std::uint64_t number = book.ask("c1", "Bash", base::Value::object()).number;
  const std::string reason = "sha256:" + base::sha256_hex("not today");
  EXPECT_FALSE(book.is_denial("c1", reason));
  book.decide(number, CallState::denied, "not today");
  EXPECT_TRUE(book.is_denial("c1", reason));
  EXPECT_FALSE(book.is_denial("c1", "sha256:" + base::sha256_hex("exit code 1")));
  EXPECT_FALSE(book.is_denial("c2", reason));
}

}  // namespace
}  // namespace reeve::adapter
