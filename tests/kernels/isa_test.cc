// LONGFORMER_ISA. It works once a process and before the first product, so each case runs in a
// process of its own.
#include "kernels/isa.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "kernels/gemm.h"
#include "kernels/rowwise.h"
#include "longformer/error.h"

namespace longformer::kernels {
namespace {

// Leaves with 0 and prints the description, or with 3 and prints the error.
[[noreturn]] void describe_with(const char* value) {
  setenv("LONGFORMER_ISA", value, 1);
  try {
    std::cerr << isa_description() << "; " << linear_implementation(16, 384, 384) << "; quantum "
              << row_quantum() << (splits_columns() ? "; ranges" : "; no ranges")
              << (supports(DType::kBF16) ? "; bf16" : "") << (supports(DType::kI8) ? "; int8" : "")
              << "." << std::endl;
    std::_Exit(0);
  } catch (const Error& error) {
    std::cerr << (error.code() == ErrorCode::kInvalidArgument ? "invalid argument: " : "other: ")
              << error.what() << std::endl;
    std::_Exit(3);
  }
}

class Isa : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

using IsaDeathTest = Isa;

TEST_F(IsaDeathTest, UnknownValueNamesTheAllowedOnes) {
  EXPECT_EXIT(describe_with("sse9"), ::testing::ExitedWithCode(3),
              "invalid argument: LONGFORMER_ISA: unknown instruction set; allowed are .*native");
}

TEST_F(IsaDeathTest, NativeAndEmptyChangeNothing) {
  EXPECT_EXIT(describe_with("native"), ::testing::ExitedWithCode(0), "oneDNN .*, Highway ");
  EXPECT_EXIT(describe_with(""), ::testing::ExitedWithCode(0), "oneDNN .*, Highway ");
}

#if defined(__x86_64__)
TEST_F(IsaDeathTest, LimitsBothLibraries) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "needs AVX2";
  EXPECT_EXIT(describe_with("avx2"), ::testing::ExitedWithCode(0),
              "oneDNN avx2, Highway AVX2; .*; quantum 16; no ranges[.]");
  if (!__builtin_cpu_supports("avx512dq")) return;
  EXPECT_EXIT(describe_with("avx512"), ::testing::ExitedWithCode(0),
              "oneDNN avx512_core, Highway AVX3; brg.*; quantum 1; ranges[.]");
  if (!__builtin_cpu_supports("avx512vnni")) return;
  EXPECT_EXIT(describe_with("avx512_vnni"), ::testing::ExitedWithCode(0),
              "oneDNN avx512_core_vnni, Highway AVX3.*; brg.*; quantum 1; ranges; int8[.]");
  if (!__builtin_cpu_supports("avx512bf16")) return;
  EXPECT_EXIT(describe_with("avx512_bf16"), ::testing::ExitedWithCode(0),
              "oneDNN avx512_core_bf16, Highway AVX3.*; brg.*; quantum 1; ranges; bf16; int8[.]");
}
#endif

}  // namespace
}  // namespace longformer::kernels
