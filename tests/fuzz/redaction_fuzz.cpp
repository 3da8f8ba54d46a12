#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/redaction.h"
#include "base/text.h"

// The first line contains secrets, the rest is the stream: no secret is ever shown, however the stream is split.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reeve;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\n'), input.size());
  base::SecretSet secrets;
  std::vector<std::string_view> added;
  for (const std::string_view secret : base::split(input.substr(0, end), ',')) {
    // A secret made of asterisks could be found in the mask.
    const bool is_starry = secret.find('*') != std::string_view::npos;
    if (!is_starry && secrets.add(secret) == base::SecretSet::Added::yes) added.push_back(secret);
  }
  secrets.prepare();
  std::string_view stream = input.substr(std::min(end + 1, input.size()));
  const std::string at_once = base::redact(secrets, stream);
  base::Redactor redactor(secrets);
  std::string in_pieces;
  for (std::size_t length = 1; !stream.empty(); length = length % 7 + 1) {
    in_pieces += redactor.feed(stream.substr(0, length));
    stream.remove_prefix(std::min(length, stream.size()));
  }
  in_pieces += redactor.finish();
  REEVE_ASSERT(in_pieces == at_once);
  for (const std::string_view secret : added) REEVE_ASSERT(at_once.find(secret) == std::string::npos);
  return 0;
}
