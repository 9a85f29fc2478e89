#include "io/hash.h"

#include <openssl/evp.h>

#include <array>

#include "io/posix.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

void check(int status) {
  if (status != 1) throw Error(ErrorCode::kInternal, "libcrypto cannot compute SHA-256");
}

}  // namespace

struct Sha256::Impl {
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  ~Impl() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  check(impl_->context != nullptr ? 1 : 0);
  check(EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr));
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::string_view bytes) {
  check(EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size()));
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  check(EVP_DigestFinal_ex(impl_->context, digest.data(), &size));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result;
  for (unsigned i = 0; i < size; ++i) {
    result += kDigits[digest[i] >> 4];
    result += kDigits[digest[i] & 15];
  }
  return result;
}

std::string sha256_file(const std::filesystem::path& path) {
  const std::string place = path.string();
  const FileDescriptor file = open_for_reading(place);
  Sha256 hash;
  std::string block(256 << 10, '\0');
  for (size_t got = block.size(); got == block.size();) {
    got = read_some(file.get(), block.data(), block.size(), place);
    hash.update(std::string_view(block).substr(0, got));
  }
  return hash.hex();
}

}  // namespace longformer::io
