#include "client/calls.h"

#include "client/pages.h"

namespace reeve::client {

namespace {

CallRecord make_record(base::Value wire) {
  auto call = decode<model::ToolCall>(wire);
  return {.wire = std::move(wire), .call = std::move(call)};
}

}  // namespace

std::vector<CallRecord> list_calls(Daemon& daemon, const CallSelection& selection, std::size_t limit) {
  std::string target = "/api/tool-calls?";
  if (selection.run) target += fmt::format("run={}&", selection.run->text());
  if (selection.project) target += fmt::format("project={}&", encode_part(*selection.project));
  if (selection.after) target += fmt::format("after={}&", selection.after->text());
  std::vector<CallRecord> records;
  read_pages(daemon, target, limit, [&](const base::Value& item) { records.push_back(make_record(item)); });
  return records;
}

CallRecord get_call(Daemon& daemon, base::CallId id) {
  return make_record(daemon.get(fmt::format("/api/tool-calls/{}", id.text())));
}

}  // namespace reeve::client
