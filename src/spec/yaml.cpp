#include "spec/yaml.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>
#include <libfyaml.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "spec/yaml_bytes.h"

namespace reeve::spec {

namespace {

using base::ErrorCode;

namespace limits = base::limits;

struct ParserCloser {
  void operator()(fy_parser* parser) const noexcept { fy_parser_destroy(parser); }
};
struct DiagCloser {
  void operator()(fy_diag* diag) const noexcept { fy_diag_destroy(diag); }
};
struct EventCloser {
  fy_parser* parser;
  void operator()(fy_event* event) const noexcept { fy_parser_event_free(parser, event); }
};
using Event = std::unique_ptr<fy_event, EventCloser>;

// libfyaml prints nothing; its diagnostics are collected and reported as problems.
void discard(fy_diag*, void*, const char*, std::size_t) {}

std::string_view text_of(fy_token* token) {
  std::size_t length = 0;
  const char* text = token != nullptr ? fy_token_get_text(token, &length) : nullptr;
  return text != nullptr ? std::string_view(text, length) : std::string_view();
}

constexpr std::string_view tag_prefix = "tag:yaml.org,2002:";

bool is_known_tag(std::string_view tag) {
  if (!tag.starts_with(tag_prefix)) return false;
  tag.remove_prefix(tag_prefix.size());
  return tag == "str" || tag == "int" || tag == "float" || tag == "bool" || tag == "null" || tag == "seq" ||
         tag == "map";
}

// Builds the tree from libfyaml's events. libfyaml's own tree is not used: it follows aliases without a budget and has
// no limit on depth or size.
class Reader {
 public:
  Reader(const Source& source, base::Problems& problems) : source_(source), problems_(problems) {
    fy_diag_cfg diag_config;
    fy_diag_cfg_default(&diag_config);
    diag_config.fp = nullptr;
    diag_config.output_fn = discard;
    diag_.reset(fy_diag_create(&diag_config));
    REEVE_ASSERT(diag_ != nullptr);
    fy_diag_set_collect_errors(diag_.get(), true);
    fy_parse_cfg config{};
    config.search_path = "";
    // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): flags of a C library are joined so.
    config.flags = static_cast<fy_parse_cfg_flags>(FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_DEFAULT_VERSION_1_2);
    config.diag = diag_.get();
    parser_.reset(fy_parser_create(&config));
    REEVE_ASSERT(parser_ != nullptr);
    REEVE_ASSERT(fy_parser_set_string(parser_.get(), source.text().data(), source.text().size()) == 0);
  }

  std::optional<YamlNode> read() {
    std::size_t documents = 0;
    while (true) {
      const Event event(fy_parser_parse(parser_.get()), EventCloser{parser_.get()});
      if (event == nullptr) break;
      if (event->type == FYET_DOCUMENT_START && ++documents > 1) {
        fail(position(*event), ErrorCode::yaml_many_documents, "a second document begins here",
             "keep one document per file and remove the `---` lines");
      } else {
        take(*event);
      }
      if (failed_) return std::nullopt;
    }
    if (fy_parser_get_stream_error(parser_.get())) {
      report_syntax();
      return std::nullopt;
    }
    if (documents == 0 || !root_) {
      fail({}, ErrorCode::yaml_empty, "the file is empty", "");
      return std::nullopt;
    }
    return failed_ ? std::nullopt : std::move(root_);
  }

 private:
  struct Level {
    YamlNode node;
    std::string anchor;
    // For large mappings only: the position of each key.
    std::unordered_map<std::string, std::size_t> keys;
  };
  static constexpr std::size_t few_keys = 16;

  struct Position {
    std::uint32_t line = 1;
    std::uint32_t column = 1;
    std::uint32_t length = 1;
  };

  static Position position(fy_event& event) {
    const fy_mark* start = fy_event_start_mark(&event);
    const fy_mark* end = fy_event_end_mark(&event);
    if (start == nullptr) return {};
    Position where{static_cast<std::uint32_t>(start->line) + 1, static_cast<std::uint32_t>(start->column) + 1, 1};
    if (end != nullptr && end->line == start->line && end->column > start->column) {
      where.length = static_cast<std::uint32_t>(end->column - start->column);
    }
    return where;
  }

  void fail(Position where, base::ErrorCode code, std::string message, std::string fix) {
    failed_ = true;
    problems_.add({.code = code,
                   .message = std::move(message),
                   .place = source_.place(where.line, where.column, where.length),
                   .fix = std::move(fix)});
  }

