#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "base/value.h"
#include "model/describe.h"
#include "model/project_ref.h"
#include "model/risk.h"

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

// The source of the question; each kind has its own expiry.
enum class ApprovalKind { question, tool_call, human };
REEVE_DESCRIBE_ENUM(ApprovalKind, question, tool_call, human)

// APR-5: how the answer is delivered. `rerun`: the tool exited and is started again with the answer; `live`: the tool
// is still running and reads the answer on its socket; `terminal`: the answer is typed; `node`: the workflow continues;
// `apply`: the execution's branch goes into the user's checkout (ISO-3).
enum class Delivery { rerun, live, terminal, node, apply };
REEVE_DESCRIBE_ENUM(Delivery, rerun, live, terminal, node, apply)

struct ApprovalOption {
  std::string value;
  std::string label;
  // Whether choosing the option approves; unset: derived from its value (APR-3).
  std::optional<bool> approves;
  friend bool operator==(const ApprovalOption&, const ApprovalOption&) = default;
};
BOOST_DESCRIBE_STRUCT(ApprovalOption, (), (value, label, approves))

// APR-3: `reject`, `deny`, `no`, `n`, `abort`, `cancel` reject, ignoring case; every other value approves.
bool approves(const ApprovalOption& option);
// Keeps the first of several options with the same value. Applied to every question, because a choice is identified by
// its value alone.
std::vector<ApprovalOption> unique_options(std::vector<ApprovalOption> options);
// Approve and reject, for a question that lists no options.
std::vector<ApprovalOption> default_options();

struct Approval {
  base::ApprovalId approval_id{0};
  ApprovalKind kind = ApprovalKind::question;
  std::optional<ProjectRef> project;
  // Computed by Reeve when the question was asked, never taken from a tool (APR-3).
  Risk risk = Risk::medium;
  std::vector<std::string> risk_reasons;
  // The last lines of the screen that the prompt was on (RUN-10).
  std::optional<std::string> context;
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
  // The line to type into the tool, for a question that takes text.
  std::optional<std::string> answer;
  std::optional<std::string> comment;
  std::optional<std::string> decided_by;
  std::optional<std::string> digest;
  ApprovalUse use = ApprovalUse::unused;
  int attempt = 1;
  base::WallTime created_at;
  std::optional<base::WallTime> decided_at;
  std::optional<base::WallTime> expires_at;
  Delivery delivery = Delivery::rerun;
  // The question asks for a secret, which is neither stored nor shown (RUN-10).
  bool secret = false;
  // No sandbox: nothing prevents the tool from approving its own request (APR-11).
  bool advisory = true;
  // Who asked over the API, outside of any run; the caller itself reads the answer.
  std::optional<std::string> asked_by;
  friend bool operator==(const Approval&, const Approval&) = default;
};
BOOST_DESCRIBE_STRUCT(Approval, (),
                      (approval_id, kind, project, risk, risk_reasons, context, tool_run_id, execution_id, node_id,
                       agent_id, tool_name, tool_ref, arguments, question, options, default_value, status, chosen_value,
                       answer, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at, delivery,
                       secret, advisory, asked_by))

// The option of a terminal prompt without readable choices: a person types the answer.
inline constexpr std::string_view text_option = "answer";
// Whether the question is such a prompt.
bool takes_text(const Approval& approval);

}  // namespace reeve::model
