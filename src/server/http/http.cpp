#include "server/http/http.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <list>
#include <sys/socket.h>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "server/http/http_connection.h"
#include "server/http/http_head.h"
#include "server/http/tls.h"

namespace reeve::server {

namespace {

// Connections accepted before others get their turn.
constexpr int accepted_at_once = 64;
// How long to pause accepting when the system is out of resources.
constexpr base::Milliseconds pause(100);
// Minimum time for an unauthenticated connection before a newer one may replace it: many may arrive at once.
constexpr base::Milliseconds stranger_turn(250);

bool equal_ignoring_case(std::string_view left, std::string_view right) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::ranges::equal(left, right, {}, lower, lower);
}

// Without reading the request, which would need the resources that are short.
void turn_away(const os::Fd& socket, std::size_t connections) {
  const Response response = refusal_response(overloaded(connections));
  const std::string text = head_text(response, Framing::length, Persistence::close) + response.body;
  ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

std::optional<std::string> Request::header(std::string_view name) const {
  const auto found =
      std::ranges::find_if(headers, [&](const auto& one) { return equal_ignoring_case(one.first, name); });
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

struct HttpServer::Core final : Host, std::enable_shared_from_this<Core> {
  using Host::Host;

  struct Listener {
    os::Fd socket;
    // Null for a unix socket.
    std::optional<TcpEntrance> entrance;
    // Waits for the socket, or for the end of a pause.
    runtime::Loop::Hold waiting;
  };

  void wait(Listener& listener) {
    listener.waiting = loop.watch(listener.socket.get(), [this, &listener] { accept_some(listener); });
  }

  void accept_some(Listener& listener) {
    for (int i = 0; i < accepted_at_once; ++i) {
      hold_spare();
      if (listener.entrance && strangers.size() >= limits.strangers && !make_room(listener)) return;
      os::Fd socket(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) {
        const bool passes = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
        if ((errno == EMFILE || errno == ENFILE) && turn_away_by_spare(listener)) continue;
        // Out of descriptors or memory: the listener stays readable, so watching it would spin.
        if (!passes) listener.waiting = loop.at(loop.now() + pause, [this, &listener] { wait(listener); });
        return;
      }
      // The last quarter is reserved for the owner's unix socket, so that TCP clients cannot lock the owner out.
      const std::size_t most = listener.entrance ? limits.connections - limits.connections / 4 : limits.connections;
      if (connections.size() >= most || !has_share()) {
        turn_away(socket, connections.size());
        note_answer(503);
        continue;
      }
      admit_connection(listener, std::move(socket));
    }
  }

  // Whether one more connection is the server's own, or fits into the pool.
  bool has_share() const {
    return limits.pool == nullptr || connections.size() < limits.own_connections ||
           limits.pool->used < limits.pool->most;
  }
  // Whether the newest connection counts in the pool. In whatever order they go, as many leave it as have entered it.
  bool is_last_shared() const { return limits.pool != nullptr && connections.size() > limits.own_connections; }

  // Accepts with the reserved descriptor and refuses; false if there is none.
  bool turn_away_by_spare(const Listener& listener) {
    if (!spare) return false;
    spare = {};
    const os::Fd socket(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      turn_away(socket, connections.size());
      note_answer(503);
    }
    return static_cast<bool>(socket);
  }

  void hold_spare() {
    if (limits.keeps_spare && !spare) spare = os::Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }

  void admit_connection(const Listener& listener, os::Fd socket) {
    NewConnection connecting;
    if (listener.entrance) {
      const auto from = os::peer_address(socket.get());
      const auto to = os::local_address(socket.get());
      // The peer is already gone.
      if (!from || !to) return;
      connecting.peer.entrance = Entrance::tcp;
      connecting.peer.from = *from;
      connecting.peer.to = *to;
      connecting.peer.accepted = loop.now();
      connecting.admit = listener.entrance->admit;
      os::prepare_connection(socket.get());
      if (listener.entrance->tls) {
        connecting.peer.is_encrypted = true;
        socket = listener.entrance->tls->open(loop, std::move(socket));
        if (!socket) return;
      }
    }
    const auto connection = open_connection(shared_from_this(), std::move(socket), connecting);
    connections.emplace(connection.get(), connection);
    if (is_last_shared()) ++limits.pool->used;
    if (meters != nullptr) meters->connections.add(1);
    if (listener.entrance) strangers.push_back({connection, loop.now()});
  }

  // Closes the oldest unauthenticated connection; false if it is still within its minimum time, and then accepting
  // pauses.
  bool make_room(Listener& listener) {
    const base::BootTime turn_over = strangers.front().since + stranger_turn;
    if (loop.now() < turn_over) {
      listener.waiting = loop.at(turn_over, [this, &listener] { wait(listener); });
      return false;
    }
    // A copy, because cut() removes the entry.
    const std::shared_ptr<Connection> oldest = strangers.front().connection;
    oldest->cut();
    return true;
  }

  void known(Connection& connection) override {
    std::erase_if(strangers, [&](const Stranger& one) { return one.connection.get() == &connection; });
  }

  void gone(Connection& connection) override {
    known(connection);
    if (is_last_shared()) --limits.pool->used;
    connections.erase(&connection);
    if (meters != nullptr) meters->connections.add(-1);
    if (is_closing && connections.empty()) tell_closed();
  }

  void replaced(Connection& connection, std::shared_ptr<Connection> by) override {
    Connection* const key = by.get();
    connections.emplace(key, std::move(by));
    known(connection);
    connections.erase(&connection);
    if (is_closing) key->finish();
  }

  // Posted, so that the callback may destroy everything.
  void tell_closed() {
    timeout = {};
    loop.post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && self->closed) std::exchange(self->closed, nullptr)();
    });
  }

