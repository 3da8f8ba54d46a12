#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

// Which names can be among the inputs of a node (GRF-8). Tasks may report any fields, so that this is known only where
// no task, and no subgraph without an output mapping, delivers its outputs unmapped.
namespace reeve::graph {

class NameSearch {
 public:
  // The graph must outlive it.
  explicit NameSearch(const Graph& graph);

  // Inputs that are neither required nor have a default may be missing.
  enum class Optional { counted, ignored };
  // Whether a template's `{name}` can have a value. True also where that is not known, or would take too long to find
  // out.
  bool can_arrive(NodeIndex node, std::string_view name, Optional optional = Optional::counted);

  // Names that are known to arrive, nearest first; at most `most`. Tasks may report others.
  std::vector<std::string> list(NodeIndex node, std::size_t most);
  // Those that the node itself adds to what it passes on.
  std::vector<std::string> list_own(NodeIndex node) const;

 private:
  // A whole name may have any value; the beginning of a dotted one must be an object.
  struct Query {
    std::string_view name;
    // `field` of `node.field`.
    std::string_view field;
    bool is_whole = true;
    Optional optional = Optional::counted;
  };
  enum class Part : std::uint8_t { name, field };

  bool search(NodeIndex start, const Query& query);
  bool is_seeded(std::string_view name, const Query& query) const;
  // Whether the output of `source` has the name; if it passes its inputs on, they are searched next.
  bool has_output(NodeIndex source, Part part, const Query& query);
  bool delivers(EdgeIndex edge, Part part, const Query& query);
  void visit(NodeIndex node, Part part);

  const Graph& graph_;
  NodeIndex entry_ = 0;
  bool has_entry_ = false;
  std::size_t steps_left_;
  std::uint32_t searches_ = 0;
  // By node and part: the last search that visited it.
  std::vector<std::uint32_t> visited_;
  struct Stop {
    NodeIndex node;
    Part part;
  };
  std::vector<Stop> open_;
};

}  // namespace reeve::graph
