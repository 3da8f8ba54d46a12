#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

// Paths that a tool call names (TOOL-1, TOOL-8). Nothing here touches the disk: where links lead is told by the caller.
namespace reeve::engine {

// Where a call works.
struct CallPlace {
  // The worktree, absolute. Empty: none is known, and every path lies outside.
  std::string folder;
  // The same without links; empty when nobody looked.
  std::string real_folder;
  // By the text of an argument: the absolute path that it leads to through links, empty when that cannot be told. A
  // text that is not here leads nowhere else.
  std::map<std::string, std::string> real_paths;
};

struct CallPath {
  // Without `.`, `..` and `//`.
  std::string absolute;
  // From the worktree on, `.` for itself. Nothing: outside.
  std::optional<std::string> beneath;
};

// Whether an argument of that name is a path: `path`, `file`, `directory`, …
bool names_path(std::string_view argument) noexcept;

// Every text of a path argument. Nothing: one is there that is neither a text nor a list of texts, or empty.
std::optional<std::vector<std::string>> find_paths(const base::Value& arguments);

// As it is written, made absolute against the worktree. `~` is not expanded: it lies outside.
CallPath locate_path(const CallPlace& place, std::string_view path);
// The same and where it leads to. A path is beneath the worktree only when all of them are.
std::vector<CallPath> locate_all(const CallPlace& place, const std::string& path);

// Whether a name in the path says that it holds secrets, ignoring case:
//   any part      .ssh .gnupg .aws .azure .kube .docker .gcloud .password-store
//                 .env* *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.token *_rsa *_dsa *_ecdsa *_ed25519 id_*
//                 .netrc _netrc .npmrc .pypirc .pgpass .my.cnf .htpasswd .git-credentials .vault-token credentials*
//   two parts     .git/config .reeve/state
bool names_secret_file(std::string_view path);

}  // namespace reeve::engine
