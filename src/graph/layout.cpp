#include "graph/layout.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace reeve::graph {

namespace {

constexpr std::size_t gap = 3;
constexpr int sweeps = 8;

// Sugiyama's method: split long edges, order each level by the average position of the neighbours, then assign
// coordinates.
class Arranger {
 public:
  Arranger(const Graph& graph, const Levels& levels, const std::vector<std::size_t>& widths,
           const std::vector<std::string>& labels)
      : graph_(graph), levels_(levels), widths_(widths), labels_(labels) {}

  Layout arrange() {
    place_nodes();
    cut_edges();
    for (int i = 0; i < sweeps; ++i) order(i % 2 == 0);
    find_room();
    return std::move(layout_);
  }

 private:
  void place_nodes() {
    layout_.levels.resize(levels_.nodes.size());
    layout_.links.resize(levels_.nodes.empty() ? 0 : levels_.nodes.size() - 1);
    position_.resize(graph_.node_count());
    for (std::size_t level = 0; level < levels_.nodes.size(); ++level) {
      for (const NodeIndex node : levels_.nodes[level]) {
        position_[node] = layout_.levels[level].size();
        layout_.levels[level].push_back({.node = node, .width = widths_[node]});
      }
    }
  }

  void cut_edges() {
    for (EdgeIndex edge = 0; edge < graph_.workflow().edges.size(); ++edge) {
      if (graph_.is_loop(edge)) continue;
      const std::size_t last = levels_.of_node[graph_.target(edge)];
      std::size_t at = position_[graph_.source(edge)];
      std::string label = labels_[edge];
      for (std::size_t level = levels_.of_node[graph_.source(edge)]; level < last; ++level) {
        std::size_t next = position_[graph_.target(edge)];
        if (level + 1 < last) {
          next = layout_.levels[level + 1].size();
          layout_.levels[level + 1].push_back({});
        }
        reserve(layout_.levels[level + 1][next], label);
        // The only line of a node may be labelled where it begins.
        if (graph_.outgoing(graph_.source(edge)).size() == 1) reserve(layout_.levels[level][at], label);
        layout_.links[level].push_back({at, next, edge, std::exchange(label, {})});
        at = next;
      }
    }
  }

  static void reserve(Spot& spot, std::string_view label) {
    if (!label.empty()) spot.label_room = std::max(spot.label_room, base::display_width(label) + 2);
  }

  // Sorts one level after the other by the average position of the neighbours above (downwards) or below.
  void order(bool downwards) {
    const std::size_t count = layout_.levels.size();
    for (std::size_t i = 1; i < count; ++i) {
      const std::size_t level = downwards ? i : count - 1 - i;
      const std::vector<Link>& links = layout_.links[downwards ? level - 1 : level];
      std::vector<double> options(layout_.levels[level].size());
      std::vector<double> sum(options.size(), 0);
      std::vector<double> neighbours(options.size(), 0);
      for (const Link& link : links) {
        const std::size_t here = downwards ? link.to : link.from;
        sum[here] += static_cast<double>(downwards ? link.from : link.to);
        neighbours[here] += 1;
      }
      for (std::size_t spot = 0; spot < options.size(); ++spot) {
        options[spot] = neighbours[spot] > 0 ? sum[spot] / neighbours[spot] : static_cast<double>(spot);
      }
      reorder(level, options);
    }
  }

  void reorder(std::size_t level, const std::vector<double>& options) {
    std::vector<std::size_t> sequence(options.size());
    for (std::size_t i = 0; i < sequence.size(); ++i) sequence[i] = i;
    // Ties are broken by the previous position, so that file order is kept where possible.
    std::ranges::sort(sequence, {}, [&](std::size_t spot) { return std::pair(options[spot], spot); });
    std::vector<std::size_t> new_position(options.size());
    std::vector<Spot> spots;
    for (std::size_t i = 0; i < sequence.size(); ++i) {
      new_position[sequence[i]] = i;
      spots.push_back(layout_.levels[level][sequence[i]]);
    }
    layout_.levels[level] = std::move(spots);
    if (level > 0) {
      for (Link& link : layout_.links[level - 1]) link.to = new_position[link.to];
    }
    if (level + 1 < layout_.levels.size()) {
      for (Link& link : layout_.links[level]) link.from = new_position[link.from];
    }
  }

