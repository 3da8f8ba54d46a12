#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/http.h"
#include "server/http/http.h"
#include "tests/support/server/service.h"
#include "tests/support/socket.h"

namespace reeve::server {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using testing::Event;
using ::testing::HasSubstr;
using testing::RawSocket;
using testing::Service;

constexpr std::size_t mib = 1024UZ * 1024;

// Opens a stream for each request for one, and hands it over.
struct StreamHandler {
  Handler handler() {
    return [this](const Request& request, const std::shared_ptr<Responder>& responder) {
      if (request.path != "/stream") return responder->send({.body = request.path});
      stream = responder->begin({.content_type = "text/event-stream"});
      stream->on_drained([this] {
        ++drained;
        if (on_drained) on_drained();
      });
      stream->on_closed([this] { closed.happen(); });
      begun.happen();
    };
  }

  std::shared_ptr<Stream> stream;
  int drained = 0;
  std::function<void()> on_drained;
  Event begun;
  Event closed;
};

TEST(HttpStream, sends_chunks_as_they_are_written) {
  StreamHandler streams;
  Service service(streams.handler());
  client::Connection connection(service.path());
  const client::Response head = connection.begin({.target = "/stream"});
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(head.header("Content-Type"), "text/event-stream");
  EXPECT_FALSE(connection.has_buffered());
  for (int i = 0; i < 100; ++i) {
    const std::string text = fmt::format("piece {}\n", i);
    service.on_loop([&] { streams.stream->write(text); });
    std::string read;
    while (read.size() < text.size()) read += connection.read();
    EXPECT_EQ(read, text);
  }
  service.on_loop([&] {
    EXPECT_GE(streams.drained, 100);
    streams.stream->write("");
    streams.stream->write("a");
    streams.stream->write("b");
    streams.stream->end();
    EXPECT_FALSE(streams.stream->is_closed());
    streams.stream->write("behind the end");
    streams.stream->end();
  });
  EXPECT_EQ(connection.read(), "ab");
  EXPECT_EQ(connection.read(), "");
  EXPECT_TRUE(connection.has_buffered());
  EXPECT_EQ(connection.ask({.target = "/next"}).body, "/next");
  service.on_loop([&] {
    streams.stream.reset();
    EXPECT_EQ(service.server().connections(), 1);
  });
  EXPECT_EQ(connection.ask({.target = "/still"}).body, "/still") << "an ended stream leaves the connection alone";
}

TEST(HttpStream, counts_bytes_the_reader_has_not_received) {
  StreamHandler streams;
  Event drained;
  streams.on_drained = [&] {
    if (streams.drained == 1) drained.happen();
  };
  Service service(streams.handler());
  RawSocket reader(service.path());
  reader.send("GET /stream HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(streams.begun.wait());
  const std::size_t size = 8 * mib;
  service.on_loop([&] { streams.stream->write(std::string(size, 'x')); });
  std::size_t waiting = 0;
  service.on_loop([&] { waiting = streams.stream->waiting(); });
  EXPECT_GT(waiting, size - mib) << "the kernel takes some, the reader nothing";
  EXPECT_LT(waiting, size);
  service.on_loop([&] {
    EXPECT_EQ(streams.stream->waiting(), waiting);
    streams.stream->write("more");
    EXPECT_EQ(streams.stream->waiting(), waiting + 4);
    EXPECT_EQ(streams.drained, 0);
  });
  std::string all;
  while (all.size() < size) all += reader.read_some();
  EXPECT_TRUE(drained.wait());
  service.on_loop([&] {
    EXPECT_EQ(streams.stream->waiting(), 0);
    streams.stream->end();
  });
  all += reader.read_until("0\r\n\r\n");
  EXPECT_THAT(all, EndsWith("\r\n4\r\nmore\r\n0\r\n\r\n"));
}

// The intended use by writers: stop beyond a limit, resume when drained.
TEST(HttpStream, large_stream_keeps_the_backlog_small) {
  StreamHandler streams;
  std::size_t left = 64 * mib;
  const std::string piece(100'000, 'x');
  const std::function<void()> pump = [&] {
    while (left > 0 && streams.stream->waiting() < mib) {
      const std::size_t size = std::min(left, piece.size());
      streams.stream->write(piece.substr(0, size));
      left -= size;
      EXPECT_LE(streams.stream->waiting(), 2 * mib);
    }
    if (left == 0) streams.stream->end();
  };
  streams.on_drained = pump;
  Service service(streams.handler());
  client::Connection connection(service.path());
  connection.begin({.target = "/stream"});
  service.loop().post(pump);
  std::size_t total = 0;
  for (std::string some = connection.read(); !some.empty(); some = connection.read()) total += some.size();
  EXPECT_EQ(total, 64 * mib);
}

TEST(HttpStream, reports_a_closed_reader) {
  StreamHandler streams;
  Service service(streams.handler());
  RawSocket reader(service.path());
  reader.send("GET /stream HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(streams.begun.wait());
  reader.read_until("\r\n\r\n");
  reader.close();
  ASSERT_TRUE(streams.closed.wait());
  service.on_loop([&] {
    EXPECT_TRUE(streams.stream->is_closed());
    streams.stream->write("nobody");
    EXPECT_EQ(streams.stream->waiting(), 0);
    streams.stream->end();
    EXPECT_EQ(service.server().connections(), 0);
  });
}

TEST(HttpStream, disconnects_a_reader_that_receives_nothing) {
  StreamHandler streams;
  Service service(streams.handler(), {.write_time = 100ms});
  const RawSocket reader(service.path());
  reader.send("GET /stream HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(streams.begun.wait());
  service.on_loop([&] { streams.stream->write(std::string(8 * mib, 'x')); });
  ASSERT_TRUE(streams.closed.wait());
  // An idle stream and a completed response have no time limit.
  RawSocket big(service.path());
  big.send("GET /big HTTP/1.1\r\n\r\n");
  EXPECT_THAT(big.read_answer(), EndsWith("/big"));
}

TEST(HttpStream, dropped_stream_looks_broken_to_the_client) {
  StreamHandler streams;
  Service service(streams.handler());
  client::Connection connection(service.path());
  connection.begin({.target = "/stream"});
  service.on_loop([&] { streams.stream.reset(); });
  EXPECT_THROW(connection.read(), client::ConnectionLost);
  EXPECT_EQ(connection.ask({.target = "/again"}).body, "/again");
}

TEST(HttpStream, http_1_0_clients_get_no_chunks) {
  StreamHandler streams;
  Service service(streams.handler());
  RawSocket reader(service.path());
  reader.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  ASSERT_TRUE(streams.begun.wait());
  service.on_loop([&] {
    streams.stream->write("plain");
    streams.stream->end();
  });
  const std::string answer = reader.read_to_end();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"))
      << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\nplain")) << answer;
}

TEST(HttpClose, pending_responses_are_finished) {
  std::shared_ptr<Responder> waiting;
  Event asked;
  StreamHandler streams;
  Service service([&](Request request, std::shared_ptr<Responder> responder) {
    if (request.path != "/wait") return streams.handler()(std::move(request), std::move(responder));
    waiting = std::move(responder);
    asked.happen();
  });
  RawSocket idle(service.path());
  RawSocket begun(service.path());
  begun.send("GET / HT");
  RawSocket poll(service.path());
  poll.send("GET /wait HTTP/1.1\r\n\r\nGET /never HTTP/1.1\r\n\r\n");
  RawSocket reader(service.path());
  reader.send("GET /stream HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(asked.wait());
  ASSERT_TRUE(streams.begun.wait());
  Event closed;
  service.on_loop([&] {
    streams.stream->write("last words");
    service.server().close(20s, [&] { closed.happen(); });
    EXPECT_TRUE(streams.stream->is_closed());
    streams.stream->write("behind the end");
  });
  EXPECT_TRUE(streams.closed.wait());
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_EQ(begun.read_to_end(), "");
  EXPECT_THAT(reader.read_to_end(), EndsWith("\r\n\r\na\r\nlast words\r\n")) << "it is not the end";
  EXPECT_THROW(client::Connection(service.path()), client::ConnectionLost);
  EXPECT_FALSE(closed.wait(0s));
  service.on_loop([&] { waiting->send({.body = "answer"}); });
  const std::string answer = poll.read_to_end();
  EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nanswer"));
  EXPECT_TRUE(closed.wait());
}

TEST(HttpClose, slow_connections_are_cut_at_the_deadline) {
  std::shared_ptr<Responder> waiting;
  Event asked;
  Event gone;
  Service service([&](const Request&, std::shared_ptr<Responder> responder) {
    waiting = std::move(responder);
    waiting->on_closed([&] { gone.happen(); });
    asked.happen();
  });
  RawSocket poll(service.path());
  poll.send("GET /wait HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(asked.wait());
  Event closed;
  service.on_loop([&] { service.server().close(50ms, [&] { closed.happen(); }); });
  EXPECT_EQ(poll.read_to_end(), "");
  EXPECT_TRUE(gone.wait());
  EXPECT_TRUE(closed.wait());
  service.on_loop([&] { waiting->send({}); });
}

TEST(HttpClose, callback_runs_when_there_is_nothing_to_close) {
  Event closed;
  Service service([](const Request&, const std::shared_ptr<Responder>&) {});
  service.on_loop([&] { service.server().close(20s, [&] { closed.happen(); }); });
  EXPECT_TRUE(closed.wait());
}

TEST(HttpClose, destroyed_server_calls_no_callbacks) {
  std::shared_ptr<Responder> waiting;
  Event asked;
  Service service([&](const Request&, std::shared_ptr<Responder> responder) {
    waiting = std::move(responder);
    waiting->on_closed([] { ADD_FAILURE(); });
    asked.happen();
  });
  RawSocket poll(service.path());
  poll.send("GET /wait HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(asked.wait());
  service.stop();
  EXPECT_EQ(poll.read_to_end(), "");
  service.on_loop([&] { waiting->send({}); });
}

}  // namespace
}  // namespace reeve::server
