#pragma once

#include <libpq-fe.h>

// libpq is loaded when the first PostgreSQL store is opened: linking it would cost every start of the program 4 ms and
// 5 MiB, even with SQLite.
namespace reeve::store {

#define REEVE_LIBPQ_FUNCTIONS(use) \
  use(PQconnectdbParams);          \
  use(PQstatus);                   \
  use(PQerrorMessage);             \
  use(PQfinish);                   \
  use(PQsocket);                   \
  use(PQbackendPID);               \
  use(PQserverVersion);            \
  use(PQsetnonblocking);           \
  use(PQsetNoticeProcessor);       \
  use(PQenterPipelineMode);        \
  use(PQexitPipelineMode);         \
  use(PQpipelineSync);             \
  use(PQsendFlushRequest);         \
  use(PQsendPrepare);              \
  use(PQsendQueryPrepared);        \
  use(PQsendQueryParams);          \
  use(PQgetResult);                \
  use(PQisBusy);                   \
  use(PQflush);                    \
  use(PQconsumeInput);             \
  use(PQnotifies);                 \
  use(PQfreemem);                  \
  use(PQexec);                     \
  use(PQclear);                    \
  use(PQresultStatus);             \
  use(PQresultErrorField);         \
  use(PQntuples);                  \
  use(PQgetvalue);                 \
  use(PQgetlength);                \
  use(PQgetisnull);                \
  use(PQcmdTuples)

struct Libpq {
#define REEVE_LIBPQ_MEMBER(name) decltype (&::name)(name) = nullptr
  REEVE_LIBPQ_FUNCTIONS(REEVE_LIBPQ_MEMBER);
#undef REEVE_LIBPQ_MEMBER
};

// Throws `store.no_libpq` if the library is not installed.
const Libpq& libpq();

}  // namespace reeve::store
