#include "io/collection/vector_segment.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/limits.h"
#include "io/posix.h"
#include "longformer/error.h"
#include "tensor/dtype.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "LFVECTOR";
constexpr uint32_t kVersion = 1;
constexpr size_t kWriteBytes = 1 << 20;  // gathered before they are written
constexpr std::string_view kPrefix = "vectors-";
constexpr int kInt8Largest = 127;

struct Header {
  std::array<char, 8> magic{};
  uint32_t version = kVersion;
  uint32_t kind = 0;
  int64_t dims = 0;
  int64_t generation = 0;
  int64_t segment = 0;
  std::array<std::byte, 24> unused{};
  bool operator==(const Header&) const = default;
};
static_assert(sizeof(Header) == kSegmentHeaderBytes);

Header header_of(const VectorLayout& layout, int64_t generation, int64_t segment) {
  Header header;
  std::copy(kMagic.begin(), kMagic.end(), header.magic.begin());
  header.kind = static_cast<uint32_t>(layout.kind);
  header.dims = layout.dims;
  header.generation = generation;
  header.segment = segment;
  return header;
}

// Of the first `rows` rows, those in segment `segment`.
int64_t rows_in_segment(const VectorLayout& layout, int64_t rows, int64_t segment) {
  const int64_t full = layout.rows_per_segment();
  return std::clamp(rows - segment * full, int64_t{0}, full);
}

int64_t segments_of(const VectorLayout& layout, int64_t rows) {
  const int64_t full = layout.rows_per_segment();
  return rows / full + (rows % full != 0);
}

int64_t bytes_of(const VectorLayout& layout, int64_t rows) {
  return static_cast<int64_t>(kSegmentHeaderBytes) + rows * layout.row_bytes();
}

[[noreturn]] void fail_damaged(const fs::path& path, const std::string& what) {
  throw Error(ErrorCode::kInvalidFile, what + "; build the index anew with --rebuild",
              path.string());
}

void check_layout(const VectorLayout& layout, int64_t rows, const fs::path& place) {
  if (layout.dims < 1 || layout.dims > kMaxHidden || rows < 0 || rows > kMaxCollectionPassages) {
    fail_damaged(place, "vectors of " + std::to_string(layout.dims) + " numbers, " +
                            std::to_string(rows) + " of them, are out of range");
  }
}

void check_segment(const fs::path& path, std::span<const std::byte> bytes, const Header& expected,
                   int64_t needed) {
  Header header;
  if (bytes.size() < sizeof header) fail_damaged(path, "is cut short");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != expected.magic) fail_damaged(path, "is not a vector segment");
  if (!(header == expected)) fail_damaged(path, "does not belong to its index");
  if (static_cast<int64_t>(bytes.size()) < needed) fail_damaged(path, "is cut short");
}

void encode_int8(std::span<const float> values, std::span<std::byte> row) {
  double largest = 0;
  double square = 0;
  for (const float value : values) {
    const double v = static_cast<double>(value);
    largest = std::max(largest, std::abs(v));
    square += v * v;
  }
  std::fill(row.begin(), row.end(), std::byte{0});
  if (largest == 0) return;
  int64_t integer_square = 0;
  std::byte* out = row.data() + sizeof(float);
  for (const float value : values) {
    // nearbyint rounds to even in the default rounding mode, which nothing here changes.
    const auto q =
        static_cast<int8_t>(std::nearbyint(static_cast<double>(value) * kInt8Largest / largest));
    integer_square += int64_t{q} * q;
    std::memcpy(out++, &q, 1);
  }
  const auto scale = static_cast<float>(std::sqrt(square / static_cast<double>(integer_square)));
  std::memcpy(row.data(), &scale, sizeof scale);
}

void write_at(int file, const char* bytes, size_t size, int64_t offset, const fs::path& path) {
  while (size > 0) {
    const ssize_t written = pwrite(file, bytes, size, static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      throw Error(ErrorCode::kIo, "cannot be written: " + system_reason(errno), path.string());
    }
    bytes += written;
    size -= static_cast<size_t>(written);
    offset += written;
  }
}

}  // namespace

std::string_view vector_kind_name(VectorKind kind) noexcept {
  switch (kind) {
    case VectorKind::kF32:
      return "f32";
    case VectorKind::kF16:
      return "f16";
    case VectorKind::kInt8:
      return "int8";
  }
  return "";
}

std::optional<VectorKind> vector_kind_from_name(std::string_view name) noexcept {
  for (const VectorKind kind : {VectorKind::kF32, VectorKind::kF16, VectorKind::kInt8}) {
    if (vector_kind_name(kind) == name) return kind;
  }
  return std::nullopt;
}

