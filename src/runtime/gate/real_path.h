#pragma once

#include <string>

// Where paths lead, and who could change what is there. Everything may wait for a slow file system.
namespace reeve::runtime {

// Resolves an absolute path like the kernel: `..` after a link is relative to its target, and dangling links are
// followed. Empty if that is not possible.
std::string follow_links(const std::string& path);

// Whether the path is the folder or beneath it, by text; every path is beneath an empty folder.
bool is_beneath(const std::string& path, const std::string& folder);

// Whether a process of this user could change the file or replace it, by itself or by a folder above it. Root can
// change everything: for root, as for sshd's StrictModes, what counts is whether anybody else could.
bool is_replaceable(const std::string& file);

}  // namespace reeve::runtime
