#include "runtime/gate/call_facts.h"

#include <filesystem>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/call_gate.h"
#include "engine/grants.h"
#include "engine/shell_call.h"
#include "engine/tool_names.h"
#include "runtime/gate/secret_scan.h"
#include "tests/support/engine/tool_calls.h"
#include "tests/support/files.h"

namespace reeve::runtime {
namespace {

namespace fs = std::filesystem;
using model::Policy;
using testing::arguments_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A project "wt" with the git folder of a repository; programs are found in /usr/bin.
class CallFactsTest : public ::testing::Test {
 protected:
  CallFactsTest() { make_repository("wt/.git"); }

  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }
  void write(const std::string& name, const std::string& text = "x") const { scratch_.write(name, text); }
  void make_repository(const std::string& name) const {
    write(name + "/HEAD", "ref: refs/heads/main\n");
    fs::create_directories(path(name + "/objects"));
    fs::create_directories(path(name + "/refs"));
  }

  // As the gate does it, for a call of Claude Code.
  engine::CallSubject read(const std::string& native_tool, const std::string& arguments,
                           const std::string& cwd = "wt") const {
    const CallOrigin origin{.agent = "claude",
                            .role = {},
                            .project = path("wt"),
                            .folder = path("wt"),
                            .is_hosted = native_tool == "search_files" || native_tool == "file_read"};
    const engine::NamedCall named =
        engine::name_call(origin.is_hosted ? "" : dialect_, native_tool, arguments_of(arguments), path(cwd));
    return read_call_subject(origin, named.tool, named.arguments, path(cwd), "/usr/bin:/bin");
  }
  engine::CallSubject run(const std::string& command, const std::string& cwd = "wt") const {
    return read("Bash", fmt::format(R"({{"command": "{}"}})", command), cwd);
  }
  Policy decide(const engine::CallSubject& subject) const {
    return engine::decide_call(policies_, subject, "", {}).policy;
  }
  Policy read_file(const std::string& native_tool, const std::string& arguments, const std::string& cwd = "wt") const {
    return decide(read(native_tool, arguments, cwd));
  }

