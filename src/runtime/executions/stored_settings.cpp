#include "runtime/executions/stored_settings.h"

#include <filesystem>
#include <utility>

#include "ledger/claims.h"
#include "runtime/loop/store_task.h"

namespace reeve::runtime {

using base::Error;
using base::ErrorCode;
using ledger::Transaction;

StoredSettings::Place StoredSettings::put(base::ExecutionId root, ExecutionSettings settings) {
  return cache_.put(root, {cache_.share(std::move(settings)), root});
}

void StoredSettings::find(base::ExecutionId execution, const Answer& then) {
  if (const Place* found = cache_.find(execution)) return then(Place(*found));
  read(execution, then);
}

void StoredSettings::read(base::ExecutionId execution, Answer then) {
  struct Read {
    base::ExecutionId root{0};
    std::optional<base::Value> config;
    std::optional<ExecutionSettings> settings;
    Origin origin = Origin::here;
  };
  const auto find = [execution](Transaction& transaction) {
    ledger::Root root = ledger::find_root(transaction, execution);
    return Read{.root = root.execution, .config = std::move(root.config)};
  };
  const auto read_files = [folder = context_.folder](std::expected<Read, Error>& read) {
    if (!read) return;
    read->settings = read_settings(folder, read->root);
    if (read->settings || !read->config) return;
    read->settings = decode_public(*read->config);
    read->origin = Origin::elsewhere;
    // Work done here must be cleaned up when the execution ends.
    const bool came_by_remote = read->settings && read->settings->base_commit && read->settings->worktree.remote;
    if (!came_by_remote) return;
    try {
      open_remote_copy(folder, read->root);
    } catch (const Error& error) {
      read = std::unexpected(error);
    }
  };
  ask_store(
      context_.ledger, context_.loop, StoreSteps{.before = [] {}, .work = find, .after = read_files},
      [this, execution, then = std::move(then)](std::expected<Read, Error> read) {
        if (!read) return then(std::unexpected(read.error()));
        if (!read->settings) {
          return then(std::unexpected(Error(ErrorCode::execution_no_config, "the config it was started with is lost",
                                            "start a new one with `reeve flow run`")));
        }
        adapt(*read->settings, read->origin);
        then(Place(cache_.put(execution, {cache_.share(std::move(*read->settings)), read->root})));
      });
}

// For executions started elsewhere: uses this host's environment and folders instead of the starter's.
void StoredSettings::adapt(ExecutionSettings& settings, Origin origin) const {
  if (settings.environment.empty()) settings.environment = context_.environment;
  std::error_code error;
  const std::filesystem::path own = context_.folder.root.parent_path();
  const bool is_there = std::filesystem::is_directory(settings.project, error);
  // An execution from a remote works in this daemon's own clone.
  const bool came_by_remote = origin == Origin::elsewhere && settings.base_commit && settings.worktree.remote;
  const bool wants_own = !is_there || came_by_remote;
  if (wants_own && own.filename() == ".reeve") settings.project = own.parent_path().string();
}

}  // namespace reeve::runtime
