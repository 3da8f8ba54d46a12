#include "store/libpq.h"

#include <dlfcn.h>
#include <string>

#include <fmt/format.h>

#include "base/error.h"

namespace reeve::store {

namespace {

constexpr const char* file_name = "libpq.so.5";

[[noreturn]] void fail() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc has one per thread.
  const char* words = ::dlerror();
  throw base::Error(base::ErrorCode::store_no_libpq,
                    fmt::format("cannot load {} for a PostgreSQL store: {}", file_name, words != nullptr ? words : "?"),
                    "install it (Debian: apt install libpq5)");
}

Libpq load() {
  // Never closed: sessions may live as long as the program.
  void* library = ::dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail();
  Libpq functions;
#define REEVE_LIBPQ_LOAD(name)                                                          \
  functions.name = reinterpret_cast<decltype(functions.name)>(::dlsym(library, #name)); \
  if (functions.name == nullptr) fail()
  REEVE_LIBPQ_FUNCTIONS(REEVE_LIBPQ_LOAD);
#undef REEVE_LIBPQ_LOAD
  return functions;
}

}  // namespace

const Libpq& libpq() {
  static const Libpq functions = load();
  return functions;
}

}  // namespace reeve::store
