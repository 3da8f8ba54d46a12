#include "runtime/inbox/inbox.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

std::string lines_of(const Event& event) {
  const auto* written = std::get_if<LogLinesWritten>(&event);
  return written != nullptr ? written->lines : "?";
}

TEST(Inbox, events_are_handled_in_the_order_of_their_posts_from_any_thread) {
  Loop loop;
  std::string seen;
  Inbox inbox(loop, [&](const Event& event) { seen += lines_of(event); });
  inbox.post(LogLinesWritten{"a"});
  loop.post([&] { seen += "b"; });
  std::jthread([&] { inbox.post(LogLinesWritten{"c"}); }).join();
  EXPECT_EQ(seen, "") << "handled before the loop's turn";
  EXPECT_FALSE(inbox.is_empty());
  loop.post([&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(seen, "abc");
  EXPECT_TRUE(inbox.is_empty());
}

TEST(Inbox, a_handler_that_posts_is_not_re_entered) {
  Loop loop;
  std::string seen;
  Inbox* again = nullptr;
  Inbox inbox(loop, [&](const Event& event) {
    seen += "(" + lines_of(event);
    if (lines_of(event) == "a") again->post(LogLinesWritten{"c"});
    seen += ")";
    if (lines_of(event) == "c") loop.stop();
  });
  again = &inbox;
  inbox.post(LogLinesWritten{"a"});
  inbox.post(LogLinesWritten{"b"});
  loop.run();
  EXPECT_EQ(seen, "(a)(b)(c)");
}

TEST(Inbox, closed_and_destroyed_inboxes_drop_events) {
  Loop loop;
  std::string seen;
  const auto handle = [&](const Event& event) { seen += lines_of(event); };
  Inbox closed(loop, handle);
  closed.post(LogLinesWritten{"posted before"});
  closed.close();
  closed.post(LogLinesWritten{"posted after"});
  auto destroyed = std::make_unique<Inbox>(loop, handle);
  destroyed->post(LogLinesWritten{"to nothing"});
  destroyed.reset();
  loop.post([&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(seen, "");
}

TEST(Inbox, an_exception_leaves_the_loop_and_later_events_are_kept) {
  Loop loop;
  std::string seen;
  Inbox inbox(loop, [&](const Event& event) {
    if (lines_of(event) == "a") throw std::runtime_error("a");
    seen += lines_of(event);
    loop.stop();
  });
  inbox.post(LogLinesWritten{"a"});
  inbox.post(LogLinesWritten{"b"});
  EXPECT_THROW(loop.run(), std::runtime_error);
  loop.run();
  EXPECT_EQ(seen, "b");
}

}  // namespace
}  // namespace reeve::runtime
