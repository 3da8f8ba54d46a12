#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "keeper/message.h"
#include "keeper/packing.h"
#include "keeper/records.h"
#include "runtime/runs/run_plan.h"

namespace {

using namespace reeve;

// A valid header for arbitrary content: a fuzzer would never find the checksum, and the interesting files are those
// with a valid checksum and invalid content.
std::string sealed(std::uint32_t kind, std::string_view content) {
  std::uint64_t sum = 14695981039346656037ULL;
  for (const char byte : content) sum = (sum ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  keeper::Packer packer;
  packer.put(kind).put(sum);
  return packer.bytes().append(content);
}

constexpr std::uint32_t launch_kind = 0x314c5652;
constexpr std::uint32_t exit_kind = 0x31455652;
constexpr std::uint32_t marker_kind = 0x314d5652;

// A decoded message encodes to the same meaning.
void check_messages(std::string_view bytes) {
  if (const auto message = keeper::decode_to_keeper(bytes)) {
    const std::string again = keeper::encode(*message);
    REEVE_ASSERT(again.size() <= bytes.size());
    const auto decoded = keeper::decode_to_keeper(again);
    REEVE_ASSERT(decoded && keeper::encode(*decoded) == again);
    if (const auto* assign = std::get_if<keeper::Assign>(&*message)) {
      REEVE_ASSERT(assign->mode <= keeper::Assign::Mode::stream);
    }
  }
  if (const auto message = keeper::decode_from_keeper(bytes)) {
    const std::string again = keeper::encode(*message);
    const auto decoded = keeper::decode_from_keeper(again);
    REEVE_ASSERT(decoded && keeper::encode(*decoded) == again);
    if (const auto* prompt = std::get_if<keeper::Prompt>(&*message)) {
      REEVE_ASSERT(prompt->certainty <= keeper::Prompt::Certainty::probable);
    }
  }
}

void check_files(std::string_view bytes) {
  if (const auto record = keeper::decode_exit(bytes)) {
    REEVE_ASSERT(keeper::decode_exit(keeper::encode_exit(*record)) == record);
    REEVE_ASSERT(record->ended_by <= keeper::EndedBy::signal);
  }
  if (const auto marker = keeper::decode_marker(bytes)) {
    const std::string again = keeper::encode_marker(*marker);
    const auto decoded = keeper::decode_marker(again);
    REEVE_ASSERT(decoded && keeper::encode_marker(*decoded) == again);
  }
  if (const auto launch = keeper::decode_launch(bytes)) {
    const std::string again = keeper::encode_launch(*launch);
    const auto decoded = keeper::decode_launch(again);
    REEVE_ASSERT(decoded && keeper::encode_launch(*decoded) == again);
  }
  // What the daemon reads from it after a restart.
  if (const auto plan = runtime::read_plan(bytes)) {
    runtime::make_run(*plan);
    const auto again = runtime::read_plan(keeper::encode_launch(runtime::make_launch(*plan)));
    REEVE_ASSERT(again && again->argv == plan->argv && again->environment == plan->environment);
  }
}

}  // namespace

// Any bytes as a message to or from a keeper, and as the small files of a run: refused, or accepted with one meaning.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_messages(bytes);
  check_files(bytes);
  for (const std::uint32_t kind : {launch_kind, exit_kind, marker_kind}) check_files(sealed(kind, bytes));
  return 0;
}
