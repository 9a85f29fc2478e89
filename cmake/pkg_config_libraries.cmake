# Libraries whose Debian packages have no CMake file of their own, or one that asks for programs we do not use.
find_package(PkgConfig REQUIRED)
function(longformer_pkg_config target module)
  pkg_check_modules(${module} REQUIRED IMPORTED_TARGET ${module})
  add_library(${target} ALIAS PkgConfig::${module})
endfunction()
longformer_pkg_config(libzip::zip libzip)
longformer_pkg_config(pcre2::pcre2_8 libpcre2-8)
longformer_pkg_config(sqlite3::sqlite3 sqlite3)
