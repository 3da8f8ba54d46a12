#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/value.h"
#include "model/describe.h"

namespace reeve::wire {

// The body of POST /api/executions: a workflow by its text, or one of the project by its name.
struct ExecutionRequest {
  std::optional<std::string> source;
  // Where the text came from, absolute: for messages, and for the workflows beside it.
  std::optional<std::string> file;
  // Id, name or file name of one in `.reeve/workflows`.
  std::optional<std::string> workflow;
  std::optional<base::Value> inputs;
  std::optional<std::string> label;
  std::optional<std::string> phase_name;
  std::map<std::string, std::string> metadata;
  // The folder that it works in, absolute.
  std::string project;
  // The caller's.
  std::map<std::string, std::string> environment;
};
BOOST_DESCRIBE_STRUCT(ExecutionRequest, (),
                      (source, file, workflow, inputs, label, phase_name, metadata, project, environment))

}  // namespace reeve::wire
