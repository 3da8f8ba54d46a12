#pragma once

#include "cli/command.h"

// One command, one file of the same name.
namespace reeve::cli {

Command make_flow_validate();
Command make_flow_graph();
Command make_run_graph();
Command make_config_show();
Command make_init();
Command make_completion();
Command make_version();
Command make_help();

}  // namespace reeve::cli
