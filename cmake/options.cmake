# Flags shared by every target: hardening everywhere, warnings as errors for developers, sanitizers on request.
include(CheckCXXCompilerFlag)
include(CheckPIESupported)
check_pie_supported()

# Whoever links the installed library gets the headers and the language, none of our flags.
add_library(longformer_options INTERFACE)
target_compile_features(longformer_options INTERFACE cxx_std_20)
target_include_directories(longformer_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
  $<INSTALL_INTERFACE:include>)
target_compile_options(longformer_options INTERFACE
  $<BUILD_INTERFACE:-Wall> $<BUILD_INTERFACE:-Wextra> $<BUILD_INTERFACE:-Wshadow>
  $<BUILD_INTERFACE:-Wnon-virtual-dtor> $<BUILD_INTERFACE:-Wno-missing-field-initializers>
  $<BUILD_INTERFACE:$<$<CONFIG:Release>:-O2>>)
target_link_options(longformer_options INTERFACE $<BUILD_INTERFACE:-Wl,-z,relro,-z,now>)
if(LONGFORMER_DEVELOPER)
  target_compile_options(longformer_options INTERFACE $<BUILD_INTERFACE:-Werror>)
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
