#include "tests/support/git_repository.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/program.h"

namespace reeve::testing {

namespace {

namespace fs = std::filesystem;

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void restore(const char* name, const std::optional<std::string>& value) {
  if (value) {
    ::setenv(name, value->c_str(), 1);
  } else {
    ::unsetenv(name);
  }
}

}  // namespace

GitRepository::GitRepository(Empty)
    : root_(fs::canonical(scratch_.path()) / "project"),
      home_before_(variable("HOME")),
      config_before_(variable("XDG_CONFIG_HOME")) {
  fs::create_directories(root_);
  fs::create_directories(home());
  ::setenv("HOME", home().c_str(), 1);
  ::unsetenv("XDG_CONFIG_HOME");
  git({"init", "-q", "-b", "main"});
}

GitRepository::GitRepository() : GitRepository(Empty{}) {
  write("file.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
  write("folder/inner.txt", "inner\n");
  write(".gitignore", "*.log\n");
  commit("first");
}

GitRepository::~GitRepository() {
  restore("HOME", home_before_);
  restore("XDG_CONFIG_HOME", config_before_);
}

fs::path GitRepository::write(const fs::path& name, std::string_view text) const {
  fs::create_directories((root_ / name).parent_path());
  std::ofstream(root_ / name, std::ios::binary) << text;
  return root_ / name;
}

std::string GitRepository::git_in(const fs::path& folder, std::vector<std::string> words) const {
  words.insert(words.begin(), {"git", "-c", "protocol.file.allow=always"});
  const Outcome outcome = run_program({.argv = words,
                                       .folder = folder,
                                       .environment = {{"PATH", variable("PATH").value_or("/usr/bin:/bin")},
                                                       {"HOME", home().string()},
                                                       {"GIT_AUTHOR_NAME", "Test"},
                                                       {"GIT_AUTHOR_EMAIL", "test@example.com"},
                                                       {"GIT_COMMITTER_NAME", "Test"},
                                                       {"GIT_COMMITTER_EMAIL", "test@example.com"}}});
  EXPECT_EQ(outcome.code, 0) << "git " << words[3] << ": " << outcome.err;
  return outcome.out.ends_with('\n') ? outcome.out.substr(0, outcome.out.size() - 1) : outcome.out;
}

std::string GitRepository::commit(const std::string& message) const {
  git({"add", "-A"});
  git({"commit", "-q", "--allow-empty", "-m", message});
  return git({"rev-parse", "HEAD"});
}

}  // namespace reeve::testing