  // The most likely cause of each libfyaml message.
  static std::string fix_for(std::string_view message) {
    const auto says = [&](std::string_view words) { return message.find(words) != std::string_view::npos; };
    if (says("nested block mapping")) return "quote text that contains `: `";
    if (says("multiline plain key")) return "indent this line like the keys above it, or quote the text";
    if (says("quoted scalar")) return "close the quote";
    if (says("flow sequence")) return "close the list with `]`";
    if (says("flow mapping")) return "close the mapping with `}`";
    if (says("plain scalar cannot start")) return "quote the text";
    return {};
  }

  void report_syntax() {
    void* iterator = nullptr;
    bool told = false;
    while (const fy_diag_error* error = fy_diag_errors_iterate(diag_.get(), &iterator)) {
      const auto line = static_cast<std::uint32_t>(std::max(error->line, 1));
      const auto column = static_cast<std::uint32_t>(std::max(error->column, 1));
      const bool is_tab = source_.line(line).substr(0, column).find('\t') != std::string_view::npos;
      const std::string message = base::visible(error->msg != nullptr ? error->msg : "not valid YAML");
      fail({line, column, 1}, ErrorCode::yaml_syntax, message,
           is_tab ? "indent with spaces: YAML does not allow tabs there" : fix_for(message));
      told = true;
    }
    if (!told) fail({}, ErrorCode::yaml_syntax, "not valid YAML", "");
  }

  bool count_node(Position where) {
    if (++nodes_ <= limits::spec_tree_nodes) return true;
    fail(where, ErrorCode::yaml_too_large, fmt::format("more than {} values", limits::spec_tree_nodes),
         "split the file");
    return false;
  }

  void take(fy_event& event) {
    switch (event.type) {
      case FYET_SCALAR:
        return take_scalar(event);
      case FYET_SEQUENCE_START:
        return open(event, YamlKind::sequence, event.sequence_start.anchor, event.sequence_start.tag);
      case FYET_MAPPING_START:
        return open(event, YamlKind::mapping, event.mapping_start.anchor, event.mapping_start.tag);
      case FYET_SEQUENCE_END:
      case FYET_MAPPING_END:
        return close();
      case FYET_ALIAS:
        return take_alias(event);
      default:
        return;
    }
  }

  YamlNode make_node(Position where, YamlKind kind) {
    YamlNode node;
    node.source = &source_;
    node.kind = kind;
    node.line = where.line;
    node.column = where.column;
    node.length = where.length;
    return node;
  }

  void take_scalar(fy_event& event) {
    Position where = position(event);
    if (!count_node(where) || !check_tag(where, event.scalar.tag)) return;
    fy_token* token = event.scalar.value;
    const fy_scalar_style style = token != nullptr ? fy_token_scalar_style(token) : FYSS_PLAIN;
    const bool is_tagged_string = text_of(event.scalar.tag) == "tag:yaml.org,2002:str";
    if (style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED) {
      // The marks exclude the quotes; the caret line includes them.
      where.column -= 1;
      where.length += 2;
    }
    if (token == nullptr || fy_event_start_mark(&event) == nullptr) where = after_last_;
    YamlNode node = make_node(where, YamlKind::scalar);
    node.is_plain = style == FYSS_PLAIN && !is_tagged_string;
    node.text = text_of(token);
    after_last_ = {where.line, where.column, where.length};
    if (node.text.size() > limits::spec_text_bytes) {
      return fail(where, ErrorCode::yaml_too_large,
                  fmt::format("a string of more than {} bytes", limits::spec_text_bytes), "put it in a separate file");
    }
    place(std::move(node), text_of(event.scalar.anchor));
  }

  bool check_tag(Position where, fy_token* tag) {
    const std::string_view name = text_of(tag);
    if (tag == nullptr || name.empty() || name == "!" || is_known_tag(name)) return true;
    fail(where, ErrorCode::yaml_unknown_tag, fmt::format("unknown tag {}", base::quoted(name)), "remove it");
    return false;
  }

  void open(fy_event& event, YamlKind kind, fy_token* anchor, fy_token* tag) {
    const Position where = position(event);
    if (!count_node(where) || !check_tag(where, tag)) return;
    if (levels_.size() == limits::spec_depth) return fail_too_deep(where);
    levels_.push_back({make_node(where, kind), std::string(text_of(anchor)), {}});
  }

  void close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    place(std::move(level.node), level.anchor);
  }

  void take_alias(fy_event& event) {
    Position where = position(event);
    // The marks exclude the asterisk.
    where.column -= 1;
    where.length += 1;
    const std::string_view name = text_of(event.alias.anchor);
    const auto anchor = anchors_.find(name);
    if (anchor == anchors_.end()) {
      return fail(where, ErrorCode::yaml_unknown_alias, fmt::format("unknown alias {}", base::quoted(name)),
                  fmt::format("define the anchor `&{}` before it is used", base::visible(name)));
    }
    if (levels_.size() + anchor->second.extent.height > limits::spec_depth) return fail_too_deep(where);
    if (!spend_alias(where, anchor->second.extent)) return;
    place(YamlNode(anchor->second.node), {});
  }

