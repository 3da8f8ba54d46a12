#include "client/http.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>

#include <boost/beast/http/basic_parser.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "client/tls.h"
#include "os/fd.h"

namespace reeve::client {

namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t answer_bytes = 64UZ * 1024 * 1024;
constexpr std::size_t header_bytes = 1024UZ * 1024;
constexpr std::size_t read_bytes = 64UZ * 1024;
constexpr std::size_t sent_at_once = 16UZ * 1024;
constexpr base::Milliseconds waiting_pause(250);

[[noreturn]] void lose(std::string_view doing, int error_number) {
  throw ConnectionLost{fmt::format("{}: {}", doing, std::generic_category().message(error_number))};
}

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

// Parses a response as its bytes arrive.
class AnswerParser final : public http::basic_parser<false> {
 public:
  AnswerParser() {
    header_limit(header_bytes);
    body_limit(boost::none);
  }

  // Whether the base parser can continue with so few bytes. Before a chunk it asserts at least five when it parses the
  // last chunk again, and no response ends in fewer.
  bool can_take(std::size_t bytes) const {
    const bool before_chunk = is_header_done() && chunked() && chunk_left_ == 0;
    return bytes >= (before_chunk ? 5 : 1);
  }

  // Its body holds the bytes received so far.
  Response answer;

