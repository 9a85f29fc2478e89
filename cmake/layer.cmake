# longformer_layer(NAME USES <public targets> PRIVATE <hidden targets>)
# One static library from src/NAME/*.cc, called longformer_NAME.
function(longformer_layer name)
  cmake_parse_arguments(ARG "" "" "USES;PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  if(NOT sources)
    add_library(longformer_${name} INTERFACE)
    target_link_libraries(longformer_${name} INTERFACE longformer_options ${ARG_USES})
    return()
  endif()
  add_library(longformer_${name} STATIC ${sources})
  target_link_libraries(longformer_${name} PUBLIC longformer_options ${ARG_USES} PRIVATE ${ARG_PRIVATE})
endfunction()

# longformer_tests(NAME LIBRARIES ...): one GoogleTest program from tests/NAME/*_test.cc.
function(longformer_tests name)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/*_test.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_test ${sources})
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name}_test PRIVATE
    LONGFORMER_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  target_link_libraries(${name}_test PRIVATE ${ARG_LIBRARIES} longformer_options
    GTest::gtest_main)
  gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS fast)
endfunction()
