// Pickles, zip archives and PyTorch files made byte by byte, right or wrong on purpose.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace longformer::io {

inline std::string little_endian(uint64_t value, size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size && i < 8; ++i) {
    bytes[i] = static_cast<char>(value >> (8 * i) & 0xFF);
  }
  return bytes;
}

inline std::string floats(const std::vector<float>& values) {
  std::string bytes(4 * values.size(), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// --- pickle programs ---

inline std::string proto() { return "\x80\x02"; }
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string text(const std::string& value) {
  return "X" + little_endian(value.size(), 4) + value;
}
inline std::string integer(int64_t value) {
  if (value >= 0 && value < 256) return "K" + little_endian(static_cast<uint64_t>(value), 1);
  return "\x8A\x08" + little_endian(static_cast<uint64_t>(value), 8);
}
inline std::string tuple(const std::vector<int64_t>& values) {
  std::string program = "(";
  for (const int64_t value : values) program += integer(value);
  return program + "t";
}
inline std::string storage(const std::string& type, const std::string& key, int64_t elements,
                           const std::string& more = "") {
  return "(" + text("storage") + global("torch", type) + text(key) + text("cpu") +
         integer(elements) + more + "tQ";
}
// Leaves a tensor on the stack.
inline std::string tensor(const std::string& of, int64_t offset, const std::string& sizes,
                          const std::string& strides) {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + of + integer(offset) + sizes +
         strides + "\x89" + global("collections", "OrderedDict") + ")RtR";
}
// A dictionary of values that are on the stack one after the other.
inline std::string dictionary(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string program = "}(";
  for (const auto& [key, value] : items) program += text(key) + value;
  return program + "u";
}
inline std::string finish(const std::string& program) { return proto() + program + "."; }

// A state dict with one tensor "w" of 6 floats.
inline std::string one_tensor(int64_t offset = 0, const std::vector<int64_t>& sizes = {2, 3},
                              const std::vector<int64_t>& strides = {3, 1},
                              const std::string& type = "FloatStorage", int64_t elements = 6) {
  return finish(dictionary(
      {{"w", tensor(storage(type, "0", elements), offset, tuple(sizes), tuple(strides))}}));
}

// --- zip archives ---

struct ZipFile {
  std::string name;
  std::string bytes;
  uint16_t method = 0;
  uint16_t flags = 0;
  bool wide = false;    // sizes in a Zip64 field
  uint64_t packed = 0;  // 0: as many as there are bytes
  uint64_t plain = 0;
  uint64_t local_size = 0;  // 0: as in the directory
  std::string local_name;   // empty: the same
};

struct ZipOptions {
  bool wide_end = false;
  std::string comment;
};

inline std::string zip_bytes(const std::vector<ZipFile>& files, const ZipOptions& options = {}) {
  std::string archive, directory;
  for (const ZipFile& file : files) {
    const uint64_t plain = file.plain ? file.plain : file.bytes.size();
    const uint64_t packed = file.packed ? file.packed : file.bytes.size();
    const uint64_t local = file.local_size ? file.local_size : plain;
    const uint64_t begin = archive.size();
    const bool streamed = (file.flags & 8) != 0;
    const std::string local_name = file.local_name.empty() ? file.name : file.local_name;
    const std::string common = little_endian(file.flags, 2) + little_endian(file.method, 2) +
                               little_endian(0, 8);  // time, date, check sum
    std::string local_extra, central_extra;
    if (file.wide) {
      central_extra = little_endian(1, 2) + little_endian(16, 2) + little_endian(plain, 8) +
                      little_endian(packed, 8);
      local_extra = little_endian(1, 2) + little_endian(16, 2) + little_endian(local, 8) +
                    little_endian(local, 8);
    }
    // Some padding, as PyTorch aligns its data with a field "FB".
    local_extra += "FB" + little_endian(3, 2) + "ZZZ";
    const auto sizes = [&](uint64_t a, uint64_t b) {
      return file.wide ? std::string(8, '\xFF') : little_endian(a, 4) + little_endian(b, 4);
    };
    archive += "PK\x03\x04" + little_endian(45, 2) + common +
               (streamed ? std::string(8, '\0') : sizes(file.local_size ? local : packed, local)) +
               little_endian(local_name.size(), 2) + little_endian(local_extra.size(), 2) +
               local_name + local_extra + file.bytes;
    if (streamed) archive += "PK\x07\x08" + little_endian(0, 12);
    directory += "PK\x01\x02" + little_endian(45, 2) + little_endian(45, 2) + common +
                 sizes(packed, plain) + little_endian(file.name.size(), 2) +
                 little_endian(central_extra.size(), 2) + little_endian(0, 2 + 2 + 2 + 4) +
                 little_endian(begin, 4) + file.name + central_extra;
  }
  const uint64_t begin = archive.size();
  const uint64_t count = files.size();
  archive += directory;
  if (options.wide_end) {
    const uint64_t end = archive.size();
    archive += "PK\x06\x06" + little_endian(44, 8) + little_endian(45, 4) + little_endian(0, 8) +
               little_endian(count, 8) + little_endian(count, 8) +
               little_endian(directory.size(), 8) + little_endian(begin, 8);
    archive += "PK\x06\x07" + little_endian(0, 4) + little_endian(end, 8) + little_endian(1, 4);
    archive += "PK\x05\x06" + little_endian(0, 4) + std::string(12, '\xFF');
  } else {
    archive += "PK\x05\x06" + little_endian(0, 4) + little_endian(count, 2) +
               little_endian(count, 2) + little_endian(directory.size(), 4) +
               little_endian(begin, 4);
  }
  return archive + little_endian(options.comment.size(), 2) + options.comment;
}

// --- both containers ---

using Storages = std::vector<std::pair<std::string, std::string>>;  // key, bytes

inline std::string torch_zip(const std::string& program, const Storages& storages,
                             const std::string& order = "little") {
  std::vector<ZipFile> files = {{"m/data.pkl", program}, {"m/byteorder", order}};
  for (const auto& [key, bytes] : storages) files.push_back({"m/data/" + key, bytes});
  return zip_bytes(files);
}

// Elements of 4 bytes; a persistent id has six parts in this container.
inline std::string torch_legacy(const std::string& program, const Storages& storages) {
  std::string file = std::string("\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19.", 15) +
                     finish("M\xE9\x03") + finish(dictionary({{"little_endian", "\x88"}})) +
                     program;
  std::string keys = "](", data;
  for (const auto& [key, bytes] : storages) {
    keys += text(key);
    data += little_endian(bytes.size() / 4, 8) + bytes;
  }
  return file + finish(keys + "e") + data;
}

}  // namespace longformer::io