  testing::ScratchFolder scratch_;
  std::string dialect_ = "claude";
  model::Policies policies_ =
      testing::make_policies("shell_execute", Policy::auto_approve, R"({"program": ["git status", "git diff", "ls"]})");
};

// TOOL-8: an agent that may write files makes something that git takes for a repository.
TEST_F(CallFactsTest, git_in_a_repository_that_the_agent_made_asks) {
  for (const char* folder : {"wt/src/x/deep", "wt/src/y", "wt/src/z", "wt/src/w"}) fs::create_directories(path(folder));
  EXPECT_EQ(decide(run("git status")), Policy::auto_approve);
  EXPECT_EQ(decide(run("git status", "wt/src/x")), Policy::auto_approve);
  make_repository("wt/src/x");
  EXPECT_EQ(decide(run("git status", "wt/src/x")), Policy::require_approval) << "it is a bare repository";
  EXPECT_EQ(decide(run("git diff", "wt/src/x/deep")), Policy::require_approval) << "git walks up to it";
  EXPECT_EQ(decide(run("git status", "wt/src")), Policy::auto_approve);
  EXPECT_EQ(decide(run("git status")), Policy::auto_approve);
  EXPECT_EQ(decide(run("ls", "wt/src/x")), Policy::auto_approve);
  make_repository("wt/src/y/.git");
  EXPECT_EQ(decide(run("git status", "wt/src/y")), Policy::require_approval);
  write("wt/src/z/.git", "gitdir: ../x\n");
  EXPECT_EQ(decide(run("git status", "wt/src/z")), Policy::require_approval);
  write("wt/src/w/HEAD");
  write("wt/src/w/commondir", "../x");
  EXPECT_EQ(decide(run("git status", "wt/src/w")), Policy::require_approval) << "the other parts may be elsewhere";
}

// The folder may be named by the arguments, and reached by links.
TEST_F(CallFactsTest, folder_of_the_arguments_counts) {
  make_repository("wt/src/x");
  fs::create_symlink("src/x", path("wt/link"));
  for (const char* folder : {"src/x", "link", "src/./x"}) {
    for (const char* name : {"cwd", "workdir", "directory"}) {
      const auto subject = read("Bash", fmt::format(R"({{"command": "git status", "{}": "{}"}})", name, folder));
      EXPECT_EQ(decide(subject), Policy::require_approval) << name << " " << folder;
      EXPECT_EQ(subject.cwd, path("wt") + "/" + folder);
    }
  }
  EXPECT_EQ(decide(read("Bash", R"({"command": "git status", "cwd": "src"})")), Policy::auto_approve);
}

TEST_F(CallFactsTest, git_of_the_worktree_must_be_a_repository) {
  const auto finds = [&] { return run("git status").finds_own_repository; };
  EXPECT_TRUE(finds());
  fs::remove_all(path("wt/.git/refs"));
  EXPECT_FALSE(finds()) << "git would look further";
  fs::remove_all(path("wt/.git"));
  EXPECT_FALSE(finds());
  make_repository("wt");
  EXPECT_FALSE(finds()) << "the worktree itself passes for a repository";
  for (const char* part : {"wt/HEAD", "wt/objects", "wt/refs"}) fs::remove_all(path(part));
  make_repository("repository");
  fs::create_symlink("../repository", path("wt/.git"));
  EXPECT_FALSE(finds()) << "a link";
  fs::remove(path("wt/.git"));
  write("wt/.git", "gitdir: ../repository\n");
  EXPECT_TRUE(finds()) << "a worktree of a repository elsewhere";
  make_repository("wt/inside");
  for (const char* text : {"gitdir: inside\n", "gitdir: missing\n", "gitdir: ../repository\nx\n", "repository", ""}) {
    write("wt/.git", text);
    EXPECT_FALSE(finds()) << text;
  }
}

// A project that is a folder of a repository.
TEST_F(CallFactsTest, repository_around_the_worktree_is_its_own) {
  fs::remove_all(path("wt/.git"));
  make_repository(".git");
  fs::create_directories(path("wt/src"));
  EXPECT_TRUE(run("git status", "wt/src").finds_own_repository);
  make_repository("wt");
  EXPECT_FALSE(run("git status", "wt/src").finds_own_repository);
}

// A relative name is that of a file in the folder where the command runs.
TEST_F(CallFactsTest, program_is_found_from_the_folder_of_the_command) {
  write("wt/bin/tool");
  write("wt/src/bin/tool");
  for (const char* file : {"wt/bin/tool", "wt/src/bin/tool"}) ::chmod(path(file).c_str(), 0755);
  fs::create_directories(path("wt/src"));
  const auto subject = read("Bash", R"({"command": "bin/tool", "cwd": "src"})");
  ASSERT_TRUE(subject.program);
  EXPECT_EQ(subject.program->path, fs::canonical(path("wt/src/bin/tool")).string());
  EXPECT_TRUE(subject.program->is_writable_by_run);
  EXPECT_THAT(subject.writable_files, ElementsAre("bin/tool"));
  EXPECT_THAT(engine::describe_unbound(subject), ElementsAre("whatever `bin/tool` contains later"));
}

// TOOL-8: what an exact grant does not bind.
TEST_F(CallFactsTest, files_that_the_command_names_and_the_run_can_write_are_found) {
  write("wt/x.sh");
  write("other/y.sh");
  fs::create_symlink("x.sh", path("wt/link.sh"));
  ::chmod(path("other").c_str(), 0777);
  EXPECT_THAT(run("sh x.sh").writable_files, ElementsAre("x.sh"));
  EXPECT_THAT(run("sh link.sh x.sh x.sh --file=x.sh -x missing .").writable_files, ElementsAre("link.sh", "x.sh"));
  EXPECT_THAT(run("sh ../other/y.sh").writable_files, ElementsAre("../other/y.sh"));
  EXPECT_THAT(run("sh /etc/passwd").writable_files, IsEmpty());
  EXPECT_THAT(run("ls; sh x.sh").writable_files, IsEmpty()) << "not one simple command";
}

// TOOL-1: an agent's own search reads what Reeve's would skip.
TEST_F(CallFactsTest, agents_search_of_a_folder_with_secrets_asks) {
  write("wt/src/a.c");
  EXPECT_EQ(read_file("Grep", R"({"pattern": "x"})"), Policy::auto_approve);
  write("wt/conf/.env");
  EXPECT_EQ(read_file("Grep", R"({"pattern": "x"})"), Policy::require_approval);
  EXPECT_EQ(read_file("Grep", R"({"pattern": "x", "path": "."})"), Policy::require_approval);
  EXPECT_EQ(read_file("Grep", R"({"pattern": "x", "path": "src"})"), Policy::auto_approve);
  EXPECT_EQ(read_file("Grep", R"({"pattern": "x", "path": "src/a.c"})"), Policy::auto_approve);
  EXPECT_EQ(read_file("Grep", R"({"pattern": "x", "path": "src", "glob": "*.ke?"})"), Policy::auto_approve)
      << "a filter narrows";
  EXPECT_EQ(read_file("Grep", R"({"pattern": "x", "path": "conf/../src"})"), Policy::auto_approve);
  EXPECT_EQ(read_file("Grep", R"({"pattern": "x"})", "wt/conf"), Policy::require_approval);
  EXPECT_EQ(read_file("Grep", R"({"pattern": "x"})", "wt/src"), Policy::auto_approve);
  // Names only.
  EXPECT_EQ(read_file("Glob", R"({"pattern": "**/*"})"), Policy::auto_approve);
  EXPECT_EQ(read_file("LS", R"({"path": "."})"), Policy::auto_approve);
  // One plain file.
  EXPECT_EQ(read_file("Read", R"({"file_path": "src/a.c"})"), Policy::auto_approve);
  EXPECT_EQ(read_file("Read", R"({"file_path": "src/missing"})"), Policy::auto_approve);
  EXPECT_EQ(read_file("Read", R"({"file_path": "conf/.env"})"), Policy::require_approval);
  // Reeve's own skip such files.
  EXPECT_EQ(read_file("search_files", R"({"pattern": "x"})"), Policy::auto_approve);
}

TEST_F(CallFactsTest, patterns_of_files_to_read_ask_where_secrets_are) {
  dialect_ = "gemini";
  write("wt/src/a.c");
  write("wt/app/[id]/page.tsx");
  write("wt/server.key");
  const auto read_many = [&](const std::string& include, const std::string& cwd = "wt") {
    return read_file("read_many_files", fmt::format(R"({{"include": ["{}"]}})", include), cwd);
  };
  for (const char* pattern : {"**/*", "*.ke?", "[s]erver.[k]ey", "{server,x}.*", "s*", "src/../*"}) {
    EXPECT_EQ(read_many(pattern), Policy::require_approval) << pattern;
  }
  for (const char* pattern : {"src/**/*", "src/*.c", "src/a.c", "app/[id]/page.tsx"}) {
    EXPECT_EQ(read_many(pattern), Policy::auto_approve) << pattern;
  }
  EXPECT_EQ(read_many("**/*", "wt/src"), Policy::auto_approve);
  EXPECT_EQ(read_many("../**/*", "wt/src"), Policy::require_approval);
  EXPECT_EQ(read_file("read_many_files", R"({"paths": ["src", "."]})"), Policy::require_approval);
  // A file with such a name does not make the pattern plain.
  write("wt/*.ke?");
  EXPECT_EQ(read_many("*.ke?"), Policy::require_approval);
}

// Some tools follow links, and a wildcard may stand for one.
TEST_F(CallFactsTest, links_below_a_folder_that_is_read_are_followed) {
  write("wt/src/a.c");
  write("wt/conf/.env");
  write("secrets/diary");
  const auto grep = [&] { return read_file("Grep", R"({"pattern": "x", "path": "src"})"); };
  fs::create_symlink("/usr/bin/env", path("wt/src/tool"));
  EXPECT_EQ(grep(), Policy::auto_approve) << "a program of the system";
  for (const char* target : {"../../secrets", "../../secrets/diary", "../conf", "../conf/.env", "loop"}) {
    fs::create_symlink(target, path("wt/src/loop"));
    EXPECT_EQ(grep(), Policy::require_approval) << target;
    fs::remove(path("wt/src/loop"));
  }
  fs::create_directory_symlink("..", path("wt/src/up"));
  EXPECT_EQ(grep(), Policy::require_approval) << "the worktree has secrets";
}

// Nobody waits for a huge tree.
TEST_F(CallFactsTest, folder_with_more_than_is_looked_at_asks) {
  for (const char* name : {"a", "b", "deep/c"}) write(fmt::format("wt/many/{}", name));
  const std::string root = fs::canonical(path("wt")).string();
  EXPECT_TRUE(SecretScan(root, 3).finds_any(root + "/many"));
  EXPECT_FALSE(SecretScan(root, 4).finds_any(root + "/many"));
  SecretScan shared(root, 5);
  EXPECT_FALSE(shared.finds_any(root + "/many"));
  EXPECT_FALSE(shared.finds_any(root + "/many")) << "it has been looked at";
  EXPECT_TRUE(shared.finds_any(root)) << "all folders share one bound";
}

// The tools leave out the one; packages of others are no secrets of this project.
TEST_F(CallFactsTest, git_folder_and_packages_are_skipped_below_a_folder) {
  write("wt/.git/config");
  write("wt/node_modules/x/test.pem");
  EXPECT_EQ(read_file("Grep", R"({"pattern": "x"})"), Policy::auto_approve);
  EXPECT_EQ(read_file("Grep", R"({"pattern": "x", "path": ".git"})"), Policy::require_approval);
  EXPECT_EQ(read_file("Grep", R"({"pattern": "x", "path": "node_modules"})"), Policy::require_approval);
}

}  // namespace
}  // namespace reeve::runtime
