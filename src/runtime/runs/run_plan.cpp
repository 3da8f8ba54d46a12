#include "runtime/runs/run_plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "base/text.h"
#include "json/decode.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/fields.h"
#include "json/parse.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using Environment = std::map<std::string, std::string>;

constexpr std::string_view prompt_place = "{prompt}";
constexpr int max_rows = 1'000;
constexpr int max_priority = 100;

// Reeve's own variables reach a child only through attempt_environment.
bool is_ours(std::string_view name) { return name.starts_with("REEVE_"); }

bool is_variable(std::string_view name, std::string_view value) {
  return !name.empty() && name.find('=') == std::string_view::npos && name.find('\0') == std::string_view::npos &&
         value.find('\0') == std::string_view::npos;
}

Environment make_environment(const wire::RunRequest& request, const model::ToolProfile& profile) {
  const bool is_whole = !request.tool && !request.clean_env;
  Environment made;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!is_ours(name) && is_variable(name, value)) made.insert_or_assign(name, value);
  };
  for (const auto& [name, value] : request.environment) {
    const bool is_passed = std::ranges::find(profile.pass_env, name) != profile.pass_env.end();
    if (is_whole || is_for_tools(name) || is_passed) add(name, value);
  }
  for (const auto& [name, value] : profile.env) add(name, value);
  for (const auto& [name, value] : request.env) add(name, value);
  made.insert_or_assign("HEADLESS", "1");
  made.insert_or_assign("CI", "1");
  if (profile.mode == model::RunMode::pty) made.try_emplace("TERM", "xterm-256color");
  return made;
}

// Replaces each known `{name}` in one pass: inserted text is not expanded again.
std::string fill_in(std::string_view word, const PlanNames& names) {
  std::string result;
  while (true) {
    const std::size_t open = word.find('{');
    result.append(word.substr(0, open));
    if (open == std::string_view::npos) return result;
    word.remove_prefix(open);
    const std::size_t close = word.find('}');
    const auto found = close != std::string_view::npos ? names.find(word.substr(1, close - 1)) : names.end();
    if (found == names.end()) {
      result += '{';
      word.remove_prefix(1);
    } else {
      result += found->second;
      word.remove_prefix(close + 1);
    }
  }
}

}  // namespace

