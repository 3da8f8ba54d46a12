#pragma once

#include "base/error_code.h"

namespace reeve::spec {

// Codes of mistakes that are the same in every type of file.
struct FileCodes {
  base::ErrorCode unknown_key;
  base::ErrorCode missing_key;
  base::ErrorCode wrong_type;
  base::ErrorCode unknown_value;
  base::ErrorCode bad_duration;
  base::ErrorCode bad_template;
  base::ErrorCode unknown_role;
  base::ErrorCode role_without_tool;
};

inline constexpr FileCodes flow_codes = {
    .unknown_key = base::ErrorCode::flow_unknown_key,
    .missing_key = base::ErrorCode::flow_missing_key,
    .wrong_type = base::ErrorCode::flow_wrong_type,
    .unknown_value = base::ErrorCode::flow_unknown_value,
    .bad_duration = base::ErrorCode::flow_bad_duration,
    .bad_template = base::ErrorCode::flow_bad_template,
    .unknown_role = base::ErrorCode::flow_unknown_role,
    .role_without_tool = base::ErrorCode::flow_role_without_tool,
};
// `bad_duration` is never reported: pipelines have no durations.
inline constexpr FileCodes pipeline_codes = {
    .unknown_key = base::ErrorCode::pipeline_unknown_key,
    .missing_key = base::ErrorCode::pipeline_missing_key,
    .wrong_type = base::ErrorCode::pipeline_wrong_type,
    .unknown_value = base::ErrorCode::pipeline_unknown_value,
    .bad_duration = base::ErrorCode::pipeline_wrong_type,
    .bad_template = base::ErrorCode::pipeline_bad_template,
    .unknown_role = base::ErrorCode::pipeline_unknown_role,
    .role_without_tool = base::ErrorCode::pipeline_role_without_tool,
};
// `role_without_tool` is never reported: a role needs no tool before it is used.
inline constexpr FileCodes config_codes = {
    .unknown_key = base::ErrorCode::config_unknown_key,
    .missing_key = base::ErrorCode::config_missing_key,
    .wrong_type = base::ErrorCode::config_wrong_type,
    .unknown_value = base::ErrorCode::config_unknown_value,
    .bad_duration = base::ErrorCode::config_bad_duration,
    .bad_template = base::ErrorCode::config_bad_template,
    .unknown_role = base::ErrorCode::config_unknown_role,
    .role_without_tool = base::ErrorCode::config_unknown_tool,
};

}  // namespace reeve::spec
