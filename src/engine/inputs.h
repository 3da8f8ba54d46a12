#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/value.h"
#include "engine/change.h"
#include "graph/graph.h"

// The inputs of a node from its predecessors (GRF-8), and merging (GRF-10).
namespace reeve::engine {

// The data of one taken edge: the source's output after the edge's `data_mapping`.
struct Delivery {
  graph::EdgeIndex edge = 0;
  // Rank among the taken edges.
  std::int64_t order = 0;
  base::Value value;
};

// Applies {target: source}: copies fields of `value` under new names, null if missing. Without a mapping, all of
// `value`.
base::Value map_fields(const base::Value& value, const std::map<std::string, std::string>& mapping);
base::Value map_output(const graph::Graph& graph, graph::EdgeIndex edge, const base::Value& output);

// Stores each field under its name and under `node.field`; a later edge in the file wins, with a note. A value that is
// not an object is stored under the source's id. A name that already contains a node is passed on unchanged, so that
// data grows linearly along a chain of nodes instead of doubling at each.
base::Value collect_inputs(const graph::Graph& graph, graph::NodeIndex node, const base::Value& seeds,
                           std::vector<Delivery> deliveries, std::vector<Note>& notes);

// The same with the merge's strategy: all fields, common fields, or the first edge only.
base::Value merge_inputs(const graph::Graph& graph, graph::NodeIndex node, std::vector<Delivery> deliveries,
                         std::vector<Note>& notes);

// `own` over `passed`: branch, parallel and human nodes pass on their inputs with their own fields (GRF-9).
base::Value with_fields(base::Value passed, const base::Value& own);

}  // namespace reeve::engine
