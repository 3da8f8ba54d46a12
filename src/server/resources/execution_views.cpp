#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "json/describe.h"
#include "runtime/loop/store_task.h"
#include "server/resources/listing.h"
#include "server/resources/workflow_drawing.h"
#include "server/routing/api.h"
#include "store/executions.h"

// Parts of an execution: its nodes page by page, its drawing.
namespace reeve::server {

namespace {

using base::Error;
using base::ExecutionId;

model::Execution get_execution(store::Session& session, ExecutionId id, store::NodeDetail detail) {
  auto found = store::find_execution(session, id, detail);
  if (!found) {
    throw Error("execution.not_found", fmt::format("there is no execution {}", id.text()),
                "`reeve flow list` lists them");
  }
  return std::move(*found);
}

// The position of a node in its file.
struct NodeCursor {
  std::int64_t place = 0;

  static std::optional<NodeCursor> parse(std::string_view text) {
    NodeCursor cursor;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cursor.place);
    const bool is_whole = error == std::errc() && end == text.data() + text.size();
    return is_whole && cursor.place >= 0 && cursor.place < 1'000'000 ? std::optional(cursor) : std::nullopt;
  }
  std::string text() const { return std::to_string(place); }
};

void nodes(SharedExchange exchange) {
  const bool is_brief = exchange->query("outputs").value_or("1") == "0";
  store::NodeFilter filter{.execution = exchange->execution_id(),
                           .statuses = parse_words<model::NodeStatus>(exchange->query("status"), "status", "statuses"),
                           .most = exchange->query_integer("limit", listed_by_default, 1, max_listed)};
  if (const auto cursor = parse_cursor<NodeCursor>(*exchange)) filter.after = cursor->place;
  send_page(exchange, std::move(filter),
            Listing{[](store::Session& session, const store::NodeFilter& wanted) {
                      get_execution(session, wanted.execution, store::NodeDetail::none);
                      return store::list_nodes(session, wanted);
                    },
                    [](const store::ListedNode& listed) { return NodeCursor{listed.place}; },
                    [is_brief](const store::ListedNode& listed) {
                      model::NodeExecution node = listed.node;
                      if (is_brief) node.inputs = node.outputs = std::nullopt;
                      return json::to_value(node);
                    }});
}

struct Drawn {
  model::Workflow workflow;
  std::vector<model::NodeExecution> nodes;
};

void draw(SharedExchange exchange) {
  check_drawing(*exchange);
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [id = exchange->execution_id()](ledger::Transaction& transaction) {
        store::Session& session = transaction.session();
        Drawn drawn;
        drawn.nodes = get_execution(session, id, store::NodeDetail::brief).nodes;
        drawn.workflow = decode_workflow(store::find_execution_workflow(session, id).value());
        return drawn;
      },
      [exchange](const std::expected<Drawn, Error>& drawn) {
        if (!drawn) return exchange->refuse(drawn.error());
        send_drawing(exchange, drawn->workflow, drawn->nodes);
      });
}

}  // namespace

std::vector<Route> execution_view_routes() {
  return {{"GET", "/api/executions/*/nodes", nodes}, {"GET", "/api/executions/*/graph", draw}};
}

}  // namespace reeve::server
