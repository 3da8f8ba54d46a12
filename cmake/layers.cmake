# reeve_layer(NAME [USES layer…] [LIBRARIES target…])
#
# Builds a folder under src/ as the static library `reeve_NAME`: its .cpp files without their tests, which become part
# of the unit test program. USES names the layers whose headers it includes (the house tests compare each include with
# the table in docs/ARCHITECTURE.md).
function(reeve_layer name)
  cmake_parse_arguments(layer "" "" "USES;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(TRANSFORM layer_USES PREPEND reeve_)
  if(sources)
    add_library(reeve_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(reeve_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(reeve_${name} ${scope} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(reeve_${name} ${scope} ${layer_USES} ${layer_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY REEVE_LAYERS reeve_${name})
  set_property(GLOBAL APPEND PROPERTY REEVE_UNIT_TESTS ${tests})
endfunction()
