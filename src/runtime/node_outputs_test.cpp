#include "runtime/node_outputs.h"

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

// The folder of a run whose first attempt is over.
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
TEST_F(NodeOutputs, of_a_task_are_how_it_ended_and_what_it_said) {
  print("first\n");
  print("note\n", 1);
  print("done well \n\n");
  EXPECT_EQ(json::encode(outputs()),
            R"({"status":"completed","exit_code":0,"summary":"done well","text":"first\nnote\ndone well \n\n"})");
}

TEST_F(NodeOutputs, of_one_that_never_began_are_empty) {
  fs::remove_all(scratch_.path() / "1");
  run_.status = RunStatus::failed;
  run_.exit_code.reset();
  EXPECT_EQ(json::encode(outputs()), R"({"status":"failed","exit_code":null,"summary":"","text":""})");
  EXPECT_EQ(text(), "");
}

TEST_F(NodeOutputs, the_summary_is_the_last_line_for_people) {
  print("the answer\n{\"event\":\"result\",\"data\":{}}\n");
  print("a warning\n", 1);
  EXPECT_EQ(output("summary"), "the answer");
  print("{\"answer\": 42}\n");
  EXPECT_EQ(output("summary"), "{\"answer\": 42}") << "no event, so it is for people";
}

TEST_F(NodeOutputs, where_only_standard_error_was_used_the_summary_is_from_there) {
  print("cannot go on\n", 1);
  EXPECT_EQ(output("summary"), "cannot go on");
  EXPECT_EQ(output("text"), "cannot go on\n");
}

// GRF-9: the keys of REEVE_OUTPUT, then those of the event, over the others.
TEST_F(NodeOutputs, what_it_reports_is_merged_in) {
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

TEST_F(NodeOutputs, a_report_that_cannot_be_read_is_told) {
  report(R"({"a": 1)");
  EXPECT_THAT(output("result_error"), HasSubstr("no JSON"));
  report("\"" + std::string(300'000, 'x') + "\"");
  EXPECT_THAT(output("result_error"), HasSubstr("too large"));
  fs::remove(scratch_.path() / "1/own/result.json");
  fs::create_symlink("/etc/hostname", scratch_.path() / "1/own/result.json");
  EXPECT_THAT(output("result_error"), HasSubstr("cannot be read"));
  fs::remove(scratch_.path() / "1/own/result.json");
  fs::create_directory(scratch_.path() / "1/own/result.json");
  EXPECT_THAT(output("result_error"), HasSubstr("no file"));
}

TEST_F(NodeOutputs, the_text_ends_with_the_end_in_whole_characters) {
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

// LOG-4: what is read begins somewhere in the middle, perhaps of a secret.
TEST_F(NodeOutputs, no_end_of_a_secret_is_shown_without_its_beginning) {
  const std::string secret = "abcdefghijklmnopqrstuvwxyz";
  know({secret});
  // Frame by frame: most of what is read are headers.
  for (int i = 0; i < 20; ++i) {
    for (const char c : secret) print(std::string(1, c));
  }
  for (std::size_t most = 20; most < 120; ++most) {
    EXPECT_THAT(text(most), Not(::testing::ContainsRegex("[a-z]"))) << most;
  }
}

// GRF-6, GRF-9
TEST_F(NodeOutputs, of_a_gate_are_what_it_said) {
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

// GRF-6: its command ran and exited non-zero; anything else has said nothing.
TEST_F(NodeOutputs, a_gate_says_no_only_when_it_ran) {
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