bool is_for_tools(std::string_view name) {
  static constexpr auto names = std::to_array<std::string_view>(
      {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TERM", "COLORTERM", "TMPDIR"});
  return std::ranges::find(names, name) != names.end() || name.starts_with("LC_") || name.starts_with("XDG_");
}

std::expected<model::ToolProfile, Error> find_profile(const std::map<std::string, model::ToolProfile>& tools,
                                                      const std::string& tool) {
  const auto found = tools.find(tool);
  if (found == tools.end()) {
    // The agents that Reeve knows need no profile. Of an ACP agent, only the user knows the command.
    const auto agent = base::find_enum<model::AgentKind>(tool);
    if (agent && agent != model::AgentKind::acp) return model::ToolProfile{.agent = agent};
    std::vector<std::string> names;
    for (const auto& [name, _] : tools) names.push_back(name);
    const auto closest = base::find_closest(tool, names);
    std::string fix = closest         ? fmt::format("did you mean {}?", base::quoted(*closest))
                      : names.empty() ? "the config defines no tools; add one under `tools:`"
                                      : fmt::format("the config defines {}", base::join(names, ", "));
    return std::unexpected(
        Error(ErrorCode::run_unknown_tool, fmt::format("there is no tool {}", base::quoted(tool)), std::move(fix)));
  }
  if (found->second.headless == model::Headless::unsupported) {
    return std::unexpected(
        Error(ErrorCode::run_headless_unsupported,
              fmt::format("{} cannot run unattended: its profile says `headless: unsupported`", base::quoted(tool)),
              "run it yourself in a terminal, or choose another tool"));
  }
  return found->second;
}

namespace {

void apply_request(model::ToolProfile& profile, const wire::RunRequest& request) {
  if (request.mode) profile.mode = *request.mode;
  if (request.timeout) profile.timeout = *request.timeout;
  if (request.no_output_timeout) profile.no_output_timeout = *request.no_output_timeout;
  if (request.on_stall) profile.on_stall = *request.on_stall;
  if (request.liveness) profile.liveness = *request.liveness;
  if (request.on_prompt) profile.on_prompt = *request.on_prompt;
}

std::expected<void, Error> check_request(const wire::RunRequest& request) {
  const auto refuse = [](std::string message, std::string fix) {
    return std::unexpected(Error(ErrorCode::run_bad_request, std::move(message), std::move(fix)));
  };
  if (!request.cwd.starts_with('/')) return refuse("`cwd` is not an absolute path", "give a path that begins with /");
  if (request.rows < 1 || request.rows > max_rows || request.columns < 1 || request.columns > max_rows) {
    return refuse("`rows` and `columns` must be between 1 and 1000", "give the size of your terminal");
  }
  if (request.priority < -max_priority || request.priority > max_priority) {
    return refuse("`priority` must be between -100 and 100", "give 0, or leave it out");
  }
  for (const std::string& word : request.argv) {
    if (word.find('\0') != std::string::npos) return refuse("an argument of the command contains a NUL byte", "");
  }
  if (request.cwd.find('\0') != std::string::npos) return refuse("`cwd` contains a NUL byte", "");
  return {};
}

}  // namespace

std::expected<RunPlan, Error> make_plan(const model::Config& config, const wire::RunRequest& request) {
  auto profile = request.tool ? find_profile(config.tools, *request.tool) : model::ToolProfile();
  if (!profile) return std::unexpected(profile.error());
  auto plan = make_plan(std::move(*profile), request, {});
  if (!plan) return plan;
  plan->risk = config.risk;
  plan->calls = {.policies = config.policies, .agents = config.agents, .role = {}};
  return plan;
}

namespace {

// Of the daemon and its keeper.
std::string programs_folder() {
  static const std::string folder = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  return folder;
}

std::expected<void, Error> check_agent_request(const model::ToolProfile& profile, const wire::RunRequest& request) {
  const auto refuse = [](std::string message, std::string fix) {
    return std::unexpected(Error(ErrorCode::run_bad_request, std::move(message), std::move(fix)));
  };
  const std::string name = request.tool ? base::quoted(*request.tool) : "the agent";
  if (!profile.agent) {
    if (!request.model && !request.session) return {};
    return refuse(fmt::format("{} is not an agent: it has no model and no session", name),
                  "set `agent` in its profile, or leave them out");
  }
  if (!request.prompt || base::trim(*request.prompt).empty()) {
    return refuse(fmt::format("{} needs a prompt", name), "give one with --prompt");
  }
  if (!request.argv.empty()) {
    return refuse(fmt::format("words cannot be added to the command of {}: its adapter decides how it starts", name),
                  "put them into `command` of its profile");
  }
  if (request.mode && *request.mode != model::RunMode::pipe) {
    return refuse(fmt::format("{} runs behind its adapter, without a terminal", name), "leave out --pty");
  }
  return {};
}

// What an adapter needs, whatever else the profile says.
void apply_agent(model::ToolProfile& profile, const wire::RunRequest& request, const PlanNames& names) {
  AgentWords words{.folder = programs_folder(), .model = request.model, .session = request.session};
  if (const auto found = names.find("model"); !words.model && found != names.end() && !found->second.empty()) {
    words.model = found->second;
  }
  profile.command = make_agent_words(profile, words);
  profile.mode = model::RunMode::pipe;
  profile.resume = model::ResumeWay::rerun;
  profile.resume_args.clear();
  profile.failure_markers.clear();
  profile.speaks = model::Speaks::nothing;
}

}  // namespace

std::vector<std::string> make_agent_words(const model::ToolProfile& profile, const AgentWords& words) {
  const model::AgentKind kind = profile.agent.value();
  const std::string name(base::spell(kind));
  std::vector<std::string> command = {words.folder + "/reeve-agent", name};
  const auto& model = words.model ? words.model : profile.model;
  if (model) command.insert(command.end(), {"--model", *model});
  if (words.session) command.insert(command.end(), {"--resume", *words.session});
  const auto& release = profile.release_after.after;
  const std::string seconds =
      release ? std::to_string(std::chrono::ceil<std::chrono::seconds>(*release).count()) : std::string("off");
  command.insert(command.end(), {"--release-after", seconds, "--reeve", words.folder + "/reeve", "--"});
  if (profile.command.empty()) command.push_back(name);
  command.insert(command.end(), profile.command.begin(), profile.command.end());
  return command;
}

std::expected<RunPlan, Error> make_plan(model::ToolProfile profile, const wire::RunRequest& request,
                                        const PlanNames& names) {
  if (auto checked = check_request(request); !checked) return std::unexpected(checked.error());
  if (auto checked = check_agent_request(profile, request); !checked) return std::unexpected(checked.error());
  RunPlan plan{.profile = std::move(profile)};
  apply_request(plan.profile, request);
  if (plan.profile.agent) apply_agent(plan.profile, request, names);
  PlanNames all = names;
  all.insert_or_assign("prompt", request.prompt.value_or(""));
  bool has_place = false;
  for (const std::string& word : plan.profile.command) {
    // An adapter reads the prompt from its standard input, and its words are final.
    if (plan.profile.agent) {
      plan.argv.push_back(word);
      continue;
    }
    has_place = has_place || word.find(prompt_place) != std::string::npos;
    plan.argv.push_back(fill_in(word, all));
  }
  if (has_place && !request.prompt) {
    return std::unexpected(Error(ErrorCode::run_bad_request,
                                 fmt::format("{} needs a prompt", base::quoted(*request.tool)),
                                 "give one with --prompt"));
  }
  plan.argv.insert(plan.argv.end(), request.argv.begin(), request.argv.end());
  if (plan.argv.empty() || plan.argv.front().empty()) {
    return std::unexpected(Error(ErrorCode::run_no_command, "there is no command to run", "put it after `--`"));
  }
  plan.tool = request.tool ? *request.tool : std::filesystem::path(plan.argv.front()).filename().string();
  if (plan.tool.empty()) plan.tool = plan.argv.front();
  plan.tool = std::string(base::truncate_utf8(base::replace_invalid_utf8(plan.tool), base::limits::name_bytes));
  if (!has_place && request.prompt) plan.prompt = request.prompt;
  const bool is_input_free = plan.profile.mode == model::RunMode::pipe && !plan.prompt;
  const auto input = request.standard_input.value_or(model::StandardInput::none);
  if (input == model::StandardInput::required && !is_input_free) {
    return std::unexpected(
        Error(ErrorCode::run_bad_request,
              fmt::format("{} takes no standard input: it has {}", base::quoted(plan.tool),
                          plan.prompt ? "its prompt there" : "a terminal, or an open stream (`mode`)"),
              "start it without --stdin"));
  }
  plan.has_stdin = is_input_free && input != model::StandardInput::none;
  plan.cwd = request.cwd;
  plan.environment = make_environment(request, plan.profile);
  plan.rows = request.rows;
  plan.columns = request.columns;
  plan.execution = request.execution_id;
  plan.metadata = request.metadata;
  plan.is_queued = request.queue;
  plan.priority = request.priority;
  return plan;
}

std::vector<std::string> attempt_environment(base::RunId run, const std::optional<base::ExecutionId>& execution,
                                             const std::optional<std::string>& node, int attempt,
                                             const std::string& attempt_folder) {
  std::vector<std::string> entries = {fmt::format("REEVE_RUN_ID={}", run.text()),
                                      fmt::format("REEVE_ATTEMPT={}", attempt),
                                      fmt::format("REEVE_OUTPUT={}/{}", attempt_folder, keeper::result_name)};
  if (execution) entries.push_back(fmt::format("REEVE_EXECUTION_ID={}", execution->text()));
  if (node) entries.push_back(fmt::format("REEVE_NODE_ID={}", *node));
  return entries;
}

namespace {

// As texts: JSON numbers are shorter than a device or inode may be.
base::Value describe_folder(const os::KnownFolder& folder) {
  base::Value described = base::Value::object();
  described.set("root", base::Value::string(folder.root));
  described.set("name", base::Value::string(folder.name));
  described.set("device", base::Value::string(std::to_string(folder.device)));
  described.set("inode", base::Value::string(std::to_string(folder.inode)));
  return described;
}

std::optional<os::KnownFolder> read_folder(const base::Value& described) {
  os::KnownFolder folder{.root = json::text_of(described, "root"), .name = json::text_of(described, "name")};
  const auto read = [&](std::string_view key, std::uint64_t& number) {
    const std::string text = json::text_of(described, key);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && !text.empty() && end == text.data() + text.size();
  };
  if (!read("device", folder.device) || !read("inode", folder.inode)) return std::nullopt;
  return folder;
}

}  // namespace

keeper::Launch make_launch(const RunPlan& plan) {
  keeper::Launch launch{.argv = plan.argv, .folder = plan.cwd, .has_prompt = plan.prompt.has_value()};
  for (const auto& [name, value] : plan.environment) launch.environment.push_back(name + "=" + value);
  base::Value settings = base::Value::object();
  settings.set("tool", base::Value::string(plan.tool));
  settings.set("profile", json::to_value(plan.profile));
  settings.set("rows", base::Value::integer(plan.rows));
  settings.set("columns", base::Value::integer(plan.columns));
  if (plan.has_stdin) settings.set("stdin", base::Value::boolean(true));
  settings.set("risk", json::to_value(plan.risk));
  settings.set("calls", json::to_value(plan.calls));
  if (!plan.may_ask) settings.set("may_ask", base::Value::boolean(false));
  if (plan.known_folder) settings.set("known_folder", describe_folder(*plan.known_folder));
  if (!plan.sandbox_folder.empty()) settings.set("sandbox_folder", base::Value::string(plan.sandbox_folder));
  launch.settings = json::encode(settings);
  return launch;
}

std::optional<RunPlan> read_plan(std::string_view bytes) {
  const auto launch = keeper::decode_launch(bytes);
  if (!launch) return std::nullopt;
  const auto settings = json::parse(launch->settings);
  if (!settings) return std::nullopt;
  const base::Value* profile = settings->find("profile");
  const base::Value* tool = settings->find("tool");
  if (profile == nullptr || tool == nullptr || tool->as_string() == nullptr) return std::nullopt;
  auto decoded = json::from_value<model::ToolProfile>(*profile);
  if (!decoded) return std::nullopt;
  RunPlan plan{.tool = *tool->as_string(), .profile = std::move(*decoded), .argv = launch->argv, .cwd = launch->folder};
  for (const std::string& entry : launch->environment) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) plan.environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  const auto size = [&](std::string_view name, int fallback) {
    const base::Value* found = settings->find(name);
    const std::int64_t* number = found != nullptr ? found->as_integer() : nullptr;
    return number != nullptr ? static_cast<int>(*number) : fallback;
  };
  plan.rows = size("rows", plan.rows);
  plan.columns = size("columns", plan.columns);
  plan.may_ask = settings->find("may_ask") == nullptr;
  plan.has_stdin = settings->find("stdin") != nullptr;
  plan.sandbox_folder = json::text_of(*settings, "sandbox_folder");
  if (const base::Value* found = settings->find("known_folder")) {
    plan.known_folder = read_folder(*found);
    if (!plan.known_folder) return std::nullopt;
  }
  // Launches of earlier versions have none.
  if (const base::Value* found = settings->find("risk")) {
    const auto risk = json::from_value<model::RiskLevels>(*found);
    if (!risk) return std::nullopt;
    plan.risk = *risk;
  }
  if (const base::Value* found = settings->find("calls")) {
    auto calls = json::from_value<CallTerms>(*found);
    if (!calls) return std::nullopt;
    plan.calls = std::move(*calls);
  }
  return plan;
}

std::vector<std::string> find_secrets(const RunPlan& plan) {
  std::vector<std::string> values;
  for (const auto& [name, value] : plan.environment) {
    const bool is_named = std::ranges::find(plan.profile.secrets, name) != plan.profile.secrets.end();
    if (is_named || base::names_secret(name)) values.push_back(value);
  }
  return values;
}

std::shared_ptr<const base::SecretSet> prepare_secrets(const std::vector<std::string>& values) {
  auto set = std::make_shared<base::SecretSet>();
  for (const std::string& value : values) {
    set->add(value);
    // Output is redacted line by line, so a multi-line secret is masked line by line.
    if (value.find('\n') == std::string::npos) continue;
    for (const std::string_view line : base::split(value, '\n')) set->add_part(line);
  }
  set->prepare();
  return set;
}

model::Run make_run(const RunPlan& plan) {
  const auto secrets = prepare_secrets(find_secrets(plan));
  const auto hide = [&](const std::string& text) {
    base::Redactor redactor(*secrets);
    return redactor.feed(text) + redactor.finish();
  };
  model::Run run;
  run.tool_name = hide(plan.tool);
  run.execution_id = plan.execution;
  run.node_id = plan.node;
  for (const std::string& word : plan.argv) run.argv.push_back(hide(word));
  run.cwd = plan.cwd;
  run.project = plan.project;
  for (const auto& [name, value] : plan.metadata) run.metadata.emplace(name, hide(value));
  return run;
}

}  // namespace reeve::runtime