 private:
  void on_request_impl(http::verb, boost::beast::string_view, boost::beast::string_view, int, error_code&) override {}
  void on_response_impl(int status, boost::beast::string_view, int, error_code&) override { answer.status = status; }
  void on_field_impl(http::field, boost::beast::string_view name, boost::beast::string_view value,
                     error_code&) override {
    if (!has_header_) answer.headers.emplace_back(view(name), view(value));
  }
  void on_header_impl(error_code&) override { has_header_ = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(boost::beast::string_view bytes, error_code&) override { return take(bytes); }
  void on_chunk_header_impl(std::uint64_t size, boost::beast::string_view, error_code&) override { chunk_left_ = size; }
  std::size_t on_chunk_body_impl(std::uint64_t, boost::beast::string_view bytes, error_code&) override {
    chunk_left_ -= bytes.size();
    return take(bytes);
  }
  void on_finish_impl(error_code&) override {}

  std::size_t take(boost::beast::string_view bytes) {
    answer.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  bool has_header_ = false;
  std::uint64_t chunk_left_ = 0;
};

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Escapes characters that could end the line of a target or header.
void append_clean(std::string& text, std::string_view part) {
  for (const char c : part) text += is_control(c) ? ' ' : c;
}

std::string request_text(const Request& question, const Endpoint& endpoint) {
  std::string text;
  text.reserve(256 + question.body.size());
  append_clean(text, question.method);
  text += ' ';
  for (const char c : question.target) {
    if (is_control(c) || c == ' ') {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  text += " HTTP/1.1\r\nHost: ";
  append_clean(text, endpoint.socket.empty() ? endpoint.authority() : "reeve");
  text += "\r\n";
  if (!endpoint.token.empty()) {
    text += "Authorization: Bearer ";
    append_clean(text, endpoint.token);
    text += "\r\n";
  }
  for (const auto& [name, value] : question.headers) {
    append_clean(text, name);
    text += ": ";
    append_clean(text, value);
    text += "\r\n";
  }
  const bool has_length = !question.body.empty() || (question.method != "GET" && question.method != "DELETE");
  if (has_length) text += fmt::format("Content-Length: {}\r\n", question.body.size());
  text += "\r\n";
  text += question.body;
  return text;
}

}  // namespace

std::optional<std::string> Response::header(std::string_view name) const {
  const std::string wanted = base::to_ascii_lower(name);
  const auto found =
      std::ranges::find_if(headers, [&](const auto& one) { return base::to_ascii_lower(one.first) == wanted; });
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

std::string encode_part(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_unreserved =
        base::is_ascii_letter(c) || base::is_ascii_digit(c) || std::string_view("-._~").contains(c);
    if (is_unreserved) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

struct Connection::Core {
  explicit Core(Endpoint where) : endpoint(std::move(where)) { open(); }

  void open() {
    tls.reset();
    socket = open_socket(endpoint);
    if (endpoint.is_encrypted) tls.emplace(socket.get(), endpoint.host);
  }

  void ask(const Request& question) {
    if (parser && !parser->is_done() && !is_ended)
      throw ConnectionLost{"the previous response was not read to its end"};
    // The daemon closes idle connections; no request can have been lost on one.
    if (!is_open()) open();
    is_ended = false;
    parser.emplace();
    filled = 0;
    const int failure = send(request_text(question, endpoint));
    // A server may refuse a request without reading all of it; its response can be available despite the send error.
    try {
      while (!parser->is_header_done() || is_interim()) receive();
    } catch (const ConnectionLost&) {
      if (failure == 0) throw;
      lose("the connection to the daemon broke while sending the request", failure);
    }
  }

  // Waits until the socket is ready and reports the waiting time to the callback.
  void wait_for(short event) {
    if (!waiting) return;
    const base::SystemClock clock;
    const base::BootTime begun = clock.boot_now();
    pollfd state{socket.get(), event, 0};
    while (::poll(&state, 1, static_cast<int>(waiting_pause.count())) <= 0) {
      try {
        waiting(std::chrono::duration_cast<base::Milliseconds>(clock.boot_now() - begun));
      } catch (...) {
        // Part of a response may still arrive, so this connection is not used again.
        is_ended = true;
        throw;
      }
    }
  }

  // 0, or the errno of the failure.
  int send(std::string_view text) {
    while (!text.empty()) {
      wait_for(POLLOUT);
      // With a callback, sends small parts, because more than the socket buffer holds would block.
      const std::string_view part = waiting ? text.substr(0, sent_at_once) : text;
      const ssize_t sent = tls ? tls->send(part) : ::send(socket.get(), part.data(), part.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR) return errno;
      if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return 0;
  }

  // Waits for bytes and parses all that have arrived.
  void receive() {
    if (buffer.size() - filled < read_bytes) buffer.resize(filled + read_bytes);
    wait_for(POLLIN);
    ssize_t got = -1;
    do {
      char* free = buffer.data() + filled;
      const std::size_t room = buffer.size() - filled;
      got = tls ? tls->receive(free, room) : ::recv(socket.get(), free, room, 0);
    } while (got < 0 && errno == EINTR);
    is_ended = got <= 0;
    if (got < 0) lose("the connection to the daemon broke", errno);
    if (got == 0) return take_end();
    filled += static_cast<std::size_t>(got);
    parse();
  }

  void take_end() {
    error_code error;
    if (parser->got_some()) parser->put_eof(error);
    if (error || !parser->is_done()) throw ConnectionLost{"the daemon closed the connection"};
  }

  void parse() {
    std::size_t taken = 0;
    while (!parser->is_done() && parser->can_take(filled - taken)) {
      error_code error;
      taken += parser->put(boost::asio::buffer(buffer.data() + taken, filled - taken), error);
      if (error == http::error::need_more) break;
      is_ended = error.failed();
      if (error) throw ConnectionLost{fmt::format("cannot parse the daemon's response: {}", error.message())};
    }
    std::memmove(buffer.data(), buffer.data() + taken, filled - taken);
    filled -= taken;
  }

  // "100 Continue": the actual response follows.
  bool is_interim() {
    if (parser->answer.status / 100 != 1) return false;
    parser.emplace();
    parse();
    return !parser->is_header_done() || is_interim();
  }

  bool is_open() {
    if (is_ended || (parser && !parser->keep_alive())) return false;
    pollfd state{socket.get(), POLLIN, 0};
    return ::poll(&state, 1, 0) == 0;
  }

  void read_all() {
    while (!parser->is_done()) {
      receive();
      if (parser->answer.body.size() <= answer_bytes) continue;
      is_ended = true;
      throw ConnectionLost{"the daemon's response is larger than 64 MiB"};
    }
  }

  Endpoint endpoint;
  Waiting waiting;
  os::Fd socket;
  // On top of the socket, if it is encrypted.
  std::optional<TlsChannel> tls;
  // The first `filled` bytes are not parsed yet: an incomplete element.
  std::vector<char> buffer;
  std::size_t filled = 0;
  // Broken, or closed by the peer.
  bool is_ended = false;
  std::optional<AnswerParser> parser;
};

Connection::Connection(const Endpoint& endpoint) : core_(std::make_unique<Core>(endpoint)) {}
Connection::Connection(const std::filesystem::path& socket) : Connection(Endpoint{.socket = socket}) {}
Connection::~Connection() = default;
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;

void Connection::set_waiting(Waiting waiting) { core_->waiting = std::move(waiting); }

Response Connection::ask(const Request& question) {
  core_->ask(question);
  core_->read_all();
  return std::exchange(core_->parser->answer, {});
}

Response Connection::begin(const Request& question) {
  core_->ask(question);
  Response& answer = core_->parser->answer;
  if (answer.status != 200) {
    core_->read_all();
    return std::exchange(answer, {});
  }
  return {answer.status, answer.headers, {}};
}

std::string Connection::read() {
  if (!core_->parser) return {};
  std::string& body = core_->parser->answer.body;
  while (body.empty() && !core_->parser->is_done()) core_->receive();
  return std::exchange(body, {});
}

bool Connection::has_buffered() const {
  return !core_->parser || core_->parser->is_done() || !core_->parser->answer.body.empty();
}

int Connection::fd() const noexcept { return core_->socket.get(); }

}  // namespace reeve::client
