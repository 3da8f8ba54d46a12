#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "agents/protocol/acp_protocol.h"
#include "agents/protocol/codex_protocol.h"
#include "tests/support/agents/rpc_transcript.h"

namespace reeve::agents {
namespace {

struct Recorded {
  std::string name;
  // The session that is resumed; empty for a new one.
  std::string session;
};

class RecordedAgent : public ::testing::TestWithParam<Recorded> {};

// AGT-4: what real agents wrote becomes these events, and decisions become these lines.
TEST_P(RecordedAgent, is_understood) {
  const bool is_codex = GetParam().name.starts_with("codex-app-server");
  AgentSetup setup{.folder = "/work/shop", .prompt = "write x"};
  setup.session = GetParam().session;
  setup.resumes = !setup.session.empty();
  const auto protocol = is_codex ? make_codex_protocol(setup) : make_acp_protocol(setup);
  testing::RpcTranscript transcript(GetParam().name, is_codex ? "codex" : "acp");
  testing::expect_golden(testing::source_folder() / "tests/golden/agents/protocol" / (GetParam().name + ".txt"),
                         transcript.play(*protocol));
}

INSTANTIATE_TEST_SUITE_P(
    Transcripts, RecordedAgent,
    ::testing::Values(Recorded{"codex-app-server.accept", ""}, Recorded{"codex-app-server.decline", ""},
                      Recorded{"codex-app-server.cancel", ""}, Recorded{"codex-app-server.file-change.accept", ""},
                      Recorded{"codex-app-server.readonly-ls-asked", ""}, Recorded{"acp.claude-agent.allow", ""},
                      Recorded{"acp.claude-agent.cancel", ""}, Recorded{"acp.claude-agent.load", "<id-1>"},
                      Recorded{"acp.codex.allow", ""}, Recorded{"acp.codex.reject", ""},
                      Recorded{"acp.gemini.reject", ""}, Recorded{"acp.gemini.write", ""},
                      Recorded{"acp.opencode.allow", ""}, Recorded{"acp.opencode.load", "<id-1>"},
                      Recorded{"acp.opencode.reject", ""}, Recorded{"acp.zed-claude-code.allow", ""},
                      Recorded{"acp.zed-codex.allow", ""}),
    [](const auto& param) {
      std::string name = param.param.name;
      std::ranges::replace_if(name, [](char c) { return c == '.' || c == '-'; }, '_');
      return name;
    });

}  // namespace
}  // namespace reeve::agents