int64_t VectorLayout::row_bytes() const noexcept {
  switch (kind) {
    case VectorKind::kF32:
      return 4 * dims;
    case VectorKind::kF16:
      return 2 * dims;
    case VectorKind::kInt8:
      return 4 + (dims + 3) / 4 * 4;
  }
  return 0;
}

int64_t VectorLayout::rows_per_segment() const noexcept {
  return std::max<int64_t>(1, segment_bytes / row_bytes());
}

void encode_vector(const VectorLayout& layout, std::span<const float> values,
                   std::span<std::byte> row) {
  switch (layout.kind) {
    case VectorKind::kF32:
      std::memcpy(row.data(), values.data(), values.size_bytes());
      return;
    case VectorKind::kF16:
      for (size_t i = 0; i < values.size(); ++i) {
        const uint16_t half = f32_to_f16(values[i]);
        std::memcpy(row.data() + 2 * i, &half, sizeof half);
      }
      return;
    case VectorKind::kInt8:
      encode_int8(values, row);
      return;
  }
}

void decode_vector(const VectorLayout& layout, std::span<const std::byte> row,
                   std::span<float> values) {
  switch (layout.kind) {
    case VectorKind::kF32:
      std::memcpy(values.data(), row.data(), values.size_bytes());
      return;
    case VectorKind::kF16:
      for (size_t i = 0; i < values.size(); ++i) {
        uint16_t half;
        std::memcpy(&half, row.data() + 2 * i, sizeof half);
        values[i] = f16_to_f32(half);
      }
      return;
    case VectorKind::kInt8: {
      float scale;
      std::memcpy(&scale, row.data(), sizeof scale);
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = scale * static_cast<float>(static_cast<int8_t>(row[sizeof scale + i]));
      }
      return;
    }
  }
}

bool has_sound_scale(const VectorLayout& layout, const std::byte* row) noexcept {
  if (layout.kind != VectorKind::kInt8) return true;
  float scale;
  std::memcpy(&scale, row, sizeof scale);
  return scale >= 0 && std::isfinite(scale);
}

fs::path segment_path(const fs::path& directory, int64_t generation, int64_t segment) {
  return directory / (std::string(kPrefix) + std::to_string(generation) + "-" +
                      std::to_string(segment) + ".bin");
}

bool is_segment_name(std::string_view name) noexcept {
  const auto digits = [&] {
    const size_t count = std::min(name.find_first_not_of("0123456789"), name.size());
    name.remove_prefix(count);
    return count > 0;
  };
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  if (!digits() || !name.starts_with('-')) return false;
  name.remove_prefix(1);
  return digits() && name == ".bin";
}

void remove_other_generations(const fs::path& directory, int64_t generation) {
  const std::string kept = std::string(kPrefix) + std::to_string(generation) + "-";
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (is_segment_name(name) && !name.starts_with(kept)) old.push_back(entry->path());
  }
  for (const fs::path& path : old) fs::remove(path, error);
}

struct VectorWriter::Impl {
  fs::path directory;
  VectorLayout layout;
  int64_t generation = 0;
  int64_t rows = 0;
  int64_t written = 0;  // of them; the rest is in `pending`
  std::vector<std::byte> pending;
  FileDescriptor file;  // of the segment that holds row `written`; none yet: -1
  int64_t segment = -1;

  fs::path path() const { return segment_path(directory, generation, segment); }

