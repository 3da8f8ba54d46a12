#include "server/http/http.h"

#include <future>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/http.h"
#include "tests/support/server/service.h"
#include "tests/support/session.h"
#include "tests/support/socket.h"

namespace reeve::server {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using testing::Event;
using ::testing::HasSubstr;
using testing::RawSocket;
using testing::Service;
using ::testing::StartsWith;

constexpr std::size_t mib = 1024UZ * 1024;

// Echoes the request.
void echo(const Request& request, const std::shared_ptr<Responder>& responder) {
  std::string text = request.method + " " + request.path;
  for (const auto& [name, value] : request.query) text += fmt::format(" [{}]=[{}]", name, value);
  if (!request.body.empty()) text += " " + request.body;
  responder->send({.content_type = "text/plain", .body = text});
}

std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

TEST(HttpServer, serves_many_requests_over_one_connection) {
  Service service([](const Request& request, const std::shared_ptr<Responder>& responder) {
    EXPECT_EQ(request.header("X-NAME"), "value");
    EXPECT_EQ(request.header("x-other"), std::nullopt);
    EXPECT_EQ(request.peer.pid, ::getpid());
    EXPECT_EQ(request.peer.uid, ::getuid());
    EXPECT_EQ(request.peer.gid, ::getgid());
    responder->send({.status = 201, .body = request.body, .headers = {{"X-Reply", "a\r\nb: c"}}});
  });
  client::Connection connection(service.path());
  const int fd = connection.fd();
  for (const std::size_t size : {0UZ, 1UZ, 100'000UZ, 16 * mib}) {
    const std::string body(size, 'x');
    const client::Response answer =
        connection.ask({.method = "POST", .target = "/", .body = body, .headers = {{"x-Name", "value"}}});
    EXPECT_EQ(answer.status, 201);
    EXPECT_EQ(answer.body, body);
    EXPECT_EQ(answer.header("content-type"), "application/json");
    EXPECT_EQ(answer.header("x-reply"), "a  b: c") << "no value makes a header of its own";
  }
  EXPECT_EQ(connection.fd(), fd);
  service.on_loop([&] { EXPECT_EQ(service.server().connections(), 1); });
}

TEST(HttpServer, decodes_path_and_query) {
  const Service service(echo);
  client::Connection connection(service.path());
  const auto ask = [&](const std::string& target) { return connection.ask({.target = target}).body; };
  EXPECT_EQ(ask("/a%20b/%c3%A4+"), "GET /a b/ä+");
  EXPECT_EQ(ask("/?a=1+2%2B3&b&=c&&d=%0a=&a=x%26y"), "GET / []=[c] [a]=[x&y] [b]=[] [d]=[\n=]");
  EXPECT_EQ(ask("/" + client::encode_part("ä/%?&#")), "GET /ä/%?&#");
}

TEST(HttpServer, malformed_requests_get_400) {
  const Service service(echo);
  const std::vector<std::string> requests = {
      "HELLO\r\n\r\n",
      "GET / HTTP/2.0\r\n\r\n",
      "GET /\r\n\r\n",
      std::string("\0\0\0\0", 4),
      "GET / HTTP/1.1\r\nno colon\r\n\r\n",
      "GET /%4 HTTP/1.1\r\n\r\n",
      "GET /%zz HTTP/1.1\r\n\r\n",
      "GET /% HTTP/1.1\r\n\r\n",
      "GET /%00 HTTP/1.1\r\n\r\n",
      "GET /%1b HTTP/1.1\r\n\r\n",
      "GET /%7F HTTP/1.1\r\n\r\n",
      "GET /%ff HTTP/1.1\r\n\r\n",
      "GET /?a=%0 HTTP/1.1\r\n\r\n",
      "GET /?%x=1 HTTP/1.1\r\n\r\n",
      "GET /?a=%00 HTTP/1.1\r\n\r\n",
      "GET http://host/ HTTP/1.1\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
  };
  for (const std::string& request : requests) {
    RawSocket socket(service.path());
    EXPECT_TRUE(socket.send(request));
    const std::string answer = socket.read_to_end();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 Bad Request\r\n")) << request;
    EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: application/problem+json\r\n")) << request;
    EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n")) << request;
    EXPECT_THAT(answer, HasSubstr(R"({"type":"urn:reeve:problem:http.bad_request","title":)")) << request;
    EXPECT_THAT(answer, HasSubstr(R"("status":400,"code":"http.bad_request","detail":)")) << request;
  }
}

// Compressed bodies are not decompressed, and the bytes after one are not the next request.
TEST(HttpServer, transfer_codings_other_than_chunked_get_415) {
  const Service service(echo);
  for (const char* coding : {"gzip", "gzip, chunked", "chunked, gzip", "identity", "x"}) {
    RawSocket socket(service.path());
    EXPECT_TRUE(
        socket.send(fmt::format("POST / HTTP/1.1\r\nTransfer-Encoding: {}\r\n\r\nGET / HTTP/1.1\r\n\r\n", coding)));
    const std::string answer = socket.read_to_end();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 415 Unsupported Media Type\r\n")) << coding;
    EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n")) << coding;
    EXPECT_THAT(answer, HasSubstr(R"("status":415,"code":"http.unsupported_coding","detail":)")) << coding;
    EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << coding;
  }
}

TEST(HttpServer, accepts_requests_split_at_any_byte) {
  const Service service(echo);
  RawSocket socket(service.path());
  const std::string request = "POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
  const std::string chunked =
      "POST /a?b=c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nHost: y\r\n\r\n";
  for (const std::string& text : {request, chunked}) {
    for (const char c : text) EXPECT_TRUE(socket.send({&c, 1}));
    EXPECT_EQ(body_of(socket.read_answer()), "POST /a [b]=[c] hello");
  }
  for (const char c : std::string("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"))
    socket.send({&c, 1});
  EXPECT_EQ(body_of(socket.read_answer()), "POST /");
}

TEST(HttpServer, answers_pipelined_requests_in_order) {
  std::vector<std::shared_ptr<Responder>> late;
  Event first;
  Service service([&](const Request& request, std::shared_ptr<Responder> responder) {
    if (request.path != "/late") return echo(request, responder);
    late.push_back(std::move(responder));
    first.happen();
  });
  RawSocket socket(service.path());
  std::string text = "GET /late HTTP/1.1\r\n\r\n";
  for (int i = 0; i < 1'000; ++i) text += fmt::format("GET /{} HTTP/1.1\r\n\r\n", i);
  EXPECT_TRUE(socket.send(text));
  ASSERT_TRUE(first.wait());
  service.on_loop([&] { late.at(0)->send({.body = "late"}); });
  EXPECT_EQ(body_of(socket.read_answer()), "late");
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(body_of(socket.read_answer()), fmt::format("GET /{}", i));
}

TEST(HttpServer, oversized_requests_get_413_or_431) {
  const Service service(echo);
  client::Connection connection(service.path());
  const client::Response answer = connection.ask({.method = "POST", .target = "/", .body = std::string(20 * mib, 'x')});
  EXPECT_EQ(answer.status, 413);
  EXPECT_THAT(answer.body, HasSubstr(R"("code":"http.too_large")"));
  EXPECT_EQ(connection.ask({.target = "/next"}).body, "GET /next");
  EXPECT_EQ(connection.ask({.target = "/" + std::string(mib, 'x')}).status, 431);
  EXPECT_EQ(connection.ask({.target = "/", .headers = {{"X-Long", std::string(mib, 'x')}}}).status, 431);
  EXPECT_EQ(connection.ask({.target = "/", .headers = client::Headers(20'000, {"X-Many", "of them"})}).status, 431);
  EXPECT_EQ(connection.ask({.target = "/", .headers = client::Headers(100, {"X-Many", "of them"})}).status, 431);
  EXPECT_EQ(connection.ask({.target = "/", .headers = client::Headers(99, {"X-Many", "of them"})}).status, 200);

  RawSocket chunks(service.path());
  chunks.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = fmt::format("{:x}\r\n{}\r\n", mib, std::string(mib, 'x'));
  for (int i = 0; i < 17; ++i) chunks.send(chunk);
  EXPECT_THAT(chunks.read_to_end(), StartsWith("HTTP/1.1 413 "));
  RawSocket trailers(service.path());
  trailers.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n");
  trailers.send(std::string(mib, 'x'));
  EXPECT_THAT(trailers.read_to_end(), StartsWith("HTTP/1.1 431 "));
}

TEST(HttpServer, unfinished_request_gets_408) {
  const Service service(echo, {.request_time = 100ms});
  RawSocket silent(service.path());
  silent.send("GET / HTTP/1.1\r\nX-");
  EXPECT_THAT(silent.read_to_end(), StartsWith("HTTP/1.1 408 "));
  // Bytes that trickle in do not extend the time.
  RawSocket slow(service.path());
  slow.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_EQ(slow.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  while (!slow.is_readable(5)) slow.send("x");
  EXPECT_THAT(slow.read_to_end(), HasSubstr(R"("code":"http.timeout")"));
}

TEST(HttpServer, closes_idle_connections) {
  const Service service(echo, {.idle_time = 50ms});
  RawSocket fresh(service.path());
  EXPECT_EQ(fresh.read_to_end(), "");
  RawSocket used(service.path());
  used.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(body_of(used.read_answer()), "GET /");
  EXPECT_EQ(used.read_to_end(), "");
  client::Connection connection(service.path());
  EXPECT_EQ(connection.ask({.target = "/1"}).body, "GET /1");
  RawSocket clock(service.path());
  EXPECT_EQ(clock.read_to_end(), "") << "as much time as the connection had";
  EXPECT_EQ(connection.ask({.target = "/2"}).body, "GET /2") << "it connects again";
}

TEST(HttpServer, sends_100_continue_only_for_acceptable_bodies) {
  const Service service(echo);
  RawSocket socket(service.path());
  socket.send("POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(socket.read_answer(), "HTTP/1.1 100 Continue\r\n\r\n");
  socket.send("ok");
  EXPECT_EQ(body_of(socket.read_answer()), "POST / ok");
  socket.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 999999999\r\n\r\n");
  EXPECT_THAT(socket.read_answer(), StartsWith("HTTP/1.1 413 "));
}

TEST(HttpServer, honours_connection_close_and_half_close) {
  const Service service(echo);
  RawSocket socket(service.path());
  socket.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(socket.read_to_end(), HasSubstr("\r\nConnection: close\r\n"));
  RawSocket old(service.path());
  old.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(old.read_answer(), HasSubstr("\r\nConnection: keep-alive\r\n"));
  old.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(old.read_to_end(), EndsWith("GET /"));
  RawSocket half(service.path());
  half.send("GET /half HTTP/1.1\r\n\r\n");
  half.finish_sending();
  EXPECT_THAT(half.read_to_end(), EndsWith("GET /half")) << "one who sends no more is still answered";
}

TEST(HttpServer, head_and_204_responses_have_no_body) {
  const Service service([](const Request& request, const std::shared_ptr<Responder>& responder) {
    responder->send({.status = request.path == "/none" ? 204 : 200, .body = "body"});
  });
  RawSocket socket(service.path());
  socket.send("HEAD / HTTP/1.1\r\n\r\nGET /none HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(socket.read_until("\r\n\r\n"), HasSubstr("Content-Length: 4\r\n"));
  const std::string none = socket.read_until("\r\n\r\n");
  EXPECT_THAT(none, StartsWith("HTTP/1.1 204 No Content\r\n"));
  EXPECT_THAT(none, ::testing::Not(HasSubstr("Content-Length")));
  EXPECT_THAT(socket.read_to_end(), EndsWith("\r\n\r\nbody"));
}

TEST(HttpServer, missing_handler_response_becomes_500) {
  std::shared_ptr<Responder> kept;
  Event asked;
  Service service([&](const Request& request, std::shared_ptr<Responder> responder) {
    if (request.path == "/throw") throw std::runtime_error("broken \"thing\"");
    if (request.path == "/both") {
      responder->send({.body = "sent"});
      throw std::runtime_error("too late");
    }
    if (request.path != "/later") return;
    kept = std::move(responder);
    asked.happen();
  });
  client::Connection connection(service.path());
  EXPECT_EQ(connection.ask({.target = "/drop"}).status, 500);
  const client::Response thrown = connection.ask({.target = "/throw"});
  EXPECT_EQ(thrown.status, 500);
  EXPECT_THAT(thrown.body, HasSubstr(R"("code":"http.no_answer","detail":"broken \"thing\"")"));
  EXPECT_EQ(connection.ask({.target = "/both"}).body, "sent");
  auto later = std::async(std::launch::async, [&] { return connection.ask({.target = "/later"}); });
  ASSERT_TRUE(asked.wait());
  service.on_loop([&] { kept.reset(); });
  EXPECT_EQ(later.get().status, 500);
}

TEST(HttpServer, excess_connections_get_503) {
  const Service service(echo, {.connections = 2});
  client::Connection one(service.path());
  client::Connection two(service.path());
  EXPECT_EQ(one.ask({.target = "/1"}).status, 200);
  EXPECT_EQ(two.ask({.target = "/2"}).status, 200);
  {
    client::Connection three(service.path());
    const client::Response answer = three.ask({.target = "/3"});
    EXPECT_EQ(answer.status, 503);
    EXPECT_THAT(answer.body, HasSubstr(R"("code":"http.overloaded")"));
  }
  EXPECT_EQ(one.ask({.target = "/4"}).status, 200);
}

// Two servers with one place of their own each and one between them.
TEST(HttpServer, connections_beyond_its_own_share_a_pool) {
  const std::string wish = "GET / HTTP/1.1\r\n\r\n";
  ConnectionPool pool{.most = 1};
  const HttpServer::Limits limits{.connections = 10, .pool = &pool, .own_connections = 1};
  Service one(echo, limits);
  const auto status = [&](RawSocket& socket) {
    socket.send(wish);
    return socket.read_until("\r\n\r\n").substr(9, 3);
  };
  RawSocket own(one.path());
  EXPECT_EQ(status(own), "200");
  {
    RawSocket shared(one.path());
    EXPECT_EQ(status(shared), "200");
    RawSocket refused(one.path());
    EXPECT_THAT(refused.read_until("\r\n\r\n"), HasSubstr(" 503 "));
    one.on_loop([&] { EXPECT_EQ(pool.used, 1); });
    // The first one leaves: the other is the server's own then.
    own.close();
    EXPECT_TRUE(testing::eventually([&] {
      std::size_t used = 9;
      one.on_loop([&] { used = pool.used; });
      return used == 0;
    }));
    RawSocket next(one.path());
    EXPECT_EQ(status(next), "200");
  }
  one.stop();
  EXPECT_EQ(pool.used, 0);
}

// However many connections there are, the bodies that they send have one limit together.
TEST(HttpServer, bodies_of_all_connections_have_a_limit_together) {
  Service service(echo, {.body_bytes = mib, .all_bodies_bytes = 3 * mib / 2});
  RawSocket first(service.path());
  first.send(fmt::format("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", mib) + std::string(mib - 1, 'x'));
  const auto post = [&](std::size_t size) {
    return client::Connection(service.path())
        .ask({.method = "POST", .target = "/", .body = std::string(size, 'y')})
        .status;
  };
  // The first one's bytes have arrived.
  EXPECT_TRUE(testing::eventually([&] { return post(mib) == 503; }));
  EXPECT_EQ(post(mib / 4), 200) << "there is room for it";
  first.send("x");
  // Its body counts until the whole answer was taken.
  EXPECT_THAT(first.read_answer(), StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(testing::eventually([&] { return post(mib) == 200; })) << "the room is free again";
}

TEST(HttpServer, reports_a_client_that_leaves_before_the_response) {
  std::shared_ptr<Responder> kept;
  Event asked;
  Event closed;
  Service service([&](const Request&, std::shared_ptr<Responder> responder) {
    responder->on_closed([&] { closed.happen(); });
    kept = std::move(responder);
    asked.happen();
  });
  RawSocket socket(service.path());
  // Data sent before must not hide the disconnect.
  socket.send("GET / HTTP/1.1\r\n\r\nGET /never HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(asked.wait());
  socket.close();
  ASSERT_TRUE(closed.wait());
  Event told_late;
  service.on_loop([&] {
    EXPECT_EQ(service.server().connections(), 0);
    kept->on_closed([&] { told_late.happen(); });
  });
  EXPECT_TRUE(told_late.wait());
  service.on_loop([&] {
    const auto stream = kept->begin({});
    stream->write("nobody reads it");
    EXPECT_TRUE(stream->is_closed());
    EXPECT_EQ(stream->waiting(), 0);
    kept.reset();
  });
}

}  // namespace
}  // namespace reeve::server
