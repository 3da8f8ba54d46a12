#include "server/access/token_book.h"

#include <algorithm>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "os/file.h"
#include "os/user.h"
#include "server/access/secret.h"

namespace reeve::server {

namespace {

constexpr std::size_t secret_length = 64;
constexpr std::size_t max_entries = 1'000;
constexpr std::chrono::seconds belief_time{1};

// The content of the file, if only its owner could have written and read it.
std::string read_own(const std::filesystem::path& file) {
  struct stat state{};
  if (::lstat(file.c_str(), &state) != 0 || !S_ISREG(state.st_mode)) return {};
  if (state.st_uid != ::geteuid() || (state.st_mode & 0777) != 0600) return {};
  return std::string(base::trim(os::find_file(file, 256).value_or("")));
}

Caller make_caller(const model::Token& token, const std::string& hash) {
  return {.name = token.name, .scopes = token.scopes, .token = hash, .project = token.project};
}

}  // namespace

bool looks_like_token(std::string_view text) noexcept {
  if (!text.starts_with(token_prefix) || text.size() != token_prefix.size() + secret_length) return false;
  return text.substr(token_prefix.size()).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

TokenBook::TokenBook(runtime::Daemon& daemon) : daemon_(daemon) {}

void TokenBook::open_own(const std::filesystem::path& file) {
  if (!own_hash_.empty()) return;
  std::string secret = read_own(file);
  if (!looks_like_token(secret)) {
    secret = std::string(token_prefix) + make_secret();
    os::replace_file(file, secret + "\n");
  }
  set_own(secret);
}

void TokenBook::renew_own(const std::filesystem::path& file) {
  const std::string secret = std::string(token_prefix) + make_secret();
  os::replace_file(file, secret + "\n");
  set_own(secret);
}

void TokenBook::set_own(const std::string& secret) {
  own_hash_ = base::sha256_hex(secret);
  own_ = {os::user_name(::geteuid()), {model::Scope::admin}, own_hash_};
}

bool TokenBook::is_familiar(const std::string& secret) const {
  if (!looks_like_token(secret)) return false;
  const std::string hash = base::sha256_hex(secret);
  return hash == own_hash_ || entries_.contains(hash);
}

std::optional<Caller> TokenBook::find_entry(const std::string& hash) const {
  if (hash == own_hash_) return own_;
  const auto found = entries_.find(hash);
  if (found == entries_.end()) return std::nullopt;
  const Entry& entry = found->second;
  const bool is_old = daemon_.loop().now() - entry.found_at >= belief_time;
  const bool is_over = entry.expires_at && *entry.expires_at <= base::SystemClock().wall_now();
  return is_old || is_over ? std::nullopt : std::optional(entry.caller);
}

void TokenBook::find(const std::string& secret, std::function<void(Found)> done) {
  if (!looks_like_token(secret)) return done(std::nullopt);
  find_hashed(base::sha256_hex(secret), std::move(done));
}

void TokenBook::find_hashed(const std::string& hash, std::function<void(Found)> done) {
  if (auto known = find_entry(hash)) return done(std::move(known));
  daemon_.tokens().use(hash, [this, hash, revocations = revocations_,
                              done = std::move(done)](std::expected<std::optional<model::Token>, base::Error> found) {
    if (!found) return done(std::unexpected(found.error()));
    if (!*found) {
      entries_.erase(hash);
      return done(std::nullopt);
    }
    if (revocations == revocations_) remember(hash, **found);
    done(make_caller(**found, hash));
  });
}

void TokenBook::find_over(std::set<std::string> hashes, std::function<void(Over)> done) {
  hashes.erase(own_hash_);
  if (hashes.empty()) return done(std::set<std::string>());
  daemon_.tokens().find_unusable(std::move(hashes), std::move(done));
}

void TokenBook::remember(const std::string& hash, const model::Token& token) {
  if (entries_.size() >= max_entries) entries_.clear();
  entries_.insert_or_assign(hash, Entry{make_caller(token, hash), token.expires_at, daemon_.loop().now()});
}

void TokenBook::forget(const std::string& name) {
  ++revocations_;
  std::erase_if(entries_, [&](const auto& one) { return one.second.caller.name == name; });
}

}  // namespace reeve::server
