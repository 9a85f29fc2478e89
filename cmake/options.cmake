# Flags shared by every target: hardening everywhere, warnings as errors for developers, sanitizers on request.
add_library(longformer_options INTERFACE)
target_include_directories(longformer_options INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_options(longformer_options INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers
  -fstack-protector-strong
  $<$<CONFIG:Release>:-O2>
  $<$<CONFIG:Release>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>
  -D_GLIBCXX_ASSERTIONS)
target_link_options(longformer_options INTERFACE -Wl,-z,relro,-z,now)
if(LONGFORMER_DEVELOPER)
  target_compile_options(longformer_options INTERFACE -Werror)
endif()
if(LONGFORMER_SANITIZE)
  target_compile_options(longformer_options INTERFACE
    -fsanitize=${LONGFORMER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(longformer_options INTERFACE -fsanitize=${LONGFORMER_SANITIZE})
endif()
