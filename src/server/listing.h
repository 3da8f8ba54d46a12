#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "json/encode.h"
#include "runtime/store_task.h"
#include "server/api.h"

// What listings have in common: words that select, a cursor, pages.
namespace reeve::server {

inline constexpr std::int64_t most_listed = 500;
inline constexpr std::int64_t listed_by_default = 50;

// "a,b" as words of the enum; none where nothing is said. `noun`: "status".
template <base::DescribedEnum E>
std::vector<E> parse_words(const std::optional<std::string>& text, std::string_view noun, std::string_view nouns) {
  std::vector<E> found;
  if (!text || text->empty()) return found;
  for (const std::string_view word : base::split(*text, ',')) {
    const auto known = base::find_enum<E>(word);
    if (!known) {
      throw base::Error("api.bad_request", fmt::format("there is no {} {}", noun, base::quoted(word)),
                        fmt::format("{} are {}", nouns, fmt::join(base::spellings<E>(), ", ")));
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
  if (!cursor) throw base::Error("api.bad_request", "`cursor` is none that was given out");
  return cursor;
}

// How records of a kind are listed: where they come from, which id goes on from them, how each looks: as a value, or
// written as JSON behind what is there, which is faster.
template <class List, class IdOf, class Show>
struct Listing {
  List list;
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

// Answers with one page of `filter.most` records: `{items, next_cursor}`.
template <class Filter, class List, class IdOf, class Show>
void send_page(SharedExchange exchange, Filter filter, Listing<List, IdOf, Show> listing) {
  // One more than asked for tells whether there are more.
  const std::int64_t asked = filter.most++;
  using Records = std::invoke_result_t<List, store::Session&, const Filter&>;
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [filter, list = listing.list](ledger::Transaction& transaction) { return list(transaction.session(), filter); },
      [exchange, asked, listing](std::expected<Records, base::Error> records) {
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
