#pragma once

#include "base/error.h"
#include "base/value.h"
#include "client/http.h"

namespace reeve::client {

// The daemon's no: its problem document as an error, with the document and the status for those who show or map them.
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

// Of an answer with a status from 400 on. One without a problem document is `daemon.bad_answer`.
Refusal make_refusal(const Answer& answer);

}  // namespace reeve::client
