#include "tests/support/doc_blocks.h"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>

#include "tests/support/files.h"

namespace reeve::testing {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view fence = "```";
constexpr std::string_view mark = "<!-- not run: ";
constexpr std::string_view prepared_mark = "<!-- prepared: ";
constexpr std::string_view mark_end = " -->";
constexpr std::string_view output_mark = "<!-- output -->";
constexpr auto shells = std::to_array<std::string_view>({"", "sh", "bash", "shell", "console"});

}  // namespace

std::string DocBlock::place() const { return fmt::format("{}:{}", file, line); }

bool DocBlock::is_commands() const { return std::ranges::find(shells, language) != shells.end(); }

std::vector<std::string> DocBlock::commands() const {
  const bool has_prompts = std::ranges::any_of(lines, [](const std::string& one) { return one.starts_with("$ "); });
  if (!has_prompts) return lines;
  std::vector<std::string> typed;
  bool continues = false;
  for (const std::string& one : lines) {
    if (one.starts_with("$ ") || continues) typed.push_back(one.starts_with("$ ") ? one.substr(2) : one);
    continues = (one.starts_with("$ ") || continues) && one.ends_with('\\');
  }
  return typed;
}

std::vector<std::string> DocBlock::shown() const {
  const std::vector<std::string> typed = commands();
  if (typed.size() == lines.size()) return {};
  std::vector<std::string> others;
  bool continues = false;
  for (const std::string& one : lines) {
    const bool is_typed = one.starts_with("$ ") || continues;
    if (!is_typed) others.push_back(one);
    continues = is_typed && one.ends_with('\\');
  }
  return others;
}

std::vector<std::string> doc_pages() {
  std::vector<std::string> pages = {"README.md", "SECURITY.md", "CONTRIBUTING.md"};
  for (const char* folder : {"docs", "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source_folder() / folder)) {
      if (entry.path().extension() == ".md") pages.push_back(fs::relative(entry.path(), source_folder()).string());
    }
  }
  std::ranges::sort(pages);
  return pages;
}

std::vector<DocBlock> read_doc_blocks(const std::string& page) {
  std::vector<DocBlock> blocks;
  std::istringstream text(read_text(source_folder() / page));
  std::string before;
  std::string line;
  int number = 0;
  bool is_inside = false;
  while (std::getline(text, line)) {
    ++number;
    // Indented in a list.
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (std::string_view(line).substr(indent).starts_with(fence)) {
      is_inside = !is_inside;
      if (!is_inside) continue;
      DocBlock& block = blocks.emplace_back(DocBlock{.file = page, .line = number});
      block.language = line.substr(indent + fence.size());
      const auto marked = [&](std::string_view start) {
        const bool is_marked = before.starts_with(start) && before.ends_with(mark_end);
        return is_marked ? before.substr(start.size(), before.size() - start.size() - mark_end.size()) : "";
      };
      block.not_run = marked(mark);
      block.prepared = marked(prepared_mark);
      block.is_output = before == output_mark;
    } else if (is_inside) {
      blocks.back().lines.push_back(line);
    }
    before = line;
  }
  return blocks;
}

std::vector<std::vector<std::string>> find_reeve_calls(std::string_view line) {
  std::vector<std::vector<std::string>> calls;
  std::vector<std::string> words;
  std::string word;
  bool has_word = false;
  char quote = 0;
  const auto end_word = [&] {
    if (has_word) words.push_back(word);
    word.clear();
    has_word = false;
  };
  const auto end_command = [&] {
    end_word();
    // Variables set for this one command, and words that introduce one.
    while (!words.empty() && (words.front().find('=') != std::string::npos || words.front() == "!")) {
      words.erase(words.begin());
    }
    if (!words.empty() && words.front() == "reeve") calls.emplace_back(words.begin() + 1, words.end());
    words.clear();
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      has_word = true;
    } else if (c == '#' && !has_word) {
      break;
    } else if (std::string_view("|&;()").contains(c)) {
      end_command();
    } else if (c == '>' || c == '<') {
      // The rest of the command is where its output goes.
      end_word();
      while (i + 1 < line.size() && !std::string_view("|&;(").contains(line[i + 1])) ++i;
    } else if (c == ' ') {
      end_word();
    } else {
      word += c;
      has_word = true;
    }
  }
  end_command();
  return calls;
}

}  // namespace reeve::testing
