#include "server/http/http_reader.h"

#include <random>

#include <gtest/gtest.h>

namespace reeve::server {
namespace {

using namespace std::string_literals;

constexpr HttpServer::Limits small{.header_bytes = 512, .body_bytes = 64};

// Feeds like a connection: bytes not consumed are passed again, with more.
RequestReader read_in_pieces(std::string_view text, const std::function<std::size_t()>& piece) {
  RequestReader reader(small);
  std::string buffer;
  while (!text.empty() && !reader.is_complete() && !reader.refusal()) {
    const std::string_view some = text.substr(0, piece());
    text.remove_prefix(some.size());
    buffer += some;
    buffer.erase(0, reader.put(buffer));
    EXPECT_LE(buffer.size(), small.header_bytes + some.size());
  }
  return reader;
}

std::string outcome(RequestReader& reader) {
  if (reader.refusal()) return std::to_string(reader.refusal()->status);
  if (!reader.is_complete()) return "incomplete";
  const Request request = reader.take();
  std::string text = request.method + " " + request.path + "\n";
  for (const auto& [name, value] : request.query) text.append(name).append("=").append(value).append("\n");
  for (const auto& [name, value] : request.headers) text.append(name).append(": ").append(value).append("\n");
  return text + request.body;
}

// Whatever the input, the reader ends with a request or a refusal, or waits for more. How the input is split may change
// when an error is found, but never the resulting request.
TEST(HttpReader, outcome_is_independent_of_splits) {
  std::mt19937 random(17);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  const std::vector<std::string> seeds = {
      "GET /a%20b?c=d%26&e HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 5\r\nX: a\r\n b\r\n\r\nhello",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n0;x\r\nA: b\r\n\r\nGET /",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "PUT / HTTP/1.0\r\nExpect: 100-continue\r\nConnection: keep-alive, upgrade\r\nContent-Length: 40,40\r\n\r\n",
  };
  const std::string signs = "\r\n :;,=%?/0159aAfFzZ\0\t\x7f\xff\""s;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = seeds[below(seeds.size())];
    for (std::size_t edits = below(6); edits > 0; --edits) {
      const std::size_t place = below(text.size());
      const std::size_t kind = below(4);
      if (kind == 0) text[place] = signs[below(signs.size())];
      if (kind == 1) text.insert(place, below(3) == 0 ? 200 : 1, signs[below(signs.size())]);
      if (kind == 2 && text.size() > 1) text.erase(place, 1 + below(3));
      if (kind == 3) text.insert(place, seeds[below(seeds.size())].substr(below(40), below(60)));
    }
    RequestReader pieces = read_in_pieces(text, [&] { return 1 + below(20); });
    RequestReader bytes = read_in_pieces(text, [] { return 1UZ; });
    const bool any = pieces.is_complete() || bytes.is_complete();
    if (any) ASSERT_EQ(outcome(pieces), outcome(bytes)) << ::testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace reeve::server
