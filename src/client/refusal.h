#pragma once

#include "base/error.h"
#include "base/value.h"
#include "client/http.h"

namespace reeve::client {

// A refusal by the daemon: its problem document as an error, with the document and the HTTP status.
class Refusal : public base::Error {
 public:
  Refusal(const base::Error& error, int status, base::Value document)
      : Error(error), status_(status), document_(std::move(document)) {}

  int status() const noexcept { return status_; }
  const base::Value& document() const noexcept { return document_; }

 private:
  int status_;
  base::Value document_;
};

// Throws for a response with a status of 400 or more; `daemon.bad_answer` if it has no problem document.
Refusal make_refusal(const Response& answer);

}  // namespace reeve::client
