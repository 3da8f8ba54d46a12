#include <string>
#include <vector>

#include "cli/main.h"
#include "cli/serve.h"
#include "server/serve.h"

int main(int count, char** words) {
  using namespace reeve;
  // The daemon lies above the command line's layer.
  cli::set_serve([](const cli::ServeOptions& options) {
    return server::serve({.folder = {options.state},
                          .store = options.store,
                          .http = options.http,
                          .is_behind_proxy = options.behind_proxy,
                          .is_background = options.background});
  });
  return cli::main(std::vector<std::string>(words + (count > 0 ? 1 : 0), words + count));
}
