#include "tests/support/store/faulty_disk.h"

#include <atomic>
#include <cstring>
#include <new>

#include <sqlite3.h>

namespace reeve::testing {

namespace {

std::atomic<bool> is_full = false;
std::atomic<FaultyDisk::Sync> sync_state = FaultyDisk::Sync::works;
std::atomic<std::size_t> sync_count = 0;

// An open file: our header, followed by the real file in the same memory.
struct FaultyFile {
  sqlite3_file base;
  sqlite3_io_methods methods;
  bool is_database;
};

sqlite3_vfs* real_disk() {
  static sqlite3_vfs* const found = ::sqlite3_vfs_find(nullptr);
  return found;
}

sqlite3_file* real_of(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + sizeof(FaultyFile));
}

int write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
  if (is_full) return SQLITE_FULL;
  return real_of(file)->pMethods->xWrite(real_of(file), bytes, count, offset);
}

int sync(sqlite3_file* file, int flags) {
  ++sync_count;
  const FaultyDisk::Sync state = sync_state;
  const bool is_database = reinterpret_cast<FaultyFile*>(file)->is_database;
  const bool breaks =
      state == FaultyDisk::Sync::breaks || (state == FaultyDisk::Sync::breaks_at_checkpoints && is_database);
  if (breaks) return SQLITE_IOERR_FSYNC;
  return real_of(file)->pMethods->xSync(real_of(file), flags);
}

int open(sqlite3_vfs* /*disk*/, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* faulty = new (file) FaultyFile{};
  sqlite3_file* real = real_of(file);
  const int status = real_disk()->xOpen(real_disk(), name, real, flags, out_flags);
  if (status != SQLITE_OK) return status;
  faulty->is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
  sqlite3_io_methods& methods = faulty->methods;
  methods.iVersion = 2;
  methods.xClose = [](sqlite3_file* f) { return real_of(f)->pMethods->xClose(real_of(f)); };
  methods.xRead = [](sqlite3_file* f, void* bytes, int count, sqlite3_int64 at) {
    return real_of(f)->pMethods->xRead(real_of(f), bytes, count, at);
  };
  methods.xWrite = write;
  methods.xTruncate = [](sqlite3_file* f, sqlite3_int64 size) {
    return real_of(f)->pMethods->xTruncate(real_of(f), size);
  };
  methods.xSync = sync;
  methods.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
    return real_of(f)->pMethods->xFileSize(real_of(f), size);
  };
  methods.xLock = [](sqlite3_file* f, int level) { return real_of(f)->pMethods->xLock(real_of(f), level); };
  methods.xUnlock = [](sqlite3_file* f, int level) { return real_of(f)->pMethods->xUnlock(real_of(f), level); };
  methods.xCheckReservedLock = [](sqlite3_file* f, int* held) {
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), held);
  };
  methods.xFileControl = [](sqlite3_file* f, int op, void* arg) {
    return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
  };
  methods.xSectorSize = [](sqlite3_file* f) { return real_of(f)->pMethods->xSectorSize(real_of(f)); };
  methods.xDeviceCharacteristics = [](sqlite3_file* f) {
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
  };
  methods.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** memory) {
    return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, memory);
  };
  methods.xShmLock = [](sqlite3_file* f, int offset, int count, int lock_flags) {
    return real_of(f)->pMethods->xShmLock(real_of(f), offset, count, lock_flags);
  };
  methods.xShmBarrier = [](sqlite3_file* f) { real_of(f)->pMethods->xShmBarrier(real_of(f)); };
  methods.xShmUnmap = [](sqlite3_file* f, int remove) { return real_of(f)->pMethods->xShmUnmap(real_of(f), remove); };
  faulty->base.pMethods = &methods;
  return SQLITE_OK;
}

}  // namespace

std::string FaultyDisk::name() {
  static sqlite3_vfs disk = [] {
    sqlite3_vfs made = *real_disk();
    made.pNext = nullptr;
    made.zName = "faulty";
    made.szOsFile += static_cast<int>(sizeof(FaultyFile));
    made.xOpen = open;
    return made;
  }();
  ::sqlite3_vfs_register(&disk, 0);
  return disk.zName;
}

void FaultyDisk::fill(bool full) { is_full = full; }
void FaultyDisk::set_sync(Sync sync) { sync_state = sync; }

std::size_t FaultyDisk::count_syncs() { return sync_count; }

}  // namespace reeve::testing
