#include "runtime/runs/run_outputs.h"

#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/encode.h"
#include "json/parse.h"
#include "keeper/output_writer.h"
#include "keeper/packing.h"
#include "tests/support/files.h"

namespace reeve::runtime {
namespace {

namespace fs = std::filesystem;

using base::Value;
using model::RunStatus;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The folder of a run whose first attempt has ended.
class NodeOutputs : public ::testing::Test {
 protected:
  NodeOutputs() {
    fs::create_directories(scratch_.path() / "1/own");
    run_.status = RunStatus::completed;
    run_.exit_code = 0;
  }
  void print(std::string_view text, std::uint8_t stream = 0) {
    std::memcpy(writer().room().data(), text.data(), text.size());
    writer().append(stream, text.size(), 1);
    writer().consume(0);
  }
  void report(std::string_view text) const { scratch_.write("1/own/result.json", text); }
  void know(const std::vector<std::string>& secrets) const {
    scratch_.write("secrets", keeper::Packer().put(secrets).bytes());
  }
  std::string folder() const { return scratch_.path().string(); }
  Value outputs(const TaskReport& told = {}) const { return make_task_outputs(folder(), run_, told); }
  std::string output(std::string_view key, const TaskReport& told = {}) const {
    const Value all = outputs(told);
    const Value* found = all.find(key);
    if (found == nullptr) return "none";
    return found->as_string() != nullptr ? *found->as_string() : json::encode(*found);
  }
  std::string text(std::size_t most = 1000) const { return read_text(folder(), run_, most); }

  testing::ScratchFolder scratch_;
  model::Run run_;

