# longformer_layer(NAME USES <public targets> PRIVATE <hidden targets>)
# One static library from src/NAME/**.cc, called longformer_NAME.
function(longformer_layer name)
  cmake_parse_arguments(ARG "" "" "USES;PRIVATE" ${ARGN})
  set_property(GLOBAL APPEND PROPERTY LONGFORMER_LAYERS ${name})
  # Headers only: whoever links the installed library does not need it.
  list(TRANSFORM ARG_USES REPLACE "^(nlohmann_json::.*)$" "$<BUILD_INTERFACE:\\1>")
  list(TRANSFORM ARG_PRIVATE REPLACE "^(nlohmann_json::.*)$" "$<BUILD_INTERFACE:\\1>")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  if(NOT sources)
    add_library(longformer_${name} INTERFACE)
    target_link_libraries(longformer_${name} INTERFACE longformer_options ${ARG_USES})
    return()
  endif()
  add_library(longformer_${name} STATIC ${sources})
  target_link_libraries(longformer_${name} PUBLIC longformer_options ${ARG_USES} PRIVATE ${ARG_PRIVATE})
  if(NOT name STREQUAL "kernels")
    target_link_libraries(longformer_${name} PRIVATE $<BUILD_INTERFACE:longformer_hardening>)
  endif()
endfunction()

# longformer_tests(NAME LIBRARIES …): one GoogleTest program from the *_test.cc below tests/NAME. Files that end in _slow_test.cc
# become a program of their own, labelled "slow" and not "fast".
function(longformer_tests name)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  file(GLOB_RECURSE fast CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/*_test.cc)
  set(slow ${fast})
  list(FILTER fast EXCLUDE REGEX "_slow_test\\.cc$")
  list(FILTER slow INCLUDE REGEX "_slow_test\\.cc$")
  if(fast)
    longformer_test_program(${name}_test fast SOURCES ${fast} LIBRARIES ${ARG_LIBRARIES})
  endif()
  if(slow)
    longformer_test_program(${name}_slow_test slow SOURCES ${slow} LIBRARIES ${ARG_LIBRARIES})
  endif()
endfunction()

function(longformer_test_program target label)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${target} ${ARG_SOURCES})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE
    LONGFORMER_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
    LONGFORMER_BINARY="$<TARGET_FILE:longformer_cli>")
  target_link_libraries(${target} PRIVATE ${ARG_LIBRARIES} longformer_options longformer_hardening GTest::gtest_main)
  string(REGEX REPLACE "_(slow_)?test$" "" prefix ${target})
  gtest_discover_tests(${target} TEST_PREFIX "${prefix}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${label} TIMEOUT 300)
endfunction()
