#include "cli/command.h"

#include <utility>

#include "cli/commands.h"

namespace reeve::cli {

std::optional<std::string> Arguments::value(std::string_view option) const {
  const auto found = values_.find(option);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::values(std::string_view option) const {
  const auto found = values_.find(option);
  return found != values_.end() ? found->second : std::vector<std::string>();
}

void Arguments::add_option(std::string_view name, std::vector<std::string> values) {
  values_.insert_or_assign(std::string(name), std::move(values));
}

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = {
      make_run(),
      make_runs(),
      make_show(),
      make_calls(),
      make_logs(),
      make_attach(),
      make_cancel(),
      make_rerun(),
      make_pause(),
      make_resume(),
      make_limit(),
      make_seen(),
      make_wait(),
      make_approvals(),
      make_approve(),
      make_reject(),
      make_answer(),
      make_deny(),
      make_approvals_list(),
      make_approvals_approve(),
      make_approvals_reject(),
      make_approvals_deny(),
      make_approvals_wait(),
      make_patch_list(),
      make_patch_show(),
      make_patch_apply(),
      make_patch_drop(),
      make_patch_rollback(),
      make_events(),
      make_audit_list(),
      make_audit_verify(),
      make_import(),
      make_policy_show(),
      make_policy_check(),
      make_policy_test(),
      make_policy_suggest(),
      make_policy_grants(),
      make_policy_revoke(),
      make_hook(),
      make_hook_install(),
      make_hook_uninstall(),
      make_mcp(),
      make_agent_run(),
      make_agent_sessions(),
      make_demo(),
      make_init(),
      make_flow_run(),
      make_flow_list(),
      make_flow_show(),
      make_flow_cancel(),
      make_flow_retry(),
      make_flow_diff(),
      make_flow_apply(),
      make_flow_validate(),
      make_flow_graph(),
      make_flow_schema(),
      make_run_graph(),
      make_pipeline_list(),
      make_pipeline_start(),
      make_pipeline_show(),
      make_pipeline_approve(),
      make_pipeline_reject(),
      make_pipeline_abort(),
      make_pipeline_schema(),
      make_config_show(),
      make_config_trust(),
      make_config_schema(),
      make_doctor(),
      make_notify_test(),
      make_prune(),
      make_backup(),
      make_restore(),
      make_token_create(),
      make_token_list(),
      make_token_revoke(),
      make_token_rotate(),
      make_web(),
      make_serve(),
      make_stop(),
      make_state_adopt(),
      make_state_move(),
      make_project_moved(),
      make_project_copied(),
      make_completion(),
      make_completion_ids(),
      make_version(),
      make_help(),
  };
  return commands;
}

std::vector<Command> shown_commands() {
  std::vector<Command> shown = all_commands();
  std::erase_if(shown, [](const Command& command) { return command.is_internal; });
  return shown;
}

const std::vector<Option>& common_options() {
  static const std::vector<Option> options = {
      {.name = "--json", .help = "print one JSON document instead of text"},
      {.name = "--color",
       .value = "WHEN",
       .help = "when to use colour: auto (on a terminal), always, never",
       .choices = {"auto", "always", "never"}},
      {.name = "--state",
       .value = "DIR",
       .help = "state folder, or a project by path or name (default: REEVE_STATE, the project's, then your own)"},
      {.name = "--host",
       .value = "URL",
       .help = "connect to this daemon (default: REEVE_HOST): host:port, https://…, unix:///path"},
      {.name = "--token-file",
       .value = "FILE",
       .help = "file with its token (default: REEVE_TOKEN, then ~/.config/reeve/tokens)"},
      {.name = "--ascii", .help = "use only ASCII characters"},
      {.name = "--help", .help = "show the full help (-h: the short one)"},
  };
  return options;
}

}  // namespace reeve::cli
