#include "io/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr size_t kHead = 64 << 10;
constexpr std::string_view kGzipMagic = "\x1F\x8B";

// Expands the gzip members of a source one after the other.
class Gunzip {
 public:
  Gunzip(const ByteSource& source, std::string_view first) : source_(source), input_(kHead) {
    std::copy(first.begin(), first.end(), input_.begin());
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(first.size());
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) {
      throw Error(ErrorCode::kInternal, "zlib cannot be started");
    }
  }
  ~Gunzip() { inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  size_t read(char* out, size_t size) {
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out != 0 && !done_) {
      if (stream_.avail_in == 0) refill();
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        next_member();
      } else if (status == Z_BUF_ERROR && stream_.avail_in == 0 && ended_) {
        throw Error(ErrorCode::kInvalidFile, "truncated gzip data");
      } else if (status == Z_MEM_ERROR) {
        throw Error(ErrorCode::kIo, "no memory to expand gzip data");
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        throw Error(ErrorCode::kInvalidFile, "damaged gzip data");
      }
    }
    return size - stream_.avail_out;
  }

 private:
  // Moves what is left to the front and reads behind it.
  void refill() {
    if (ended_) return;
    const size_t left = stream_.avail_in;
    std::copy_n(reinterpret_cast<const char*>(stream_.next_in), left, input_.data());
    const size_t got = source_(input_.data() + left, input_.size() - left);
    ended_ = got < input_.size() - left;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(left + got);
  }

  void next_member() {
    if (stream_.avail_in < kGzipMagic.size()) refill();
    const std::string_view rest(reinterpret_cast<const char*>(stream_.next_in), stream_.avail_in);
    if (rest.starts_with(kGzipMagic)) {
      inflateReset(&stream_);
    } else {
      done_ = true;
    }
  }

  const ByteSource& source_;
  std::vector<char> input_;
  z_stream stream_{};
  bool ended_ = false;  // the source has no more
  bool done_ = false;   // the last member is expanded
};

}  // namespace

std::string read_expanded(const ByteSource& source, uint64_t limit,
                          const std::function<void(std::string_view head)>& check_head) {
  std::string head(kHead, '\0');
  head.resize(source(head.data(), kHead));
  const std::unique_ptr<Gunzip> gunzip =
      head.starts_with(kGzipMagic) ? std::make_unique<Gunzip>(source, head) : nullptr;
  const auto read = [&](char* out, size_t size) {
    return gunzip ? gunzip->read(out, size) : source(out, size);
  };

  std::string bytes;
  if (gunzip) {
    bytes.resize(kHead);
    bytes.resize(read(bytes.data(), kHead));
  } else {
    bytes = std::move(head);
  }
  check_head(bytes);
  bool more = bytes.size() == kHead;
  while (more) {
    if (bytes.size() > limit) break;
    const size_t done = bytes.size();
    const size_t block = std::clamp<size_t>(done, kHead, size_t{16} << 20);
    bytes.resize(done + block);
    const size_t got = read(bytes.data() + done, block);
    bytes.resize(done + got);
    more = got == block;
  }
  if (bytes.size() > limit) {
    throw Error(ErrorCode::kInvalidFile, "larger than " + std::to_string(limit) + " bytes" +
                                             (gunzip ? " when expanded" : ""));
  }
  return bytes;
}

}  // namespace longformer::io
