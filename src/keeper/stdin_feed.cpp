#include "keeper/stdin_feed.h"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include "keeper/records.h"

namespace reeve::keeper {

namespace {

constexpr std::uint64_t part_bytes = 64UL * 1024;
// Far less than the file holds, so that the daemon has room to write before the tool has read everything.
constexpr std::uint64_t report_step = 1UL * 1024 * 1024;

}  // namespace

std::optional<StdinFeed> StdinFeed::open(const std::string& run_folder, const StdinGrew& news) {
  os::Fd file(::open((run_folder + "/" + stdin_name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return std::nullopt;
  StdinFeed feed(std::move(file));
  feed.grow(news);
  return feed;
}

void StdinFeed::grow(const StdinGrew& news) noexcept {
  written_ = std::max(written_, news.written);
  has_ended_ = has_ended_ || news.has_ended;
}

bool StdinFeed::read(std::string& bytes) {
  bytes.clear();
  const std::uint64_t at = position_ % stdin_bytes;
  const std::uint64_t wanted = std::min({part_bytes, written_ - position_, stdin_bytes - at});
  if (wanted == 0) return false;
  bytes.resize(static_cast<std::size_t>(wanted));
  const ssize_t count = ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(stdin_head_bytes + at));
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  position_ += bytes.size();
  return !bytes.empty();
}

std::optional<std::uint64_t> StdinFeed::take_report() noexcept {
  if (position_ - reported_ < report_step) return std::nullopt;
  reported_ = position_;
  return position_;
}

}  // namespace reeve::keeper
