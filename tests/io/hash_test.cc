#include "io/hash.h"

#include "io/testing.h"

namespace longformer::io {
namespace {

class Sha256Test : public DirectoryTest {};

// FIPS 180-4, examples.
constexpr const char* kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kOfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kOfMillionA =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST_F(Sha256Test, IsThatOfTheStandard) {
  Sha256 hash;
  hash.update("a");
  hash.update("");
  hash.update("bc");
  EXPECT_EQ(hash.hex(), kOfAbc);
  EXPECT_EQ(Sha256().hex(), kOfNothing);
}

TEST_F(Sha256Test, OfFiles) {
  EXPECT_EQ(sha256_file(put("abc", "abc")), kOfAbc);
  EXPECT_EQ(sha256_file(put("empty", "")), kOfNothing);
  EXPECT_EQ(sha256_file(put("long", std::string(1'000'000, 'a'))), kOfMillionA);
  expect_error(ErrorCode::kNotFound, {"absent"}, [&] { sha256_file(path("absent")); });
  expect_error(ErrorCode::kInvalidFile, {}, [&] { sha256_file(directory_); });
}

}  // namespace
}  // namespace longformer::io
