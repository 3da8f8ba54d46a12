#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/value.h"
#include "model/describe.h"

namespace reeve::wire {

// The body of POST /api/executions: a workflow as text, or the name of one in the project.
struct ExecutionRequest {
  std::optional<std::string> source;
  // Absolute path of the text's file, for messages and for finding the workflows next to it.
  std::optional<std::string> file;
  // Id, name or file name of a workflow in `.reeve/workflows`.
  std::optional<std::string> workflow;
  std::optional<base::Value> inputs;
  std::optional<std::string> label;
  std::optional<std::string> phase_name;
  std::map<std::string, std::string> metadata;
  // The folder to work in, absolute; default: the project of the token or of the daemon, if it has one.
  std::string project;
  // The caller's environment.
  std::map<std::string, std::string> environment;
};
BOOST_DESCRIBE_STRUCT(ExecutionRequest, (),
                      (source, file, workflow, inputs, label, phase_name, metadata, project, environment))

}  // namespace reeve::wire
