#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "tests/zoo/claude_text.h"
#include "tests/zoo/mode.h"

// Claude Code as far as its adapter knows it: stream-json in both directions, and the PreToolUse hook of its settings
// before each call. A script says what its model answers.
namespace reeve::zoo {

namespace {

enum class Verdict { allow, deny, defer };

struct Call {
  std::string id;
  std::string tool;
  std::string arguments;
  std::string parent;
  // Runs it without asking, or whatever the gate says.
  bool is_ungated = false;
  bool is_defiant = false;
  // Asks on the control protocol as well.
  bool asks = false;
  Verdict verdict = Verdict::deny;
  std::string reason;
};

std::string read_whole(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Takes the next word of a line.
std::string take_word(std::string& line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  std::string word = line.substr(0, space);
  line.erase(0, space + 1);
  return word;
}

class Claude {
 public:
  explicit Claude(const Words& words)
      : effects_(text_option(words, "--effects")),
        hook_(find_text(read_whole(text_option(words, "--settings")), "command")),
        resumes_(has_option(words, "--resume")),
        session_(text_option(words, resumes_ ? "--resume" : "--session-id")) {
    std::ifstream script(text_option(words, "--script"));
    if (!script) throw WrongUsage("--script names no file");
    for (std::string line; std::getline(script, line);) script_.push_back(line);
    const std::string folder = variable("HOME") + "/.zoo-claude";
    ::mkdir(folder.c_str(), 0700);
    file_ = folder + "/" + session_;
  }

  int run() {
    if (session_.empty()) throw WrongUsage("no session");
    if (resumes_ && !load()) {
      write_all(STDERR_FILENO, "No conversation found with session ID: " + session_ + "\n");
      return 1;
    }
    if (hook_.empty()) write_all(STDERR_FILENO, "zoo: no hook in the settings\n");
    if (deferred_.id.empty()) {
      if (!wait_for_prompt()) return 0;
      print_init();
    } else {
      // As the real one does: the deferred call comes first, then the session.
      const bool is_over = !make_calls({std::exchange(deferred_, {})});
      if (is_over) return 0;
      print_init();
    }
    while (true) {
      const int code = play();
      if (code >= 0) return code;
      if (!wait_for_prompt()) return 0;
    }
  }

 private:
  void print(const std::string& line) {
    const std::lock_guard lock(output_);
    say(line);
  }
  std::string parent_of(const Call& call) const { return call.parent.empty() ? "null" : quote(call.parent); }

  // --- Its session file: the place in the script, the cost so far, and the deferred call ---

  bool load() {
    std::ifstream file(file_);
    std::string line;
    if (!(file >> at_ >> turns_)) return false;
    std::getline(file, line);
    if (std::getline(file, line) && !line.empty()) deferred_ = parse_call(line);
    return true;
  }
  void save() const {
    std::string text = std::to_string(at_) + " " + std::to_string(turns_) + "\n";
    if (!deferred_.id.empty()) text += deferred_.id + " " + deferred_.tool + " " + deferred_.arguments + "\n";
    write_file(file_, text);
  }

  // --- Standard input ---

  bool read_line(std::string& line) {
    line.clear();
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) == 1) {
      if (byte == '\n') return true;
      line += byte;
    }
    return false;
  }

  // False at the end of the input.
  bool wait_for_prompt() {
    for (std::string line; read_line(line);) {
      if (find_text(line, "type") == "user") {
        prompt_ = find_text(line, "content");
        return true;
      }
      if (find_text(line, "subtype") == "initialize") {
        print(R"({"type":"control_response","response":{"subtype":"success","request_id":)" +
              quote(find_text(line, "request_id")) +
              R"(,"response":{"current_permission_mode":"default","hook_on_failure_supported":true}}})");
      }
    }
    return false;
  }

  // --- Lines ---

  void print_init() {
    print(R"({"type":"system","subtype":"init","cwd":"/","session_id":)" + quote(session_) +
          R"(,"model":"zoo-1","permissionMode":)" + quote(mode_) + R"(,"claude_code_version":"2.1.325"})");
  }
  void print_event(const std::string& event) {
    print(R"({"type":"stream_event","parent_tool_use_id":null,"event":)" + event + "}");
  }
  void print_block(const std::string& message, const std::string& parent, const std::string& block) {
    print(R"({"type":"assistant","message":{"id":)" + quote(message) + R"(,"role":"assistant","content":[)" + block +
          R"(],"usage":{"input_tokens":100,"output_tokens":1}},"parent_tool_use_id":)" + parent + "}");
  }
  void print_result(const std::string& text, bool is_error, const std::string& more) {
    ++turns_;
    std::string denials;
    for (const std::string& id : denials_)
      denials += (denials.empty() ? "" : ",") + (R"({"tool_use_id":)" + quote(id)) + "}";
    print(R"({"type":"result","subtype":"success","is_error":)" + std::string(is_error ? "true" : "false") +
          R"(,"result":)" + quote(text) + R"(,"session_id":)" + quote(session_) + R"(,"total_cost_usd":)" +
          std::to_string(0.25 * static_cast<double>(turns_)) +
          R"(,"usage":{"input_tokens":100,"output_tokens":20},"permission_denials":[)" + denials + "]" + more + "}");
    save();
  }

