#include "view/flow_tree.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "graph/analysis.h"
#include "graph/caption.h"
#include "view/execution_text.h"
#include "view/status.h"

namespace reeve::view {

namespace {

using base::WallTime;
using model::NodeExecution;
using model::NodeStatus;

// On narrow terminals.
constexpr std::size_t widest_name = 30;
constexpr std::size_t widest_kind = 30;
constexpr std::size_t note_columns = 20;
constexpr std::size_t span_columns = 7;

struct Row {
  NodeStatus status = NodeStatus::pending;
  std::size_t depth = 0;
  std::string name;
  std::string kind;
  std::string span;
  std::string note;
};

// The predecessors that the node waits for.
std::string awaited_by(const graph::Graph& graph, graph::NodeIndex node,
                       const std::map<std::string_view, const NodeExecution*>& states) {
  constexpr std::size_t max_named = 3;
  std::vector<std::string> names;
  for (const graph::EdgeIndex edge : graph.incoming(node)) {
    if (graph.is_loop(edge)) continue;
    const std::string& source = graph.edge(edge).source;
    const auto found = states.find(source);
    if (found != states.end() && model::is_over(found->second->status)) continue;
    if (std::ranges::find(names, source) == names.end()) names.push_back(source);
  }
  if (names.empty()) return {};
  const std::size_t hidden = names.size() > max_named ? names.size() - max_named : 0;
  names.resize(names.size() - hidden);
  return fmt::format("after {}{}", base::join(names, ", "), hidden > 0 ? fmt::format(" and {} more", hidden) : "");
}

std::string join_notes(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : "  ") + part;
  }
  return text;
}

std::string links_of(const NodeExecution& node) {
  if (node.child_execution_id) return node.child_execution_id->text();
  return node.tool_run_id ? node.tool_run_id->text() : std::string();
}

class Rows {
 public:
  Rows(const Style& style, WallTime now) : style_(style), now_(now) {}

  void add(const FlowPicture& picture, std::size_t depth) {
    const graph::Graph graph(*picture.workflow);
    std::map<std::string_view, const NodeExecution*> states;
    for (const NodeExecution& node : picture.execution.nodes) states.emplace(node.node_id, &node);
    for (const auto& level : graph::find_levels(graph).nodes) {
      for (const graph::NodeIndex index : level) {
        const model::Node& words = graph.node(index);
        const auto state = states.find(words.id);
        if (state == states.end()) continue;
        rows_.push_back(make_row(picture, graph, index, *state->second, states, depth));
        const auto child = picture.children.find(words.id);
        if (child != picture.children.end()) add(child->second, depth + 1);
      }
    }
  }

  std::vector<Row> take() { return std::move(rows_); }

 private:
  Row make_row(const FlowPicture& picture, const graph::Graph& graph, graph::NodeIndex index, const NodeExecution& node,
               const std::map<std::string_view, const NodeExecution*>& states, std::size_t depth) const {
    const auto said = picture.notes.find(node.node_id);
    std::vector<std::string> notes;
    if (node.attempt > 1) notes.push_back(fmt::format("{}{}", style_.pick("↻", "r"), node.attempt));
    if (node.iteration > 0) notes.push_back(fmt::format("round {}", node.iteration + 1));
    switch (node.status) {
      case NodeStatus::pending:
        notes.push_back(awaited_by(graph, index, states));
        break;
      case NodeStatus::ready:
        notes.push_back(node.not_before && *node.not_before > now_
                            ? fmt::format("retrying in {}", span_text(*node.not_before - now_))
                            : "waiting for its turn");
        break;
      case NodeStatus::failed:
        notes.push_back(node.error.value_or(""));
        break;
      case NodeStatus::skipped:
        notes.emplace_back("skipped");
        break;
      case NodeStatus::cancelled:
        notes.emplace_back("cancelled");
        break;
      default:
        break;
    }
    if (said != picture.notes.end() && !model::is_over(node.status)) notes.push_back(said->second);
    if (node.status == NodeStatus::running || node.status == NodeStatus::failed) notes.push_back(links_of(node));
    return {.status = node.status,
            .depth = depth,
            .name = base::visible(node.node_id),
            .kind = graph::describe_node(graph.node(index)),
            .span = span_of(node),
            .note = base::visible(join_notes(notes))};
  }

  std::string span_of(const NodeExecution& node) const {
    const bool has_begun = node.started_at && node.status != NodeStatus::pending && node.status != NodeStatus::ready;
    if (!has_begun) return {};
    const base::Milliseconds span = node.completed_at.value_or(now_) - *node.started_at;
    // Running durations are shown in seconds.
    return !node.completed_at && span < std::chrono::seconds(1) ? std::string() : span_text(span);
  }

  const Style& style_;
  WallTime now_;
  std::vector<Row> rows_;
};

std::string padded(std::string text, std::size_t width, bool ascii) {
  text = base::fit_width(text, width, ascii);
  return text.append(width - base::display_width(text), ' ');
}

// The counts of hidden nodes: "✓ 93 completed".
std::string counted(const std::vector<Row>& hidden, const Style& style) {
  std::vector<std::string> parts;
  for (const NodeStatus status :
       {NodeStatus::completed, NodeStatus::skipped, NodeStatus::cancelled, NodeStatus::pending, NodeStatus::ready,
        NodeStatus::running, NodeStatus::waiting_approval, NodeStatus::failed}) {
    const auto count = std::ranges::count(hidden, status, &Row::status);
    if (count == 0) continue;
    const Look look = look_of(status);
    parts.push_back(fmt::format("{} {} {}", style.pick(look.sign, look.ascii), count, base::spell(status)));
  }
  return "  " + style.paint(Tint::dim, base::join(parts, "   "));
}

