#include "server/http/http_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "server/http/http_target.h"

namespace reeve::server {

namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

constexpr std::size_t reserved_bytes = 256UZ * 1024;

Refusal unknown_coding() {
  return {415, base::ErrorCode::http_unsupported_coding, "unsupported transfer coding", "only `chunked` is supported",
          "send the body without any other coding"};
}

// A header line continued on the next line (obs-fold): Beast accepts it, but implementations disagree about it.
bool has_folded_line(std::string_view bytes, bool has_begun) {
  // Only the empty line is left; the body follows.
  if (has_begun && bytes.starts_with("\r\n")) return false;
  bytes = bytes.substr(0, bytes.find("\r\n\r\n"));
  return bytes.find("\r\n ") != std::string_view::npos || bytes.find("\r\n\t") != std::string_view::npos;
}

// Checks the line before a chunk: after a bare line feed, Beast would keep waiting for a CRLF.
bool has_bare_line_end(std::string_view bytes) {
  if (bytes.starts_with("\r\n")) bytes.remove_prefix(2);
  return bytes.substr(0, bytes.find("\r\n")).contains('\n');
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text,
                             [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; });
}

}  // namespace

struct RequestReader::Parser final : http::basic_parser<true> {
  explicit Parser(const HttpServer::Limits& bounds) : limits(bounds) {
    // Beast only limits bytes that it has not consumed; put() counts all.
    header_limit(std::numeric_limits<std::uint32_t>::max());
    body_limit(limits.body_bytes);
  }

  // Whether Beast can parse this few bytes. Before a chunk it asserts at least five bytes when it reaches the last
  // chunk again, and no chunk ends with fewer.
  bool can_take(std::size_t bytes) const { return bytes >= (is_before_chunk() ? 5 : 1); }
  bool is_before_chunk() const { return is_header_done() && chunked() && chunk_left == 0; }

  void on_request_impl(http::verb, boost::beast::string_view method, boost::beast::string_view target, int version,
                       error_code& error) override {
    is_http_1_0 = version == 10;
    request.method = view(method);
    auto parsed = server::parse_target(view(target));
    if (!parsed) {
      refusal = bad_request(std::move(parsed.error()));
      error = http::error::bad_target;
      return;
    }
    request.path = std::move(parsed->path);
    request.has_escaped_slash = parsed->has_escaped_slash;
    request.query = std::move(parsed->query);
  }

  void on_response_impl(int, boost::beast::string_view, int, error_code&) override {}

  void on_field_impl(http::field field, boost::beast::string_view name, boost::beast::string_view value,
                     error_code& error) override {
    // Trailers of a chunked body are not request headers.
    if (has_header) return;
    if (request.headers.size() >= limits.headers) {
      refusal = too_many_headers(limits.headers);
      error = http::error::header_limit;
      return;
    }
    if (has_control(view(value))) error = http::error::bad_value;
    // The length of the body must be stated once and unambiguously, to prevent request smuggling.
    if (field == http::field::content_length) {
      const bool is_number = !value.empty() && std::ranges::all_of(view(value), base::is_ascii_digit);
      if (std::exchange(has_length, true) || !is_number) error = http::error::bad_content_length;
    }
    if (field == http::field::transfer_encoding) {
      const bool is_plain = base::to_ascii_lower(view(value)) == "chunked";
      if (std::exchange(has_encoding, true) || !is_plain || is_http_1_0) error = http::error::bad_transfer_encoding;
      if (!is_plain) refusal = unknown_coding();
    }
    if (field == http::field::expect) expects_continue = base::to_ascii_lower(view(value)) == "100-continue";
    request.headers.emplace_back(view(name), view(value));
  }

  void on_header_impl(error_code& error) override {
    has_header = true;
    // Beast treats other encodings as no body, and the body as the next request.
    if (has_encoding && (has_length || !chunked())) error = http::error::bad_transfer_encoding;
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override {
    // What is announced may never arrive.
    if (length) request.body.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(*length, reserved_bytes)));
  }

  std::size_t on_body_impl(boost::beast::string_view bytes, error_code&) override {
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  void on_chunk_header_impl(std::uint64_t size, boost::beast::string_view, error_code&) override { chunk_left = size; }

  std::size_t on_chunk_body_impl(std::uint64_t, boost::beast::string_view bytes, error_code&) override {
    chunk_left -= bytes.size();
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  void on_finish_impl(error_code&) override {}

  void refuse(const error_code& error) {
    if (refusal) return;
    if (error == http::error::body_limit) {
      refusal = body_too_large(limits.body_bytes);
    } else if (error == http::error::header_limit) {
      refusal = header_too_large(limits.header_bytes);
    } else {
      refusal = bad_request(error.message());
    }
  }

  HttpServer::Limits limits;
  Request request;
  std::optional<Refusal> refusal;
  std::size_t header_bytes = 0;
  std::uint64_t chunk_left = 0;
  bool has_header = false;
  bool has_encoding = false;
  bool has_length = false;
  bool expects_continue = false;
  bool is_http_1_0 = false;
};

RequestReader::RequestReader(const HttpServer::Limits& limits) : parser_(std::make_unique<Parser>(limits)) {}
RequestReader::~RequestReader() = default;
RequestReader::RequestReader(RequestReader&&) noexcept = default;
RequestReader& RequestReader::operator=(RequestReader&&) noexcept = default;

std::size_t RequestReader::put(std::string_view bytes) {
  Parser& parser = *parser_;
  const bool is_folded = !parser.is_header_done() && has_folded_line(bytes, parser.header_bytes > 0);
  if (is_folded) parser.refuse(http::error::bad_obs_fold);
  std::size_t taken = 0;
  while (!parser.is_done() && !parser.refusal && parser.can_take(bytes.size() - taken)) {
    const bool is_header = !parser.is_header_done();
    const bool is_before_chunk = parser.is_before_chunk();
    if (is_before_chunk && has_bare_line_end(bytes.substr(taken))) {
      parser.refuse(http::error::bad_line_ending);
      break;
    }
    error_code error;
    const std::size_t some = parser.put(boost::asio::buffer(bytes.data() + taken, bytes.size() - taken), error);
    taken += some;
    if (is_header) parser.header_bytes += some;
    const std::size_t bounded = is_before_chunk ? some : parser.header_bytes;
    if (bounded > parser.limits.header_bytes) error = http::error::header_limit;
    if (error == http::error::need_more) break;
    if (error) parser.refuse(error);
  }
  if (parser.is_done()) return taken;
  // An incomplete rest belongs to the header or to the framing between chunks, which has the same limit.
  const std::size_t pending = bytes.size() - taken + (parser.is_header_done() ? 0 : parser.header_bytes);
  if (pending > parser.limits.header_bytes) parser.refuse(http::error::header_limit);
  return taken;
}

bool RequestReader::is_complete() const noexcept { return parser_->is_done() && !parser_->refusal; }

const std::optional<Refusal>& RequestReader::refusal() const noexcept { return parser_->refusal; }

bool RequestReader::take_expectation() noexcept {
  return parser_->has_header && !parser_->is_http_1_0 && std::exchange(parser_->expects_continue, false);
}

bool RequestReader::is_in_body() const noexcept { return parser_->has_header; }

Request& RequestReader::head() noexcept { return parser_->request; }

Request RequestReader::take() {
  REEVE_ASSERT(is_complete());
  return std::move(parser_->request);
}

bool RequestReader::keeps_alive() const { return parser_->keep_alive(); }

bool RequestReader::is_http_1_0() const noexcept { return parser_->is_http_1_0; }

}  // namespace reeve::server
