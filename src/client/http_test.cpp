#include "client/http.h"

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/fd.h"
#include "tests/support/files.h"
#include "tests/support/socket.h"

namespace reeve::client {
namespace {

using ::testing::HasSubstr;
using testing::RawSocket;
using ::testing::StartsWith;

// Somebody at a socket who reads one question a connection and says what it was told to, whatever that is.
class Canned {
 public:
  explicit Canned(std::vector<std::string> answers, std::filesystem::path path = {})
      : path_(path.empty() ? scratch_.path() / "socket" : std::move(path)), listener_(testing::listen_at(path_)) {
    questions_ = std::async(std::launch::async, [this, answers = std::move(answers)] {
      std::vector<std::string> all;
      for (const std::string& answer : answers) {
        RawSocket socket(listener_.get());
        all.push_back(socket.read_until("\r\n\r\n"));
        socket.send(answer);
      }
      return all;
    });
  }

  const std::filesystem::path& path() const { return path_; }
  std::vector<std::string> questions() { return questions_.get(); }

 private:
  testing::ScratchFolder scratch_;
  std::filesystem::path path_;
  os::Fd listener_;
  std::future<std::vector<std::string>> questions_;
};

TEST(Client, request_lines_and_headers_cannot_be_injected) {
  Canned canned({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});
  Connection connection(canned.path());
  connection.ask({.method = "POST", .target = "/a b\r\nX: y", .headers = {{"A", "b\r\nc: d"}}});
  EXPECT_EQ(canned.questions().at(0),
            "POST /a%20b%0D%0AX:%20y HTTP/1.1\r\nHost: reeve\r\nA: b  c: d\r\nContent-Length: 0\r\n\r\n");
}

TEST(Client, percent_encodes_reserved_characters) {
  EXPECT_EQ(encode_part("azAZ09-._~"), "azAZ09-._~");
  EXPECT_EQ(encode_part(" /?&=+%#\xc3\xa4"), "%20%2F%3F%26%3D%2B%25%23%C3%A4");
  EXPECT_EQ(encode_part(std::string_view("\0\n", 2)), "%00%0A");
}

TEST(Client, accepts_every_form_of_response) {
  const Canned canned({
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\none",
      "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ntw\r\n1\r\no\r\n0\r\nT: "
      "x\r\n\r\n",
      "HTTP/1.0 200 OK\r\nX-A: 1\r\nx-a: 2\r\n\r\nthree",
      "HTTP/1.1 204 No Content\r\n\r\n",
  });
  Connection connection(canned.path());
  EXPECT_EQ(connection.ask({.target = "/"}).body, "one");
  // The other side said that it closes: the next is asked over another connection.
  const Response two = connection.ask({.target = "/"});
  EXPECT_EQ(two.body, "two");
  EXPECT_EQ(two.header("T"), std::nullopt);
  const Response three = connection.ask({.target = "/"});
  EXPECT_EQ(three.body, "three");
  EXPECT_EQ(three.header("X-a"), "1");
  EXPECT_EQ(connection.begin({.target = "/"}).status, 204);
  EXPECT_TRUE(connection.has_buffered());
  EXPECT_EQ(connection.read(), "");
}

TEST(Client, error_response_includes_its_body) {
  const Canned canned({"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone"});
  Connection connection(canned.path());
  const Response answer = connection.begin({.target = "/"});
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body, "gone");
  EXPECT_EQ(connection.read(), "");
}

TEST(Client, reports_whether_data_is_buffered) {
  const Canned canned({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3"});
  Connection connection(canned.path());
  connection.begin({.target = "/"});
  EXPECT_EQ(connection.read(), "one");
  EXPECT_FALSE(connection.has_buffered()) << "half a size is nothing";
  EXPECT_THROW(connection.read(), ConnectionLost);
}

TEST(Client, throws_when_no_server_listens) {
  const testing::ScratchFolder scratch;
  EXPECT_THROW(Connection(scratch.path() / "none"), ConnectionLost);
  EXPECT_THROW(Connection(scratch.path() / "none" / std::string(200, 'x')), ConnectionLost);
  EXPECT_THROW(Connection(scratch.write("file", "")), ConnectionLost);
  EXPECT_THROW(Connection(std::string(200, 'x')), ConnectionLost);
  try {
    const Connection connection(scratch.path() / "none");
  } catch (const ConnectionLost& lost) {
    EXPECT_THAT(lost.what, StartsWith("cannot connect to `/"));
    EXPECT_THAT(lost.what, HasSubstr("No such file or directory"));
  }
}

TEST(Client, throws_on_truncated_or_invalid_responses) {
  const std::vector<std::string> answers = {
      "",
      "HTTP/1.1 20",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
      "SSH-2.0-OpenSSH\r\n\r\n",
  };
  Canned canned(answers);
  Connection connection(canned.path());
  for (const std::string& answer : answers) EXPECT_THROW(connection.ask({.target = "/"}), ConnectionLost) << answer;
  EXPECT_EQ(canned.questions().size(), answers.size()) << "after a break it connects again";
}

TEST(Client, reaches_a_socket_with_a_long_path) {
  const testing::ScratchFolder scratch;
  const auto folder = scratch.path() / std::string(100, 'a') / std::string(100, 'b');
  std::filesystem::create_directories(folder);
  const Canned canned({"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}, folder / "socket");
  EXPECT_EQ(Connection(canned.path()).ask({.target = "/"}).body, "ok");
}

}  // namespace
}  // namespace reeve::client