  // For each current connection; `act` may close any of them.
  template <class Act>
  void for_each(const Act& act) {
    std::vector<std::shared_ptr<Connection>> all;
    all.reserve(connections.size());
    for (const auto& [_, connection] : connections) all.push_back(connection);
    for (const auto& connection : all) std::invoke(act, *connection);
  }

  // A list, because waiting tasks refer to its elements.
  std::list<Listener> listeners;
  struct Stranger {
    std::shared_ptr<Connection> connection;
    base::BootTime since;
  };
  // Oldest first.
  std::list<Stranger> strangers;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections;
  os::Fd spare;
  runtime::Loop::Hold timeout;
  std::function<void()> closed;
};

HttpServer::HttpServer(runtime::Loop& loop, Handler handle, Limits limits)
    : core_(std::make_shared<Core>(loop, std::move(handle), limits)) {}

HttpServer::~HttpServer() {
  core_->listeners.clear();
  core_->timeout = {};
  core_->closed = nullptr;
  core_->for_each(&Connection::drop);
}

void HttpServer::accept(os::Fd listener) {
  const int flags = ::fcntl(listener.get(), F_GETFL);
  if (flags < 0 || ::fcntl(listener.get(), F_SETFL, flags | O_NONBLOCK) < 0) {
    base::throw_errno(base::ErrorCode::os_failed, "cannot listen", errno);
  }
  core_->hold_spare();
  core_->wait(core_->listeners.emplace_back(std::move(listener), std::nullopt, runtime::Loop::Hold()));
}

void HttpServer::accept(os::Fd listener, TcpEntrance entrance) {
  core_->wait(core_->listeners.emplace_back(std::move(listener), std::move(entrance), runtime::Loop::Hold()));
}

std::size_t HttpServer::connections() const noexcept { return core_->connections.size(); }

void HttpServer::review(const Judge& judge) {
  core_->for_each([&](Connection& connection) { connection.review(judge); });
}

void HttpServer::count_in(runtime::HttpMeters& meters) { core_->meters = &meters; }

void HttpServer::close(base::Milliseconds timeout, std::function<void()> closed) {
  REEVE_ASSERT(!core_->is_closing);
  core_->is_closing = true;
  core_->listeners.clear();
  core_->closed = std::move(closed);
  if (core_->connections.empty()) return core_->tell_closed();
  Core& core = *core_;
  core.timeout = core.loop.at(core.loop.now() + timeout, [&core] { core.for_each(&Connection::cut); });
  core.for_each(&Connection::finish);
}

}  // namespace reeve::server