  struct Extent {
    std::size_t count = 1;
    // Levels of lists and mappings.
    std::size_t height = 0;
  };
  struct Anchor {
    YamlNode node;
    Extent extent;
  };

  static Extent measure(const YamlNode& node) {
    Extent extent{1, node.kind == YamlKind::scalar ? 0U : 1U};
    for (const YamlNode& item : node.items) {
      const Extent inner = measure(item);
      extent.count += inner.count;
      extent.height = std::max(extent.height, inner.height + 1);
    }
    return extent;
  }

  void fail_too_deep(Position where) {
    fail(where, ErrorCode::yaml_too_deep, fmt::format("nested deeper than {} levels", limits::spec_depth), "");
  }

  bool spend_alias(Position where, const Extent& extent) {
    alias_nodes_ += extent.count;
    if (alias_nodes_ <= limits::spec_alias_nodes) return true;
    fail(where, ErrorCode::yaml_too_many_aliases,
         fmt::format("aliases expand to more than {} values", limits::spec_alias_nodes),
         "write the values out instead of using aliases");
    return false;
  }

  void place(YamlNode node, std::string_view anchor) {
    if (!anchor.empty()) {
      // An anchored node is stored a second time, which counts as a use.
      const Extent extent = measure(node);
      if (!spend_alias({node.line, node.column, node.length}, extent)) return;
      anchors_.insert_or_assign(std::string(anchor), Anchor{node, extent});
    }
    if (levels_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& level = levels_.back();
    const bool is_key = level.node.kind == YamlKind::mapping && level.node.items.size() % 2 == 0;
    if (is_key && !check_key(level, node)) return;
    level.node.items.push_back(std::move(node));
  }

  bool check_key(Level& level, const YamlNode& key) {
    const Position where{key.line, key.column, key.length};
    if (level.node.member_count() == limits::spec_members) {
      fail(where, ErrorCode::yaml_too_large, fmt::format("a mapping of more than {} keys", limits::spec_members),
           "split it");
      return false;
    }
    if (key.kind != YamlKind::scalar) {
      fail(where, ErrorCode::yaml_bad_key, fmt::format("a key must be a scalar, not {}", key.kind_name()), "");
      return false;
    }
    if (const YamlNode* first = find_duplicate(level, key.text)) {
      // Reading continues, so that all duplicates in a file are reported at once; the document is still rejected.
      fail(where, ErrorCode::yaml_duplicate_key,
           fmt::format("duplicate key {}, first used on line {}", base::quoted(key.text), first->line),
           "keep one of them");
      failed_ = false;
      has_duplicates_ = true;
    }
    return true;
  }

  static const YamlNode* find_duplicate(Level& level, const std::string& key) {
    std::vector<YamlNode>& items = level.node.items;
    if (items.size() / 2 < few_keys) {
      for (std::size_t i = 0; i < items.size(); i += 2) {
        if (items[i].text == key) return &items[i];
      }
      return nullptr;
    }
    if (level.keys.empty()) {
      for (std::size_t i = 0; i < items.size(); i += 2) level.keys.emplace(items[i].text, i);
    }
    const auto [entry, is_new] = level.keys.emplace(key, items.size());
    return is_new ? nullptr : &items[entry->second];
  }

 public:
  bool has_duplicates() const noexcept { return has_duplicates_; }

 private:
  const Source& source_;
  base::Problems& problems_;
  std::unique_ptr<fy_diag, DiagCloser> diag_;
  std::unique_ptr<fy_parser, ParserCloser> parser_;
  std::vector<Level> levels_;
  std::map<std::string, Anchor, std::less<>> anchors_;
  std::optional<YamlNode> root_;
  // An empty value has no location of its own; it is reported at the end of the previous token.
  Position after_last_;
  std::size_t nodes_ = 0;
  std::size_t alias_nodes_ = 0;
  bool failed_ = false;
  bool has_duplicates_ = false;
};

}  // namespace

std::optional<YamlDocument> parse_yaml(std::shared_ptr<const Source> source, base::Problems& problems) {
  if (!check_yaml_bytes(*source, problems)) return std::nullopt;
  Reader reader(*source, problems);
  std::optional<YamlNode> root = reader.read();
  if (!root || reader.has_duplicates()) return std::nullopt;
  return YamlDocument{std::move(source), std::move(*root)};
}

}  // namespace reeve::spec
