#include "runtime/gate/printed_calls.h"

#include <cerrno>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/text.h"
#include "json/encode.h"
#include "json/parse.h"
#include "keeper/message.h"
#include "os/file.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;

namespace fs = std::filesystem;

// More than can be printed at once without being taken.
constexpr std::size_t max_left = 2'000;
constexpr std::size_t max_file_bytes = 4UZ * 1024 * 1024;
// For what surrounds the content of a result.
constexpr std::size_t frame_bytes = 4UZ * 1024;

std::string calls_folder(const RuntimeContext& context, base::RunId run, int attempt) {
  return attempt_folder(context, run, attempt) + "/calls";
}

Value describe(const std::string& id, const std::string& tool, const Value& arguments) {
  Value call = Value::object();
  call.set("id", Value::string(id));
  call.set("tool", Value::string(tool));
  call.set("arguments", arguments);
  return call;
}

std::string name_of(const Value& call) { return base::sha256_hex(json::encode_canonical(call)); }

// Throws if it cannot be kept: a call that nobody could answer after a crash is not begun.
void keep(const std::string& file, const Value& call) {
  const std::string folder = fs::path(file).parent_path().string();
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot make {}", base::quoted(folder)), errno);
  }
  os::replace_file(file, json::encode(call));
}

Value make_error(const std::string& id, const std::string& text, bool is_denied,
                 const std::optional<std::string>& hint) {
  Value answer = Value::object();
  answer.set("event", Value::string("tool_error"));
  answer.set("id", Value::string(id));
  answer.set("error", Value::string(text));
  if (is_denied) answer.set("denied", Value::boolean(true));
  if (hint) answer.set("hint", Value::string(*hint));
  return answer;
}

// Escaped, a text may take six times its bytes; cut until the line fits.
Value make_result(const std::string& id, const wire::CallResult& result) {
  for (std::size_t most = result.content.size();; most /= 2) {
    std::string content(base::truncate_utf8(result.content, most));
    if (content.size() < result.content.size()) {
      content += fmt::format("\n… ({} of {} bytes)", content.size(), result.content.size());
    }
    Value answer = make_error(id, content, false, result.hint);
    if (!result.is_error) {
      answer = Value::object();
      answer.set("event", Value::string("tool_result"));
      answer.set("id", Value::string(id));
      answer.set("content", Value::string(content));
    }
    if (json::encode(answer).size() + frame_bytes <= keeper::input_line_bytes || most == 0) return answer;
  }
}

}  // namespace

PrintedCalls::PrintedCalls(RuntimeContext& context, Supervisor& supervisor, Approvals& approvals, CallGate& gate,
                           FactThread& facts)
    : context_(context), supervisor_(supervisor), approvals_(approvals), gate_(gate), facts_(facts) {}

LiveRun* PrintedCalls::find(base::RunId run, int attempt) const {
  LiveRun* live = supervisor_.find(run);
  return live != nullptr && live->claim().attempt == attempt ? live : nullptr;
}

void PrintedCalls::on_printed(CallPrinted event) {
  const Value described = describe(event.id, event.tool, event.arguments);
  const std::string name = name_of(described);
  Printed call{.key = {event.run, name},
               .attempt = event.attempt,
               .file = calls_folder(context_, event.run, event.attempt) + "/" + name,
               .id = std::move(event.id),
               .tool = std::move(event.tool),
               .arguments = std::move(event.arguments)};
  const auto taken = [this, run = event.run, attempt = event.attempt, position = event.position] {
    if (LiveRun* live = find(run, attempt)) live->on_call_taken(position);
  };
  if (active_.contains(call.key)) return taken();
  active_[call.key] = {};
  facts_.ask(
      [file = call.file, described] {
        keep(file, described);
        return true;
      },
      [this, call, taken](const std::expected<bool, Error>& kept) {
        if (kept) {
          begin(call);
        } else {
          on_reply(call, std::unexpected(kept.error()));
        }
        taken();
      });
}

