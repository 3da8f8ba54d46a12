#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "json/parse.h"
#include "runtime/tools/confined_folder.h"
#include "runtime/tools/tool_host.h"

// The first line names a tool, the rest is its arguments: each is either refused with a sentence, or has what the tool
// needs. Paths among them never leave their folder (TOOL-4).
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reeve;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\n'), input.size());
  const std::string_view tool = input.substr(0, end);
  const auto arguments = json::parse(input.substr(std::min(end + 1, input.size())));
  if (!arguments) return 0;
  const auto fault = runtime::find_argument_fault(tool, *arguments);
  REEVE_ASSERT(!fault || (!fault->empty() && !base::find_invalid_utf8(*fault)));
  REEVE_ASSERT(fault || runtime::is_hosted(tool));
  const auto argv = runtime::find_shell_argv(*arguments);
  REEVE_ASSERT(!argv || !argv->empty());
  REEVE_ASSERT(fault || tool != "shell_execute" || (argv && !argv->front().empty()));
  static const auto folder = runtime::ConfinedFolder::open("/usr");
  const base::Value* path = arguments->find("path");
  if (!folder || path == nullptr || path->as_string() == nullptr) return 0;
  const auto relative = folder->resolve(*path->as_string());
  if (!relative) {
    REEVE_ASSERT(!relative.error().empty());
    return 0;
  }
  REEVE_ASSERT(!relative->empty() && !relative->starts_with('/') && !relative->contains('\0'));
  for (const std::string_view part : base::split(*relative, '/')) {
    REEVE_ASSERT(!part.empty() && part != ".." && (part != "." || *relative == "."));
  }
  // What has been resolved resolves to itself.
  REEVE_ASSERT(folder->resolve(*relative) == *relative && folder->resolve("/usr/" + *relative) == *relative);
  return 0;
}
