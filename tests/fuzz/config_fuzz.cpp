#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "json/describe.h"
#include "json/encode.h"
#include "spec/config_file.h"
#include "spec/pipelines_file.h"
#include "view/problem_text.h"

// Any bytes as a config: refused with an error, or the displayed config parses to the same value.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reeve;
  const auto source =
      std::make_shared<const spec::Source>("fuzz.yaml", std::string(reinterpret_cast<const char*>(data), size));
  const auto pipelines = spec::parse_pipelines(source);
  REEVE_ASSERT(pipelines.has_value() || pipelines.error().has_errors());
  const auto loaded = spec::parse_config({.user = source});
  if (!loaded) {
    REEVE_ASSERT(view::problems_text(loaded.error(), {}).find('\x1b') == std::string::npos);
    return 0;
  }
  loaded->entries();
  const std::string shown = json::encode(json::to_value(loaded->config()));
  const auto again = spec::parse_config({.user = std::make_shared<const spec::Source>("again", shown)});
  REEVE_ASSERT(again.has_value());
  REEVE_ASSERT(again->config() == loaded->config());
  return 0;
}
