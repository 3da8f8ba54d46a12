#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

// Paths named by a tool call (TOOL-1, TOOL-8). Nothing here touches the disk: the caller resolves symlinks.
namespace reeve::engine {

// The folder that a call works in.
struct CallPlace {
  // The worktree, absolute. Empty if unknown: every path is then outside.
  std::string folder;
  // The same with symlinks resolved; empty if the caller did not resolve them.
  std::string real_folder;
  // Argument text → the absolute path with symlinks resolved, empty if that is unknown. A path that is not listed here
  // contains no symlinks.
  std::map<std::string, std::string> real_paths;
  // Argument texts that name a folder or a pattern whose files the agent's own tool would read, where files may hold
  // secrets, or where nobody looked at every file.
  std::set<std::string> may_hold_secrets;
};

struct CallPath {
  // Without `.`, `..` and `//`.
  std::string absolute;
  // Relative to the worktree, `.` for the worktree itself; nothing if outside.
  std::optional<std::string> beneath;
  // Nobody can tell from the text where it leads: `~`, or `..` in braces or after a wildcard. It counts as outside.
  bool is_unclear = false;
};

// Whether a pattern may match several names here: `*`, `?`, `[`, `{`, an escape, or the extended patterns of shells.
bool has_wildcard(std::string_view text) noexcept;

// Whether an argument with this name is a path: `path`, `file`, `directory`, …
bool names_path(std::string_view argument) noexcept;

// The values of all path arguments. Nothing if one of them is neither a string nor a list of strings, or is empty.
std::optional<std::vector<std::string>> find_paths(const base::Value& arguments);

// The path as written, made absolute against the worktree. `~` is not expanded.
CallPath locate_path(const CallPlace& place, std::string_view path);
// The path as written and its resolved target. A path is inside the worktree only if all of these are.
std::vector<CallPath> locate_all(const CallPlace& place, const std::string& path);

// Whether a name in the path suggests that the file contains secrets, ignoring case:
//   any part      .ssh .gnupg .aws .azure .kube .docker .gcloud .password-store
//                 .env* *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.token *_rsa *_dsa *_ecdsa *_ed25519 id_*
//                 .netrc _netrc .npmrc .pypirc .pgpass .my.cnf .htpasswd .git-credentials .vault-token credentials*
//   two parts     .git/config .reeve/state
bool names_secret_file(std::string_view path);

}  // namespace reeve::engine
