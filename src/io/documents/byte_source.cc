#include "io/documents/byte_source.h"

#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>
#include <vector>

#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr size_t kHead = 64 << 10;
constexpr std::string_view kGzipMagic = "\x1F\x8B";

}  // namespace

// Expands the gzip members of a source one after the other.
class ExpandedSource::Gunzip {
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

ExpandedSource::ExpandedSource(ByteSource source) : source_(std::move(source)) {
  head_.resize(kHead);
  head_.resize(source_(head_.data(), kHead));
  if (!head_.starts_with(kGzipMagic)) return;
  gunzip_ = std::make_unique<Gunzip>(source_, head_);
  head_.assign(kHead, '\0');
  head_.resize(gunzip_->read(head_.data(), kHead));
}

ExpandedSource::~ExpandedSource() = default;

size_t ExpandedSource::read_behind_head(char* out, size_t size) {
  if (head_.size() < kHead) return 0;  // it ended there
  return gunzip_ ? gunzip_->read(out, size) : source_(out, size);
}

size_t ExpandedSource::read(char* out, size_t size) {
  const size_t from_head = std::min(size, head_.size() - head_read_);
  std::copy_n(head_.data() + head_read_, from_head, out);
  head_read_ += from_head;
  size_t got = from_head;
  if (got < size) got += read_behind_head(out + got, size - got);
  read_ += got;
  if (read_ > limit_) {
    throw Error(ErrorCode::kInvalidFile, "larger than " + std::to_string(limit_) + " bytes" +
                                             (is_gzip() ? " when expanded" : ""));
  }
  return got;
}

bool ExpandedSource::append(std::string& out, size_t size) {
  const size_t end = out.size() + size;
  while (out.size() < end) {
    const size_t done = out.size();
    const size_t block = std::min(end - done, std::clamp<size_t>(done, kHead, size_t{16} << 20));
    out.resize(done + block);
    const size_t got = read(out.data() + done, block);
    out.resize(done + got);
    if (got < block) return false;
  }
  return true;
}

std::string ExpandedSource::read_all() {
  std::string bytes;
  while (append(bytes, size_t{16} << 20)) {
  }
  return bytes;
}

FileDescriptor ExpandedSource::spool() {
  FileDescriptor file(memfd_create("document", MFD_CLOEXEC));
  if (file.get() < 0) throw Error(ErrorCode::kIo, system_reason(errno));
  std::string block(kHead, '\0');
  for (size_t got = kHead; got == kHead;) {
    got = read(block.data(), kHead);
    for (size_t done = 0; done < got;) {
      const ssize_t written = write(file.get(), block.data() + done, got - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw Error(ErrorCode::kIo, system_reason(errno));
      done += static_cast<size_t>(written);
    }
  }
  if (lseek(file.get(), 0, SEEK_SET) != 0) throw Error(ErrorCode::kIo, system_reason(errno));
  return file;
}

}  // namespace longformer::io
