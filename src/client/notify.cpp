#include "client/notify.h"

namespace reeve::client {

NotifyTestAnswer test_notifications(Daemon& daemon) {
  NotifyTestAnswer answer{.wire = daemon.post("/api/notify/test", base::Value::object()), .record = {}};
  answer.record = decode<wire::NotifyTestRecord>(answer.wire);
  return answer;
}

}  // namespace reeve::client