  // The space that a spot needs to the right of its middle, and from its left edge to its middle.
  static long reach_right(const Spot& spot) {
    return static_cast<long>(std::max(spot.width - spot.width / 2, spot.label_room));
  }
  static long reach_left(const Spot& spot) { return static_cast<long>(spot.width / 2); }

  void find_room() {
    middles_.resize(layout_.levels.size());
    for (std::size_t level = 0; level < layout_.levels.size(); ++level) {
      middles_[level] = settle(level, std::vector<long>(layout_.levels[level].size(), 0));
    }
    // One more than the ordering passes, so that the last pass goes down and places nodes beneath their predecessors.
    for (int i = 0; i <= sweeps; ++i) {
      const std::size_t count = layout_.levels.size();
      for (std::size_t j = 1; j < count; ++j) {
        const bool downwards = i % 2 == 0;
        const std::size_t level = downwards ? j : count - 1 - j;
        middles_[level] = settle(level, wishes(level, downwards));
      }
    }
    long leftmost = 0;
    for (std::size_t level = 0; level < layout_.levels.size(); ++level) {
      for (std::size_t i = 0; i < layout_.levels[level].size(); ++i) {
        leftmost = std::min(leftmost, middles_[level][i] - reach_left(layout_.levels[level][i]));
      }
    }
    for (std::size_t level = 0; level < layout_.levels.size(); ++level) {
      for (std::size_t i = 0; i < layout_.levels[level].size(); ++i) {
        Spot& spot = layout_.levels[level][i];
        spot.x = static_cast<std::size_t>(middles_[level][i] - reach_left(spot) - leftmost);
        const auto right = static_cast<std::size_t>(middles_[level][i] + reach_right(spot) - leftmost);
        layout_.width = std::max(layout_.width, right);
      }
    }
  }

  // The median middle of the neighbours above (downwards) or below: gives a straight line to one of them, whereas an
  // average would bend all lines.
  std::vector<long> wishes(std::size_t level, bool downwards) const {
    std::vector<std::vector<long>> neighbours(layout_.levels[level].size());
    const std::vector<Link>& links = layout_.links[downwards ? level - 1 : level];
    for (const Link& link : links) {
      const std::size_t here = downwards ? link.to : link.from;
      neighbours[here].push_back(downwards ? middles_[level - 1][link.from] : middles_[level + 1][link.to]);
    }
    std::vector<long> options = middles_[level];
    for (std::size_t i = 0; i < options.size(); ++i) {
      if (neighbours[i].empty()) continue;
      std::ranges::sort(neighbours[i]);
      const std::size_t half = neighbours[i].size() / 2;
      const bool is_odd = neighbours[i].size() % 2 == 1;
      options[i] = is_odd ? neighbours[i][half] : (neighbours[i][half - 1] + neighbours[i][half]) / 2;
    }
    return options;
  }

  // The middles closest to the desired ones that keep the minimum distances: the average of pushing everything right
  // and everything left, which keeps every distance that both keep.
  std::vector<long> settle(std::size_t level, const std::vector<long>& options) const {
    const std::vector<Spot>& spots = layout_.levels[level];
    const auto distance = [&](std::size_t i) {
      return reach_right(spots[i]) + static_cast<long>(gap) + reach_left(spots[i + 1]);
    };
    std::vector<long> rightwards = options;
    for (std::size_t i = 1; i < spots.size(); ++i) {
      rightwards[i] = std::max(rightwards[i], rightwards[i - 1] + distance(i - 1));
    }
    std::vector<long> leftwards = options;
    for (std::size_t i = spots.size(); i-- > 1;) {
      leftwards[i - 1] = std::min(leftwards[i - 1], leftwards[i] - distance(i - 1));
    }
    std::vector<long> middles(spots.size());
    for (std::size_t i = 0; i < spots.size(); ++i) {
      const long both = rightwards[i] + leftwards[i];
      middles[i] = both >= 0 ? both / 2 : -((1 - both) / 2);
    }
    return middles;
  }

  const Graph& graph_;
  const Levels& levels_;
  const std::vector<std::size_t>& widths_;
  const std::vector<std::string>& labels_;
  Layout layout_;
  std::vector<std::size_t> position_;
  std::vector<std::vector<long>> middles_;
};

}  // namespace

Layout lay_out(const Graph& graph, const Levels& levels, const std::vector<std::size_t>& widths,
               const std::vector<std::string>& labels) {
  return Arranger(graph, levels, widths, labels).arrange();
}

}  // namespace reeve::graph
