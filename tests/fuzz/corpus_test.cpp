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
int fuzz_claude(const std::uint8_t* data, std::size_t size);
int fuzz_codex(const std::uint8_t* data, std::size_t size);
int fuzz_config(const std::uint8_t* data, std::size_t size);
int fuzz_frames(const std::uint8_t* data, std::size_t size);
int fuzz_gemini(const std::uint8_t* data, std::size_t size);
int fuzz_hook(const std::uint8_t* data, std::size_t size);
int fuzz_hosted(const std::uint8_t* data, std::size_t size);
int fuzz_http(const std::uint8_t* data, std::size_t size);
int fuzz_json(const std::uint8_t* data, std::size_t size);
int fuzz_keeper(const std::uint8_t* data, std::size_t size);
int fuzz_mcp(const std::uint8_t* data, std::size_t size);
int fuzz_opencode(const std::uint8_t* data, std::size_t size);
int fuzz_output(const std::uint8_t* data, std::size_t size);
int fuzz_question(const std::uint8_t* data, std::size_t size);
int fuzz_redaction(const std::uint8_t* data, std::size_t size);
int fuzz_shell(const std::uint8_t* data, std::size_t size);
int fuzz_sse(const std::uint8_t* data, std::size_t size);
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

const Corpus corpora[] = {
    {"acp", fuzz_acp, {}},
    {"body", fuzz_body, {}},
    {"claude", fuzz_claude, {}},
    {"codex", fuzz_codex, {}},
    {"config", fuzz_config, {"config", "pipelines"}},
    {"frames", fuzz_frames, {}},
    {"gemini", fuzz_gemini, {}},
    {"hook", fuzz_hook, {}},
    {"hosted", fuzz_hosted, {}},
    {"http", fuzz_http, {}},
    {"json", fuzz_json, {}},
    {"keeper", fuzz_keeper, {}},
    {"mcp", fuzz_mcp, {}},
    {"opencode", fuzz_opencode, {}},
    {"output", fuzz_output, {}},
    {"question", fuzz_question, {}},
    {"redaction", fuzz_redaction, {}},
    {"shell", fuzz_shell, {}},
    {"sse", fuzz_sse, {}},
    {"workflow", fuzz_workflow, {"flow", "draw"}},
};

INSTANTIATE_TEST_SUITE_P(Targets, FuzzCorpus, ::testing::ValuesIn(corpora),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace reeve
