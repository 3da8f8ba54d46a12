#include "client/agent_sessions.h"

#include "client/pages.h"

namespace reeve::client {

std::vector<SessionRecord> list_sessions(Daemon& daemon, const SessionSelection& selection, std::size_t limit) {
  std::string target = "/api/agents/sessions?";
  if (selection.run) target += fmt::format("run={}&", selection.run->text());
  if (selection.project) target += fmt::format("project={}&", encode_part(*selection.project));
  std::vector<SessionRecord> records;
  read_pages(daemon, target, limit, [&](const base::Value& item) {
    records.push_back({.wire = item, .session = decode<model::AgentSession>(item)});
  });
  return records;
}

}  // namespace reeve::client
