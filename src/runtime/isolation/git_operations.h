#pragma once

#include <utility>

#include "runtime/isolation/checkout_apply.h"
#include "runtime/isolation/execution_cleanup.h"
#include "runtime/isolation/gate_checkouts.h"
#include "runtime/isolation/isolation_context.h"
#include "runtime/isolation/node_changes.h"
#include "runtime/isolation/patch_ledger.h"
#include "runtime/isolation/worktree_pool.h"

namespace reeve::runtime {

// The blocking operations of isolation, which alternate between git and the store. The store is authoritative and git
// follows it: each operation can be repeated, and one interrupted by a crash is redone. Called on one thread only.
struct GitOperations {
  explicit GitOperations(IsolationContext shared) : context(std::move(shared)) {}
  GitOperations(const GitOperations&) = delete;
  GitOperations& operator=(const GitOperations&) = delete;

  IsolationContext context;
  PatchLedger patches{context};
  WorktreePool worktrees{context, patches};
  GateCheckouts checkouts{context};
  NodeChanges nodes{context, patches, worktrees};
  CheckoutApply applies{context, patches};
  ExecutionCleanup cleanup{context, patches, worktrees, checkouts, nodes};
};

}  // namespace reeve::runtime