  // Opens the segment of row `written`, made where it is new.
  void open_segment() {
    segment = written / layout.rows_per_segment();
    file = FileDescriptor(
        open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
    if (file.get() < 0) throw_system(errno, path().string());
    struct stat status;
    if (fstat(file.get(), &status) != 0) throw_system(errno, path().string());
    if (!S_ISREG(status.st_mode)) fail_damaged(path(), "is not a regular file");
    const int64_t before = rows_in_segment(layout, written, segment);
    const Header expected = header_of(layout, generation, segment);
    if (before == 0) {
      if (ftruncate(file.get(), 0) != 0) throw_system(errno, path().string());
      write_at(file.get(), reinterpret_cast<const char*>(&expected), sizeof expected, 0, path());
      sync_path(directory);
      return;
    }
    Header header;
    read_some(file.get(), reinterpret_cast<char*>(&header), sizeof header, path().string());
    const auto size = static_cast<size_t>(status.st_size);
    check_segment(path(),
                  {reinterpret_cast<const std::byte*>(&header), std::min(size, sizeof header)},
                  expected, 0);
    const int64_t needed = bytes_of(layout, before);
    if (status.st_size < needed) fail_damaged(path(), "is cut short");
    if (ftruncate(file.get(), static_cast<off_t>(needed)) != 0) {
      throw_system(errno, path().string());
    }
  }

  void flush() {
    const auto row_bytes = static_cast<size_t>(layout.row_bytes());
    size_t done = 0;
    while (done < pending.size()) {
      const int64_t wanted = written / layout.rows_per_segment();
      if (wanted != segment) {
        if (segment >= 0) sync_file();
        open_segment();
      }
      const int64_t before = rows_in_segment(layout, written, segment);
      const auto room = static_cast<size_t>(layout.rows_per_segment() - before) * row_bytes;
      const size_t size = std::min(room, pending.size() - done);
      write_at(file.get(), reinterpret_cast<const char*>(pending.data()) + done, size,
               bytes_of(layout, before), path());
      done += size;
      written += static_cast<int64_t>(size / row_bytes);
    }
    pending.clear();
  }

  void sync_file() {
    if (fdatasync(file.get()) != 0) {
      throw Error(ErrorCode::kIo, "cannot be written: " + system_reason(errno), path().string());
    }
  }

  // Closes the current segment and removes what lies behind the last row.
  void cut() {
    pending.clear();
    file.close();
    segment = -1;
    for (int64_t next = segments_of(layout, written);; ++next) {
      if (unlink(segment_path(directory, generation, next).c_str()) != 0) break;
    }
    if (rows_in_segment(layout, written, written / layout.rows_per_segment()) > 0) open_segment();
  }
};

VectorWriter::VectorWriter(fs::path directory, const VectorLayout& layout, int64_t generation,
                           int64_t rows)
    : impl_(std::make_unique<Impl>()) {
  const VectorReader check(directory, layout, generation, rows);  // throws for what is broken
  impl_->directory = std::move(directory);
  impl_->layout = layout;
  impl_->generation = generation;
  impl_->rows = impl_->written = rows;
  impl_->cut();
}

VectorWriter::~VectorWriter() = default;
VectorWriter::VectorWriter(VectorWriter&&) noexcept = default;
VectorWriter& VectorWriter::operator=(VectorWriter&&) noexcept = default;

int64_t VectorWriter::rows() const noexcept { return impl_->rows; }

int64_t VectorWriter::append(std::span<const float> values) {
  std::vector<std::byte>& pending = impl_->pending;
  const auto row_bytes = static_cast<size_t>(impl_->layout.row_bytes());
  pending.resize(pending.size() + row_bytes);
  encode_vector(impl_->layout, values, std::span(pending).last(row_bytes));
  if (pending.size() >= kWriteBytes) impl_->flush();
  return impl_->rows++;
}

int64_t VectorWriter::append_row(std::span<const std::byte> row) {
  impl_->pending.insert(impl_->pending.end(), row.begin(), row.end());
  if (impl_->pending.size() >= kWriteBytes) impl_->flush();
  return impl_->rows++;
}

void VectorWriter::sync() {
  impl_->flush();
  if (impl_->segment >= 0) impl_->sync_file();
}

void VectorWriter::truncate(int64_t rows) {
  if (rows > impl_->written) impl_->flush();
  impl_->rows = impl_->written = rows;
  impl_->cut();
}

VectorReader::VectorReader(const fs::path& directory, const VectorLayout& layout,
                           int64_t generation, int64_t rows)
    : directory_(directory), layout_(layout), rows_(rows) {
  check_layout(layout, rows, directory);
  for (int64_t segment = 0; segment < segments_of(layout, rows); ++segment) {
    const fs::path path = segment_path(directory, generation, segment);
    segments_.push_back(map_file(path));
    check_segment(path, segments_.back()->bytes(), header_of(layout, generation, segment),
                  bytes_of(layout, rows_in_segment(layout, rows, segment)));
  }
}

const std::byte* VectorReader::data(int64_t position) const noexcept {
  const int64_t full = layout_.rows_per_segment();
  return segments_[static_cast<size_t>(position / full)]->bytes().data() +
         bytes_of(layout_, position % full);
}

int64_t VectorReader::contiguous(int64_t position) const noexcept {
  const int64_t full = layout_.rows_per_segment();
  return std::min(rows_ - position, full - position % full);
}

std::span<const std::byte> VectorReader::row(int64_t position) const noexcept {
  return {data(position), static_cast<size_t>(layout_.row_bytes())};
}

}  // namespace longformer::io
