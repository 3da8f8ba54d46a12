#include "engine/digest.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"

namespace reeve::engine {

namespace {

// Encodes each part as its length, a colon and its bytes.
class Parts {
 public:
  void add(std::string_view part) { fmt::format_to(std::back_inserter(text_), "{}:{}", part.size(), part); }
  void count(std::size_t parts) { fmt::format_to(std::back_inserter(text_), "#{};", parts); }
  void number(std::uint64_t value) { add(fmt::format("{}", value)); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string digest_of(const LaunchFingerprint& fingerprint) {
  Parts parts;
  // The format version, so that a later format cannot match this one.
  parts.add("reeve.approved.1");
  parts.add(fingerprint.tool);
  parts.count(fingerprint.argv.size());
  for (const std::string& word : fingerprint.argv) parts.add(word);
  parts.number(fingerprint.cwd.device);
  parts.number(fingerprint.cwd.inode);
  parts.count(fingerprint.environment.size());
  for (const auto& [name, value] : fingerprint.environment) {
    parts.add(name);
    parts.add(value);
  }
  parts.count(fingerprint.scripts.size());
  for (const ScriptContent& script : fingerprint.scripts) {
    parts.add(script.path);
    parts.add(script.sha256);
  }
  parts.add(fingerprint.diff);
  parts.add(fingerprint.arguments);
  return "sha256:" + base::sha256_hex(parts.text());
}

std::string find_difference(const LaunchFingerprint& approved, const LaunchFingerprint& now) {
  if (approved.tool != now.tool) return "the tool";
  if (approved.argv != now.argv) return "the command";
  if (approved.cwd.device != now.cwd.device || approved.cwd.inode != now.cwd.inode) return "the working folder";
  for (const auto& [name, value] : now.environment) {
    const auto before = approved.environment.find(name);
    if (before == approved.environment.end() || before->second != value) {
      return fmt::format("the variable {}", base::quoted(name));
    }
  }
  if (approved.environment.size() != now.environment.size()) return "the environment";
  if (approved.scripts.size() != now.scripts.size()) return "the scripts";
  for (std::size_t i = 0; i < now.scripts.size(); ++i) {
    if (approved.scripts[i].path != now.scripts[i].path || approved.scripts[i].sha256 != now.scripts[i].sha256) {
      return fmt::format("the script {}", base::quoted(now.scripts[i].path));
    }
  }
  if (approved.diff != now.diff) return "the diff";
  return approved.arguments != now.arguments ? "the arguments" : "";
}

}  // namespace reeve::engine
