#include "agents/protocol/acp_text.h"

#include <utility>

#include "base/text.h"

namespace reeve::agents {

void AcpText::add(std::string_view id, std::string_view piece, Events& events) {
  if (piece.empty()) return;
  if (!is_whole_ && id != id_) finish(events);
  if (is_whole_) last_.clear();
  is_whole_ = false;
  id_ = id;
  last_ += base::truncate_utf8(piece, max_event_text - last_.size());
  while (!piece.empty()) {
    const std::string_view part = base::truncate_utf8(piece, max_event_text - open_.size());
    open_ += part;
    piece.remove_prefix(part.size());
    if (!piece.empty()) tell(events);
  }
}

void AcpText::finish(Events& events) {
  tell(events);
  is_whole_ = true;
}

std::string AcpText::take_last() { return std::exchange(last_, {}); }

void AcpText::tell(Events& events) {
  const std::string text = std::exchange(open_, {});
  if (!base::trim(text).empty()) events.emplace_back(TextSaid{text});
}

}  // namespace reeve::agents
