#include "tests/support/approvals.h"

#include <sqlite3.h>

#include "tests/support/socket.h"

namespace reeve::testing {

Words ApprovalsTest::asking(const std::string& question) {
  const std::string script = R"(if [ -n "$REEVE_APPROVAL_ID" ]; then echo "got $AUTO_APPROVAL"; exit 0; fi
printf '%s\n' "$1"; exit 90)";
  return {"sh", "-c", script, "sh", R"({"event":"approval_needed",)" + question + "}"};
}

std::string ApprovalsTest::ask(const std::string& question) const {
  Words words = {"run", "--detach", "--"};
  for (const std::string& word : asking(question)) words.push_back(word);
  const Outcome started = reeve(words);
  EXPECT_EQ(started.code, 0) << started.err;
  const std::string run = started.out.substr(0, started.out.find('\n'));
  wait_for_status(run, "waiting_approval");
  return sql("SELECT approval_id FROM approvals WHERE tool_run_id = '" + run + "' ORDER BY number DESC LIMIT 1");
}

std::string ApprovalsTest::sql(const std::string& statement) const {
  sqlite3* database = nullptr;
  const std::string path = state() / "reeve.db";
  EXPECT_EQ(::sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
  ::sqlite3_busy_timeout(database, 10'000);
  std::string rows;
  const auto add = [](void* into, int count, char** values, char**) {
    auto& text = *static_cast<std::string*>(into);
    if (!text.empty()) text += '\n';
    for (int i = 0; i < count; ++i) {
      text += i > 0 ? "\t" : "";
      text += values[i] != nullptr ? values[i] : "NULL";
    }
    return 0;
  };
  char* error = nullptr;
  EXPECT_EQ(::sqlite3_exec(database, statement.c_str(), add, &rows, &error), SQLITE_OK)
      << statement << ": " << (error != nullptr ? error : "");
  ::sqlite3_free(error);
  ::sqlite3_close(database);
  return rows;
}

std::string ApprovalsTest::request(const std::string& method, const std::string& target, const std::string& body,
                                   const std::string& headers) const {
  RawSocket peer(socket());
  EXPECT_TRUE(peer.send(make_request(method, target, body, headers)));
  return peer.read_answer();
}

std::string make_request(const std::string& method, const std::string& target, const std::string& body,
                         const std::string& headers) {
  return method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace reeve::testing
