#include "client/patches.h"

#include "base/text.h"
#include "client/pages.h"

namespace reeve::client {

namespace {

PatchRecord make_record(base::Value wire) {
  auto patch = decode<model::Patch>(wire);
  return {.wire = std::move(wire), .patch = std::move(patch)};
}

}  // namespace

std::vector<PatchRecord> list_patches(Daemon& daemon, const PatchSelection& selection, std::size_t limit) {
  std::string target = "/api/patches?";
  if (selection.execution) target += fmt::format("execution={}&", selection.execution->text());
  if (selection.project) target += fmt::format("project={}&", encode_part(*selection.project));
  if (!selection.states.empty()) target += fmt::format("state={}&", base::join(selection.states, ","));
  std::vector<PatchRecord> records;
  read_pages(daemon, target, limit, [&](const base::Value& item) { records.push_back(make_record(item)); });
  return records;
}

PatchRecord get_patch(Daemon& daemon, base::PatchId id) {
  return make_record(daemon.get(fmt::format("/api/patches/{}", id.text())));
}

PatchRecord act_on_patch(Daemon& daemon, base::PatchId id, std::string_view action) {
  return make_record(daemon.post(fmt::format("/api/patches/{}/{}", id.text(), action), base::Value::object()));
}

}  // namespace reeve::client
