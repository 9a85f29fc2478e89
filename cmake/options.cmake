# Flags shared by every target: hardening everywhere, warnings as errors for developers, sanitizers on request.
include(CheckCXXCompilerFlag)
include(CheckPIESupported)
check_pie_supported()

add_library(longformer_options INTERFACE)
target_include_directories(longformer_options INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_options(longformer_options INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers
  $<$<CONFIG:Release>:-O2>)
target_link_options(longformer_options INTERFACE -Wl,-z,relro,-z,now)
if(LONGFORMER_DEVELOPER)
  target_compile_options(longformer_options INTERFACE -Werror)
endif()

# Run-time checks of the compiler and the standard library, in release builds too. The kernels go without: their sizes
# are checked one level above.
add_library(longformer_hardening INTERFACE)
target_compile_options(longformer_hardening INTERFACE
  -fstack-protector-strong -D_GLIBCXX_ASSERTIONS
  $<$<CONFIG:Release>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
check_cxx_compiler_flag(-fcf-protection LONGFORMER_HAS_CF_PROTECTION)
if(LONGFORMER_HAS_CF_PROTECTION)
  target_compile_options(longformer_hardening INTERFACE -fcf-protection)
endif()

if(LONGFORMER_SANITIZE)
  target_compile_options(longformer_options INTERFACE
    -fsanitize=${LONGFORMER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(longformer_options INTERFACE -fsanitize=${LONGFORMER_SANITIZE})
  if(LONGFORMER_SANITIZE MATCHES undefined AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(longformer_options INTERFACE -fsanitize=float-cast-overflow)
  endif()
endif()
if(LONGFORMER_FUZZ)
  # The library counts its edges; the programs of fuzz/ bring libFuzzer's main().
  target_compile_options(longformer_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
