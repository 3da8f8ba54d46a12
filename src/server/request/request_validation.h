#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/contract/operations.h"
#include "server/request/exchange.h"

// Rules that apply to every request (UX, "API manners").
namespace reeve::server {

// A problem document.
Response refusal(const base::Error& error);

// The response to a method that the path does not support: 405 with `Allow`; for OPTIONS only `Allow`.
Response answer_to_method(std::string_view method, std::vector<std::string_view> methods);

// Throws `api.unsupported_media_type`: pages of other origins can send forms without a preflight, but not JSON. Bodies
// are not decompressed, so a compressed one is refused rather than misread.
void check_content_type(const Request& request);
// Throws `api.bad_request` for an unknown parameter: if it were ignored, the client would believe it had an effect.
void check_query(const Operation& operation, const Request& request);
// The same for unknown members of the body, according to the schema of the operation.
void check_body(const json::Schemas& schemas, const Operation& operation, const base::Value& body);

// A quoted hash of the response body, which changes whenever the body does.
std::string entity_tag(std::string_view body);
// Whether If-Match or If-None-Match contains the tag; `*` matches any.
bool names_tag(std::string_view header, std::string_view tag);
// Adds an ETag to a 200; answers 304 if the client already has it (If-None-Match).
std::shared_ptr<Responder> tag_answer(std::shared_ptr<Responder> inner, const Request& request);

// The resource of an action: "/api/runs/TR-17" for "/api/runs/TR-17/cancel".
std::string subject_path(std::string_view path);
// Calls `go`, or answers 412 if If-Match names another state of the resource.
void check_precondition(const SharedExchange& exchange, std::function<void()> go);

// A GET on behalf of the same client.
Request make_look_up(const Request& request, std::string path);
// A responder that passes the response to a function instead of sending it.
std::shared_ptr<Responder> capture(std::function<void(Response)> take);

}  // namespace reeve::server
