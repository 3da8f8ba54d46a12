#pragma once

#include "client/daemon.h"
#include "wire/notify_record.h"

namespace reeve::client {

struct NotifyTestAnswer {
  // The response as received.
  base::Value wire;
  wire::NotifyTestRecord record;
};
NotifyTestAnswer test_notifications(Daemon& daemon);

}  // namespace reeve::client
