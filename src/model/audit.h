#pragma once

#include "model/describe.h"

// Entries of the audit trail (APR-14).
namespace reeve::model {

enum class AuditKind {
  approval_requested,
  approval_granted,
  approval_rejected,
  approval_expired,
  approval_used,
  approval_voided,
  // A decision was refused because the caller may not decide or came too late.
  decision_refused,
  // A direct SQL update was reverted: it left a row that no decision can produce (APR-6).
  outside_update_voided,
  policy_denied,
  // A further question of an attempt whose first one is still open (APR-9).
  question_refused,
  // A tool call was allowed or denied without a person (TOOL-7); rules that deny are `policy_denied`.
  tool_call_decided,
  // An agent made a call past the gate, and its run ended for that (AGT-5).
  tool_call_ungated,
  // Standing grants (TOOL-8).
  grant_created,
  grant_revoked,
  token_created,
  token_revoked,
  // A browser signed in with a one-time link.
  sign_in,
  // An entry written by another program, or the import of a foreign database (STO-2).
  imported
};
REEVE_DESCRIBE_ENUM(AuditKind, approval_requested, approval_granted, approval_rejected, approval_expired, approval_used,
                    approval_voided, decision_refused, outside_update_voided, policy_denied, question_refused,
                    tool_call_decided, tool_call_ungated, grant_created, grant_revoked, token_created, token_revoked,
                    sign_in, imported)

// Progress of a run attempt (DESIGN's spawn protocol): `assigned` to a keeper, `spawned`: it may have started, `ended`.
enum class AttemptState { assigned, spawned, ended };
REEVE_DESCRIBE_ENUM(AttemptState, assigned, spawned, ended)

}  // namespace reeve::model
