#include "server/resources/event_texts.h"

#include <fmt/format.h>

#include "server/http/websocket.h"

namespace reeve::server {

namespace {

// Appends the remaining members of an object whose first members are already written.
void append_data(std::string& text, std::string_view data) {
  if (data.size() > 2) {
    text += ',';
    text += data.substr(1);
  } else {
    text += '}';
  }
}

// Names are fixed words or were validated on subscription, but a phase may be any text.
std::string quoted_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  text += '"';
  return text;
}

std::string one_line(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return text;
}

}  // namespace

std::string event_line(const ledger::StoredEvent& event, std::string_view name) {
  std::string line = fmt::format(R"({{"event":{},"timestamp":"{}")", quoted_name(name), event.at);
  if (event.seq > 0) line += fmt::format(R"(,"seq":{})", event.seq);
  append_data(line, event.data);
  line += '\n';
  return line;
}

std::string event_frame(const ledger::StoredEvent& event, std::string_view name) {
  std::string text = R"({"type":"event")";
  if (event.seq > 0) text += fmt::format(R"(,"seq":{})", event.seq);
  text += fmt::format(R"(,"event":{},"timestamp":"{}")", quoted_name(name), event.at);
  append_data(text, event.data);
  return text_frame(text);
}

std::string named_event_frame(const ledger::StoredEvent& event, std::string_view name) {
  std::string text = fmt::format(R"({{"type":{})", quoted_name(name));
  if (event.seq > 0) text += fmt::format(R"(,"seq":{})", event.seq);
  text += fmt::format(R"(,"timestamp":"{}")", event.at);
  append_data(text, event.data);
  return text_frame(text);
}

std::string event_message(const ledger::StoredEvent& event, std::string_view name) {
  const std::string id = event.seq > 0 ? fmt::format("id: {}\n", event.seq) : std::string();
  // The line ends in its own newline, and an empty line ends the message.
  return fmt::format("{}event: {}\ndata: {}\n", id, one_line(name), event_line(event, name));
}

}  // namespace reeve::server
