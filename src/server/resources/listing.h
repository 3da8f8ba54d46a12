#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "json/encode.h"
#include "runtime/queries.h"
#include "server/contract/operations.h"
#include "server/request/exchange.h"

// Shared by all listings: filter words, cursor, pages.
namespace reeve::server {

// Parses "a,b" as words of the enum; empty without a text. `noun`: "status".
template <base::DescribedEnum E>
std::vector<E> parse_words(const std::optional<std::string>& text, std::string_view noun, std::string_view nouns) {
  std::vector<E> found;
  if (!text || text->empty()) return found;
  for (const std::string_view word : base::split(*text, ',')) {
    const auto known = base::find_enum<E>(word);
    if (!known) {
      throw base::Error(base::ErrorCode::api_bad_request, fmt::format("unknown {} {}", noun, base::quoted(word)),
                        fmt::format("valid {}: {}", nouns, fmt::join(base::spellings<E>(), ", ")));
    }
    found.push_back(*known);
  }
  return found;
}

template <class Id>
std::optional<Id> parse_cursor(const Exchange& exchange) {
  const auto text = exchange.query("cursor");
  if (!text) return std::nullopt;
  const auto cursor = Id::parse(*text);
  if (!cursor) throw base::Error(base::ErrorCode::api_bad_request, "invalid `cursor`");
  return cursor;
}

// The path of the project that the listing is limited to.
inline std::optional<std::string> parse_project_filter(const Exchange& exchange) {
  auto path = exchange.query("project");
  if (path && !path->starts_with('/')) {
    throw base::Error(base::ErrorCode::api_bad_request, "`project` must be the absolute path of a project",
                      "`GET /api/projects` lists them");
  }
  return path;
}

// How records of one kind are listed: their query, the id that serves as cursor, and their form: as a value, or
// appended as JSON text, which is faster.
template <class Filter, class Record, class IdOf, class Show>
struct Listing {
  void (runtime::Queries::*list)(const Filter& filter, runtime::Queries::Done<std::vector<Record>> done) const;
  IdOf id_of;
  Show show;
};

template <class Show, class Record>
void append_shown(std::string& json, const Show& show, const Record& record) {
  if constexpr (std::is_invocable_v<const Show&, std::string&, const Record&>) {
    show(json, record);
  } else {
    json += json::encode(show(record));
  }
}

// Sends one page of `filter.most` records: `{items, next_cursor}`.
template <class Filter, class Record, class IdOf, class Show>
void send_page(SharedExchange exchange, Filter filter, Listing<Filter, Record, IdOf, Show> listing) {
  // Fetches one more than requested, to know whether there are more.
  const std::int64_t asked = filter.most++;
  const runtime::Queries queries = exchange->daemon.queries();
  (queries.*listing.list)(filter, [exchange, asked, listing](std::expected<std::vector<Record>, base::Error> records) {
    if (!records) return exchange->refuse(records.error());
    const bool has_more = static_cast<std::int64_t>(records->size()) > asked;
    if (has_more) records->pop_back();
    const std::string next = has_more ? fmt::format("\"{}\"", listing.id_of(records->back()).text()) : "null";
    std::string json = fmt::format("{{\"next_cursor\":{},\"items\":[", next);
    constexpr std::size_t usual_bytes = 700;
    json.reserve(json.size() + records->size() * usual_bytes);
    for (std::size_t i = 0; i < records->size(); ++i) {
      if (i > 0) json += ',';
      append_shown(json, listing.show, (*records)[i]);
    }
    json += "]}";
    exchange->send_encoded(200, std::move(json));
  });
}

}  // namespace reeve::server