// The least interesting rows are hidden first.
int dullness(NodeStatus status) {
  switch (status) {
    case NodeStatus::completed:
    case NodeStatus::skipped:
    case NodeStatus::cancelled:
      return 3;
    case NodeStatus::pending:
      return 2;
    case NodeStatus::ready:
      return 1;
    default:
      return 0;
  }
}

std::vector<Row> hide(std::vector<Row>& rows, std::size_t most) {
  std::vector<Row> hidden;
  for (int level = 3; level >= 0 && rows.size() > most; --level) {
    std::vector<Row> kept;
    // Among equals the earlier ones are hidden: the latest are closest to the current work.
    std::size_t excess = rows.size() - most;
    for (Row& row : rows) {
      const bool goes = excess > 0 && dullness(row.status) == level;
      if (goes) --excess;
      (goes ? hidden : kept).push_back(std::move(row));
    }
    rows = std::move(kept);
  }
  return hidden;
}

std::string heading(const FlowPicture& picture, const std::vector<Row>& rows, const Style& style, WallTime now,
                    std::size_t columns) {
  const model::Execution& execution = picture.execution;
  // A skipped node is not part of the work.
  const auto skipped = std::ranges::count(rows, NodeStatus::skipped, &Row::status);
  const auto total = std::ssize(rows) - skipped;
  const auto done = std::ranges::count_if(rows, [](const Row& row) { return model::is_over(row.status); }) - skipped;
  const Look look = look_of(execution.status);
  std::string name = base::visible(execution.workflow_name);
  if (execution.label) name += fmt::format(" ({})", base::visible(*execution.label));
  const std::string id = execution.execution_id.text();
  const std::string sign(style.pick(look.sign, look.ascii));
  std::string status = fmt::format("{} {}", sign, base::spell(execution.status));
  const std::string span = span_text(execution_span(execution, now));
  std::string rest = fmt::format("  {} of {} nodes  {}", done, total, span);
  constexpr std::size_t least_name = 8;
  const auto room_of_name = [&] {
    const std::size_t fixed = id.size() + 2 + 2 + base::display_width(status) + base::display_width(rest);
    return columns - std::min(columns, fixed);
  };
  // On a narrow terminal, name and status take precedence over details that the rows show too.
  if (room_of_name() < least_name) rest = fmt::format("  {}/{}  {}", done, total, span);
  if (room_of_name() < least_name) rest.clear();
  if (room_of_name() < least_name) status = sign;
  const std::size_t room = std::max<std::size_t>(room_of_name(), 1);
  return fmt::format("{}  {}  {}{}", style.paint(Tint::bold, id), base::fit_width(name, room, style.ascii),
                     style.paint(look.tint, status), rest);
}

}  // namespace

std::vector<std::string> flow_tree(const FlowPicture& picture, const Style& style, WallTime now, TreeSize size) {
  Rows made(style, now);
  made.add(picture, 0);
  std::vector<Row> rows = made.take();
  std::vector<std::string> lines = {heading(picture, rows, style, now, size.columns)};
  std::vector<Row> hidden;
  const std::size_t most = std::max<std::size_t>(size.rows, 4) - 1;
  // One line counts the hidden rows.
  if (rows.size() > most) hidden = hide(rows, most - 1);
  std::size_t name_width = 0;
  std::size_t kind_width = 0;
  for (const Row& row : rows) {
    name_width = std::max(name_width, 2 * row.depth + base::display_width(row.name));
    kind_width = std::max(kind_width, base::display_width(row.kind));
  }
  constexpr std::size_t fixed = 2 + 2 + 2 + span_columns + 2 + note_columns;
  const std::size_t room = size.columns - std::min(size.columns, fixed);
  const auto beside = [&](std::size_t width) { return room - std::min(room, width); };
  name_width = std::min(name_width, std::max(widest_name, beside(std::min(kind_width, widest_kind))));
  kind_width = std::min(kind_width, std::max(widest_kind, beside(name_width)));
  // On a narrow terminal the kind is omitted in favour of the note.
  const bool shows_kind = room >= name_width + kind_width;
  if (!hidden.empty()) lines.push_back(counted(hidden, style));
  for (const Row& row : rows) {
    const Look look = look_of(row.status);
    const bool is_dull = row.status == NodeStatus::pending || row.status == NodeStatus::ready ||
                         row.status == NodeStatus::skipped || row.status == NodeStatus::cancelled;
    const std::string indent(2 * row.depth, ' ');
    std::string text = padded(row.name, name_width - std::min(indent.size(), name_width), style.ascii);
    if (shows_kind) text += "  " + padded(row.kind, kind_width, style.ascii);
    text += fmt::format("  {:>{}}", row.span, span_columns);
    if (!row.note.empty()) text += "  " + row.note;
    text = base::fit_width(text, size.columns > indent.size() + 4 ? size.columns - indent.size() - 3 : 1, style.ascii);
    text.erase(text.find_last_not_of(' ') + 1);
    const std::string sign = style.paint(look.tint, style.pick(look.sign, look.ascii));
    lines.push_back(fmt::format("{}{} {}", indent, sign, is_dull ? style.paint(Tint::dim, text) : text));
  }
  return lines;
}

}  // namespace reeve::view
