#include "tests/support/tool_calls.h"

#include <algorithm>
#include <csignal>
#include <filesystem>

#include <fmt/format.h>

namespace reeve::testing {

ToolCallsTest::ToolCallsTest() { configure(agent_config()); }

std::string ToolCallsTest::agent_config(const std::string& profile, const std::string& rules, const std::string& more) {
  return fmt::format(
      "tools:\n"
      "  agent: {{command: [/bin/sh, -c]{}}}\n"
      "policies:\n"
      "  tools: {{probe: auto_approve, forbidden: deny{}}}\n"
      "{}",
      profile, rules, more);
}

void ToolCallsTest::make_repository() const {
  scratch().write("project/.git/HEAD", "ref: refs/heads/main\n");
  for (const char* folder : {"objects", "refs"}) std::filesystem::create_directories(project() / ".git" / folder);
}

std::string ToolCallsTest::functions() const {
  return fmt::format(
      "call() {{ '{0}' call \"$@\"; }}\n"
      "act() {{ '{0}' call \"$@\" --effect '{1}'; }}\n"
      "wait_file() {{ '{0}' wait-file '{2}'/\"$1\" >/dev/null; }}\n"
      "get() {{ curl -s --unix-socket \"$REEVE_SOCKET\" \"http://reeve/api/$1\"; }}\n"
      "post() {{ curl -s --unix-socket \"$REEVE_SOCKET\" -H 'Content-Type: application/json' -d \"$2\" "
      "\"http://reeve/api/$1\"; }}\n",
      zoo_binary(), (scratch().path() / "effects").string(), project().string());
}

std::string ToolCallsTest::begin(const std::string& script, const std::string& tool) const {
  // A denied call as the last command would fail the run.
  return start_tool(tool, {functions() + script + "\ntrue"});
}

std::string ToolCallsTest::say(const std::string& script, const std::string& tool) const {
  return reeve({"run", "--tool", tool, "--", functions() + script + "\ntrue"}).out;
}

std::optional<std::vector<Members>> ToolCallsTest::find_calls_of(const std::string& run) const {
  const auto elements = parse_array(reeve({"calls", run, "--json", "--limit", "1000"}).out);
  if (!elements) return std::nullopt;
  std::vector<Members> calls;
  for (const std::string& element : *elements) calls.push_back(parse_object(element).value_or(Members()));
  std::ranges::reverse(calls);
  return calls;
}

std::vector<Members> ToolCallsTest::calls_of(const std::string& run) const {
  auto calls = find_calls_of(run);
  EXPECT_TRUE(calls) << run << " has no list of calls";
  return std::move(calls).value_or(std::vector<Members>());
}

Members ToolCallsTest::call_of(const std::string& run, const std::string& native_id) const {
  Members found;
  for (Members& call : calls_of(run)) {
    if (call["native_id"] == native_id) found = std::move(call);
  }
  EXPECT_FALSE(found.empty()) << run << " has made no call " << native_id;
  return found;
}

std::vector<Members> ToolCallsTest::wait_for_waiting(const std::string& run, std::size_t count) const {
  std::vector<Members> waiting;
  EXPECT_TRUE(eventually([&] {
    waiting = find_calls_of(run).value_or(std::vector<Members>());
    std::erase_if(waiting, [](Members& call) { return call["answer"] != "null" || call["decision"] != "ask"; });
    return waiting.size() == count;
  })) << waiting.size()
      << " calls wait, not " << count << "\n"
      << logs(run);
  return waiting;
}

std::string ToolCallsTest::wait_for_question(const std::string& run) const {
  const std::vector<Members> waiting = wait_for_waiting(run, 1);
  return waiting.size() == 1 ? waiting.front().at("approval_id") : "AP-0";
}

std::unique_ptr<Session> ToolCallsTest::serve_until(const std::string& point) const {
  if (std::filesystem::exists(socket())) EXPECT_EQ(reeve({"stop"}).code, 0);
  auto daemon = start({"serve"}, Session::Ends::pipes, {{"REEVE_CRASH_POINT", point}});
  daemon->wait_for_error("listening");
  return daemon;
}

void ToolCallsTest::expect_killed(Session& daemon, const std::string& point) {
  EXPECT_EQ(daemon.wait(), 128 + SIGKILL) << "it never came to " << point;
}

std::string ToolCallsTest::effect(const std::string& word) const {
  return fmt::format("'{}' effect '{}' {}", zoo_binary(), (scratch().path() / "effects").string(), word);
}

std::string ToolCallsTest::quoted(const std::string& text) {
  std::string word = "'";
  for (const char character : text) word += character == '\'' ? std::string("'\\''") : std::string(1, character);
  return word + "'";
}

Outcome ToolCallsTest::approve(const std::string& id, const Words& more) const {
  Words words = {"approve", id, "--yes", "--confirm=" + id};
  words.insert(words.end(), more.begin(), more.end());
  return reeve(words);
}

Outcome ToolCallsTest::reject(const std::string& id, const Words& more) const {
  Words words = {"reject", id};
  words.insert(words.end(), more.begin(), more.end());
  return reeve(words);
}

std::vector<std::string> ToolCallsTest::executed() const {
  std::vector<std::string> ids;
  for (const std::string& line : effects()) ids.push_back(line.substr(0, line.find(' ')));
  std::ranges::sort(ids);
  return ids;
}

int ToolCallsTest::count_events(const std::string& run, const std::string& event) const {
  int count = 0;
  for (Members& line : combined_log()) count += line["event"] == event && line["tool_run_id"] == run ? 1 : 0;
  return count;
}

void ToolCallsTest::expect_audit_intact() const {
  const Outcome outcome = reeve({"audit", "verify"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

void ToolCallsTest::expect_completed(const std::string& run) const {
  Members over = finish(run);
  EXPECT_EQ(over["status"], "completed") << over["reason"] << "\n" << logs(run);
}

}  // namespace reeve::testing
