#include "client/grants.h"

#include "client/pages.h"
#include "json/describe.h"

namespace reeve::client {

namespace {

using base::Value;

GrantRecord make_record(Value wire) {
  auto grant = decode<model::Grant>(wire);
  return {.wire = std::move(wire), .grant = std::move(grant)};
}

}  // namespace

std::vector<GrantRecord> list_grants(Daemon& daemon, const GrantSelection& selection, std::size_t limit) {
  std::string target = "/api/grants?";
  if (selection.all) target += "all=true&";
  if (selection.project) target += fmt::format("project={}&", encode_part(*selection.project));
  std::vector<GrantRecord> records;
  read_pages(daemon, target, limit, [&](const Value& item) { records.push_back(make_record(item)); });
  return records;
}

GrantRecord get_grant(Daemon& daemon, base::GrantId id) {
  return make_record(daemon.get(fmt::format("/api/grants/{}", id.text())));
}

GrantRecord revoke_grant(Daemon& daemon, base::GrantId id) {
  return make_record(daemon.post(fmt::format("/api/grants/{}/revoke", id.text()), Value::object()));
}

wire::GrantPreview preview_grant(Daemon& daemon, base::ApprovalId id, const wire::GrantTerms& terms) {
  return decode<wire::GrantPreview>(
      daemon.post(fmt::format("/api/approvals/{}/grant-preview", id.text()), json::to_value(terms)));
}

}  // namespace reeve::client
