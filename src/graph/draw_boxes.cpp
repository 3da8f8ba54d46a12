#include "graph/draw_boxes.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "base/text.h"
#include "graph/canvas.h"
#include "graph/caption.h"
#include "graph/channel.h"
#include "graph/layout.h"
#include "graph/summary.h"

namespace reeve::graph {

namespace {

constexpr std::size_t longest_line = 32;
constexpr std::size_t longest_label = 24;
// With more nodes the list is easier to read.
constexpr std::size_t max_nodes = 120;

class BoxDrawing {
 public:
  BoxDrawing(const Graph& graph, const Levels& levels, const DrawOptions& options)
      : graph_(graph), levels_(levels), options_(options), canvas_(options.ascii) {}

  std::optional<std::string> draw() {
    write_lines();
    std::vector<std::size_t> widths;
    for (const auto& lines : lines_) {
      std::size_t widest = 0;
      for (const std::string& line : lines) widest = std::max(widest, base::display_width(line));
      widths.push_back(widest + 4);
    }
    std::vector<std::string> labels;
    for (EdgeIndex edge = 0; edge < graph_.workflow().edges.size(); ++edge) {
      labels.push_back(base::fit_width(describe_edge(graph_, edge), longest_label, options_.ascii));
    }
    layout_ = lay_out(graph_, levels_, widths, labels);
    if (layout_.width + 3 * rails() + 2 > options_.columns) return std::nullopt;
    boxes_.resize(graph_.node_count());
    std::size_t y = 0;
    for (std::size_t level = 0; level < layout_.levels.size(); ++level) {
      const std::size_t height = draw_level(level, y);
      y += height;
      if (level + 1 < layout_.levels.size()) y += draw_channel(level, y);
    }
    draw_loops();
    return canvas_.text();
  }

 private:
  struct Box {
    std::size_t x = 0;
    std::size_t y = 0;
    std::size_t width = 0;
    std::size_t height = 0;
    bool is_rightmost = false;
  };

  std::size_t rails() const {
    return static_cast<std::size_t>(std::ranges::count_if(graph_.workflow().edges, &model::Edge::is_loop_edge));
  }

  std::string fit(std::string_view text) const { return base::fit_width(text, longest_line, options_.ascii); }

  // The text of each box: id, description, label, loops.
  void write_lines() {
    const std::vector<NodeIndex> exits = find_exits(graph_);
    for (NodeIndex node = 0; node < graph_.node_count(); ++node) {
      const bool is_exit = std::ranges::find(exits, node) != exits.end();
      std::vector<std::string> lines = {fit(graph_.node(node).id) + (is_exit ? "  (exit)" : "")};
      lines.push_back(fit(describe_node(graph_.node(node))));
      if (node < options_.marks.size()) lines.push_back(fit(options_.marks[node].text));
      if (graph_.node(node).label) lines.push_back(fit(base::visible(*graph_.node(node).label)));
      for (const EdgeIndex edge : graph_.outgoing(node)) {
        if (graph_.is_loop(edge)) lines.push_back(describe_loop(edge));
      }
      lines_.push_back(std::move(lines));
    }
  }

  std::string describe_loop(EdgeIndex edge) const {
    const auto limit = find_loop_limit(graph_, edge, find_loop_body(graph_, levels_, edge));
    const std::string label = describe_edge(graph_, edge);
    return fmt::format("{} {}{}to {}, at most {}{}", options_.ascii ? "@" : "↺", fit(label), label.empty() ? "" : " ",
                       fit(graph_.edge(edge).target), limit, options_.ascii ? "x" : "×");
  }

  // Boxes of one level are aligned at the top, so that the lines above stay short.
  std::size_t draw_level(std::size_t level, std::size_t y) {
    std::size_t height = 0;
    for (const Spot& spot : layout_.levels[level]) {
      if (spot.node) height = std::max(height, lines_[*spot.node].size() + 2);
    }
    for (std::size_t i = 0; i < layout_.levels[level].size(); ++i) {
      const Spot& spot = layout_.levels[level][i];
      if (!spot.node) {
        canvas_.draw_vertical(spot.middle(), y, y + height);
        continue;
      }
      const std::vector<std::string>& lines = lines_[*spot.node];
      const bool is_rightmost = i + 1 == layout_.levels[level].size();
      boxes_[*spot.node] = {spot.x, y, spot.width, lines.size() + 2, is_rightmost};
      canvas_.draw_box(spot.x, y, spot.width, lines.size() + 2);
      for (std::size_t j = 0; j < lines.size(); ++j) canvas_.write(spot.x + 2, y + 1 + j, lines[j]);
    }
    return height;
  }

  // A line starts at the bottom of its box, which may end above the level's bottom.
  std::size_t bottom_of(const Spot& spot, std::size_t channel_top) const {
    return spot.node ? boxes_[*spot.node].y + boxes_[*spot.node].height - 1 : channel_top;
  }

