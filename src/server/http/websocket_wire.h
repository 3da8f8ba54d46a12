#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/buffers_iterator.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/role.hpp>

namespace reeve::server {

// The stream that Beast uses as its socket. Reads come from the real socket; writes (handshake, pongs, close frames) go
// to the common queue, so that there is only one writer.
class WebSocketWire {
 public:
  struct End {
    virtual ~End() = default;
    virtual boost::asio::generic::stream_protocol::socket& socket() noexcept = 0;
    // Bytes read before the upgrade; empty when consumed.
    virtual std::string take_rest(std::size_t most) = 0;
    // Called with all received bytes.
    virtual void note_received(std::string_view bytes) = 0;
    virtual void put(std::string bytes) = 0;
  };

  explicit WebSocketWire(End& end) : end_(&end) {}

  using executor_type = boost::asio::generic::stream_protocol::socket::executor_type;
  executor_type get_executor() { return end_->socket().get_executor(); }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(
        [this](auto handler, const Buffers& into) {
          const std::string rest = end_->take_rest(boost::asio::buffer_size(into));
          if (!rest.empty()) {
            end_->note_received(rest);
            const std::size_t count = boost::asio::buffer_copy(into, boost::asio::buffer(rest));
            boost::asio::post(get_executor(),
                              boost::beast::bind_handler(std::move(handler), boost::system::error_code(), count));
            return;
          }
          end_->socket().async_read_some(into, Received<decltype(handler), Buffers>{end_, std::move(handler), into});
        },
        token, buffers);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(
        [this](auto handler, const Buffers& from) {
          boost::system::error_code error;
          const std::size_t count = write_some(from, error);
          boost::asio::post(get_executor(), boost::beast::bind_handler(std::move(handler), error, count));
        },
        token, buffers);
  }

  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, boost::system::error_code& error) {
    error = {};
    std::string bytes(boost::asio::buffers_begin(buffers), boost::asio::buffers_end(buffers));
    const std::size_t count = bytes.size();
    end_->put(std::move(bytes));
    return count;
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers) {
    boost::system::error_code error;
    return write_some(buffers, error);
  }
  // Required by Beast, but not used here.
  template <class Buffers>
  std::size_t read_some(const Buffers&, boost::system::error_code& error) {
    error = boost::asio::error::would_block;
    return 0;
  }
  template <class Buffers>
  std::size_t read_some(const Buffers&) {
    return 0;
  }

  // The owner closes the socket.
  friend void beast_close_socket(WebSocketWire&) {}
  template <class Handler>
  friend void async_teardown(boost::beast::role_type, WebSocketWire& wire, Handler&& handler) {
    boost::asio::post(wire.get_executor(),
                      boost::beast::bind_handler(std::forward<Handler>(handler), boost::system::error_code()));
  }

 private:
  // Reports the received bytes, then calls the handler.
  template <class Handler, class Buffers>
  struct Received {
    End* end;
    Handler handler;
    Buffers buffers;
    void operator()(const boost::system::error_code& error, std::size_t count) {
      std::size_t left = error ? 0 : count;
      for (auto at = boost::asio::buffer_sequence_begin(buffers);
           left > 0 && at != boost::asio::buffer_sequence_end(buffers); ++at) {
        const boost::asio::const_buffer buffer(*at);
        const std::size_t part = std::min(left, buffer.size());
        end->note_received({static_cast<const char*>(buffer.data()), part});
        left -= part;
      }
      handler(error, count);
    }
  };

  End* end_;
};

}  // namespace reeve::server
