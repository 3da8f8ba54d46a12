#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "git/workshop.h"

// The files and the index of the person's checkout on their way from one commit to another, and what a kill leaves of
// that. git writes files one by one and the index last; here the index is written beside and put in its place whole,
// under git's own lock, so that it always says from where the files came.
namespace reeve::git {

// Written before the first file is touched, in Reeve's own folder, and gone when the checkout is whole again.
struct Forward {
  std::string from;
  std::string to;
  // What the lock of the index says while it is ours.
  std::string mark;
  // The branch did not follow: the files go back.
  bool is_back = false;
};
Forward make_forward(std::string from, std::string to, bool is_back);

std::optional<Forward> find_forward(const Workshop& workshop);
void write_forward(const Workshop& workshop, const Forward& forward);
void forget_forward(const Workshop& workshop);
// The checkouts in which something was left half done.
std::vector<std::filesystem::path> list_forwards(const std::filesystem::path& scratch);

// Files and index. Throws `git.index_locked` when another git works there and does not end soon.
void move_files(const Workshop& workshop, const Forward& forward);
// The files, as far as they are what a killed move_files() leaves, back to what the index has. A file that somebody
// has changed since stays as it is.
void take_back_files(const Workshop& workshop, const Forward& forward);
// Which of the two the index is; nothing: neither.
enum class Side { from, to };
std::optional<Side> find_side(const Workshop& workshop, const Forward& forward);
// A lock of the index that a killed move_files() left.
void remove_stale_lock(const Workshop& workshop, const Forward& forward);

}  // namespace reeve::git
