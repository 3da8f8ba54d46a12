#include "server/request/recorder.h"

#ifdef REEVE_CRASH_POINTS

#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "base/value.h"
#include "json/encode.h"
#include "os/fd.h"
#include "project/project.h"
#include "server/http/forwarding.h"

namespace reeve::server {

namespace {

using base::Value;

// Limits for one response, and for everything that one process records.
constexpr std::size_t max_body = 256UL * 1024;
constexpr std::size_t max_file = 8UL << 20U;

// Used only on the loop's thread.
class Recording {
 public:
  Recording() {
    const auto folder = project::variable("REEVE_RECORD_EXCHANGES");
    if (!folder) return;
    const std::string name = fmt::format("{}/{}-{}.jsonl", *folder, ::getpid(), ::time(nullptr));
    file_ = os::Fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  }
  bool is_on() const { return static_cast<bool>(file_) && written_ < max_file; }
  void add(const Value& exchange) {
    const std::string line = json::encode(exchange) + "\n";
    written_ += line.size();
    if (::write(file_.get(), line.data(), line.size()) < 0) written_ = max_file;
  }

 private:
  os::Fd file_;
  std::size_t written_ = 0;
};

Recording& recording() {
  static Recording made;
  return made;
}

struct Recorded {
  Value exchange = Value::object();
  std::string body;
  bool is_written = false;

  explicit Recorded(const Request& request) {
    exchange.set("method", Value::string(request.method));
    exchange.set("path", Value::string(base::replace_invalid_utf8(request.path)));
    Value query = Value::object();
    for (const auto& [name, value] : request.query) {
      query.set(base::replace_invalid_utf8(name), Value::string(base::replace_invalid_utf8(value)));
    }
    exchange.set("query", std::move(query));
  }
  void head(const Response& response) {
    exchange.set("status", Value::integer(response.status));
    exchange.set("type", Value::string(response.content_type));
    Value headers = Value::object();
    for (const auto& [name, value] : response.headers) headers.set(name, Value::string(value));
    exchange.set("headers", std::move(headers));
    add(response.body);
  }
  void add(std::string_view bytes) {
    if (body.size() <= max_body) body += bytes;
  }
  void write() {
    if (std::exchange(is_written, true) || !recording().is_on()) return;
    // A truncated response proves nothing.
    if (body.size() <= max_body) exchange.set("body", Value::string(base::replace_invalid_utf8(body)));
    recording().add(exchange);
  }
};

class RecordedStream final : public Stream {
 public:
  RecordedStream(std::shared_ptr<Stream> inner, std::shared_ptr<Recorded> recorded)
      : inner_(std::move(inner)), recorded_(std::move(recorded)) {}
  ~RecordedStream() override { recorded_->write(); }
  RecordedStream(const RecordedStream&) = delete;
  RecordedStream& operator=(const RecordedStream&) = delete;

  void write(std::string bytes) override {
    recorded_->add(bytes);
    inner_->write(std::move(bytes));
  }
  void end() override {
    recorded_->write();
    inner_->end();
  }
  std::size_t waiting() const noexcept override { return inner_->waiting(); }
  void on_drained(std::function<void()> drained) override { inner_->on_drained(std::move(drained)); }
  void on_closed(std::function<void()> closed) override { inner_->on_closed(std::move(closed)); }
  bool is_closed() const noexcept override { return inner_->is_closed(); }

 private:
  std::shared_ptr<Stream> inner_;
  std::shared_ptr<Recorded> recorded_;
};

class RecordingResponder final : public ForwardingResponder {
 public:
  RecordingResponder(std::shared_ptr<Responder> inner, const Request& request)
      : ForwardingResponder(std::move(inner)), recorded_(std::make_shared<Recorded>(request)) {}

  void send(Response response) override {
    recorded_->head(response);
    recorded_->write();
    inner().send(std::move(response));
  }
  std::shared_ptr<Stream> begin(Response head) override {
    recorded_->head(head);
    return std::make_shared<RecordedStream>(inner().begin(std::move(head)), recorded_);
  }

 private:
  std::shared_ptr<Recorded> recorded_;
};

}  // namespace

std::shared_ptr<Responder> record_exchange(const Request& request, std::shared_ptr<Responder> responder) {
  if (!recording().is_on()) return responder;
  return std::make_shared<RecordingResponder>(std::move(responder), request);
}

}  // namespace reeve::server

#else

namespace reeve::server {

std::shared_ptr<Responder> record_exchange(const Request& /*request*/, std::shared_ptr<Responder> responder) {
  return responder;
}

}  // namespace reeve::server

#endif
