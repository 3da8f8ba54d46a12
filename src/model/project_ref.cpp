#include "model/project_ref.h"

#include <utility>

namespace reeve::model {

ProjectRef make_project_ref(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  std::string name = path.substr(path.rfind('/') + 1);
  // The root folder.
  if (name.empty()) name = path;
  return {std::move(name), std::move(path)};
}

}  // namespace reeve::model
