#include "view/grant_text.h"

#include <fmt/format.h>

#include "base/text.h"
#include "view/project_names.h"
#include "view/run_text.h"
#include "view/status.h"

namespace reeve::view {

namespace {

using base::WallTime;
using model::Grant;

constexpr std::size_t key_columns = 14;

Look look_of(std::string_view status) {
  if (status == "active") return {"●", ">", Tint::cyan};
  return {"⊘", "-", Tint::dim};
}

// "in 7h", "2d ago"
std::string relative_text(WallTime time, WallTime now) {
  return time > now ? "in " + age_text(time - now) : age_text(now - time) + " ago";
}

}  // namespace

std::string grant_scope(const Grant& grant) {
  switch (grant.scope) {
    case model::GrantScope::run:
      return grant.tool_run_id ? grant.tool_run_id->text() : "run";
    case model::GrantScope::execution:
      return grant.execution_id ? grant.execution_id->text() : "execution";
    case model::GrantScope::project:
      return "project";
  }
  return {};
}

std::string_view grant_status(const Grant& grant, WallTime at) noexcept {
  if (grant.revoked_at) return "revoked";
  return grant.expires_at <= at ? "expired" : "active";
}

Table grants_table(const std::vector<Grant>& grants, const Style& style, WallTime now, TimeForm form) {
  if (form == TimeForm::for_pipe) {
    Table table({"ID", "STATUS", "SCOPE", "AGENT", "TOOL", "MATCH", "ALLOWS", "USES", "EXPIRES", "BY", "PROJECT"});
    for (const Grant& grant : grants) {
      table.add({grant.grant_id.text(), std::string(grant_status(grant, now)), grant_scope(grant), grant.agent,
                 grant.tool, std::string(base::spell(grant.match)), grant.describes, fmt::format("{}", grant.uses),
                 base::format_time(grant.expires_at), grant.created_by, path_text(grant.project)});
    }
    return table;
  }
  Table table({"ID", "STATUS", "FOR", "AGENT", "ALLOWS", "USES", "EXPIRES", "BY", "PROJECT"});
  table.shorten_first(4);
  ProjectNames projects;
  projects.add_all(grants);
  for (const Grant& grant : grants) {
    const std::string_view status = grant_status(grant, now);
    const Look look = look_of(status);
    table.add({{grant.grant_id.text()},
               {fmt::format("{} {}", style.pick(look.sign, look.ascii), status), look.tint},
               {grant_scope(grant)},
               {base::visible(grant.agent)},
               {base::visible(grant.describes)},
               {fmt::format("{}", grant.uses)},
               {relative_text(grant.expires_at, now)},
               {base::visible(grant.created_by)},
               {projects.of(grant.project)}});
  }
  return table;
}

std::string grant_details(const Grant& grant, const Style& style, WallTime now, TimeForm form) {
  const bool is_terminal = form == TimeForm::for_terminal;
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) {
    if (value.empty()) return;
    text += is_terminal ? fmt::format("{}{}\n", style.paint(Tint::dim, fmt::format("{:<{}}", key, key_columns)),
                                      base::visible(value))
                        : fmt::format("{}\t{}\n", key, base::visible(value));
  };
  const auto time = [&](std::string_view key, const std::optional<WallTime>& moment) {
    if (!moment) return;
    line(key, is_terminal ? fmt::format("{} ({})", base::format_time(*moment), relative_text(*moment, now))
                          : base::format_time(*moment));
  };
  if (is_terminal) {
    const Look look = look_of(grant_status(grant, now));
    text += fmt::format(
        "{}  {}\n\n", style.paint(Tint::bold, grant.grant_id.text()),
        style.paint(look.tint, fmt::format("{} {}", style.pick(look.sign, look.ascii), grant_status(grant, now))));
  } else {
    line("grant_id", grant.grant_id.text());
    line("status", std::string(grant_status(grant, now)));
  }
  line("allows", grant.describes);
  line("scope", grant_scope(grant));
  line("agent", grant.agent);
  line("tool", grant.tool);
  line("match", std::string(base::spell(grant.match)));
  line("program", command_text(grant.program));
  line("path", grant.path.value_or(""));
  line("digest", grant.digest.value_or(""));
  line("approval_id", grant.approval_id.text());
  line("created_by", grant.created_by);
  time("created_at", grant.created_at);
  time("expires_at", grant.expires_at);
  line("uses", fmt::format("{}", grant.uses));
  time("last_used_at", grant.last_used_at);
  line("revoked_by", grant.revoked_by.value_or(""));
  time("revoked_at", grant.revoked_at);
  line("project", path_text(grant.project));
  return text;
}

}  // namespace reeve::view
