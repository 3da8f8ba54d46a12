#include "runtime/approved_thing.h"

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

// As it lies in the file; numbers as text, because JSON's are too small for them.
struct KeptScript {
  std::string path;
  std::string sha256;
  friend bool operator==(const KeptScript&, const KeptScript&) = default;
};
BOOST_DESCRIBE_STRUCT(KeptScript, (), (path, sha256))
struct KeptThing {
  std::string tool;
  std::vector<std::string> argv;
  std::string device;
  std::string inode;
  std::map<std::string, std::string> environment;
  std::vector<KeptScript> scripts;
  std::string diff;
  std::string arguments;
};
BOOST_DESCRIBE_STRUCT(KeptThing, (), (tool, argv, device, inode, environment, scripts, diff, arguments))

using engine::ApprovedThing;
using engine::ScriptContent;

// Beyond it a file is known by its identity: hashing it would hold the daemon up.
constexpr std::int64_t most_hashed = 4LL << 20U;
// Of one command, all its files together.
constexpr std::int64_t most_hashed_of_all = 8LL << 20U;
constexpr std::size_t most_files = 64;

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

// Nothing for what is no regular file that can be read.
std::optional<std::string> describe_file(const std::string& path, std::int64_t& left) {
  // A device or a pipe is not waited for.
  const os::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const bool is_large = status.st_size > std::min(most_hashed, left);
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

ApprovedThing describe_thing(const RunPlan& plan, const std::string& run_folder) {
  ApprovedThing thing{.tool = plan.tool, .argv = plan.argv, .cwd = {}, .environment = plan.environment};
  std::int64_t left = most_hashed_of_all;
  struct stat status{};
  if (::stat(plan.cwd.c_str(), &status) == 0) thing.cwd = {status.st_dev, status.st_ino};
  for (std::size_t i = 0; i < plan.argv.size() && thing.scripts.size() < most_files; ++i) {
    const std::string& word = plan.argv[i];
    if (word.empty() || word.size() > 4'096) continue;
    auto content = describe_file(place_of(plan, i), left);
    if (content) thing.scripts.push_back(ScriptContent{word, std::move(*content)});
  }
  // The prompt is what the tool was told to do.
  std::int64_t of_prompt = most_hashed;
  thing.arguments = describe_file(run_folder + "/" + keeper::prompt_name, of_prompt).value_or("");
  return thing;
}

std::string encode_thing(const ApprovedThing& thing) {
  KeptThing kept{.tool = thing.tool,
                 .device = std::to_string(thing.cwd.device),
                 .inode = std::to_string(thing.cwd.inode),
                 .diff = thing.diff,
                 .arguments = thing.arguments};
  for (const auto& [name, value] : thing.environment) kept.environment.emplace(name, base::sha256_hex(value));
  for (const std::string& word : thing.argv) kept.argv.push_back(base::sha256_hex(word));
  for (const ScriptContent& script : thing.scripts) kept.scripts.push_back({script.path, script.sha256});
  return json::encode(json::to_value(kept));
}

std::optional<ApprovedThing> decode_thing(std::string_view text) {
  const auto value = json::parse(text);
  if (!value) return std::nullopt;
  const auto kept = json::from_value<KeptThing>(*value);
  if (!kept) return std::nullopt;
  const auto number = [](const std::string& text) {
    std::uint64_t parsed = 0;
    std::from_chars(text.data(), text.data() + text.size(), parsed);
    return parsed;
  };
  ApprovedThing thing{.tool = kept->tool,
                      .argv = kept->argv,
                      .cwd = {number(kept->device), number(kept->inode)},
                      .environment = kept->environment,
                      .diff = kept->diff,
                      .arguments = kept->arguments};
  for (const KeptScript& script : kept->scripts) thing.scripts.push_back({script.path, script.sha256});
  return thing;
}

std::string thing_name(std::string_view digest) {
  constexpr std::size_t enough = 24;
  const std::size_t colon = digest.find(':');
  return fmt::format("approved-{}", digest.substr(colon == std::string_view::npos ? 0 : colon + 1, enough));
}

void keep_thing(const std::string& run_folder, std::string_view digest, const ApprovedThing& thing) {
  try {
    os::Folder::open(run_folder).replace_file(thing_name(digest), encode_thing(thing));
  } catch (const base::Error&) {
  }
}

std::string find_change(const ApprovedThing& kept, const ApprovedThing& now) {
  const auto same = decode_thing(encode_thing(now));
  return same ? engine::find_difference(kept, *same) : std::string();
}

}  // namespace reeve::runtime