  // Lines from one source share a row; lines into one target share one if their sources have no other lines.
  std::vector<Wire> make_wires(std::size_t level) const {
    const std::vector<Link>& links = layout_.links[level];
    std::map<std::size_t, std::size_t> leaving;
    std::map<std::size_t, std::size_t> arriving_alone;
    for (const Link& link : links) ++leaving[link.from];
    for (const Link& link : links) {
      if (leaving[link.from] == 1) ++arriving_alone[link.to];
    }
    std::map<std::pair<bool, std::size_t>, Wire> wires;
    for (const Link& link : links) {
      const bool by_target = leaving[link.from] == 1 && arriving_alone[link.to] > 1;
      Wire& wire = wires[{by_target, by_target ? link.to : link.from}];
      wire.sources.push_back(layout_.levels[level][link.from].middle());
      wire.targets.push_back(layout_.levels[level + 1][link.to].middle());
    }
    std::vector<Wire> result;
    for (auto& [_, wire] : wires) result.push_back(std::move(wire));
    return result;
  }

  // Labels in the same column get separate rows.
  std::size_t count_label_rows(std::size_t level) const {
    std::map<std::size_t, std::size_t> at_column;
    std::size_t most = 0;
    for (const Link& link : layout_.links[level]) {
      if (!link.label.empty()) most = std::max(most, ++at_column[link.to]);
    }
    return most;
  }

  std::size_t draw_channel(std::size_t level, std::size_t top) {
    std::vector<Wire> wires = make_wires(level);
    const std::size_t wire_rows = assign_rows(wires);
    const std::size_t label_rows = count_label_rows(level);
    const std::size_t rows_top = top + (wire_rows > 0 ? 1 : 0);
    const std::size_t bottom = rows_top + wire_rows + std::max<std::size_t>(label_rows, 1);
    for (const Link& link : layout_.links[level]) {
      const Spot& source = layout_.levels[level][link.from];
      const auto wire = std::ranges::find_if(wires, [&](const Wire& candidate) {
        return std::ranges::find(candidate.sources, source.middle()) != candidate.sources.end() &&
               std::ranges::find(candidate.targets, layout_.levels[level + 1][link.to].middle()) !=
                   candidate.targets.end();
      });
      draw_link(level, link, rows_top + wire->row, bottom, top);
    }
    write_labels(level, rows_top + wire_rows);
    return bottom - top + 1;
  }

  void draw_link(std::size_t level, const Link& link, std::size_t row, std::size_t bottom, std::size_t top) {
    const Spot& source = layout_.levels[level][link.from];
    const Spot& target = layout_.levels[level + 1][link.to];
    const std::size_t from = source.middle();
    const std::size_t to = target.middle();
    const std::size_t start = bottom_of(source, top > 0 ? top - 1 : 0);
    if (from == to) {
      canvas_.draw_vertical(from, start, target.node ? bottom : bottom + 1);
    } else {
      canvas_.draw_vertical(from, start, row);
      canvas_.draw_horizontal(row, std::min(from, to), std::max(from, to));
      canvas_.draw_vertical(to, row, target.node ? bottom : bottom + 1);
    }
    if (target.node) canvas_.draw_arrow_down(to, bottom);
  }

  void write_labels(std::size_t level, std::size_t first_row) {
    std::map<std::size_t, std::size_t> used;
    for (const Link& link : layout_.links[level]) {
      if (link.label.empty()) continue;
      const std::size_t column = layout_.levels[level + 1][link.to].middle();
      canvas_.write(column + 2, first_row + used[link.to]++, link.label);
    }
  }

  // A rail on the right from the loop's source box to its target, if both are unobstructed on that side.
  void draw_loops() {
    std::size_t rail = layout_.width + 2;
    for (EdgeIndex edge = 0; edge < graph_.workflow().edges.size(); ++edge) {
      if (!graph_.is_loop(edge)) continue;
      const Box& from = boxes_[graph_.source(edge)];
      const Box& to = boxes_[graph_.target(edge)];
      if (!from.is_rightmost || !to.is_rightmost || &from == &to) continue;
      const std::size_t from_row = from.y + from.height - 2;
      const std::size_t to_row = to.y + 1;
      canvas_.draw_horizontal(from_row, from.x + from.width - 1, rail);
      canvas_.draw_vertical(rail, to_row, from_row);
      canvas_.draw_horizontal(to_row, to.x + to.width, rail);
      canvas_.draw_arrow_left(to.x + to.width, to_row);
      rail += 3;
    }
  }

  const Graph& graph_;
  const Levels& levels_;
  const DrawOptions& options_;
  Canvas canvas_;
  Layout layout_;
  std::vector<std::vector<std::string>> lines_;
  std::vector<Box> boxes_;
};

}  // namespace

std::optional<std::string> draw_boxes(const Graph& graph, const Levels& levels, const DrawOptions& options) {
  if (graph.node_count() > max_nodes) return std::nullopt;
  return BoxDrawing(graph, levels, options).draw();
}

}  // namespace reeve::graph
