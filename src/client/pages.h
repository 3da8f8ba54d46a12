#pragma once

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "client/daemon.h"

namespace reeve::client {

// How much of a listing to read: at most `limit` records, in pages that begin with `first` records and grow.
struct PageSizes {
  std::size_t limit = 0;
  std::size_t first = 500;
};

// Reads a listing page by page and passes each record to `take`, until it returns false. `target` ends in `?` or `&`.
template <class Take>
void read_pages_while(Daemon& daemon, const std::string& target, const PageSizes& sizes, Take take) {
  // The daemon's maximum page size (UX).
  constexpr std::size_t max_page = 500;
  constexpr std::size_t growth = 4;
  std::string cursor;
  std::size_t taken = 0;
  for (std::size_t size = sizes.first; taken < sizes.limit; size *= growth) {
    std::string question = fmt::format("{}limit={}", target, std::min({sizes.limit - taken, size, max_page}));
    if (!cursor.empty()) question += fmt::format("&cursor={}", encode_part(cursor));
    const base::Value page = daemon.get(question);
    const base::Value* items = page.find("items");
    if (items == nullptr || items->as_array() == nullptr) throw_bad_answer("no `items` in a page");
    for (const base::Value& item : *items->as_array()) {
      if (!take(item)) return;
    }
    taken += items->as_array()->size();
    const base::Value* next = page.find("next_cursor");
    const bool has_more = next != nullptr && next->as_string() != nullptr && !items->as_array()->empty();
    if (!has_more) return;
    cursor = *next->as_string();
  }
}

// Passes up to `limit` records to `take`.
template <class Take>
void read_pages(Daemon& daemon, const std::string& target, std::size_t limit, Take take) {
  read_pages_while(daemon, target, {.limit = limit}, [&](const base::Value& item) {
    take(item);
    return true;
  });
}

}  // namespace reeve::client
