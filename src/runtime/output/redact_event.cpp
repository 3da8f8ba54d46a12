#include "runtime/output/redact_event.h"

#include <variant>

namespace reeve::runtime {

namespace {

class EventRedaction {
 public:
  explicit EventRedaction(const base::SecretSet& secrets) : secrets_(secrets) {}

  void operator()(Heartbeat&) const {}
  void operator()(model::Usage&) const {}
  void operator()(ErrorReport& error) const { hide(error.message); }
  void operator()(ToolUseError& error) const {
    hide(error.message);
    hide(error.tool);
    hide(error.call_id);
  }
  void operator()(model::Progress& progress) const { hide(progress.message); }
  void operator()(Report& report) const {
    if (report.data) redact_value(*report.data, secrets_);
  }
  void operator()(ToolCall& call) const {
    hide(call.tool);
    redact_value(call.arguments, secrets_);
    hide(call.id);
  }
  void operator()(Question& question) const {
    hide(question.question);
    for (model::ApprovalOption& option : question.options) {
      hide(option.value);
      hide(option.label);
    }
    hide(question.default_value);
    hide(question.tool_ref);
  }

 private:
  void hide(std::string& text) const { text = base::redact(secrets_, text); }
  void hide(std::optional<std::string>& text) const {
    if (text) hide(*text);
  }

  const base::SecretSet& secrets_;
};

}  // namespace

void redact_value(base::Value& value, const base::SecretSet& secrets) {
  if (const std::string* text = value.as_string()) {
    value = base::Value::string(base::redact(secrets, *text));
  } else if (base::Value::Array* array = value.as_array()) {
    for (base::Value& element : *array) redact_value(element, secrets);
  } else if (base::Value::Object* object = value.as_object()) {
    for (base::Member& member : *object) {
      member.key = base::redact(secrets, member.key);
      redact_value(member.value, secrets);
    }
  }
}

void redact_event(ToolEvent& event, const base::SecretSet& secrets) { std::visit(EventRedaction(secrets), event); }

}  // namespace reeve::runtime