void PrintedCalls::begin(const Printed& call) {
  const wire::CallRequest request{.call = call.id,
                                  .tool = call.tool,
                                  .arguments = call.arguments,
                                  .cwd = {},
                                  .session = {},
                                  .parent = {},
                                  .may_defer = false,
                                  .execute = true,
                                  .channel = model::CallChannel::line,
                                  .dialect = {}};
  try {
    gate_.ask(call.key.first, request,
              [this, call](const std::expected<wire::CallReply, Error>& reply) { on_reply(call, reply); });
  } catch (const Error& error) {
    on_reply(call, std::unexpected(error));
  }
}

void PrintedCalls::on_reply(const Printed& call, const std::expected<wire::CallReply, Error>& reply) {
  const auto active = active_.find(call.key);
  if (active == active_.end()) return;
  if (!reply) {
    const std::string& fix = reply.error().fix();
    const auto hint = fix.empty() ? std::nullopt : std::optional(fix);
    return send(call, make_error(call.id, reply.error().message(), true, hint));
  }
  if (reply->decision == wire::CallReplyDecision::wait && reply->approval_id) {
    // The answer is read by asking again.
    active->second = approvals_.wait(*reply->approval_id, [this, call](const auto&) { begin(call); });
    return;
  }
  if (reply->decision == wire::CallReplyDecision::allow && reply->result) {
    return send(call, make_result(call.id, *reply->result));
  }
  send(call, make_error(call.id, reply->reason.value_or("the call was denied"), true, reply->hint));
}

void PrintedCalls::send(const Printed& call, const Value& answer) {
  LiveRun* live = find(call.key.first, call.attempt);
  if (live == nullptr) return finish(call);
  // Without an answer its file stays for the next daemon; its process does not read any more.
  live->send_line(json::encode(answer), [this, call](bool is_sent) {
    if (is_sent) finish(call);
  });
}

void PrintedCalls::finish(const Printed& call) {
  active_.erase(call.key);
  facts_.ask(
      [file = call.file] {
        std::error_code ignored;
        return fs::remove(file, ignored);
      },
      [](const std::expected<bool, Error>&) {
        // A file that stays makes the next daemon answer again.
      });
}

void PrintedCalls::on_run_live(base::RunId run) {
  const LiveRun* live = supervisor_.find(run);
  if (live == nullptr || live->plan().profile.speaks != model::Speaks::reeve) return;
  const int attempt = live->claim().attempt;
  facts_.ask([run, attempt, folder = calls_folder(context_, run, attempt)] { return read_left(run, attempt, folder); },
             [this](std::expected<std::vector<Printed>, Error> left) {
               if (!left) return;
               for (const Printed& call : *left) {
                 if (active_.try_emplace(call.key).second) begin(call);
               }
             });
}

std::vector<PrintedCalls::Printed> PrintedCalls::read_left(base::RunId run, int attempt, const std::string& folder) {
  std::vector<Printed> left;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && left.size() < max_left;
       at.increment(error)) {
    const auto text = os::find_file(at->path(), max_file_bytes);
    auto call = text ? json::parse(*text) : std::unexpected(json::ParseError{});
    if (!call) continue;
    const Value* id = call->find("id");
    const Value* tool = call->find("tool");
    const Value* arguments = call->find("arguments");
    if (id == nullptr || id->as_string() == nullptr || tool == nullptr || tool->as_string() == nullptr ||
        arguments == nullptr) {
      continue;
    }
    left.push_back({.key = {run, at->path().filename().string()},
                    .attempt = attempt,
                    .file = at->path().string(),
                    .id = *id->as_string(),
                    .tool = *tool->as_string(),
                    .arguments = *arguments});
  }
  return left;
}

void PrintedCalls::on_run_over(base::RunId run) {
  std::erase_if(active_, [&](const auto& entry) { return entry.first.first == run; });
}

}  // namespace reeve::runtime
