#include <csignal>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approvals.h"
#include "tests/support/old_database.h"
#include "tests/support/socket.h"

// STO-2: records of another program are imported, shown like others, and never started.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::Words;

class Import : public testing::ApprovalsTest {
 protected:
  fs::path make(const std::string& name, std::string_view tables, std::string_view rows) const {
    fs::path file = scratch().path() / name;
    testing::write_database(file, tables);
    testing::write_database(file, rows);
    return file;
  }
  fs::path make_tools() const { return make("tools.db", testing::s1_tables, testing::s1_rows); }
  std::string json(const Words& words) const {
    Words all = words;
    all.emplace_back("--json");
    const Outcome outcome = reeve(all);
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    return outcome.out;
  }
  std::size_t count(const Words& words) const { return testing::parse_array(json(words)).value().size(); }
};

TEST_F(Import, imported_tools_are_shown_as_runs) {
  const Outcome done = reeve({"import", make_tools()});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out,
            "executions\t3\t1\tunknown status `melted`\nruns\t5\t0\t\napprovals\t3\t0\t\npatches\t3\t0\t\n"
            "tasks\t3\t0\t\n");
  EXPECT_THAT(done.err, HasSubstr("note: patches whose execution was not imported now belong to EX-4"));
  EXPECT_EQ(count({"runs"}), 5U);
  const Members run = show("TR-1");
  EXPECT_EQ(run.at("tool_name"), "aider");
  EXPECT_EQ(run.at("status"), "completed");
  EXPECT_EQ(run.at("execution_id"), "EX-1");
  EXPECT_EQ(run.at("started_at"), "2025-12-03T10:00:00.000Z");
  EXPECT_THAT(run.at("metadata"), HasSubstr(R"("imported_from":"tool_runs:run-a")"));
  EXPECT_EQ(show("TR-3").at("reason"), "imported");
  EXPECT_EQ(reeve({"show", "TR-1"}).code, 0);
  EXPECT_EQ(reeve({"logs", "TR-1"}).out, "") << "nothing is known of what it printed";
  EXPECT_EQ(reeve({"wait", "TR-1"}).code, 0);
  const std::string approvals = json({"approvals", "--all"});
  EXPECT_THAT(approvals, AllOf(HasSubstr("Delete the database?"), HasSubstr(R"("tool_ref":"AP-00123")")));
  EXPECT_EQ(json({"approvals"}), "[]\n") << "none waits for anybody";
  EXPECT_EQ(reeve({"show", "AP-2"}).code, 0);
  EXPECT_THAT(reeve({"approve", "--yes", "AP-1"}).err, HasSubstr("was already approved on 2025-12-03 at 10:00:20 UTC"));
  EXPECT_EQ(count({"patch", "list"}), 3U);
  EXPECT_EQ(reeve({"patch", "show", "PA-1"}).code, 0);
  EXPECT_EQ(count({"flow", "list"}), 4U);
  const Outcome flow = reeve({"flow", "show", "EX-2"});
  EXPECT_EQ(flow.code, 0) << flow.err;
  EXPECT_THAT(flow.out, AllOf(HasSubstr("imported"), HasSubstr("coding")));
  EXPECT_EQ(reeve({"audit", "verify"}).code, 0);
  EXPECT_EQ(reeve({}).code, 0);
}

