// The vectors of a collection: fixed-size rows in append-only segment files beside its database,
// read through mappings.
//
// A row has a position, counted from 0 over all segments; segment s holds the positions from
// s * rows_per_segment() on. A segment file is a header of kSegmentHeaderBytes and then its rows.
// All numbers are little endian. Rows:
//   f32   dims x f32
//   f16   dims x IEEE half, rounded to nearest even
//   int8  one f32 `scale`, dims x i8, zeros up to a multiple of 4 bytes. The row stands for
//         scale * i8: i8 = round(v * 127 / max|v|), to nearest even, and scale = |v| / |i8| with
//         Euclidean lengths, so that the row has the direction that rounding left and exactly the
//         length of v. A zero vector has scale 0.
//
// A generation is one set of segment files. Rows are never changed or used again within it, so
// whoever reads sees what it saw when it began; removed vectors leave holes until a new generation
// is written without them. The database says which generation is valid and how many rows of it:
// what a segment has beyond that is left over from a killed writer, and the next one cuts it off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace longformer::io {

enum class VectorKind { kF32, kF16, kInt8 };
std::string_view vector_kind_name(VectorKind kind) noexcept;  // "f32", "f16", "int8"
std::optional<VectorKind> vector_kind_from_name(std::string_view name) noexcept;

inline constexpr size_t kSegmentHeaderBytes = 64;
inline constexpr int64_t kSegmentBytes = int64_t{1} << 28;  // of rows, at most; at least one row

struct VectorLayout {
  VectorKind kind = VectorKind::kInt8;
  int64_t dims = 0;
  int64_t segment_bytes = kSegmentBytes;  // smaller in tests

  int64_t row_bytes() const noexcept;
  int64_t rows_per_segment() const noexcept;
};

// `row` has layout.row_bytes() bytes, `values` layout.dims numbers, all finite.
void encode_vector(const VectorLayout& layout, std::span<const float> values,
                   std::span<std::byte> row);
void decode_vector(const VectorLayout& layout, std::span<const std::byte> row,
                   std::span<float> values);
// False for a row whose scale encode_vector() never writes: negative or not finite. Other kinds
// have none.
bool has_sound_scale(const VectorLayout& layout, const std::byte* row) noexcept;

std::filesystem::path segment_path(const std::filesystem::path& directory, int64_t generation,
                                   int64_t segment);
// Whether a name in the directory of an index is that of a segment file.
bool is_segment_name(std::string_view name) noexcept;
// Removes the segment files of every other generation.
void remove_other_generations(const std::filesystem::path& directory, int64_t generation);

// Appends after the first `rows` rows; what lies behind them is cut off. One writer at a time.
class VectorWriter {
 public:
  // Throws kNotFound for a missing segment, kInvalidFile for a short one or one of another layout.
  VectorWriter(std::filesystem::path directory, const VectorLayout& layout, int64_t generation,
               int64_t rows);
  ~VectorWriter();
  VectorWriter(VectorWriter&&) noexcept;
  VectorWriter& operator=(VectorWriter&&) noexcept;

  int64_t rows() const noexcept;
  // Returns the position.
  int64_t append(std::span<const float> values);
  int64_t append_row(std::span<const std::byte> row);  // as encode_vector() makes it
  // Everything appended so far is on the disk when this returns.
  void sync();
  // Forgets the rows from `rows` on, which nobody refers to.
  void truncate(int64_t rows);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class VectorReader {
 public:
  // Maps the segments that hold the first `rows` rows. Throws kNotFound or kInvalidFile as above.
  VectorReader(const std::filesystem::path& directory, const VectorLayout& layout,
               int64_t generation, int64_t rows);

  const std::filesystem::path& directory() const noexcept { return directory_; }
  const VectorLayout& layout() const noexcept { return layout_; }
  int64_t rows() const noexcept { return rows_; }
  // `count` rows from `position` on, all in one segment: count is at most contiguous(position).
  const std::byte* data(int64_t position) const noexcept;
  int64_t contiguous(int64_t position) const noexcept;
  std::span<const std::byte> row(int64_t position) const noexcept;

 private:
  std::filesystem::path directory_;
  VectorLayout layout_;
  int64_t rows_;
  std::vector<std::shared_ptr<const Storage>> segments_;
};

}  // namespace longformer::io
