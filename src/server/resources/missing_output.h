#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/id.h"

namespace reeve::server {

// The output of runs that other daemons of the same store have.
class MissingOutput {
 public:
  // `id`: the record whose output is read. `may_name_paths`: the caller may know state folders of this machine.
  MissingOutput(std::string id, bool may_name_paths) : id_(std::move(id)), may_name_paths_(may_name_paths) {}

  // `host`: as in RuntimeContext::host.
  void add(base::RunId run, const std::string& host) { runs_[host].insert(run); }
  bool is_empty() const noexcept { return runs_.empty(); }
  // Of runs and hosts.
  std::size_t size() const noexcept;
  // `run.not_here`, with the runs, their hosts, and how to read the output there.
  base::Error describe() const;

 private:
  std::string id_;
  bool may_name_paths_;
  std::map<std::string, std::set<base::RunId>> runs_;
};

}  // namespace reeve::server
