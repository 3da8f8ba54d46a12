#pragma once

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "client/daemon.h"

namespace reeve::client {

// Reads a listing page by page, up to `limit` records, and passes each to `take`. `target` ends in `?` or `&`.
template <class Take>
void read_pages(Daemon& daemon, const std::string& target, std::size_t limit, Take take) {
  // The daemon's maximum page size (UX).
  constexpr std::size_t page_size = 500;
  std::string cursor;
  std::size_t taken = 0;
  while (taken < limit) {
    std::string question = fmt::format("{}limit={}", target, std::min(limit - taken, page_size));
    if (!cursor.empty()) question += fmt::format("&cursor={}", encode_part(cursor));
    const base::Value page = daemon.get(question);
    const base::Value* items = page.find("items");
    if (items == nullptr || items->as_array() == nullptr) throw_bad_answer("no `items` in a page");
    for (const base::Value& item : *items->as_array()) take(item);
    taken += items->as_array()->size();
    const base::Value* next = page.find("next_cursor");
    const bool has_more = next != nullptr && next->as_string() != nullptr && !items->as_array()->empty();
    if (!has_more) return;
    cursor = *next->as_string();
  }
}

}  // namespace reeve::client
