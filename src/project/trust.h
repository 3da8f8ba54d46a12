#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

// The project configs that the user trusts (SPEC §7): one file per project in `$XDG_STATE_HOME/reeve/trust`, outside
// every project, with the digest of what the user reviewed.
namespace reeve::project {

// `$XDG_STATE_HOME/reeve` or `~/.local/state/reeve`. Nothing without a home folder, or if the path is relative and
// would depend on the current folder.
std::optional<std::filesystem::path> user_state_folder();

// The folder of the records, created if missing; nothing if that fails.
std::optional<std::filesystem::path> make_trust_folder();

// Whether exactly this digest was trusted. False for a record that cannot be read, is a symlink, or could have been
// written by others.
bool is_trusted(const std::filesystem::path& project, std::string_view digest);
// Throws `config.trust_unwritable`.
void record_trust(const std::filesystem::path& project, std::string_view digest);
// Whether there was something to revoke. Throws `config.trust_unwritable`.
bool revoke_trust(const std::filesystem::path& project);

// A project's commands are shown once, and again after they change.
bool were_commands_shown(const std::filesystem::path& project, std::string_view digest);
// If recording fails, the commands are shown again.
void record_commands_shown(const std::filesystem::path& project, std::string_view digest) noexcept;

}  // namespace reeve::project
