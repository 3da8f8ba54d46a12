#pragma once

#include "model/describe.h"

// What the audit trail keeps (APR-14).
namespace reeve::model {

enum class AuditKind {
  approval_requested,
  approval_granted,
  approval_rejected,
  approval_expired,
  approval_used,
  approval_voided,
  // Somebody tried to decide and may not, or came too late.
  decision_refused,
  // A plain SQL update was taken back: it left a row that no decision can leave (APR-6).
  outside_update_voided,
  policy_denied,
  token_created,
  token_revoked,
  // A browser was let in by a link that was used once.
  sign_in
};
REEVE_DESCRIBE_ENUM(AuditKind, approval_requested, approval_granted, approval_rejected, approval_expired, approval_used,
                    approval_voided, decision_refused, outside_update_voided, policy_denied, token_created,
                    token_revoked, sign_in)

// A run attempt on its way (DESIGN's spawn protocol): `assigned` to a keeper, `spawned`: it may have begun, `ended`.
enum class AttemptState { assigned, spawned, ended };
REEVE_DESCRIBE_ENUM(AttemptState, assigned, spawned, ended)

}  // namespace reeve::model
