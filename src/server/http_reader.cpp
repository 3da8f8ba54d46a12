#include "server/http_reader.h"

#include <utility>

#include <boost/beast/http/basic_parser.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "server/http_target.h"

namespace reeve::server {

namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct RequestReader::Parser final : http::basic_parser<true> {
  explicit Parser(const HttpServer::Limits& bounds) : limits(bounds) {
    eager(true);
    header_limit(static_cast<std::uint32_t>(limits.header_bytes));
    body_limit(limits.body_bytes);
  }

  // The base bounds only what it has not taken yet.
  void count_header(std::size_t bytes, error_code& error) {
    header_bytes += bytes;
    if (header_bytes > limits.header_bytes) error = http::error::header_limit;
  }

  void on_request_impl(http::verb, boost::beast::string_view method, boost::beast::string_view target, int version,
                       error_code& error) override {
    is_http_1_0 = version == 10;
    request.method = view(method);
    count_header(method.size() + target.size(), error);
    if (error) return;
    auto parsed = server::parse_target(view(target));
    if (!parsed) {
      refusal = bad_request(std::move(parsed.error()));
      error = http::error::bad_target;
      return;
    }
    request.path = std::move(parsed->path);
    request.query = std::move(parsed->query);
  }

  void on_response_impl(int, boost::beast::string_view, int, error_code&) override {}

  void on_field_impl(http::field field, boost::beast::string_view name, boost::beast::string_view value,
                     error_code& error) override {
    count_header(name.size() + value.size() + 4, error);
    // What comes behind a chunked body is no header of the request.
    if (error || has_header) return;
    if (field == http::field::transfer_encoding) has_encoding = true;
    if (field == http::field::expect) expects_continue = base::to_ascii_lower(view(value)) == "100-continue";
    request.headers.emplace_back(view(name), view(value));
  }

  void on_header_impl(error_code& error) override {
    has_header = true;
    // The base takes other encodings for no body at all, and the body for the next request.
    if (has_encoding && !chunked()) error = http::error::bad_transfer_encoding;
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override {
    if (length) request.body.reserve(static_cast<std::size_t>(*length));
  }

  std::size_t on_body_impl(boost::beast::string_view bytes, error_code&) override {
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  void on_chunk_header_impl(std::uint64_t, boost::beast::string_view, error_code&) override {}

  std::size_t on_chunk_body_impl(std::uint64_t, boost::beast::string_view bytes, error_code&) override {
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
  bool has_header = false;
  bool has_encoding = false;
  bool expects_continue = false;
  bool is_http_1_0 = false;
};

RequestReader::RequestReader(const HttpServer::Limits& limits) : parser_(std::make_unique<Parser>(limits)) {}
RequestReader::~RequestReader() = default;
RequestReader::RequestReader(RequestReader&&) noexcept = default;
RequestReader& RequestReader::operator=(RequestReader&&) noexcept = default;

std::size_t RequestReader::put(std::string_view bytes) {
  Parser& parser = *parser_;
  std::size_t taken = 0;
  while (taken < bytes.size() && !parser.is_done() && !parser.refusal) {
    error_code error;
    taken += parser.put(boost::asio::buffer(bytes.data() + taken, bytes.size() - taken), error);
    if (error == http::error::need_more) break;
    if (error) parser.refuse(error);
  }
  // Of what is not whole nothing may be longer than all headers together.
  if (!parser.is_done() && bytes.size() - taken > parser.limits.header_bytes) parser.refuse(http::error::header_limit);
  return taken;
}

bool RequestReader::is_complete() const noexcept { return parser_->is_done() && !parser_->refusal; }

const std::optional<Refusal>& RequestReader::refusal() const noexcept { return parser_->refusal; }

bool RequestReader::take_expectation() noexcept {
  return parser_->has_header && !parser_->is_http_1_0 && std::exchange(parser_->expects_continue, false);
}

bool RequestReader::is_in_body() const noexcept { return parser_->has_header; }

Request RequestReader::take() {
  REEVE_ASSERT(is_complete());
  return std::move(parser_->request);
}

bool RequestReader::keeps_alive() const { return parser_->keep_alive(); }

bool RequestReader::is_http_1_0() const noexcept { return parser_->is_http_1_0; }

}  // namespace reeve::server
