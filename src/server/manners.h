#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/api.h"
#include "server/operations.h"

// What every request is held to, whatever it asks for (UX, «API manners»).
namespace reeve::server {

// A problem document.
Response refusal(const base::Error& error);

// To a method that this path does not have: 405 with `Allow`; to OPTIONS `Allow` alone.
Response answer_to_method(std::string_view method, std::vector<std::string_view> methods);

// Throws `api.unsupported_media_type`: a page of another origin can send forms without being asked; it cannot send
// JSON. Bodies are not unpacked, so one that is said to be packed is refused rather than read as something else.
void check_content_type(const Request& request);
// Throws `api.bad_request` for a parameter that there is not: one that is passed over would be believed to count.
void check_query(const Operation& operation, const Request& request);
// The same for a member of the body, by the schema of the operation: one that is misspelled would be believed to count.
void check_body(const Operation& operation, const base::Value& body);

// "…" over the bytes of an answer: the same as long as nothing in it has changed.
std::string entity_tag(std::string_view body);
// Whether one of the tags of If-Match or If-None-Match is that; `*` is any.
bool names_tag(std::string_view header, std::string_view tag);
// Puts an ETag on a 200; answers 304 to one who has it already (If-None-Match).
std::shared_ptr<Responder> tag_answer(std::shared_ptr<Responder> inner, const Request& request);

// "/api/runs/TR-17/cancel" is about "/api/runs/TR-17".
std::string subject_path(std::string_view path);
// Calls `go` unless If-Match names another state of what the request acts on: then 412.
void check_precondition(const SharedExchange& exchange, std::function<void()> go);

// A GET of the same client.
Request make_look_up(const Request& request, std::string path);
// A responder that hands the answer on instead of sending it.
std::shared_ptr<Responder> capture(std::function<void(Response)> take);

}  // namespace reeve::server