 private:
  keeper::OutputWriter& writer() {
    if (!writer_) {
      attempt_.emplace(os::Folder::open((scratch_.path() / "1").string()));
      writer_.emplace(*attempt_, 1U << 30U);
    }
    return *writer_;
  }
  std::optional<os::Folder> attempt_;
  std::optional<keeper::OutputWriter> writer_;
};

// GRF-9
TEST_F(NodeOutputs, task_has_status_exit_code_summary_and_text) {
  print("first\n");
  print("note\n", 1);
  print("done well \n\n");
  EXPECT_EQ(json::encode(outputs()),
            R"({"status":"completed","exit_code":0,"summary":"done well","text":"first\nnote\ndone well \n\n"})");
}

TEST_F(NodeOutputs, run_that_never_began_has_empty_outputs) {
  fs::remove_all(scratch_.path() / "1");
  run_.status = RunStatus::failed;
  run_.exit_code.reset();
  EXPECT_EQ(json::encode(outputs()), R"({"status":"failed","exit_code":null,"summary":"","text":""})");
  EXPECT_EQ(text(), "");
}

TEST_F(NodeOutputs, summary_is_the_last_line_that_is_not_an_event) {
  print("the answer\n{\"event\":\"result\",\"data\":{}}\n");
  print("a warning\n", 1);
  EXPECT_EQ(output("summary"), "the answer");
  print("{\"answer\": 42}\n");
  EXPECT_EQ(output("summary"), "{\"answer\": 42}") << "not an event, so it is for people";
}

TEST_F(NodeOutputs, summary_falls_back_to_stderr) {
  print("cannot go on\n", 1);
  EXPECT_EQ(output("summary"), "cannot go on");
  EXPECT_EQ(output("text"), "cannot go on\n");
}

// GRF-9: the keys of REEVE_OUTPUT, then those of the event, override the others.
TEST_F(NodeOutputs, reported_result_is_merged_over_the_defaults) {
  print("text\n");
  report(R"( {"files": 3, "summary": "mine", "from": "file"} )");
  const Value event = json::parse(R"({"from": "event", "score": 1.5})").value();
  EXPECT_EQ(
      json::encode(outputs({.result = event})),
      R"({"status":"completed","exit_code":0,"summary":"mine","text":"text\n","files":3,"from":"event","score":1.5})");
  report("[1]");
  EXPECT_EQ(output("result"), "[1]");
  report("null");
  EXPECT_EQ(output("result"), "none");
  report("  \n");
  EXPECT_EQ(output("result_error"), "none");
}

TEST_F(NodeOutputs, unreadable_report_yields_result_error) {
  report(R"({"a": 1)");
  EXPECT_THAT(output("result_error"), HasSubstr("not valid JSON"));
  report("\"" + std::string(300'000, 'x') + "\"");
  EXPECT_THAT(output("result_error"), HasSubstr("too large"));
  fs::remove(scratch_.path() / "1/own/result.json");
  fs::create_symlink("/etc/hostname", scratch_.path() / "1/own/result.json");
  EXPECT_THAT(output("result_error"), HasSubstr("cannot be read"));
  fs::remove(scratch_.path() / "1/own/result.json");
  fs::create_directory(scratch_.path() / "1/own/result.json");
  EXPECT_THAT(output("result_error"), HasSubstr("not a regular file"));
}

TEST_F(NodeOutputs, text_keeps_the_end_in_whole_characters) {
  print("begin ");
  for (int i = 0; i < 100; ++i) print("äöü");
  print(" end");
  const std::string end = text(51);
  EXPECT_LE(end.size(), 51U);
  EXPECT_TRUE(end.ends_with("äöü end"));
  EXPECT_THAT(end, AllOf(Not(HasSubstr("\xEF\xBF\xBD")), Not(HasSubstr("begin"))));
  print("\xff!");
  EXPECT_TRUE(text().ends_with(" end\xEF\xBF\xBD!"));
}

// LOG-4
TEST_F(NodeOutputs, secrets_are_hidden_in_text_and_report) {
  know({"s3cret"});
  print("it is s3c");
  print("beside\n", 1);
  print("ret!\n");
  EXPECT_EQ(text(), "it is beside\n***!\n");
  report(R"({"a": "s3cret", "s3cret": [{"deep": "xs3cretx"}], "n": 1})");
  const std::string all = json::encode(outputs({.secrets = {"s3cret"}}));
  EXPECT_THAT(all, AllOf(HasSubstr(R"("a":"***")"), HasSubstr(R"("***":[{"deep":"x***x"}])"), HasSubstr(R"("n":1)"),
                         Not(HasSubstr("s3cret"))));
  report(R"({"a": 1, s3cret})");
  EXPECT_THAT(output("result_error", {.secrets = {"s3cret"}}), Not(HasSubstr("s3cret")));
}

// LOG-4: the text read begins in the middle of the output, perhaps within a secret.
TEST_F(NodeOutputs, no_tail_of_a_secret_is_shown) {
  const std::string secret = "abcdefghijklmnopqrstuvwxyz";
  know({secret});
  // Small frames: most of the bytes read are headers.
  for (int i = 0; i < 20; ++i) {
    for (const char c : secret) print(std::string(1, c));
  }
  for (std::size_t most = 20; most < 120; ++most) {
    EXPECT_THAT(text(most), Not(::testing::ContainsRegex("[a-z]"))) << most;
  }
}

// GRF-6, GRF-9
TEST_F(NodeOutputs, gate_outputs_have_verdict_and_text) {
  print("2 failed\n", 1);
  run_.status = RunStatus::failed;
  run_.exit_code = 1;
  EXPECT_EQ(json::encode(make_gate_outputs(folder(), run_)),
            R"({"passed":false,"test_status":"failed","output":"2 failed\n","exit_code":1})");
  run_.status = RunStatus::completed;
  run_.exit_code = 0;
  EXPECT_EQ(json::encode(make_gate_outputs(folder(), run_)),
            R"({"passed":true,"test_status":"passed","output":"2 failed\n","exit_code":0})");
  EXPECT_EQ(json::encode(make_skipped_outputs("because")),
            R"({"passed":false,"test_status":"skipped","output":"because","exit_code":null})");
}

// GRF-6: the command ran and exited non-zero; anything else is not a result.
TEST_F(NodeOutputs, gate_rejects_only_by_a_nonzero_exit) {
  const auto word = [&](RunStatus status, std::optional<int> code) {
    run_.status = status;
    run_.exit_code = code;
    return read_gate_word(run_);
  };
  EXPECT_EQ(word(RunStatus::completed, 0), GateWord::yes);
  for (const int code : {1, 2, 90, 125, 128, 255}) EXPECT_EQ(word(RunStatus::failed, code), GateWord::no) << code;
  for (const int code : {0, 126, 127}) EXPECT_EQ(word(RunStatus::failed, code), GateWord::broken) << code;
  EXPECT_EQ(word(RunStatus::failed, std::nullopt), GateWord::broken) << "a signal";
  EXPECT_EQ(word(RunStatus::failed_timeout, 1), GateWord::broken);
  EXPECT_EQ(word(RunStatus::cancelled, 1), GateWord::broken);
}

}  // namespace
}  // namespace reeve::runtime
