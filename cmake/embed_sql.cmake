# reeve_embed_sql(TARGET): the .sql files of src/store as C++ (embed_sql.py), written when CMake runs; a changed or new
# file makes it run again.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

function(reeve_embed_sql target)
  set(folder ${CMAKE_CURRENT_SOURCE_DIR}/store)
  set(generated ${PROJECT_BINARY_DIR}/generated/store)
  set(program ${PROJECT_SOURCE_DIR}/cmake/embed_sql.py)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/sql/*.sql ${folder}/migrations/*.sql)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files} ${program})
  execute_process(COMMAND ${Python3_EXECUTABLE} ${program} ${folder} ${generated} COMMAND_ERROR_IS_FATAL ANY)
  target_sources(${target} PRIVATE ${generated}/sql.cpp)
  target_include_directories(${target} PUBLIC ${PROJECT_BINARY_DIR}/generated)
endfunction()
