#include "server/resources/named_page.h"

namespace reeve::server {

using base::ErrorCode;

std::vector<Operation> named_operations(json::Schemas& schemas, const NamedResource& resource,
                                        const base::Value& record) {
  return {{.method = "GET",
           .path = resource.list_path,
           .handle = resource.list,
           .name = resource.list_name,
           .inside = InRunAccess::refused,
           .summary = resource.list_summary,
           .query = {project_parameter(), limit_parameter(), cursor_parameter()},
           .replies = {{200, page_of(schemas, resource.page, record)}},
           .errors = {ErrorCode::config_invalid}},
          {.method = "GET",
           .path = resource.path,
           .handle = resource.show,
           .name = resource.name,
           .inside = InRunAccess::refused,
           .summary = resource.summary,
           .query = {project_parameter()},
           .replies = {{200, record}},
           .errors = {resource.not_found, ErrorCode::config_invalid},
           .is_tagged = true}};
}

}  // namespace reeve::server
