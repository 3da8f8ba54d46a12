#pragma once

#include "git/repository.h"
#include "os/lock.h"

namespace reeve::runtime {

// ISO-3: only one of the daemons that know this checkout changes it at a time. Waits up to ten seconds, then throws
// `git.checkout_busy`.
os::FileLock lock_checkout(const git::Repository& repository);

}  // namespace reeve::runtime
