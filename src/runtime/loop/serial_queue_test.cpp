#include "runtime/loop/serial_queue.h"

#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

TEST(SerialQueue, nested_event_is_handled_after_the_current_one) {
  SerialQueue<int> queue;
  std::vector<int> order;
  const auto handle = [&](auto self, int event) -> void {
    order.push_back(event);
    if (event < 3) queue.add(event + 1, [&](int next) { self(self, next); });
    order.push_back(-event);
  };
  queue.add(1, [&](int event) { handle(handle, event); });
  EXPECT_THAT(order, ::testing::ElementsAre(1, -1, 2, -2, 3, -3));
}

TEST(SerialQueue, accepts_events_after_a_handler_threw) {
  SerialQueue<int> queue;
  EXPECT_THROW(queue.add(1, [](int) { throw std::runtime_error("x"); }), std::runtime_error);
  int handled = 0;
  queue.add(2, [&](int event) { handled = event; });
  EXPECT_EQ(handled, 2);
}

}  // namespace
}  // namespace reeve::runtime
