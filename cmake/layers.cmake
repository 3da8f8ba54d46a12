# reeve_layer(NAME [USES layer…] [LIBRARIES target…])
#
# A folder under src/ as a static library `reeve_NAME`: its .cpp files without the tests beside them, which become
# part of the unit test program. USES names the layers whose headers it includes (docs/ARCHITECTURE.md has the table,
# the house tests compare each include with it).
function(reeve_layer name)
  cmake_parse_arguments(layer "" "" "USES;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
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
