#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "git/git_context.h"

// Moves the files and the index of the user's checkout from one commit to another, and recovers from a kill in between.
// git writes files one by one and the index last; here the new index is written to a separate file and renamed into
// place under git's own lock, so that the index always tells which commit the files came from.
namespace reeve::git {

// Written to Reeve's own folder before the first file is touched, and deleted once the checkout is consistent again.
struct CheckoutUpdateJournal {
  std::string from;
  std::string to;
  // The content of the index lock while it is Reeve's.
  std::string mark;
  // The branch could not be moved: the files are reverted.
  bool is_back = false;
};
CheckoutUpdateJournal make_journal(std::string from, std::string to, bool is_back);

std::optional<CheckoutUpdateJournal> find_journal(const GitContext& context);
void write_journal(const GitContext& context, const CheckoutUpdateJournal& journal);
void forget_forward(const GitContext& context);
// The checkouts with an unfinished update.
std::vector<std::filesystem::path> list_forwards(const std::filesystem::path& scratch);

// Moves files and index. Throws `git.index_locked` if another git process works there and does not finish soon.
void move_files(const GitContext& context, const CheckoutUpdateJournal& journal);
// Reverts the files that a killed move_files() left to what the index has. Files that were changed since are kept.
void take_back_files(const GitContext& context, const CheckoutUpdateJournal& journal);
// Which of the two commits the index matches; nullopt: neither.
enum class Side { from, to };
std::optional<Side> find_side(const GitContext& context, const CheckoutUpdateJournal& journal);
// Removes an index lock that a killed move_files() left.
void remove_stale_lock(const GitContext& context, const CheckoutUpdateJournal& journal);

}  // namespace reeve::git