// ORC-6
TEST_F(Import, tasks_are_shown) {
  EXPECT_EQ(reeve({"import", make_tools()}).code, 0);
  const Members task = show("tk-2");
  EXPECT_EQ(task.at("task_id"), "TK-2");
  EXPECT_EQ(task.at("title"), "write the code");
  EXPECT_EQ(task.at("status"), "failed");
  EXPECT_EQ(task.at("execution_id"), "EX-2");
  EXPECT_EQ(task.at("after"), "[]");
  EXPECT_THAT(reeve({"show", "TK-2"}).out,
              AllOf(HasSubstr("task_id\tTK-2\n"), HasSubstr("title\twrite the code\n"), HasSubstr("status\tfailed\n"),
                    HasSubstr("execution_id\tEX-2\n"), HasSubstr("created_at\t2025-12-03T10:00:00.000Z\n")));
  const Outcome none = reeve({"show", "TK-99"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, AllOf(HasSubstr("task.not_found"), HasSubstr("TK-99")));
  const std::string page = request("GET", "/api/tasks?limit=2");
  EXPECT_THAT(page, AllOf(HasSubstr(R"("next_cursor":"TK-2")"), HasSubstr("test it"), Not(HasSubstr("the plan"))));
  EXPECT_THAT(request("GET", "/api/tasks?limit=2&cursor=TK-2"),
              AllOf(HasSubstr(R"("next_cursor":null)"), HasSubstr("write the plan")));
  EXPECT_THAT(request("GET", "/api/tasks?status=done"), AllOf(HasSubstr("TK-1"), Not(HasSubstr("TK-2"))));
  EXPECT_THAT(request("GET", "/api/tasks?status=lost"), HasSubstr("api.bad_request"));
  EXPECT_THAT(request("GET", "/api/tasks/TR-1"), HasSubstr("task.not_found"));
  // A task belongs to the project of its execution.
  EXPECT_EQ(task.at("project"), "null") << "that program knew no projects";
  sql("UPDATE executions SET project = '" + project().string() + "' WHERE number = 2");
  EXPECT_EQ(show("TK-2").at("project"), R"({"name":"project","path":")" + project().string() + "\"}");
  EXPECT_EQ(show("TK-1").at("project"), "null");
  EXPECT_THAT(request("GET", "/api/tasks?limit=2&cursor=TK-3"), HasSubstr(R"("path":")" + project().string() + "\""));
  // The phase and metadata of imported executions are kept, not only the workflow name and the inputs.
  const Members execution = show("EX-1");
  EXPECT_EQ(execution.at("phase_name"), "planning");
  EXPECT_EQ(execution.at("metadata"), R"({"by":"ana"})");
}

TEST_F(Import, imported_graphs_and_pipelines_are_shown) {
  EXPECT_EQ(reeve({"import", make("graph.db", testing::s6_tables, testing::s6_rows)}).code, 0);
  EXPECT_EQ(reeve({"import", make("pipes.db", testing::s5_tables, testing::s5_rows)}).code, 0);
  const std::string first = json({"flow", "show", "EX-1"});
  EXPECT_THAT(first, AllOf(HasSubstr(R"("workflow_id":"debug-workflow")"), HasSubstr(R"("label":"nightly")"),
                           HasSubstr(R"("imported_from":"graph_executions:0b1e")")));
  for (const char* id : {"EX-1", "EX-2", "EX-3", "EX-4"}) {
    const Outcome shown = reeve({"flow", "show", id});
    EXPECT_EQ(shown.code, 0) << id << shown.err;
    EXPECT_THAT(shown.out, HasSubstr("imported_from")) << id;
  }
  EXPECT_EQ(count({"pipeline", "list"}), 3U);
  const std::string pipeline = json({"pipeline", "show", "EX-4"});
  EXPECT_THAT(pipeline, AllOf(HasSubstr(R"("status":"done")"), HasSubstr(R"("prompt":"add a button")"),
                              HasSubstr(R"("agent_name":"planner")"), HasSubstr(R"("comment":"mind the colour")"),
                              HasSubstr(R"("decided_by":"ana")"), HasSubstr(R"("output":"written")")));
  EXPECT_EQ(reeve({"pipeline", "show", "EX-5"}).code, 0);
  EXPECT_THAT(json({"pipeline", "show", "EX-5"}), HasSubstr(R"("reason":"imported")"));
  EXPECT_THAT(json({"audit", "list"}),
              AllOf(HasSubstr(R"("kind":"imported")"), HasSubstr(R"("event":"approval_rejected")")));
  const Outcome whole = reeve({"audit", "verify"});
  EXPECT_EQ(whole.out, "intact: 5 entries\n") << "three of theirs, and one for each import";
}

