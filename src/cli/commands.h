#pragma once

#include "cli/command.h"

// One command, one file of the same name.
namespace reeve::cli {

Command make_run();
Command make_runs();
Command make_agent_run();
Command make_show();
Command make_calls();
Command make_agent_sessions();
Command make_logs();
Command make_attach();
Command make_cancel();
Command make_rerun();
Command make_pause();
Command make_resume();
Command make_limit();
Command make_seen();
Command make_wait();
Command make_approvals();
Command make_approvals_list();
Command make_approvals_approve();
Command make_approvals_reject();
Command make_approvals_deny();
Command make_approvals_wait();
Command make_approve();
Command make_reject();
Command make_answer();
Command make_deny();
Command make_patch_list();
Command make_patch_show();
Command make_patch_apply();
Command make_patch_drop();
Command make_patch_rollback();
Command make_events();
Command make_audit_list();
Command make_audit_verify();
Command make_import();
Command make_notify_test();
Command make_prune();
Command make_backup();
Command make_restore();
Command make_policy_show();
Command make_policy_check();
Command make_policy_grants();
Command make_policy_revoke();
Command make_policy_suggest();
Command make_policy_test();
Command make_doctor();
Command make_token_create();
Command make_token_list();
Command make_token_revoke();
Command make_token_rotate();
Command make_web();
Command make_serve();
Command make_stop();
Command make_state_adopt();
Command make_state_move();
Command make_project_moved();
Command make_project_copied();
Command make_hook();
Command make_hook_install();
Command make_hook_uninstall();
Command make_mcp();
Command make_flow_run();
Command make_flow_list();
Command make_flow_show();
Command make_flow_cancel();
Command make_flow_retry();
Command make_flow_diff();
Command make_flow_apply();
Command make_flow_validate();
Command make_flow_graph();
Command make_flow_schema();
Command make_run_graph();
Command make_pipeline_list();
Command make_pipeline_start();
Command make_pipeline_show();
Command make_pipeline_approve();
Command make_pipeline_reject();
Command make_pipeline_abort();
Command make_pipeline_schema();
Command make_config_show();
Command make_config_trust();
Command make_config_schema();
Command make_init();
Command make_demo();
Command make_completion();
Command make_completion_ids();
Command make_version();
Command make_help();

// `reeve` alone: what needs the user now. Starts no daemon; without one, shows how to begin.
ExitCode show_overview(const Call& call);

}  // namespace reeve::cli
