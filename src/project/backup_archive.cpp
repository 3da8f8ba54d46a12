#include "project/backup_archive.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <set>
#include <span>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/random.h"
#include "base/sha256_stream.h"
#include "base/text.h"
#include "json/fields.h"
#include "json/parse.h"
#include "os/beneath.h"
#include "os/write.h"

namespace reeve::project {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;

constexpr std::size_t block_bytes = 512;
constexpr std::size_t piece_bytes = 256UL * 1024;
constexpr std::size_t max_members = 4'000'000;
constexpr std::size_t max_about = 64UL * 1024;
// A digest, two spaces and a name of at most 100 bytes for each member.
constexpr std::uint64_t max_sums = max_members * 168ULL;

// Fields of a ustar header: position and length.
struct Field {
  std::size_t at;
  std::size_t size;
};
constexpr Field name_field{0, 100};
constexpr Field mode_field{100, 8};
constexpr Field owner_field{108, 8};
constexpr Field group_field{116, 8};
constexpr Field size_field{124, 12};
constexpr Field time_field{136, 12};
constexpr Field sum_field{148, 8};
constexpr Field type_field{156, 1};
constexpr Field magic_field{257, 8};
constexpr Field prefix_field{345, 155};
constexpr std::string_view magic("ustar\00000", 8);
using Block = std::array<char, block_bytes>;

void put(Block& block, const Field& field, std::string_view text) {
  std::ranges::copy(text.substr(0, field.size), block.begin() + static_cast<std::ptrdiff_t>(field.at));
}

std::string_view get(const Block& block, const Field& field) {
  const std::string_view whole(block.data() + field.at, field.size);
  return whole.substr(0, whole.find('\0'));
}

std::uint64_t checksum_of(Block block) {
  put(block, sum_field, "        ");
  std::uint64_t sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  return sum;
}

// Octal; sizes of 8 GiB and more in binary, as GNU tar writes them.
std::string encode_size(std::uint64_t size) {
  constexpr std::uint64_t first_binary = 1ULL << 33U;
  if (size < first_binary) return fmt::format("{:011o}", size);
  std::string bytes(size_field.size, '\0');
  bytes[0] = static_cast<char>(0x80);
  for (std::size_t i = 0; i < sizeof size; ++i) {
    bytes[bytes.size() - 1 - i] = static_cast<char>((size >> (8 * i)) & 0xFFU);
  }
  return bytes;
}

std::optional<std::uint64_t> decode_octal(std::string_view text) {
  text = base::trim(text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> decode_size(const Block& block) {
  if (static_cast<unsigned char>(block[size_field.at]) != 0x80) return decode_octal(get(block, size_field));
  std::uint64_t value = 0;
  for (std::size_t i = 1; i < size_field.size; ++i) {
    if (value >> 55U != 0) return std::nullopt;
    value = value << 8U | static_cast<unsigned char>(block[size_field.at + i]);
  }
  return value;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 19 && std::ranges::all_of(text, base::is_ascii_digit);
}

bool is_output_name(std::string_view name) {
  if (!name.starts_with("out-")) return false;
  name.remove_prefix(4);
  return name.size() == 16 &&
         std::ranges::all_of(name, [](char c) { return base::is_ascii_digit(c) || (c >= 'a' && c <= 'f'); });
}

// "TR-17/1/out-…".
bool is_run_name(std::string_view name) {
  const auto parts = base::split(name, '/');
  if (parts.size() < 3 || !base::RunId::parse(parts[0]) || base::RunId::parse(parts[0])->text() != parts[0])
    return false;
  if (!is_number(parts[1])) return false;
  if (parts.size() == 4) return parts[2] == "own" && parts[3] == "result.json";
  return parts.size() == 3 && (parts[2] == "exec" || parts[2] == "exit" || is_output_name(parts[2]));
}

bool is_log_name(std::string_view name) {
  constexpr std::string_view log = "combined.log";
  if (!name.starts_with(log)) return false;
  name.remove_prefix(log.size());
  return name.empty() || (name.starts_with('.') && is_number(name.substr(1)));
}

std::string make_draft_name(const fs::path& path) {
  return fmt::format("{}.{}.partial", path.string(), base::random_hex(4));
}

[[noreturn]] void throw_unwritable(const fs::path& path, int error) {
  base::throw_errno(ErrorCode::backup_unwritable, fmt::format("cannot write {}", base::quoted(path.string())), error,
                    "name a file in a folder that you can write to, with enough space");
}

[[noreturn]] void throw_damaged(const std::string& what) {
  throw Error(ErrorCode::restore_damaged, fmt::format("the backup is incomplete or was changed: {}", what),
              "use another backup; nothing was restored");
}

}  // namespace

bool is_backup_name(std::string_view name) {
  if (name == backup_about || name == backup_database || name == backup_sums) return true;
  if (name.size() > name_field.size) return false;
  if (name.starts_with("runs/")) return is_run_name(name.substr(5));
  return name.starts_with("logs/") && is_log_name(name.substr(5));
}

BackupWriter::BackupWriter(fs::path path, Check check)
    : path_(std::move(path)), draft_(make_draft_name(path_)), check_(std::move(check)) {
  struct stat status{};
  if (::lstat(path_.c_str(), &status) == 0) {
    throw Error(ErrorCode::backup_exists, fmt::format("{} exists already", base::quoted(path_.string())),
                "choose another name: a backup never replaces a file");
  }
  file_ = os::Fd(::open(draft_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_) throw_unwritable(path_, errno);
}

BackupWriter::~BackupWriter() {
  if (file_) ::unlink(draft_.c_str());
}

void BackupWriter::write(std::string_view bytes) {
  check_();
  if (!os::write_all(file_.get(), bytes)) throw_unwritable(path_, errno);
  bytes_ += bytes.size();
}

void BackupWriter::pad(std::uint64_t size) {
  const std::size_t rest = size % block_bytes;
  if (rest != 0) write(std::string(block_bytes - rest, '\0'));
}

void BackupWriter::begin_member(std::string_view name, std::uint64_t size) {
  REEVE_ASSERT(is_backup_name(name));
  Block block{};
  put(block, name_field, name);
  put(block, mode_field, "0000600");
  put(block, owner_field, "0000000");
  put(block, group_field, "0000000");
  put(block, size_field, encode_size(size));
  put(block, time_field, "00000000000");
  put(block, type_field, "0");
  put(block, magic_field, magic);
  put(block, sum_field, fmt::format("{:06o}", checksum_of(block)) + std::string("\0 ", 2));
  write({block.data(), block.size()});
}

void BackupWriter::add_text(std::string_view name, std::string_view text) {
  begin_member(name, text.size());
  write(text);
  pad(text.size());
  sums_ += fmt::format("{}  {}\n", base::sha256_hex(text), name);
}

void BackupWriter::add_file(std::string_view name, const os::Fd& file) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  begin_member(name, size);
  base::Sha256Stream digest;
  std::string piece(piece_bytes, '\0');
  for (std::uint64_t at = 0; at < size;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), size - at));
    const ssize_t count = ::pread(file.get(), piece.data(), wanted, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_unwritable(path_, errno);
    if (count == 0) std::fill_n(piece.begin(), wanted, '\0');
    const std::string_view bytes(piece.data(), count == 0 ? wanted : static_cast<std::size_t>(count));
    digest.add(bytes);
    write(bytes);
    at += bytes.size();
  }
  pad(size);
  sums_ += fmt::format("{}  {}\n", digest.finish(), name);
}

