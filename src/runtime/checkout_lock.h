#pragma once

#include "git/repository.h"
#include "os/lock.h"

namespace reeve::runtime {

// ISO-3: of all daemons that know this checkout, one changes it at a time. Waits a little; throws `git.checkout_busy`.
os::FileLock lock_checkout(const git::Repository& repository);

}  // namespace reeve::runtime
