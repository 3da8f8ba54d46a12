#include "cli/environment.h"

#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"

extern char** environ;

namespace reeve::cli {

// If a name occurs twice, the first wins, as in getenv().
base::Value own_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  base::Value object = base::Value::object();
  for (const auto& [key, value] : variables) {
    if (base::find_invalid_utf8(key) || base::find_invalid_utf8(value)) {
      print_aside("note: the environment variable {} is not valid UTF-8 and is omitted\n", base::quoted(key));
    } else {
      object.set(key, base::Value::string(value));
    }
  }
  return object;
}

base::Value read_pairs(const Call& call, std::string_view option) {
  std::map<std::string, std::string> pairs;
  for (const std::string& pair : call.arguments.values(option)) {
    const std::size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw base::Error(base::ErrorCode::cli_usage,
                        fmt::format("{} is not a valid value for `{}`", base::quoted(pair), option),
                        "write it as NAME=VALUE");
    }
    pairs[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  base::Value object = base::Value::object();
  for (const auto& [key, value] : pairs) object.set(key, base::Value::string(value));
  return object;
}

}  // namespace reeve::cli
