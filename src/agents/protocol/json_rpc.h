#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/value.h"

// The client's side of JSON-RPC 2.0 on lines, as Codex and the Agent Client Protocol speak it. Pure.
namespace reeve::agents {

inline constexpr int rpc_invalid_request = -32600;
inline constexpr int rpc_method_not_found = -32601;
inline constexpr int rpc_cancelled = -32800;

// Lines that are no message, before the agent counts as not understood.
inline constexpr std::size_t max_rpc_noise = 1'000;
// Own requests without an answer; the answer to an older one is not recognised any more.
inline constexpr std::size_t max_rpc_pending = 64;
// Of an id or of a method.
inline constexpr std::size_t max_rpc_name = 1024;

// The parameters are an object; what is not counts as empty.
struct RpcRequest {
  // A string or a whole number, to be answered exactly as it came.
  base::Value id;
  std::string method;
  base::Value params;
};
struct RpcNotification {
  std::string method;
  base::Value params;
};
struct RpcError {
  std::int64_t code = 0;
  std::string message;
};
// To an own request.
struct RpcAnswer {
  std::string method;
  base::Value result;
  std::optional<RpcError> error;
};
// A request that has no usable id or method: the line that refuses it.
struct RpcInvalid {
  std::string line;
};
// Noise, and answers that nothing waits for.
struct RpcIgnored {};
struct RpcFault {
  std::string reason;
};
using RpcMessage = std::variant<RpcRequest, RpcNotification, RpcAnswer, RpcInvalid, RpcIgnored, RpcFault>;

// Whether messages say `"jsonrpc":"2.0"`; it is not demanded of the agent.
enum class RpcVersion { sent, left_out };

class RpcClient {
 public:
  explicit RpcClient(RpcVersion version) : version_(version) {}

  RpcMessage read(std::string_view line);

  std::string request(std::string_view method, base::Value params);
  std::string notify(std::string_view method, std::optional<base::Value> params = std::nullopt) const;
  std::string respond(const base::Value& id, base::Value result) const;
  std::string refuse(const base::Value& id, int code, std::string_view message) const;

 private:
  base::Value start() const;
  RpcMessage read_answer(const base::Value& message);
  RpcMessage note_noise();

  RpcVersion version_;
  std::int64_t last_id_ = 0;
  // Id → method.
  std::map<std::int64_t, std::string> pending_;
  std::size_t noise_ = 0;
};

}  // namespace reeve::agents
