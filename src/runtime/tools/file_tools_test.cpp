#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/tools/confined_folder.h"
#include "tests/support/files.h"
#include "tests/support/hosted_call.h"

namespace reeve::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class FileTools : public ::testing::Test {
 protected:
  FileTools() {
    fs::create_directories(root);
    write("inner/file.txt", "one\ntwo\nthree\n");
    scratch.write("outside/secret.txt", "the secret\n");
  }
  fs::path write(const fs::path& name, std::string_view text) const { return scratch.write("tree" / name, text); }
  std::string read(const fs::path& name) const { return testing::read_text(root / name); }
  // Every name that leads out of the worktree or to something that is not a plain file.
  std::vector<std::string> make_traps() const {
    const fs::path outside = scratch.path() / "outside";
    fs::create_symlink(outside / "secret.txt", root / "link");
    fs::create_symlink("inner/file.txt", root / "harmless-link");
    fs::create_symlink("/proc/self/root" + (outside / "secret.txt").string(), root / "magic");
    fs::create_symlink(outside, root / "folder-link");
    fs::create_symlink("nowhere", root / "dangling");
    fs::create_hard_link(outside / "secret.txt", root / "hard");
    EXPECT_EQ(::mkfifo((root / "fifo").c_str(), 0600), 0);
    make_socket();
    return {"link",
            "harmless-link",
            "magic",
            "folder-link/secret.txt",
            "dangling",
            "hard",
            "fifo",
            "socket",
            "../outside/secret.txt",
            "inner/../../outside/secret.txt",
            (outside / "secret.txt").string(),
            root.string() + "/../outside/secret.txt",
            root.string() + "-other/file",
            "/proc/self/environ",
            "/dev/zero"};
  }
  void make_socket() const {
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    const std::string path = (root / "socket").string();
    ASSERT_LT(path.size(), sizeof(address.sun_path));
    path.copy(address.sun_path, path.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ::close(fd);
  }

  testing::ScratchFolder scratch;
  fs::path root = scratch.path() / "tree";
  testing::HostedTools tools{root, scratch.path() / "scratch"};
};

TEST_F(FileTools, a_file_is_read_by_lines) {
  EXPECT_EQ(tools.run("file_read", R"({"path": "inner/file.txt"})"), "one\ntwo\nthree\n");
  EXPECT_EQ(tools.run("file_read", R"({"path": "./inner//file.txt", "offset": 2})"), "two\nthree\n");
  EXPECT_EQ(tools.run("file_read", fmt::format(R"({{"path": "{}"}})", (root / "inner/file.txt").string())),
            "one\ntwo\nthree\n");
  const std::string part = tools.run("file_read", R"({"path": "inner/file.txt", "offset": 2, "limit": 1})");
  EXPECT_EQ(part, "two\n[cut: the file has 14 bytes; continue with offset 3]\n");
  EXPECT_EQ(tools.run("file_read", R"({"path": "inner/file.txt", "limit": 3})"), "one\ntwo\nthree\n");
  EXPECT_EQ(tools.run("file_read", R"({"path": "inner/file.txt", "offset": 9})"), "[the file has no line 9]\n");
  write("empty", "");
  EXPECT_EQ(tools.run("file_read", R"({"path": "empty"})"), "[the file is empty]\n");
  EXPECT_THAT(tools.refuse("file_read", R"({"path": "none"})"), HasSubstr("does not exist"));
  EXPECT_THAT(tools.refuse("file_read", R"({"path": "inner"})"), HasSubstr("it is a folder"));
  write("binary", std::string("a\0b", 3));
  EXPECT_THAT(tools.refuse("file_read", R"({"path": "binary"})"), HasSubstr("binary file of 3 bytes"));
}

// TOOL-4: confined to the worktree. Nothing blocks, either: a FIFO without a writer would, for good.
TEST_F(FileTools, nothing_but_plain_files_of_the_worktree_is_read) {
  for (const std::string& path : make_traps()) {
    const std::string error = tools.refuse("file_read", fmt::format(R"({{"path": "{}"}})", path));
    EXPECT_THAT(error, Not(HasSubstr("the secret"))) << path;
    tools.refuse("list_directory", fmt::format(R"({{"path": "{}"}})", path));
    tools.refuse("search_files", fmt::format(R"({{"pattern": ".", "path": "{}"}})", path));
  }
  tools.refuse("list_directory", R"({"path": "folder-link"})");
  EXPECT_THAT(tools.run("search_files", R"({"pattern": "secret|two"})"), Not(HasSubstr("the secret")));
  EXPECT_THAT(tools.run("search_files", R"({"pattern": "two"})"), HasSubstr("inner/file.txt:2: two\n"));
}

TEST_F(FileTools, nothing_but_plain_files_of_the_worktree_is_written) {
  for (const std::string& path : make_traps()) {
    if (path == "/dev/zero" || path.starts_with("/proc")) continue;
    tools.refuse("file_write", fmt::format(R"({{"path": "{}", "content": "x", "create_folders": true}})", path));
  }
  EXPECT_EQ(testing::read_text(scratch.path() / "outside/secret.txt"), "the secret\n");
  EXPECT_EQ(read("inner/file.txt"), "one\ntwo\nthree\n");
  EXPECT_FALSE(fs::exists(scratch.path() / "tree-other"));
}

TEST_F(FileTools, a_written_file_replaces_the_old_one_and_keeps_its_mode) {
  EXPECT_EQ(tools.run("file_write", R"({"path": "new.txt", "content": "1"})"), "created `new.txt`: 1 bytes\n");
  ::chmod((root / "inner/file.txt").c_str(), 0750);
  tools.run("file_write", R"({"path": "inner/file.txt", "content": "new"})");
  EXPECT_EQ(read("inner/file.txt"), "new");
  EXPECT_EQ(fs::status(root / "inner/file.txt").permissions(), fs::perms(0750));
  EXPECT_THAT(tools.refuse("file_write", R"({"path": "a/b/c.txt", "content": ""})"), HasSubstr("create_folders"));
  tools.run("file_write", R"({"path": "a/b/c.txt", "content": "", "create_folders": true})");
  EXPECT_EQ(read("a/b/c.txt"), "");
  tools.refuse("file_write", R"({"path": "inner", "content": ""})");
  tools.refuse("file_write", R"({"path": "inner/", "content": ""})");
  tools.refuse("file_write", R"({"path": ".", "content": ""})");
  tools.refuse("file_write", R"({"path": "new.txt/x", "content": "", "create_folders": true})");
  // No temporary file is left.
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    EXPECT_THAT(entry.path().string(), Not(HasSubstr("reeve-write")));
  }
}

// What is written there runs programs, or decides what Reeve allows.
TEST_F(FileTools, git_and_reeve_folders_are_not_written) {
  for (const char* path : {".git/config", ".git", "sub/.git/hooks/x", ".reeve/config.yaml", "a/.Reeve/b", ".GIT/x"}) {
    EXPECT_THAT(
        tools.refuse("file_write", fmt::format(R"({{"path": "{}", "content": "x", "create_folders": true}})", path)),
        HasSubstr("is reserved"));
    EXPECT_FALSE(fs::exists(root / path));
  }
  tools.run("file_write", R"({"path": ".gitignore", "content": "x"})");
}

TEST_F(FileTools, a_folder_is_listed_by_name_and_kind) {
  make_traps();
  fs::create_directories(root / ".git");
  write("b\x1b[31m\nc", "x");
  const std::string listed = tools.run("list_directory", "{}");
  EXPECT_EQ(listed,
            "b\\x1b[31m\\nc  1 bytes\ndangling@\nfifo|\nfolder-link@\nhard  11 bytes\nharmless-link@\ninner/\nlink@\n"
            "magic@\nsocket=\n");
  EXPECT_EQ(tools.run("list_directory", R"({"path": "inner"})"), "file.txt  14 bytes\n");
  fs::create_directories(root / "void");
  EXPECT_EQ(tools.run("list_directory", R"({"path": "void"})"), "[the folder is empty]\n");
}

TEST_F(FileTools, results_are_bounded_and_say_what_was_cut) {
  std::string text;
  for (int i = 1; i <= 60'000; ++i) text += fmt::format("line {}\n", i);
  write("long.txt", text);
  const std::string first = tools.run("file_read", R"({"path": "long.txt"})");
  EXPECT_THAT(first, HasSubstr("[cut in line "));
  EXPECT_TRUE(first.starts_with("line 1\nline 2\n"));
  // One line longer than a result, of characters that are cut between reads.
  std::string wide;
  while (wide.size() < 2 * max_hosted_content) wide += "aé漢🙂";
  write("wide.txt", wide + "\nnext\n");
  const std::string cut = tools.run("file_read", R"({"path": "wide.txt"})");
  EXPECT_THAT(cut, HasSubstr("continue with offset 2]"));
  EXPECT_THAT(cut, Not(HasSubstr("\xEF\xBF\xBD")));
  EXPECT_EQ(tools.run("file_read", R"({"path": "wide.txt", "offset": 2})"), "next\n");
  write("invalid.txt", std::string(200'000, '\xff'));
  EXPECT_THAT(tools.run("file_read", R"({"path": "invalid.txt"})"), HasSubstr("[cut in line 1;"));
  for (int i = 0; i < 2'100; ++i) write(fmt::format("many/{}", i), "");
  EXPECT_THAT(tools.run("list_directory", R"({"path": "many"})"), HasSubstr("[cut: the folder has more entries"));
  EXPECT_THAT(tools.run("search_files", R"({"pattern": "line", "max_results": 3})"),
              HasSubstr("[cut: there are more lines than `max_results`]"));
  EXPECT_THAT(tools.refuse("file_read", fmt::format(R"({{"path": "{}"}})",
                                                    fmt::format("{}", fmt::join(std::vector<int>(70, 1), "/")))),
              HasSubstr("too deep"));
}

TEST_F(FileTools, a_search_skips_what_it_must_not_show) {
  write("a.cpp", "int secret_number = 1;\nint other;\n");
  write("src/deep/b.h", "secret_number\n");
  write(".git/config", "secret_number\n");
  write("binary", std::string("secret_number\0", 14));
  write(".env", "secret_number=5\n");
  write("keys/id_rsa", "secret_number\n");
  const std::string found = tools.run("search_files", R"({"pattern": "secret_n[a-z]+"})");
  EXPECT_THAT(found, HasSubstr("a.cpp:1: int secret_number = 1;\n"));
  EXPECT_THAT(found, HasSubstr("src/deep/b.h:1: secret_number\n"));
  EXPECT_THAT(found, Not(HasSubstr(".env:")));
  EXPECT_THAT(found, Not(HasSubstr("id_rsa:")));
  EXPECT_THAT(found, Not(HasSubstr(".git/config:")));
  EXPECT_THAT(found, HasSubstr("[2 entries whose names suggest secrets were skipped"));
  EXPECT_THAT(found, HasSubstr("[1 files were skipped: binary"));
  // A path that names it has been judged by the policy.
  EXPECT_THAT(tools.run("search_files", R"({"pattern": "secret_n", "path": ".env"})"), HasSubstr(".env:1: "));
  EXPECT_THAT(tools.run("search_files", R"({"pattern": "secret", "glob": "*.h"})"), HasSubstr("src/deep/b.h:1: "));
  EXPECT_THAT(tools.run("search_files", R"({"pattern": "secret", "glob": "src/**"})"), Not(HasSubstr("a.cpp")));
  EXPECT_THAT(tools.run("search_files", R"({"pattern": "absent"})"), HasSubstr("[no line matches]"));
  EXPECT_THAT(tools.refuse("search_files", R"({"pattern": "("})"), HasSubstr("invalid pattern"));
  tools.refuse("search_files", R"x({"pattern": "((a{1000}){1000})"})x");
}

TEST_F(FileTools, a_stopped_call_does_nothing) {
  std::stop_source source;
  source.request_stop();
  for (const auto& [tool, arguments] :
       std::vector<std::pair<std::string, std::string>>{{"file_read", R"({"path": "inner/file.txt"})"},
                                                        {"search_files", R"({"pattern": "x"})"},
                                                        {"file_write", R"({"path": "new", "content": "x"})"},
                                                        {"git_log", "{}"}}) {
    const wire::CallResult result = tools.call(tool, arguments, source.get_token());
    EXPECT_TRUE(result.is_error);
    EXPECT_EQ(result.content, tool + ": stopped");
  }
  EXPECT_FALSE(fs::exists(root / "new"));
}

// TOOL-4: a mount point may show a folder from anywhere.
TEST(ConfinedFolderTest, another_mount_is_refused) {
  const auto folder = ConfinedFolder::open("/");
  ASSERT_TRUE(folder.has_value());
  const auto file = folder->open_file("proc/version");
  ASSERT_FALSE(file.has_value());
  EXPECT_THAT(file.error(), HasSubstr("on another mount"));
  EXPECT_FALSE(folder->open_folder("proc").has_value());
  EXPECT_FALSE(folder->list("proc", 10).has_value());
  EXPECT_EQ(folder->find_status("proc/version").error(), EXDEV);
}

TEST_F(FileTools, a_missing_or_linked_worktree_is_refused) {
  fs::create_directory_symlink(root, scratch.path() / "alias");
  for (const fs::path& folder : {scratch.path() / "none", scratch.path() / "alias", fs::path("relative")}) {
    const testing::HostedTools other(folder, scratch.path() / "scratch");
    EXPECT_THAT(other.refuse("file_read", R"({"path": "inner/file.txt"})"), HasSubstr("worktree"));
    other.refuse("git_log", "{}");
  }
  EXPECT_THAT(tools.refuse("git_log", "{}"), HasSubstr("not in a git repository"));
  tools.refuse("shell_execute", R"({"command": "ls"})");
}

}  // namespace
}  // namespace reeve::runtime
