#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

// Which projects' configs the user trusts (SPEC §7): one file a project in `$XDG_STATE_HOME/reeve/trust`, outside of
// every project, with the digest of what was looked at.
namespace reeve::project {

// `$XDG_STATE_HOME/reeve`, `~/.local/state/reeve`: nothing without a home folder, and when a relative path would make
// the current folder decide.
std::optional<std::filesystem::path> user_state_folder();

// The folder of the records, made if it is missing; nothing when it cannot be.
std::optional<std::filesystem::path> make_trust_folder();

// Whether exactly this was trusted. False for everything that cannot be read, that is a link, or that others could have
// written.
bool is_trusted(const std::filesystem::path& project, std::string_view digest);
// Throws `config.trust_unwritable`.
void record_trust(const std::filesystem::path& project, std::string_view digest);
// Whether there was something to revoke. Throws `config.trust_unwritable`.
bool revoke_trust(const std::filesystem::path& project);

// The commands that a project brings along are shown once, and again when they have changed.
bool were_commands_shown(const std::filesystem::path& project, std::string_view digest);
// What cannot be recorded is shown again.
void record_commands_shown(const std::filesystem::path& project, std::string_view digest) noexcept;

}  // namespace reeve::project