std::string BackupWriter::finish() {
  const std::string sums = std::exchange(sums_, {});
  begin_member(backup_sums, sums.size());
  write(sums);
  pad(sums.size());
  write(std::string(2 * block_bytes, '\0'));
  if (::fsync(file_.get()) != 0) throw_unwritable(path_, errno);
  // Unlike rename, this never replaces a file.
  if (::link(draft_.c_str(), path_.c_str()) != 0) {
    if (errno != EEXIST) throw_unwritable(path_, errno);
    throw Error(ErrorCode::backup_exists, fmt::format("{} was just created", base::quoted(path_.string())));
  }
  ::unlink(draft_.c_str());
  file_ = {};
  const os::Fd folder(::open(path_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0) throw_unwritable(path_, errno);
  return base::sha256_hex(sums);
}

namespace {

// Reads the archive from its beginning, member by member.
class BackupReader {
 public:
  explicit BackupReader(const os::Fd& file) : file_(file) {}

  struct Member {
    std::string name;
    std::uint64_t size = 0;
  };
  // Nothing at the end. Throws for anything but a regular file that a backup may contain.
  std::optional<Member> next() {
    Block block{};
    read({block.data(), block.size()});
    if (std::ranges::all_of(block, [](char c) { return c == '\0'; })) return std::nullopt;
    const auto sum = decode_octal(get(block, sum_field));
    const bool is_tar = std::string_view(block.data() + magic_field.at, 5) == "ustar";
    if (!is_tar || !sum || *sum != checksum_of(block)) throw_damaged("it has no valid header where one must be");
    const std::string name(get(block, name_field));
    const char type = block[type_field.at];
    if (type != '0' || !get(block, prefix_field).empty() || !is_backup_name(name)) {
      throw_damaged(fmt::format("a backup cannot contain {}{}", base::quoted(base::visible(name)),
                                type == '0' ? "" : ", which is not a regular file"));
    }
    const auto size = decode_size(block);
    if (!size) throw_damaged(fmt::format("the size of {} is not valid", base::quoted(name)));
    return Member{name, *size};
  }

  // Passes on the content of the member that next() returned, and returns its digest.
  std::string read_content(const Member& member, const std::function<void(std::string_view)>& take) {
    base::Sha256Stream digest;
    std::string piece(piece_bytes, '\0');
    for (std::uint64_t left = member.size; left > 0;) {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size()));
      read({piece.data(), count});
      const std::string_view bytes(piece.data(), count);
      digest.add(bytes);
      take(bytes);
      left -= count;
    }
    const std::size_t rest = member.size % block_bytes;
    if (rest != 0) read({piece.data(), block_bytes - rest});
    return digest.finish();
  }

  std::uint64_t position() const noexcept { return at_; }

 private:
  void read(std::span<char> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at_));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) base::throw_errno(ErrorCode::file_unreadable, "cannot read the backup", errno);
      if (count == 0) throw_damaged("it ends too early");
      at_ += static_cast<std::uint64_t>(count);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }

  const os::Fd& file_;
  std::uint64_t at_ = 0;
};

