#include "cli/host.h"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "os/file.h"
#include "project/project.h"

namespace reeve::cli {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;

constexpr std::size_t max_bytes = 64UZ * 1024;

// Reads a file that holds secrets; refuses one that others can read, because its secrets are exposed already.
std::string read_private(const fs::path& file) {
  struct stat state{};
  if (::stat(file.c_str(), &state) == 0 && S_ISREG(state.st_mode)) {
    const bool is_open = (state.st_mode & (S_IRWXG | S_IRWXO)) != 0;
    const bool is_foreign = state.st_uid != ::geteuid() && state.st_uid != 0;
    if (is_open || is_foreign) {
      throw Error(ErrorCode::cli_token_file,
                  fmt::format("{} must be owned by you and not readable by others", base::quoted(file.string())),
                  fmt::format("restrict it: chmod 600 {}", file.string()));
    }
  }
  return os::read_file(file, max_bytes);
}

std::optional<fs::path> token_list() {
  if (const auto config = project::variable("XDG_CONFIG_HOME")) return fs::path(*config) / "reeve" / "tokens";
  if (const auto home = project::variable("HOME")) return fs::path(*home) / ".config" / "reeve" / "tokens";
  return std::nullopt;
}

// "reeve.example:8443 reeve_…": the first line whose first word is the address, with its scheme or without.
std::string find_listed(const client::Endpoint& endpoint) {
  const auto file = token_list();
  std::error_code error;
  if (!file || !fs::exists(*file, error)) return {};
  const std::string text = read_private(*file);
  for (const std::string_view line : base::split(text, '\n')) {
    const std::string_view trimmed = base::trim(line);
    const std::size_t blank = trimmed.find_first_of(" \t");
    if (trimmed.starts_with('#') || blank == std::string_view::npos) continue;
    const std::string_view name = trimmed.substr(0, blank);
    if (name == endpoint.authority() || name == endpoint.url()) return std::string(base::trim(trimmed.substr(blank)));
  }
  return {};
}

std::string find_token(const Call& call, const client::Endpoint& endpoint) {
  if (const auto file = call.arguments.value("--token-file")) return std::string(base::trim(read_private(*file)));
  if (const auto token = project::variable("REEVE_TOKEN")) return std::string(base::trim(*token));
  return find_listed(endpoint);
}

}  // namespace

std::optional<client::Endpoint> find_host(const Call& call) {
  // `--state` in this call takes precedence over REEVE_HOST.
  if (call.arguments.has("--host") && call.arguments.has("--state")) {
    throw Error(ErrorCode::cli_usage, "`--host` and `--state` cannot be combined", "omit one of them");
  }
  auto url = call.arguments.value("--host");
  // An unset variable in a script must not silently select the local daemon.
  if (url && url->empty())
    throw Error(ErrorCode::cli_usage, "`--host` is empty",
                "use http://host:port, https://host:port or unix:///path/reeve.sock");
  if (!url && !call.arguments.has("--state")) url = project::variable("REEVE_HOST");
  if (!url || url->empty()) return std::nullopt;
  // "reeve.example:7433", as `server.http` is written.
  if (!url->contains("://") && url->contains(':')) url = "http://" + *url;
  auto endpoint = client::parse_endpoint(*url);
  if (!endpoint) {
    throw Error(ErrorCode::cli_usage, fmt::format("not a daemon address: {}", endpoint.error()),
                "use host:port, https://host:port or unix:///path/reeve.sock");
  }
  if (endpoint->socket.empty()) endpoint->token = find_token(call, *endpoint);
  return std::move(*endpoint);
}

}  // namespace reeve::cli
