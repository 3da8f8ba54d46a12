#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/redaction.h"
#include "json/describe.h"
#include "server/resources/listing.h"

// Lists of named items: the cursor is the last name of the previous page.
namespace reeve::server {

// `all` is ordered by name. `show(name, value)` is called only for the items of this page.
template <class Map, class Show>
void send_names(const SharedExchange& exchange, const Map& all, Show show) {
  const auto limit = static_cast<std::size_t>(exchange->query_integer("limit", listed_by_default, 1, max_listed));
  const auto cursor = exchange->query("cursor");
  auto at = cursor ? all.upper_bound(*cursor) : all.begin();
  base::Value::Array items;
  base::Value next;
  for (; at != all.end(); ++at) {
    if (items.size() == limit) {
      next = base::Value::string(std::prev(at)->first);
      break;
    }
    items.push_back(show(at->first, at->second));
  }
  base::Value document = base::Value::object();
  document.set("next_cursor", std::move(next));
  document.set("items", base::Value::array(std::move(items)));
  exchange->send(200, document);
}

// `noun`: "tool".
template <class Map, class Show>
void send_named(const SharedExchange& exchange, const Map& all, std::string_view noun, base::ErrorCode not_found,
                Show show) {
  const std::string& name = exchange->parts.at(0);
  const auto found = all.find(name);
  if (found != all.end()) return exchange->send(200, show(found->first, found->second));
  std::vector<std::string> names;
  for (const auto& [known, _] : all) names.push_back(known);
  const auto meant = base::find_closest(name, names);
  throw base::Error(not_found, fmt::format("the config has no {} {}", noun, base::quoted(name)),
                    meant ? fmt::format("did you mean `{}`?", *meant) : fmt::format("GET /api/{}s lists them", noun));
}

// A list of named items, and each item by its name.
struct NamedResource {
  std::string_view list_path;
  void (&list)(SharedExchange exchange);
  std::string_view list_name;
  std::string_view list_summary;
  std::string_view path;
  void (&show)(SharedExchange exchange);
  std::string_view name;
  std::string_view summary;
  std::string_view page;
  base::ErrorCode not_found;
};
std::vector<Operation> named_operations(json::Schemas& schemas, const NamedResource& resource,
                                        const base::Value& record);

// LOG-4: secret by its name, or because some tool declares it so.
inline void mask_secrets(std::map<std::string, std::string>& environment, const model::Config& config) {
  for (auto& [name, value] : environment) {
    const bool is_told = std::ranges::any_of(config.tools, [&](const auto& tool) {
      return std::ranges::find(tool.second.secrets, name) != tool.second.secrets.end();
    });
    if (is_told || base::names_secret(name)) value = "***";
  }
}

}  // namespace reeve::server
