# cmake --install: the command, the static libraries with the public headers, and the files with which CMake and
# pkg-config find them. docs/library.md shows both ways; tests/install_test.py builds with both.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What a user links: the uppermost layer, and through it all others.
add_library(longformer INTERFACE)
target_link_libraries(longformer INTERFACE longformer_tasks)

get_property(layers GLOBAL PROPERTY LONGFORMER_LAYERS)
set(targets longformer longformer_options)
foreach(layer ${layers})
  set_target_properties(longformer_${layer} PROPERTIES EXPORT_NAME ${layer})
  list(APPEND targets longformer_${layer})
endforeach()
set_target_properties(longformer_options PROPERTIES EXPORT_NAME options)
install(TARGETS ${targets} EXPORT longformer ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS longformer_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/longformer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/longformer)
install(EXPORT longformer NAMESPACE longformer:: FILE longformerTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/longformerConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/longformerConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/longformerConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/longformerConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/longformerConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/pkg_config_libraries.cmake DESTINATION ${package_dir})

# pkg-config: a static library needs everything that it uses, in an order that the linker accepts: users first. The
# prefix is found from the file's own place, so that the tree can be moved.
set(pc_libraries "")
list(REVERSE layers)
foreach(layer ${layers})
  get_target_property(type longformer_${layer} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    string(APPEND pc_libraries " -llongformer_${layer}")
  endif()
endforeach()
set(pc_system "")
foreach(library dnnl ${OpenMP_CXX_LIB_NAMES})
  string(APPEND pc_system " -l${library}")
endforeach()
if(LONGFORMER_SANITIZE)
  string(APPEND pc_system " -fsanitize=${LONGFORMER_SANITIZE}")
endif()
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH up /${pc_dir} /)
  set(pc_prefix "\${pcfiledir}/${up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/longformer.pc.in ${CMAKE_CURRENT_BINARY_DIR}/longformer.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/longformer.pc DESTINATION ${pc_dir})
