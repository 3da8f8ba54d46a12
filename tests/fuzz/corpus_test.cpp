#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/files.h"

// Each fuzz target over its corpus and the golden files, so that past findings stay fixed without a fuzzer. In these
// builds the targets' entry points have names of their own (tests/CMakeLists.txt).
extern "C" {
int fuzz_acp(const std::uint8_t* data, std::size_t size);
int fuzz_body(const std::uint8_t* data, std::size_t size);
int fuzz_codex(const std::uint8_t* data, std::size_t size);
int fuzz_config(const std::uint8_t* data, std::size_t size);
int fuzz_frames(const std::uint8_t* data, std::size_t size);
int fuzz_hook(const std::uint8_t* data, std::size_t size);
int fuzz_hosted(const std::uint8_t* data, std::size_t size);
int fuzz_http(const std::uint8_t* data, std::size_t size);
int fuzz_json(const std::uint8_t* data, std::size_t size);
int fuzz_keeper(const std::uint8_t* data, std::size_t size);
int fuzz_mcp(const std::uint8_t* data, std::size_t size);
int fuzz_output(const std::uint8_t* data, std::size_t size);
int fuzz_question(const std::uint8_t* data, std::size_t size);
int fuzz_redaction(const std::uint8_t* data, std::size_t size);
int fuzz_shell(const std::uint8_t* data, std::size_t size);
int fuzz_workflow(const std::uint8_t* data, std::size_t size);
}

namespace reeve {
namespace {

namespace fs = std::filesystem;

struct Corpus {
  std::string name;
  int (*run)(const std::uint8_t* data, std::size_t size);
  // Besides tests/fuzz/corpus/NAME, below tests/golden.
  std::vector<std::string> golden;
};

void PrintTo(const Corpus& corpus, std::ostream* out) { *out << corpus.name; }

class FuzzCorpus : public ::testing::TestWithParam<Corpus> {};

TEST_P(FuzzCorpus, past_findings_stay_fixed) {
  std::vector<fs::path> folders = {testing::source_folder() / "tests/fuzz/corpus" / GetParam().name};
  for (const std::string& name : GetParam().golden) folders.push_back(testing::source_folder() / "tests/golden" / name);
  std::vector<fs::path> files;
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  ASSERT_FALSE(files.empty());
  std::ranges::sort(files);
  for (const fs::path& path : files) {
    // A crash ends the process: the trace must show the file.
    SCOPED_TRACE(path.string());
    const std::string bytes = testing::read_text(path);
    EXPECT_EQ(GetParam().run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Targets, FuzzCorpus,
    ::testing::Values(Corpus{"acp", fuzz_acp, {}}, Corpus{"body", fuzz_body, {}}, Corpus{"codex", fuzz_codex, {}},
                      Corpus{"config", fuzz_config, {"config", "pipelines"}}, Corpus{"frames", fuzz_frames, {}},
                      Corpus{"hook", fuzz_hook, {}}, Corpus{"hosted", fuzz_hosted, {}}, Corpus{"http", fuzz_http, {}},
                      Corpus{"json", fuzz_json, {}}, Corpus{"keeper", fuzz_keeper, {}}, Corpus{"mcp", fuzz_mcp, {}},
                      Corpus{"output", fuzz_output, {}}, Corpus{"question", fuzz_question, {}},
                      Corpus{"redaction", fuzz_redaction, {}}, Corpus{"shell", fuzz_shell, {}},
                      Corpus{"workflow", fuzz_workflow, {"flow", "draw"}}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace reeve
