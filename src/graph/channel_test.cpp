#include "graph/channel.h"

#include <gtest/gtest.h>

#include "graph/canvas.h"

namespace reeve::graph {
namespace {

TEST(Channel, overlapping_wires_get_separate_rows) {
  std::vector<Wire> wires = {{{0}, {10}}, {{20}, {30}}, {{5}, {25}}};
  EXPECT_EQ(assign_rows(wires), 2);
  EXPECT_EQ(wires[0].row, wires[1].row);
  EXPECT_NE(wires[0].row, wires[2].row);
}

TEST(Channel, a_straight_wire_needs_no_row) {
  std::vector<Wire> wires = {{{4}, {4}}};
  EXPECT_EQ(assign_rows(wires), 0);
}

TEST(Channel, incoming_wire_turns_above_an_outgoing_one) {
  // The second wire comes down at column 8, where the first goes down.
  std::vector<Wire> wires = {{{0}, {8}}, {{8}, {16}}};
  assign_rows(wires);
  EXPECT_LT(wires[1].row, wires[0].row);
}

TEST(Channel, crossing_wires_terminate) {
  std::vector<Wire> wires = {{{0}, {8}}, {{8}, {0}}};
  EXPECT_EQ(assign_rows(wires), 2);
}

TEST(Canvas, lines_join_where_they_meet) {
  Canvas canvas(false);
  canvas.draw_horizontal(1, 0, 4);
  canvas.draw_vertical(2, 0, 2);
  EXPECT_EQ(canvas.text(), "  │\n──┼──\n  │\n");
  Canvas plain(true);
  plain.draw_box(0, 0, 4, 3);
  plain.write(1, 1, "ab");
  EXPECT_EQ(plain.text(), "+--+\n|ab|\n+--+\n");
}

TEST(Canvas, wide_characters_take_two_columns) {
  Canvas canvas(false);
  canvas.draw_box(0, 0, 6, 3);
  canvas.write(1, 1, "日本");
  EXPECT_EQ(canvas.text(), "┌────┐\n│日本│\n└────┘\n");
}

}  // namespace
}  // namespace reeve::graph
