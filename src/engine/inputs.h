#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/value.h"
#include "engine/change.h"
#include "graph/graph.h"

// What a node gets from the nodes before it (GRF-8) and what a merge makes of it (GRF-10).
namespace reeve::engine {

// What one taken edge brings: the source's output through the edge's `data_mapping`.
struct Delivery {
  graph::EdgeIndex edge = 0;
  // Which was taken first.
  std::int64_t order = 0;
  base::Value value;
};

// {target: source}: these fields of `value` under these names, null where there is none; all of it without a mapping.
base::Value map_fields(const base::Value& value, const std::map<std::string, std::string>& mapping);
base::Value map_output(const graph::Graph& graph, graph::EdgeIndex edge, const base::Value& output);

// Each field under its name and under `node.field`; a later edge in the file wins, which is noted. A value that is no
// object stands under the source's id. A name that has a node in it already is handed on as it is: only so does data
// that passes many nodes grow with their number and not double at each.
base::Value collect_inputs(const graph::Graph& graph, graph::NodeIndex node, const base::Value& seeds,
                           std::vector<Delivery> deliveries, std::vector<Note>& notes);

// The same by the merge's strategy: all, what all have in common, the first alone.
base::Value merge_inputs(const graph::Graph& graph, graph::NodeIndex node, std::vector<Delivery> deliveries,
                         std::vector<Note>& notes);

// `own` over `passed`: what branch, parallel and human nodes hand on beside their own fields (GRF-9).
base::Value with_fields(base::Value passed, const base::Value& own);

}  // namespace reeve::engine
