#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "base/value.h"
#include "model/describe.h"

// One question to a person, with options, an expiry and exactly one decision (SPEC §2).
namespace reeve::model {

enum class ApprovalStatus { pending, approved, rejected, expired };
REEVE_DESCRIBE_ENUM(ApprovalStatus, pending, approved, rejected, expired)

// APR-2: a decision is made once and never changed.
bool can_move(ApprovalStatus from, ApprovalStatus to) noexcept;
bool is_final(ApprovalStatus status) noexcept;

// APR-7: a grant is used once, or void.
enum class ApprovalUse { unused, used, void_ };
REEVE_DESCRIBE_ENUM(ApprovalUse, unused, used, void_)

bool can_move(ApprovalUse from, ApprovalUse to) noexcept;
bool is_final(ApprovalUse use) noexcept;

// What asked; each kind has an expiry of its own.
enum class ApprovalKind { question, tool_call, human };
REEVE_DESCRIBE_ENUM(ApprovalKind, question, tool_call, human)

// APR-5: how the answer reaches the one who asked. `rerun`: it left, and is started again with the answer; `live`: it
// stayed, and reads it on its socket; `terminal`: it is typed; `node`: the workflow goes on; `apply`: the branch of an
// execution goes into the person's checkout (ISO-3).
enum class Delivery { rerun, live, terminal, node, apply };
REEVE_DESCRIBE_ENUM(Delivery, rerun, live, terminal, node, apply)

struct ApprovalOption {
  std::string value;
  std::string label;
  // Whether choosing it approves; nothing said: by its value (APR-3).
  std::optional<bool> approves;
  friend bool operator==(const ApprovalOption&, const ApprovalOption&) = default;
};
BOOST_DESCRIBE_STRUCT(ApprovalOption, (), (value, label, approves))

// APR-3: `reject`, `deny`, `no`, `n`, `abort`, `cancel` reject, in any case; every other value approves.
bool approves(const ApprovalOption& option);
// Of several with the same value the first. Every question goes through this: what was chosen is known by its value
// alone.
std::vector<ApprovalOption> unique_options(std::vector<ApprovalOption> options);
// Approve and reject, for a question that names none.
std::vector<ApprovalOption> default_options();

struct Approval {
  base::ApprovalId approval_id{0};
  std::optional<base::RunId> tool_run_id;
  std::optional<base::ExecutionId> execution_id;
  std::optional<std::string> node_id;
  std::optional<base::AgentId> agent_id;
  std::optional<std::string> tool_name;
  std::optional<std::string> tool_ref;
  std::optional<base::Value> arguments;
  std::string question;
  std::vector<ApprovalOption> options;
  std::optional<std::string> default_value;
  ApprovalStatus status = ApprovalStatus::pending;
  std::optional<std::string> chosen_value;
  std::optional<std::string> comment;
  std::optional<std::string> decided_by;
  std::optional<std::string> digest;
  ApprovalUse use = ApprovalUse::unused;
  int attempt = 1;
  base::WallTime created_at;
  std::optional<base::WallTime> decided_at;
  std::optional<base::WallTime> expires_at;
  Delivery delivery = Delivery::rerun;
  // It asks for a secret, which is neither stored nor shown (RUN-10).
  bool secret = false;
  // Nothing keeps the tool from deciding by itself: no sandbox (APR-11).
  bool advisory = true;
  friend bool operator==(const Approval&, const Approval&) = default;
};
BOOST_DESCRIBE_STRUCT(Approval, (),
                      (approval_id, tool_run_id, execution_id, node_id, agent_id, tool_name, tool_ref, arguments,
                       question, options, default_value, status, chosen_value, comment, decided_by, digest, use,
                       attempt, created_at, decided_at, expires_at, delivery, secret, advisory))

}  // namespace reeve::model
