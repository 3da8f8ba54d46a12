#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "client/daemon.h"
#include "model/project_ref.h"

// Which projects a listing covers: all, or one with `--here` or `--project NAME`.
namespace reeve::cli {

// The projects on this machine that still exist, by their paths: those whose runs a daemon has kept, and those with a
// state folder of their own. Each once.
std::vector<std::filesystem::path> find_registered_projects();

// `--here` and `--project`.
const std::vector<Option>& scope_options();
// Appends them to the options of a command.
std::vector<Option> with_scope_options(std::vector<Option> options);

class Scope {
 public:
  // Checks the options; asks no daemon. Throws `cli.usage`.
  explicit Scope(const Call& call);

  // The path of the only project to list; nothing for all. Throws `project.unknown` if this daemon knows no project of
  // that name, `cli.usage` if it knows several.
  std::optional<std::string> find_path(client::Daemon& daemon) const;
  bool is_limited() const noexcept { return is_here_ || name_; }
  // The state folder of the only project to list, if that keeps its own state and the call is not about that folder:
  // then the daemon of the call has none of its records. Nothing if the call names a state folder or a host.
  const std::optional<std::filesystem::path>& other_state() const noexcept { return other_state_; }

  // The records of the project `only`, if set, or of all. `list` fetches them from the daemon of the call; it is not
  // called if that has none of them.
  template <class List>
  auto list_of(const std::optional<std::string>& only, std::size_t limit, List list) const {
    return other_state_ ? decltype(list(only, limit))() : list(only, limit);
  }
  // The records of the project `only`, if set; otherwise those of all projects, up to `limit`, those of the project
  // around the current folder first, however old they are. `list` as for list_of().
  template <class List, class ProjectOf>
  auto list_own_first(const std::optional<std::string>& only, std::size_t limit, List list,
                      ProjectOf project_of) const {
    if (only || !here_ || other_state_) return list_of(only, limit, list);
    auto records = list(here_, limit);
    if (records.size() == limit) return records;
    for (auto& record : list(std::nullopt, limit)) {
      const std::optional<model::ProjectRef> project = project_of(record);
      const bool is_own = project && project->path == *here_;
      if (!is_own && records.size() < limit) records.push_back(std::move(record));
    }
    return records;
  }

  // Moves the records of the project around the current folder to the front; otherwise keeps the order.
  template <class Record>
  void put_own_first(std::vector<Record>& records) const {
    if (!here_) return;
    std::vector<Record> others;
    std::vector<Record> own;
    for (Record& record : records) {
      const bool is_own = record.project && record.project->path == *here_;
      (is_own ? own : others).push_back(std::move(record));
    }
    records = std::move(own);
    std::ranges::move(others, std::back_inserter(records));
  }

 private:
  void find_own_state(const Call& call);

  std::optional<std::string> here_;
  bool is_here_ = false;
  std::optional<std::string> name_;
  // The named project, if it keeps its own state.
  std::optional<std::filesystem::path> other_state_;
  std::optional<std::string> own_project_;
};

// The project of the given name or path among these. Throws as find_path().
std::string pick_project(const std::string& name, const std::vector<model::ProjectRef>& known);

}  // namespace reeve::cli
