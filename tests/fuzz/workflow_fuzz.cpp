#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "graph/draw.h"
#include "spec/workflow_file.h"
#include "view/problem_text.h"

// Any bytes as a workflow file: refused with printable errors, or drawn in every format.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reeve;
  const auto source =
      std::make_shared<const spec::Source>("fuzz.yaml", std::string(reinterpret_cast<const char*>(data), size));
  const auto parsed = spec::parse_workflow(source);
  if (!parsed) {
    REEVE_ASSERT(parsed.error().has_errors());
    const std::string text = view::problems_text(parsed.error(), {});
    REEVE_ASSERT(!base::find_invalid_utf8(text));
    REEVE_ASSERT(text.find('\x1b') == std::string::npos);
    return 0;
  }
  REEVE_ASSERT(spec::hash_content(parsed->workflow) == parsed->content_hash);
  const graph::Graph graph(parsed->workflow);
  for (const std::size_t columns : {40U, 200U}) {
    REEVE_ASSERT(graph::draw_text(graph, {.ascii = columns == 40, .columns = columns}).find('\x1b') ==
                 std::string::npos);
  }
  graph::draw_mermaid(graph);
  graph::draw_dot(graph);
  return 0;
}
