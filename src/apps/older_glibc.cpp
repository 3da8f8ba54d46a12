// Only in the program of the tarball (cmake/packages.cmake), which must run with glibc 2.34: what the static libstdc++
// and libgcc of GCC 12 call, and glibc has only since later versions.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

namespace {

struct Search {
  ElfW(Addr) address;
  dl_find_object* found;
};

// Ends the iteration at the program or library that contains the address.
int find_in(dl_phdr_info* object, std::size_t, void* data) {
  const Search& search = *static_cast<Search*>(data);
  bool contains = false;
  dl_find_object found{};
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const ElfW(Addr) begin = object->dlpi_addr + part.p_vaddr;
    const ElfW(Addr) end = begin + part.p_memsz;
    if (part.p_type == PT_GNU_EH_FRAME) found.dlfo_eh_frame = reinterpret_cast<void*>(begin);
    if (part.p_type != PT_LOAD || search.address < begin || search.address >= end) continue;
    contains = true;
    found.dlfo_map_start = reinterpret_cast<void*>(begin);
    found.dlfo_map_end = reinterpret_cast<void*>(end);
  }
  if (!contains) return 0;
  *search.found = found;
  return 1;
}

}  // namespace

extern "C" {

// Called by std::random_device; in glibc since 2.36.
std::uint32_t arc4random() noexcept;

std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != sizeof number) {
    // As in glibc: there is no way to report a failure, and a number that is not random must not be used.
    if (errno != EINTR) std::abort();
  }
  return number;
}

// Called for each frame when an exception is thrown; in glibc since 2.35. Fills in what libgcc reads.
int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search{reinterpret_cast<ElfW(Addr)>(address), result};
  const bool is_found = ::dl_iterate_phdr(find_in, &search) == 1 && result->dlfo_eh_frame != nullptr;
  return is_found ? 0 : -1;
}

}  // extern "C"