// Imported records stay ended, whatever is requested or started. UX: the overview lists nothing that another program
// left behind, however recently it was imported.
TEST_F(Import, imported_failures_do_not_appear_in_the_overview) {
  const fs::path file =
      make("left.db", testing::s1_tables,
           "INSERT INTO uet_executions VALUES ('E', 'planning', NULL, NULL, 'running', NULL);\n"
           "INSERT INTO tool_runs VALUES ('R', 'aider', NULL, 'running', NULL, NULL, NULL, NULL, NULL, 'x', NULL);\n"
           "INSERT INTO patch_ledger VALUES ('P', 'E', 'queued', NULL, 'diff', NULL, NULL);\n"
           "INSERT INTO approvals VALUES ('A', 'R', 'aider', NULL, 'Go on?', '[]', 'pending', NULL, 0, NULL);\n");
  EXPECT_EQ(reeve({"import", file.string()}).code, 0);
  EXPECT_EQ(show("EX-1").at("status"), "failed");
  EXPECT_EQ(show("TR-1").at("status"), "failed");
  EXPECT_EQ(show("PA-1").at("state"), "apply_failed");
  EXPECT_EQ(reeve({}).out, "");
  EXPECT_EQ(run({}, {"exit", "3"}).code, 3);
  EXPECT_THAT(reeve({}).out, HasSubstr("TR-2\tfailed"));
  EXPECT_THAT(reeve({"show", "AP-1"}).out, Not(HasSubstr("then\t"))) << "nothing follows from an answer to it";
}

// The diff column may have any name listed in docs/IMPORT.md.
TEST_F(Import, diff_column_is_found_under_its_other_names) {
  const fs::path file = make("patches.db", "CREATE TABLE patch_ledger (patch_id TEXT, state TEXT, patch_content TEXT);",
                             "INSERT INTO patch_ledger VALUES ('P', 'created', 'diff --git a/x b/x');");
  EXPECT_EQ(reeve({"import", file.string()}).code, 0);
  EXPECT_THAT(show("PA-1").at("diff"), HasSubstr("diff --git a/x b/x"));
}

TEST_F(Import, imported_records_cannot_be_resumed) {
  EXPECT_EQ(reeve({"import", make_tools()}).code, 0);
  EXPECT_EQ(reeve({"import", make("pipes.db", testing::s5_tables, testing::s5_rows)}).code, 0);
  const auto all = [&] { return json({"runs"}) + json({"flow", "list"}) + json({"approvals", "--all"}); };
  const std::string before = all();
  const Outcome retry = reeve({"flow", "retry", "EX-2"});
  EXPECT_EQ(retry.code, 4);
  EXPECT_THAT(retry.err, AllOf(HasSubstr("execution.imported"), HasSubstr("uet_executions:EXEC-2")));
  EXPECT_EQ(reeve({"flow", "retry", "EX-6"}).code, 4);
  EXPECT_EQ(reeve({"flow", "cancel", "EX-2"}).code, 4);
  EXPECT_EQ(reeve({"cancel", "TR-3"}).code, 4);
  EXPECT_EQ(reeve({"approve", "--yes", "AP-2"}).code, 4);
  EXPECT_EQ(reeve({"pipeline", "approve", "--yes", "EX-6"}).code, 4);
  EXPECT_EQ(reeve({"patch", "apply", "PA-2"}).code, 4);
  ASSERT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(all(), before) << "a daemon that begins anew finds nothing to do";
  EXPECT_TRUE(tools().empty());
  EXPECT_THAT(before, Not(HasSubstr(R"("status":"running")")));
}

