#pragma once

#include <stop_token>

#include "runtime/tools/tool_host.h"

// The tools that work on files, without git. Arguments have been checked.
namespace reeve::runtime {

wire::CallResult read_file_tool(const HostedCall& call, const std::stop_token& stop);
wire::CallResult list_directory_tool(const HostedCall& call);
wire::CallResult search_files_tool(const HostedCall& call, const std::stop_token& stop);
wire::CallResult write_file_tool(const HostedCall& call);

}  // namespace reeve::runtime
