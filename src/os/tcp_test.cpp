#include "os/tcp.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace reeve::os {
namespace {

TEST(Tcp, addresses_parse_and_format) {
  for (const char* text : {"127.0.0.1:7433", "[::1]:7433", "0.0.0.0:0", "[2001:db8::1]:65535"}) {
    const auto address = parse_tcp_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text(), text);
  }
  EXPECT_EQ(parse_tcp_address("localhost:80")->text(), "127.0.0.1:80");
  // Each address has one form.
  EXPECT_EQ(parse_tcp_address("[::ffff:127.0.0.1]:80"), parse_tcp_address("127.0.0.1:80"));
  for (const char* text : {"", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:80 ",
                           "::1:80", "[::1]", "[::1", "example.org:80", "127.1:80", "[127.0.0.1]:80"}) {
    EXPECT_FALSE(parse_tcp_address(text)) << text;
  }
}

TEST(Tcp, loopback_is_recognised) {
  for (const char* text : {"127.0.0.1:1", "127.255.255.254:1", "[::1]:1", "[::ffff:127.0.0.1]:1"}) {
    EXPECT_TRUE(parse_tcp_address(text)->is_loopback()) << text;
  }
  for (const char* text : {"0.0.0.0:1", "[::]:1", "128.0.0.1:1", "10.0.0.1:1", "[::2]:1", "[fe80::1]:1"}) {
    EXPECT_FALSE(parse_tcp_address(text)->is_loopback()) << text;
  }
}

TEST(Tcp, local_addresses_are_recognised) {
  EXPECT_TRUE(is_own_address(*parse_tcp_address("127.0.0.1:1")));
  // Reserved for documentation: no machine has it.
  EXPECT_FALSE(is_own_address(*parse_tcp_address("203.0.113.77:1")));
}

TEST(Tcp, port_in_use_is_reported) {
  const Fd listener = listen_at(*parse_tcp_address("127.0.0.1:0"));
  const auto address = local_address(listener.get());
  ASSERT_TRUE(address);
  EXPECT_NE(address->port, 0);
  try {
    listen_at(*address);
    FAIL() << "two listeners on one port";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), "daemon.port_in_use");
  }
}

}  // namespace
}  // namespace reeve::os
