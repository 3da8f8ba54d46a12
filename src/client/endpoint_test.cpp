#include "client/endpoint.h"

#include <gtest/gtest.h>

namespace reeve::client {
namespace {

TEST(Endpoint, parses_urls) {
  const Endpoint plain = parse_endpoint("http://reeve.example:7433/").value();
  EXPECT_EQ(plain.host, "reeve.example");
  EXPECT_EQ(plain.port, 7433);
  EXPECT_FALSE(plain.is_encrypted);
  EXPECT_FALSE(plain.is_loopback());
  EXPECT_EQ(plain.url(), "http://reeve.example:7433");
  const Endpoint encrypted = parse_endpoint("https://[::1]").value();
  EXPECT_EQ(encrypted.authority(), "[::1]:443");
  EXPECT_TRUE(encrypted.is_encrypted);
  EXPECT_TRUE(encrypted.is_loopback());
  EXPECT_TRUE(parse_endpoint("http://localhost:1")->is_loopback());
  EXPECT_TRUE(parse_endpoint("http://127.0.0.1:1")->is_loopback());
  EXPECT_EQ(parse_endpoint("unix:///run/a b.sock")->socket, "/run/a b.sock");
}

TEST(Endpoint, rejects_invalid_urls) {
  for (const char* url :
       {"", "reeve.example", "http://", "http://:80", "http://x:", "http://x:0", "http://x:65536", "http://x/y",
        "http://a@x", "http://x\r\ny", "http://[::1", "https://[]", "unix://x", "ws://x"}) {
    EXPECT_FALSE(parse_endpoint(url)) << url;
  }
}

}  // namespace
}  // namespace reeve::client