  // --- Calls ---

  static Call parse_call(std::string line) {
    Call call;
    call.id = take_word(line);
    call.tool = take_word(line);
    call.arguments = line.empty() ? "{}" : line;
    return call;
  }

  void announce(const std::string& message, const std::vector<Call>& calls) {
    if (calls.front().parent.empty()) {
      print_event(R"({"type":"message_start","message":{"id":)" + quote(message) + "}}");
    }
    for (const Call& call : calls) {
      if (call.parent.empty()) {
        print_event(R"({"type":"content_block_start","content_block":{"type":"tool_use"}})");
      }
      print_block(message, parent_of(call),
                  R"({"type":"tool_use","id":)" + quote(call.id) + R"(,"name":)" + quote(call.tool) + R"(,"input":)" +
                      call.arguments + "}");
    }
    if (calls.front().parent.empty()) print_event(R"({"type":"message_stop"})");
  }

  void ask_hook(Call& call) const {
    const HookEnd end =
        run_hook(hook_, R"({"hook_event_name":"PreToolUse","session_id":)" + quote(session_) + R"(,"cwd":)" +
                            quote(std::filesystem::current_path().string()) + R"(,"tool_name":)" + quote(call.tool) +
                            R"(,"tool_input":)" + call.arguments + R"(,"tool_use_id":)" + quote(call.id) + "}");
    const std::string decision = find_text(end.out, "permissionDecision");
    call.reason = find_text(end.out, "permissionDecisionReason");
    // "onFailure": "block".
    call.verdict = end.code != 0         ? Verdict::deny
                   : decision == "allow" ? Verdict::allow
                   : decision == "defer" ? Verdict::defer
                                         : Verdict::deny;
  }

  // The second gate, one after the other.
  void ask_protocol(Call& call) {
    const std::string request = "ask-" + call.id;
    print(R"({"type":"control_request","request_id":)" + quote(request) +
          R"(,"request":{"subtype":"can_use_tool","tool_name":)" + quote(call.tool) + R"(,"input":)" + call.arguments +
          R"(,"tool_use_id":)" + quote(call.id) + "}}");
    for (std::string line; read_line(line);) {
      if (find_text(line, "request_id") != request) continue;
      call.verdict = find_text(line, "behavior") == "allow" ? Verdict::allow : Verdict::deny;
      call.reason = find_text(line, "message");
      return;
    }
    call.verdict = Verdict::deny;
  }

  void finish(const Call& call) {
    const bool runs = call.is_ungated || call.is_defiant || call.verdict == Verdict::allow;
    if (runs && !effects_.empty()) leave_effect(effects_, call.id);
    const std::string text = runs ? "done " + call.id : call.reason;
    std::string meta;
    if (!runs) {
      denials_.push_back(call.id);
      meta = R"(,"tool_result_meta":[{"id":)" + quote(call.id) +
             R"(,"non_execution_kind":"permission-rule","permission_decision":{"decision":"reject","source":"hook"}}])";
    }
    print(R"({"type":"user","message":{"role":"user","content":[{"tool_use_id":)" + quote(call.id) +
          R"(,"type":"tool_result","content":)" + quote(text) + R"(,"is_error":)" + (runs ? "false" : "true") +
          R"(}]},"parent_tool_use_id":)" + parent_of(call) + meta + "}");
  }

  // False if the process has to end, because a call was deferred.
  bool make_calls(std::vector<Call> calls) {
    std::vector<std::thread> hooks;
    for (Call& call : calls) {
      if (!call.is_ungated) hooks.emplace_back([this, &call] { ask_hook(call); });
    }
    for (std::thread& hook : hooks) hook.join();
    for (Call& call : calls) {
      if (call.asks && call.verdict == Verdict::allow) ask_protocol(call);
      // Of several calls all but the last are lost.
      if (call.verdict == Verdict::defer) deferred_ = call;
    }
    if (!deferred_.id.empty()) {
      print_result("", false, R"(,"stop_reason":"tool_deferred","terminal_reason":"tool_deferred")");
      return false;
    }
    for (const Call& call : calls) finish(call);
    return true;
  }

  // --- The script ---