void check_about(const std::string& about) {
  const auto document = json::parse(about);
  const auto format = document ? json::integer_of(*document, "format") : std::nullopt;
  if (!format) throw Error(ErrorCode::restore_not_a_backup, "the file is not a backup of Reeve");
  if (*format == backup_format) return;
  throw Error(ErrorCode::restore_not_a_backup,
              fmt::format("the backup has format {}, which this Reeve cannot read", *format),
              "restore it with the Reeve that made it, or a newer one");
}

}  // namespace

os::Fd open_backup(const fs::path& path) {
  os::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) {
    base::throw_errno(errno == ENOENT ? ErrorCode::file_not_found : ErrorCode::file_unreadable,
                      fmt::format("cannot open {}", base::quoted(base::visible(path.string()))), errno);
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::restore_not_a_backup,
                fmt::format("{} is not a regular file", base::quoted(base::visible(path.string()))));
  }
  Block block{};
  const ssize_t count = ::pread(file.get(), block.data(), block.size(), 0);
  if (count != static_cast<ssize_t>(block.size()) || get(block, name_field) != backup_about) {
    throw Error(ErrorCode::restore_not_a_backup,
                fmt::format("{} is not a backup of Reeve", base::quoted(base::visible(path.string()))),
                "give a file that `reeve backup` has written");
  }
  return file;
}

VerifiedBackup verify_backup(const os::Fd& file) {
  VerifiedBackup backup;
  BackupReader reader(file);
  std::set<std::string, std::less<>> names;
  std::string expected;
  std::string sums;
  while (const auto member = reader.next()) {
    if (!sums.empty()) throw_damaged(fmt::format("something follows {}", backup_sums));
    if (!names.insert(member->name).second) throw_damaged(fmt::format("{} occurs twice", base::quoted(member->name)));
    if (names.size() > max_members) throw_damaged("it has too many files");
    const bool is_first = names.size() == 1;
    if (is_first != (member->name == backup_about))
      throw_damaged(fmt::format("{} is not the first file", backup_about));
    std::string* text = nullptr;
    if (is_first) text = &backup.about;
    if (member->name == backup_sums) text = &sums;
    if (text != nullptr && member->size > (is_first ? max_about : max_sums)) throw_damaged("a list in it is too long");
    const std::string digest = reader.read_content(*member, [&](std::string_view bytes) {
      if (text != nullptr) *text += bytes;
    });
    if (is_first) check_about(backup.about);
    if (member->name == backup_sums) continue;
    backup.members.emplace_back(member->name, digest);
    expected += fmt::format("{}  {}\n", digest, member->name);
  }
  if (sums.empty()) throw_damaged(fmt::format("{} is missing", backup_sums));
  if (sums != expected) throw_damaged(fmt::format("a digest differs from the one in {}", backup_sums));
  if (!names.contains(backup_database)) throw_damaged("the database is missing");
  backup.digest = base::sha256_hex(sums);
  backup.bytes = reader.position();
  return backup;
}

namespace {

// Creates the folders of the name, one by one, never through a link.
os::Fd create_beneath(const fs::path& root, const std::string& name) {
  std::optional<os::Folder> folder = os::Folder::open(root.string());
  const auto parts = base::split(name, '/');
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const std::string part(parts[i]);
    if (!folder->make_folder(part)) base::throw_errno(ErrorCode::file_unwritable, "cannot create a folder", errno);
    auto inner = folder->open_folder(part);
    if (!inner)
      base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot open {}", base::quoted(part)), inner.error());
    folder = std::move(*inner);
  }
  auto file = folder->open_file(std::string(parts.back()), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC);
  if (!file)
    base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot create {}", base::quoted(name)), file.error());
  return std::move(*file);
}

}  // namespace

void extract_backup(const os::Fd& file, const VerifiedBackup& backup, const fs::path& root,
                    const std::string& database_name) {
  BackupReader reader(file);
  for (const auto& [name, digest] : backup.members) {
    const auto member = reader.next();
    if (!member || member->name != name) throw_damaged("it changed while it was read");
    if (name == backup_about) {
      reader.read_content(*member, [](std::string_view) {});
      continue;
    }
    const os::Fd target = create_beneath(root, name == backup_database ? database_name : name);
    const std::string found = reader.read_content(*member, [&](std::string_view bytes) {
      if (!os::write_all(target.get(), bytes)) {
        base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot write {}", base::quoted(name)), errno,
                          "is the disk full?");
      }
    });
    if (found != digest) throw_damaged("it changed while it was read");
    if (::fsync(target.get()) != 0) {
      base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot write {}", base::quoted(name)), errno);
    }
  }
}

}  // namespace reeve::project
