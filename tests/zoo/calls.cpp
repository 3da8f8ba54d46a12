#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/zoo/mode.h"
#include "tests/zoo/run_socket.h"

// Agents that ask on their run's socket before they act, and leave a line for everything that they did.
namespace reeve::zoo {

namespace {

enum class Verdict { allowed, denied, waiting, refused };

struct Call {
  std::string id;
  std::string tool;
  std::string arguments;
  // Reeve's tool host runs it.
  bool is_hosted = false;
  bool may_defer = false;
  // Does not wait for a person.
  bool asks_once = false;
  // Empty: that of the run.
  std::string folder;
  // A line is appended for a call that this agent runs.
  std::string effects;
};

// The first text with that key; escaped quotes cannot look like one.
std::string text_of(const std::string& document, std::string_view key) {
  const std::string mark = "\"" + std::string(key) + "\":\"";
  const std::size_t begin = document.find(mark);
  if (begin == std::string::npos) return {};
  const std::size_t end = document.find('"', begin + mark.size());
  return document.substr(begin + mark.size(), end - begin - mark.size());
}

Verdict verdict_of(const Answer& answer) {
  if (answer.status != 200) return Verdict::refused;
  const std::string decision = text_of(answer.body, "decision");
  if (decision == "allow") return Verdict::allowed;
  return decision == "wait" ? Verdict::waiting : Verdict::denied;
}

std::string body_of(const Call& call) {
  std::string body =
      R"({"call":")" + call.id + R"(","tool":")" + call.tool + R"(","arguments":)" + call.arguments + "}";
  if (call.is_hosted) body.insert(body.size() - 1, R"(,"execute":true)");
  if (call.may_defer) body.insert(body.size() - 1, R"(,"may_defer":true)");
  if (!call.folder.empty()) body.insert(body.size() - 1, R"(,"cwd":")" + call.folder + '"');
  return body;
}

Answer make_call(RunSocket& socket, const Call& call) {
  const std::string body = body_of(call);
  Answer answer = socket.post("/api/tool-calls", body);
  const std::string id = text_of(answer.body, "call_id");
  while (!call.asks_once && verdict_of(answer) == Verdict::waiting) {
    answer = socket.get("/api/tool-calls/" + id + "/wait?timeout=20s");
    const bool may_run = call.is_hosted && verdict_of(answer) == Verdict::allowed;
    if (may_run) answer = socket.post("/api/tool-calls", body);
  }
  if (verdict_of(answer) != Verdict::allowed || call.effects.empty()) return answer;
  if (!call.is_hosted) {
    leave_effect(call.effects, call.id);
    socket.post("/api/tool-calls/" + id + "/result", R"({"failed":false})");
  }
  return answer;
}

Call read_call(const Words& words, std::size_t tool_at) {
  return {.id = word_at(words, 0),
          .tool = word_at(words, tool_at),
          .arguments = word_at(words, tool_at + 1),
          .is_hosted = has_option(words, "--execute"),
          .may_defer = has_option(words, "--defer"),
          .asks_once = has_option(words, "--once"),
          .folder = text_option(words, "--cwd"),
          .effects = text_option(words, "--effect")};
}

int call(const Words& words) {
  RunSocket socket(variable("REEVE_SOCKET"));
  const Answer answer = make_call(socket, read_call(words, 1));
  say(answer.body);
  const Verdict verdict = verdict_of(answer);
  if (verdict == Verdict::waiting && has_option(words, "--defer")) return 90;
  return verdict == Verdict::allowed || verdict == Verdict::waiting ? 0 : verdict == Verdict::denied ? 1 : 3;
}

std::string numbered(std::string text, std::int64_t number) {
  for (std::size_t at = 0; (at = text.find("{n}", at)) != std::string::npos;) {
    text.replace(at, 3, std::to_string(number));
  }
  return text;
}

int calls(const Words& words) {
  const Call pattern = read_call(words, 2);
  const std::int64_t count = number_at(words, 1);
  std::atomic<std::int64_t> next = 0;
  std::array<std::atomic<std::int64_t>, 4> verdicts{};
  std::vector<std::thread> lanes;
  for (std::int64_t i = 0; i < option(words, "--lanes", 1); ++i) {
    lanes.emplace_back([&] {
      RunSocket socket(variable("REEVE_SOCKET"));
      for (std::int64_t number = next++; number < count; number = next++) {
        Call one = pattern;
        one.id += "-" + std::to_string(number);
        one.arguments = numbered(one.arguments, number);
        ++verdicts.at(static_cast<std::size_t>(verdict_of(make_call(socket, one))));
      }
    });
  }
  for (std::thread& lane : lanes) lane.join();
  say("allowed " + std::to_string(verdicts[0]) + " denied " + std::to_string(verdicts[1]) + " waiting " +
      std::to_string(verdicts[2]) + " refused " + std::to_string(verdicts[3]));
  return 0;
}

constexpr std::array modes = {
    Mode{"call", "ID TOOL ARGUMENTS [--execute] [--defer] [--once] [--cwd FOLDER] [--effect FILE]",
         "asks for that call on its run's socket, waits for the answer, through restarts of the daemon, and prints it; "
         "allowed, it appends `ID RUN ATTEMPT PID` to FILE, synced, and reports the result; exit 0, denied 1, refused "
         "3; with --once it does not wait, and with --defer exits with 90 then",
         call},
    Mode{"calls", "PREFIX N TOOL ARGUMENTS [--lanes N] and the options of `call`",
         "N such calls with the ids PREFIX-0 …, {n} in ARGUMENTS is the number; then says how many were allowed, "
         "denied, wait and were refused; exit 0",
         calls},
};

}  // namespace

std::span<const Mode> call_modes() { return modes; }

}  // namespace reeve::zoo