  // The calls of one message: this line, and further ones that begin with `and`.
  std::vector<Call> take_message(const std::string& word, const std::string& line) {
    std::vector<Call> calls;
    const auto add = [&](const std::string& kind, std::string rest) {
      const std::string parent = kind == "sub" ? take_word(rest) : "";
      calls.push_back(parse_call(rest));
      calls.back().parent = parent;
      calls.back().is_ungated = kind == "ungated";
      calls.back().is_defiant = kind == "defy";
      calls.back().asks = kind == "ask";
    };
    add(word, line);
    while (at_ < script_.size() && script_[at_].starts_with("and ")) {
      std::string rest = script_[at_++].substr(4);
      const std::string kind = take_word(rest);
      add(kind, rest);
    }
    return calls;
  }

  // Its exit code; -1 at the end of a turn.
  int play() {
    while (at_ < script_.size()) {
      const std::size_t number = at_;
      std::string line = script_[at_++];
      const std::string word = take_word(line);
      save();
      const std::string message = "msg_" + std::to_string(number);
      if (word == "call" || word == "ungated" || word == "defy" || word == "sub" || word == "ask") {
        const std::vector<Call> calls = take_message(word, line);
        announce(message, calls);
        if (!make_calls(calls)) return 0;
      } else if (word == "say" || word == "hear") {
        const std::string text = word == "say" ? line : "told: " + prompt_;
        print_event(R"({"type":"message_start","message":{"id":)" + quote(message) + "}}");
        print_block(message, "null", R"({"type":"text","text":)" + quote(text) + "}");
        print_event(R"({"type":"message_stop"})");
      } else if (word == "done") {
        print_result(line, false, R"(,"stop_reason":"end_turn")");
        return -1;
      } else if (const int code = misbehave(word, line); code >= 0) {
        return code;
      }
    }
    print_result("the script is over", false, R"(,"stop_reason":"end_turn")");
    return -1;
  }

  // Its exit code; -1 if it goes on.
  int misbehave(const std::string& word, const std::string& line) {
    if (word == "raw") {
      print(line);
    } else if (word == "err") {
      write_all(STDERR_FILENO, line + "\n");
    } else if (word == "silence") {
      sleep_for_ever();
    } else if (word == "wait") {
      while (::access(line.c_str(), F_OK) != 0) pause_ms(10);
    } else if (word == "leave") {
      // A process that outlives it, in a session of its own.
      if (::fork() == 0) {
        ::setsid();
        sleep_for_ever();
      }
    } else if (word == "die") {
      ::raise(SIGKILL);
    } else if (word == "exit") {
      return std::atoi(line.c_str());
    } else if (word == "retry") {
      for (int i = 1; i <= std::atoi(line.c_str()); ++i) {
        print(R"({"type":"system","subtype":"api_retry","attempt":)" + std::to_string(i) +
              R"(,"error_status":429,"error":"rate_limit"})");
      }
    } else if (word == "limit") {
      print(R"({"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":)" + line +
            R"(,"rateLimitType":"five_hour"}})");
      print_result("You've hit your 5-hour limit", true, R"(,"api_error_status":429)");
      return 1;
    } else if (word == "login") {
      print_result("Not logged in · Please run /login", true, "");
      return 1;
    } else if (word == "mode") {
      mode_ = line;
      print_init();
    } else if (!word.empty() && !word.starts_with("#")) {
      throw WrongUsage("no such line in a script: " + word);
    }
    return -1;
  }

  const std::string effects_;
  const std::string hook_;
  const bool resumes_;
  const std::string session_;
  std::vector<std::string> script_;
  std::string file_;
  std::string mode_ = "default";
  std::string prompt_;
  std::mutex output_;
  // The next line of the script.
  std::size_t at_ = 0;
  int turns_ = 0;
  Call deferred_;
  std::vector<std::string> denials_;
};

int claude(const Words& words) { return Claude(words).run(); }

constexpr std::array modes = {
    Mode{"claude", "--script FILE [--effects FILE] and the options of Claude Code",
         "speaks stream-json and asks the PreToolUse hook of --settings before each call; keeps its session beneath "
         "HOME. Lines of the script: `call ID TOOL ARGUMENTS`, `ask …` (also by can_use_tool), `sub PARENT ID …`, "
         "`ungated ID …` (without asking), `defy ID …` (whatever the answer is), further calls of the same message "
         "`and call …`, `say TEXT`, `hear` (says its prompt), `done "
         "TEXT`, `raw LINE`, `err "
         "LINE`, `silence`, `wait FILE`, `leave` (a process behind), `die`, `exit N`, `retry N`, `limit EPOCH`, "
         "`login`, "
         "`mode MODE`",
         claude},
};

}  // namespace

std::span<const Mode> claude_modes() { return modes; }

}  // namespace reeve::zoo
