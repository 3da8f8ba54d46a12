#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// Values as bytes, one after the other, little endian as the machine is: files and messages never leave it.
namespace reeve::keeper {

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
    for (const std::string& word : words) put(std::string_view(word));
    return *this;
  }
  std::string& bytes() noexcept { return bytes_; }

 private:
  std::string bytes_;
};

// Reads what a Packer wrote. What does not fit gives zeros and empty texts, and is_whole() says so.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) noexcept : rest_(bytes) {}

  template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  Unpacker& get(T& value) {
    value = T{};
    if (rest_.size() < sizeof(T)) return fail();
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return *this;
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
    // Each takes four bytes at least: a count cannot ask for more memory than there are bytes.
    if (count > rest_.size() / sizeof(std::uint32_t)) return fail();
    words.resize(count);
    for (std::string& word : words) get(word);
    return *this;
  }
  // Everything was there, and nothing more.
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
