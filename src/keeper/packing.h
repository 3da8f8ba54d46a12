#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

// Serializes values in the machine's byte order (little endian): files and messages never leave the machine.
namespace reeve::keeper {

// A struct that lists its members in the order of their bytes: `static constexpr auto fields = std::tuple(&T::a, …)`.
// An empty struct needs no list.
template <class T>
concept HasFields = std::is_empty_v<T> || requires { T::fields; };

class Packer {
 public:
  template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  Packer& put(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    return *this;
  }
  Packer& put(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  Packer& put(const std::vector<std::string>& words) {
    put(static_cast<std::uint32_t>(words.size()));
    for (const std::string& word : words) put(word);
    return *this;
  }
  // An absent value takes as many bytes as a present one.
  template <class T>
  Packer& put(const std::optional<T>& value) {
    return put(value.has_value()).put(value.value_or(T{}));
  }
  template <HasFields T>
  Packer& put(const T& value) {
    if constexpr (!std::is_empty_v<T>) {
      std::apply([&](auto... field) { (put(value.*field), ...); }, T::fields);
    }
    return *this;
  }
  std::string& bytes() noexcept { return bytes_; }

 private:
  std::string bytes_;
};

// Reads the output of a Packer. Missing or invalid data yields zeros and empty strings, reported by is_whole().
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) noexcept : rest_(bytes) {}

  template <class T>
    requires std::is_integral_v<T>
  Unpacker& get(T& value) {
    value = T{};
    if (rest_.size() < sizeof(T)) return fail();
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return *this;
  }
  Unpacker& get(bool& flag) {
    std::uint8_t byte = 0;
    get(byte);
    flag = byte != 0;
    return *this;
  }
  // Needs a function last_enumerator(T) next to the enum. Unknown enumerators are invalid: their meaning cannot be
  // guessed.
  template <class T>
    requires std::is_enum_v<T>
  Unpacker& get(T& value) {
    std::underlying_type_t<T> number{};
    get(number);
    value = static_cast<T>(number);
    if (value <= last_enumerator(value)) return *this;
    value = T{};
    return fail();
  }
  Unpacker& get(std::string& text) {
    std::uint32_t length = 0;
    get(length);
    text.clear();
    if (rest_.size() < length) return fail();
    text.assign(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return *this;
  }
  Unpacker& get(std::vector<std::string>& words) {
    std::uint32_t count = 0;
    get(count);
    words.clear();
    // Each word takes at least four bytes, so a count cannot allocate more than the input size implies.
    if (count > rest_.size() / sizeof(std::uint32_t)) return fail();
    words.resize(count);
    for (std::string& word : words) get(word);
    return *this;
  }
  template <class T>
  Unpacker& get(std::optional<T>& value) {
    bool has_value = false;
    get(has_value).get(value.emplace());
    if (!has_value) value.reset();
    return *this;
  }
  template <HasFields T>
  Unpacker& get(T& value) {
    if constexpr (!std::is_empty_v<T>) {
      std::apply([&](auto... field) { (get(value.*field), ...); }, T::fields);
    }
    return *this;
  }
  // All data was present, with nothing left over.
  bool is_whole() const noexcept { return is_well_ && rest_.empty(); }

 private:
  Unpacker& fail() noexcept {
    is_well_ = false;
    rest_ = {};
    return *this;
  }
  std::string_view rest_;
  bool is_well_ = true;
};

}  // namespace reeve::keeper