TEST_F(Import, dry_run_changes_nothing_and_a_second_import_adds_nothing) {
  const fs::path file = make_tools();
  const Outcome dry = reeve({"import", file, "--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_THAT(dry.err, HasSubstr("dry run: nothing was imported"));
  EXPECT_EQ(json({"runs"}), "[]\n");
  EXPECT_EQ(json({"flow", "list"}), "[]\n");
  EXPECT_EQ(json({"audit", "list"}), "[]\n");
  const Outcome done = reeve({"import", file});
  EXPECT_EQ(done.out, dry.out) << "what it said it would do";
  const Outcome again = reeve({"import", file});
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.out, "");
  EXPECT_THAT(again.err, AllOf(HasSubstr("already imported"), HasSubstr("nothing new")));
  EXPECT_THAT(json({"import", file}), HasSubstr(R"("already_imported":true)"));
  EXPECT_THAT(json({"import", file, "--dry-run"}), HasSubstr(R"("already_imported":true)"));
  EXPECT_EQ(count({"runs"}), 5U);
  EXPECT_EQ(count({"audit", "list"}), 1U);
}

// SPEC §7: each error has a code, and nothing is changed.
TEST_F(Import, import_errors_name_the_reason) {
  const Outcome none = reeve({"import", "nowhere.db"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, AllOf(HasSubstr("import.not_found"), HasSubstr((project() / "nowhere.db").string())));
  const Outcome text = reeve({"import", scratch().write("text.db", "no database at all")});
  EXPECT_EQ(text.code, 2);
  EXPECT_THAT(text.err, AllOf(HasSubstr("import.not_a_database"), HasSubstr("encrypted")));
  EXPECT_EQ(reeve({"import", scratch().path()}).code, 2);
  const Outcome songs = reeve({"import", make("songs.db", "CREATE TABLE songs (a)", "")});
  EXPECT_EQ(songs.code, 2);
  EXPECT_THAT(songs.err, AllOf(HasSubstr("import.no_tables"), HasSubstr("`songs`")));
  const Outcome own = reeve({"import", state() / "reeve.db"});
  EXPECT_EQ(own.code, 4);
  EXPECT_THAT(own.err, AllOf(HasSubstr("import.own_database"), HasSubstr("--state")));
  EXPECT_EQ(reeve({"import"}).code, 2);
  EXPECT_THAT(request("POST", "/api/import", R"({"path":"relative.db"})"), HasSubstr(" 400 "));
  EXPECT_THAT(request("POST", "/api/import", R"({"path":7})"), HasSubstr(" 400 "));
  EXPECT_THAT(request("POST", "/api/import", "{}"), HasSubstr(" 400 "));
  EXPECT_EQ(json({"runs"}), "[]\n");
}

// The daemon can read whatever its user can: a tool must not use it for that.
TEST_F(Import, process_inside_a_run_cannot_import) {
  const fs::path file = make_tools();
  const Outcome inside = reeve({"run", "--", testing::reeve_binary(), "import", file});
  EXPECT_NE(inside.code, 0);
  EXPECT_EQ(count({"runs"}), 1U);
}

// The old program may still use its file during the import.
TEST_F(Import, file_in_use_is_read_consistently) {
  const fs::path file = make_tools();
  testing::write_database(file, "PRAGMA journal_mode = WAL");
  const testing::OpenDatabase program(file, "UPDATE tool_runs SET tool_name = 'late' WHERE tool_run_id = 'run-a'");
  EXPECT_EQ(reeve({"import", file}).code, 0);
  EXPECT_EQ(show("TR-1").at("tool_name"), "late");
}

// On SQLite, and once more on PostgreSQL (tests/CMakeLists.txt).
class ImportCrash : public Import {
 protected:
  ImportCrash() { configure(store_line()); }

  std::string store_line() const {
    const char* server = std::getenv("REEVE_TEST_POSTGRESQL");
    if (server == nullptr) return "store: sqlite\n";
    const std::string database = fmt::format("import_crash_{}", ::getpid());
    const Outcome made = testing::run_program(
        {.argv = {"createdb", "-h", server, "-U", "reeve", database}, .environment = {{"PATH", "/usr/bin:/bin"}}});
    EXPECT_EQ(made.code, 0) << made.err;
    return fmt::format("store: 'postgresql:///{}?host={}&user=reeve'\n", database, server);
  }
};

TEST_F(ImportCrash, daemon_crash_midway_imports_nothing) {
  const fs::path file = make_tools();
  {
    auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", "import.before_commit"}});
    daemon->wait_for_error("listening");
    testing::try_request(
        socket(), testing::make_request("POST", "/api/import", fmt::format(R"({{"path":"{}"}})", file.string())));
    EXPECT_EQ(daemon->wait(), 128 + SIGKILL);
  }
  EXPECT_EQ(json({"runs"}), "[]\n");
  EXPECT_EQ(json({"flow", "list"}), "[]\n");
  EXPECT_EQ(json({"approvals", "--all"}), "[]\n");
  EXPECT_EQ(json({"patch", "list"}), "[]\n");
  const Outcome done = reeve({"import", file});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("runs\t5\t0"));
  EXPECT_EQ(count({"runs"}), 5U);
  EXPECT_THAT(reeve({"import", file}).err, HasSubstr("nothing new"));
  // PostgreSQL does not reuse numbers of rolled-back inserts.
  const std::string listed = reeve({"flow", "list"}).out;
  EXPECT_EQ(reeve({"flow", "retry", listed.substr(0, listed.find('\t'))}).code, 4) << listed;
  EXPECT_EQ(reeve({"audit", "verify"}).out, "intact: 1 entry\n");
}

}  // namespace
}  // namespace reeve
