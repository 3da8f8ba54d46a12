#include "runtime/runs/launch_fingerprint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "json/decode.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/parse.h"
#include "os/beneath.h"
#include "os/fd.h"

namespace reeve::runtime {

namespace {

// The file format; numbers are text because JSON numbers are too small for them.
struct KeptScript {
  std::string path;
  std::string sha256;
  friend bool operator==(const KeptScript&, const KeptScript&) = default;
};
BOOST_DESCRIBE_STRUCT(KeptScript, (), (path, sha256))
struct SavedFingerprint {
  std::string tool;
  std::vector<std::string> argv;
  std::string device;
  std::string inode;
  std::map<std::string, std::string> environment;
  std::vector<KeptScript> scripts;
  std::string diff;
  std::string arguments;
};
BOOST_DESCRIBE_STRUCT(SavedFingerprint, (), (tool, argv, device, inode, environment, scripts, diff, arguments))

using engine::LaunchFingerprint;
using engine::ScriptContent;

// Larger files are identified by inode: hashing them would block the daemon.
constexpr std::int64_t max_hashed = 4LL << 20U;
// Limit for all files of one command together.
constexpr std::int64_t max_hashed_of_all = 8LL << 20U;
constexpr std::size_t max_files = 64;

std::string identify(const struct stat& status) {
  return fmt::format("file:{}:{}:{}:{}.{:09}", status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

std::optional<std::string> read_whole(int fd, std::int64_t size) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count <= 0) return std::nullopt;
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

bool is_machine_code(int fd) {
  std::array<char, 4> magic{};
  return ::pread(fd, magic.data(), magic.size(), 0) == 4 && std::string_view(magic.data(), 4) ==
                                                                "\x7f"
                                                                "ELF";
}

// Nothing unless it is a readable regular file.
std::optional<std::string> describe_file(const std::string& path, std::int64_t& left) {
  // O_NONBLOCK: do not block on a device or pipe.
  const os::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const bool is_large = status.st_size > std::min(max_hashed, left);
  if (is_large || is_machine_code(file.get())) return identify(status);
  left -= status.st_size;
  const auto bytes = read_whole(file.get(), status.st_size);
  return bytes ? base::sha256_hex(*bytes) : identify(status);
}

std::string find_in_path(const RunPlan& plan, const std::string& name) {
  const auto path = plan.environment.find("PATH");
  if (path == plan.environment.end()) return {};
  for (const std::string_view folder : base::split(path->second, ':')) {
    std::string file = (std::filesystem::path(plan.cwd) / folder / name).string();
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

std::string place_of(const RunPlan& plan, std::size_t position) {
  const std::string& word = plan.argv[position];
  if (position == 0 && word.find('/') == std::string::npos) return find_in_path(plan, word);
  return (std::filesystem::path(plan.cwd) / word).string();
}

}  // namespace

LaunchFingerprint take_fingerprint(const RunPlan& plan, const std::string& run_folder) {
  LaunchFingerprint fingerprint{.tool = plan.tool, .argv = plan.argv, .cwd = {}, .environment = plan.environment};
  std::int64_t left = max_hashed_of_all;
  struct stat status{};
  if (::stat(plan.cwd.c_str(), &status) == 0) fingerprint.cwd = {status.st_dev, status.st_ino};
  for (std::size_t i = 0; i < plan.argv.size() && fingerprint.scripts.size() < max_files; ++i) {
    const std::string& word = plan.argv[i];
    if (word.empty() || word.size() > 4'096) continue;
    auto content = describe_file(place_of(plan, i), left);
    if (content) fingerprint.scripts.push_back(ScriptContent{word, std::move(*content)});
  }
  // The prompt is part of the command.
  std::int64_t of_prompt = max_hashed;
  fingerprint.arguments = describe_file(run_folder + "/" + keeper::prompt_name, of_prompt).value_or("");
  return fingerprint;
}

std::string encode_fingerprint(const LaunchFingerprint& fingerprint) {
  SavedFingerprint kept{.tool = fingerprint.tool,
                        .device = std::to_string(fingerprint.cwd.device),
                        .inode = std::to_string(fingerprint.cwd.inode),
                        .diff = fingerprint.diff,
                        .arguments = fingerprint.arguments};
  for (const auto& [name, value] : fingerprint.environment) kept.environment.emplace(name, base::sha256_hex(value));
  for (const std::string& word : fingerprint.argv) kept.argv.push_back(base::sha256_hex(word));
  for (const ScriptContent& script : fingerprint.scripts) kept.scripts.push_back({script.path, script.sha256});
  return json::encode(json::to_value(kept));
}

std::optional<LaunchFingerprint> decode_fingerprint(std::string_view text) {
  const auto value = json::parse(text);
  if (!value) return std::nullopt;
  const auto kept = json::from_value<SavedFingerprint>(*value);
  if (!kept) return std::nullopt;
  const auto number = [](const std::string& text) {
    std::uint64_t parsed = 0;
    std::from_chars(text.data(), text.data() + text.size(), parsed);
    return parsed;
  };
  LaunchFingerprint fingerprint{.tool = kept->tool,
                                .argv = kept->argv,
                                .cwd = {number(kept->device), number(kept->inode)},
                                .environment = kept->environment,
                                .diff = kept->diff,
                                .arguments = kept->arguments};
  for (const KeptScript& script : kept->scripts) fingerprint.scripts.push_back({script.path, script.sha256});
  return fingerprint;
}

std::string fingerprint_file(std::string_view digest) {
  constexpr std::size_t enough = 24;
  const std::size_t colon = digest.find(':');
  return fmt::format("approved-{}", digest.substr(colon == std::string_view::npos ? 0 : colon + 1, enough));
}

void save_fingerprint(const std::string& run_folder, std::string_view digest, const LaunchFingerprint& fingerprint) {
  try {
    os::Folder::open(run_folder).replace_file(fingerprint_file(digest), encode_fingerprint(fingerprint));
  } catch (const base::Error&) {
  }
}

std::string find_change(const LaunchFingerprint& kept, const LaunchFingerprint& now) {
  const auto same = decode_fingerprint(encode_fingerprint(now));
  return same ? engine::find_difference(kept, *same) : std::string();
}

}  // namespace reeve::runtime
