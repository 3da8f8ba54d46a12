#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/help.h"
#include "runtime/notify/notice.h"
#include "runtime/notify/webhook.h"
#include "spec/config_file.h"
#include "spec/key_help.h"
#include "spec/key_table.h"
#include "tests/support/files.h"
#include "tests/support/generated_page.h"

// The reference pages: what the tables say is generated; REEVE_ACCEPT=1 brings them up to date.
namespace reeve {
namespace {

using spec::FileType;
using spec::KeyEntry;
using spec::ValueForm;

// A cell of a table.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result.empty() ? "–" : result;
}

std::string code(std::string_view text) { return fmt::format("`{}`", text); }

// With the sentences about its items and words, if they have some of their own.
std::string help_of(FileType type, const std::string& path, const ValueForm& form) {
  std::string text(spec::find_key_help(type, path));
  std::string items_path = path;
  for (const ValueForm* inner = &form; inner != nullptr; inner = inner->items.get()) {
    std::string words;
    for (const std::string& word : inner->words) {
      const auto help = spec::find_key_help(type, fmt::format("{}={}", path, word));
      if (!help.empty()) words += fmt::format("{}{} ({})", words.empty() ? "" : ", ", code(word), help);
    }
    if (!words.empty()) text += fmt::format(": {}", words);
    items_path = path_of_items(*inner, items_path);
    if (const auto help = spec::find_key_help(type, items_path); !help.empty()) text += fmt::format("; each: {}", help);
  }
  return text;
}

std::string row_of(FileType type, const std::string& path, const KeyEntry& key) {
  const std::string fallback = spec::format_default(key.fallback);
  const std::string shown = key.is_required ? "required" : fallback.empty() ? std::string() : code(fallback);
  return fmt::format("| {} | {} | {} | {} |\n", code(key.name), cell(spec::describe_form(key.form)), cell(shown),
                     cell(help_of(type, path, key.form)));
}

// The keys of one block, then the blocks in it, each with a heading of its own.
void add_blocks(FileType type, const ValueForm& block, const std::string& path, std::string& text) {
  const auto path_of = [&](const KeyEntry& key) {
    return path.empty() ? key.name : fmt::format("{}.{}", path, key.name);
  };
  if (!path.empty()) text += fmt::format("### `{}`\n\n", spec::show_path(path));
  text += "| key | value | default | means |\n|---|---|---|---|\n";
  for (const KeyEntry& key : *block.keys) text += row_of(type, path_of(key), key);
  for (const KeyEntry& key : *block.keys) {
    const spec::InnerBlock inner = spec::find_block(key.form, path_of(key));
    if (inner.form == nullptr) continue;
    text += '\n';
    add_blocks(type, *inner.form, inner.path, text);
  }
}

std::string key_tables(FileType type) {
  std::string text;
  add_blocks(type, spec::file_form(type), "", text);
  return text;
}

std::string variable_table() {
  std::string text = "| variable | sets |\n|---|---|\n";
  for (const auto& [variable, path] : spec::config_variables()) {
    text += fmt::format("| {} | {} |\n", code(variable), code(path));
  }
  return text;
}

std::string option_table(const std::vector<cli::Option>& options) {
  std::string text;
  for (const cli::Option& option : options) {
    std::string name =
        option.brief.empty() ? std::string(option.name) : fmt::format("{}, {}", option.brief, option.name);
    if (!option.value.empty()) name += fmt::format(" {}", option.value);
    std::string help(option.help);
    if (option.is_repeatable) help += " (may be repeated)";
    text += fmt::format("| {} | {} |\n", code(name), cell(help));
  }
  return text;
}

std::string command_section(const cli::Command& command) {
  std::string text = fmt::format("### {}\n\n{}. {}\n", command.name, command.summary, code(cli::usage_of(command)));
  if (!command.about.empty()) text += fmt::format("\n{}\n", command.about);
  if (!command.examples.empty()) text += "\n| example | does |\n|---|---|\n";
  for (const cli::Example& example : command.examples) {
    text += fmt::format("| {} | {} |\n", code(cell(example.line)), cell(example.what));
  }
  if (command.positionals.empty() && command.options.empty()) return text;
  text += "\n| word | means |\n|---|---|\n";
  for (const cli::Positional& word : command.positionals) {
    text += fmt::format("| {} | {} |\n", code(word.name), cell(word.help));
  }
  return text + option_table(command.options);
}

std::string command_sections() {
  std::string text;
  for (const cli::Command& command : cli::shown_commands()) {
    if (!text.empty()) text += '\n';
    text += command_section(command);
  }
  return text;
}

std::filesystem::path page(const char* name) { return testing::source_folder() / "docs" / name; }

TEST(House, workflow_reference_is_generated) {
  testing::expect_generated(page("WORKFLOWS.md"), {{"keys of a workflow", key_tables(FileType::workflow)},
                                                   {"keys of pipelines", key_tables(FileType::pipelines)}});
}

TEST(House, config_reference_is_generated) {
  testing::expect_generated(page("CONFIG.md"),
                            {{"keys", key_tables(FileType::config)}, {"variables", variable_table()}});
}

TEST(House, notification_reference_is_generated) {
  std::string text;
  spec::visit_keys(spec::file_form(FileType::config), [&](const std::string& path, const KeyEntry& key) {
    if (path != "notify") return;
    const spec::InnerBlock inner = spec::find_block(key.form, path);
    ASSERT_NE(inner.form, nullptr);
    add_blocks(FileType::config, *inner.form, inner.path, text);
  });
  std::string placeholders = "| placeholder | is |\n|---|---|\n";
  for (const std::string_view name : model::notify_placeholders) {
    const std::string_view help = spec::find_placeholder_help(name);
    EXPECT_FALSE(help.empty()) << name;
    placeholders += fmt::format("| `{{{}}}` | {} |\n", name, help);
  }
  testing::expect_generated(page("NOTIFY.md"), {{"keys", text}, {"placeholders", placeholders}});
}

// The placeholders and headers of docs/NOTIFY.md are those of the code.
TEST(House, notification_page_names_what_is_sent) {
  const std::string text = testing::read_text(page("NOTIFY.md"));
  const runtime::NoticeText notice{.summary = "s", .event = "e", .id = "i", .run = "r", .question = "q"};
  std::size_t placeholders = 0;
  std::size_t headers = 0;
  const auto plan = runtime::plan_webhook({.address = "https://a", .event = "failed", .body = "{}", .secret = "k"}, {});
  for (const std::string_view line : base::split(text, '\n')) {
    const std::string name(line.substr(0, line.find(" | ")).substr(std::min<std::size_t>(line.size(), 3)));
    if (line.starts_with("| `{")) {
      ++placeholders;
      const std::string word = name.substr(0, name.find('`'));
      EXPECT_NE(runtime::expand_command({word}, notice).at(0), word);
    } else if (line.starts_with("| `Reeve-")) {
      ++headers;
      EXPECT_NE(plan.input.find(name.substr(0, name.find('`')) + ": "), std::string::npos) << name;
    }
  }
  EXPECT_GE(placeholders, 5U);
  EXPECT_GE(headers, 4U);
}

TEST(House, command_reference_is_generated) {
  testing::expect_generated(page("CLI.md"), {{"options of every command",
                                              "| option | means |\n|---|---|\n" + option_table(cli::common_options())},
                                             {"commands", command_sections()}});
}

}  // namespace
}  // namespace reeve
