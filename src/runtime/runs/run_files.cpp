#include "runtime/runs/run_files.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/random.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/parse.h"
#include "keeper/records.h"
#include "os/beneath.h"
#include "os/file.h"

namespace reeve::runtime {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view draft_start = "new-";

[[noreturn]] void fail(std::string_view what, const std::string& folder) {
  base::throw_errno(base::ErrorCode::run_unwritable, fmt::format("cannot write {} in {}", what, folder), errno,
                    "is the disk full, or the state folder not writable?");
}

os::Folder make_beneath(const std::string& folder, const std::string& name) {
  const os::Folder all = os::Folder::open(folder);
  if (!all.make_folder(name)) fail("the folder " + name, folder);
  auto made = all.open_folder(name);
  if (!made) fail("the folder " + name, folder);
  return std::move(*made);
}

void write_files(const os::Folder& folder, const std::string& name, const RunPlan& plan) {
  if (!folder.replace_file(keeper::launch_name, keeper::encode_launch(make_launch(plan)))) fail("the launch", name);
  if (plan.prompt && !folder.replace_file(keeper::prompt_name, *plan.prompt)) fail("the prompt", name);
  const auto input = [] { return keeper::encode_stdin_head({}); };
  if (plan.has_stdin && !folder.replace_file(keeper::stdin_name, input())) fail("the standard input", name);
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// Succeeds only if the name is free or an empty folder.
bool move_to(const fs::path& from, const fs::path& to) { return std::rename(from.c_str(), to.c_str()) == 0; }

}  // namespace

std::string make_nonce() { return base::random_hex(16); }

std::string draft_name(const std::string& nonce) { return std::string(draft_start) + nonce; }

bool is_draft(const std::string& name) { return name.starts_with(draft_start); }

void draft_run(const std::string& runs, const std::string& nonce, const RunPlan& plan) {
  const std::string name = draft_name(nonce);
  const os::Folder folder = make_beneath(runs, name);
  write_files(folder, runs + "/" + name, plan);
  if (!folder.make_folder("1")) fail("the folder of the first attempt", runs + "/" + name);
}

bool name_run(const std::string& runs, const std::string& nonce, base::RunId run) {
  const fs::path draft = fs::path(runs) / draft_name(nonce);
  const fs::path place = fs::path(runs) / run.text();
  if (move_to(draft, place)) return true;
  // Belongs to a run of another database: kept under another name.
  const bool is_taken = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR;
  return is_taken && move_to(place, place.string() + ".before-" + nonce) && move_to(draft, place);
}

void drop_draft(const std::string& folder, const std::string& nonce) {
  std::error_code error;
  fs::remove_all(fs::path(folder) / draft_name(nonce), error);
}

void draft_attempt(const std::string& run_folder, const std::string& nonce) {
  make_beneath(run_folder, draft_name(nonce));
}

bool name_attempt(const std::string& run_folder, const std::string& nonce, int attempt) {
  const fs::path place = fs::path(run_folder) / std::to_string(attempt);
  if (move_to(fs::path(run_folder) / draft_name(nonce), place)) return true;
  drop_draft(run_folder, nonce);
  return is_there(place);
}

bool settle_files(const std::string& runs, base::RunId run, int attempt, const std::string& nonce) {
  const fs::path place = fs::path(runs) / run.text();
  if (!is_there(place) && is_there(fs::path(runs) / draft_name(nonce))) name_run(runs, nonce, run);
  if (!is_there(place)) return false;
  if (is_there(place / std::to_string(attempt))) return true;
  if (is_there(place / draft_name(nonce))) return name_attempt(place.string(), nonce, attempt);
  std::error_code error;
  return fs::create_directory(place / std::to_string(attempt), place, error) ||
         is_there(place / std::to_string(attempt));
}

FoundLaunch read_launch(const std::string& run_folder) {
  try {
    return {read_plan(os::read_file(run_folder + "/" + keeper::launch_name, keeper::launch_bytes))};
  } catch (const base::Error& error) {
    return {std::nullopt, !error.is(base::ErrorCode::file_not_found)};
  }
}

void rewrite_folder(const std::string& run_folder, const std::string& before, const std::string& after) {
  const auto bytes = os::find_file(run_folder + "/" + keeper::launch_name, keeper::launch_bytes);
  auto launch = bytes ? keeper::decode_launch(*bytes) : std::nullopt;
  if (!launch || (launch->folder != before && !launch->folder.starts_with(before + "/"))) return;
  launch->folder = after + launch->folder.substr(before.size());
  const bool is_written =
      os::Folder::open(run_folder).replace_file(keeper::launch_name, keeper::encode_launch(*launch));
  if (!is_written) fail("the launch", run_folder);
}

void rewrite_profile(const std::string& run_folder, const model::ToolProfile& profile) {
  const auto bytes = os::find_file(run_folder + "/" + keeper::launch_name, keeper::launch_bytes);
  auto launch = bytes ? keeper::decode_launch(*bytes) : std::nullopt;
  auto settings = json::parse(launch ? launch->settings : std::string());
  if (!settings || settings->as_object() == nullptr) fail("the launch", run_folder);
  std::erase_if(*settings->as_object(), [](const base::Member& member) { return member.key == "profile"; });
  settings->set("profile", json::to_value(profile));
  launch->settings = json::encode(*settings);
  const bool is_written =
      os::Folder::open(run_folder).replace_file(keeper::launch_name, keeper::encode_launch(*launch));
  if (!is_written) fail("the launch", run_folder);
}

void write_launch(const std::string& runs, base::RunId run, const RunPlan& plan) {
  write_files(make_beneath(runs, run.text()), runs + "/" + run.text(), plan);
}

}  // namespace reeve::runtime
