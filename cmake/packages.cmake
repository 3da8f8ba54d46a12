# The programs of the packages (./dev package), which run on other systems than the one that builds them: `reeve-cxx`
# contains the C++ libraries, whose interfaces change with every release of a distribution, and `reeve-all` contains
# every library but libc; the same for `reeve-agent`. Debian has no archives of fmt and simdjson, so they are built from Debian's sources.
set(REEVE_PACKAGE_SOURCES "" CACHE PATH "Folder with the sources of fmt and simdjson, which packaging/sources downloads")

if(REEVE_PACKAGE_SOURCES)
  add_library(reeve_fmt_archive STATIC EXCLUDE_FROM_ALL ${REEVE_PACKAGE_SOURCES}/fmt/src/format.cc
    ${REEVE_PACKAGE_SOURCES}/fmt/src/os.cc)
  target_include_directories(reeve_fmt_archive SYSTEM PRIVATE ${REEVE_PACKAGE_SOURCES}/fmt/include)
  add_library(reeve_simdjson_archive STATIC EXCLUDE_FROM_ALL ${REEVE_PACKAGE_SOURCES}/simdjson/singleheader/simdjson.cpp)
  foreach(name fmt simdjson)
    # Warnings about the code of others help nobody here.
    target_compile_options(reeve_${name}_archive PRIVATE -w)
  endforeach()
endif()

# reeve_library(NAME LANGUAGE TARGET ARCHIVE…): declares `reeve_NAME_library`, which is TARGET in most programs, and the
# archives in those whose property REEVE_ARCHIVES asks for them: `cxx` for libraries in C++, `all` for all of them.
function(reeve_library name language target)
  add_library(reeve_${name}_library INTERFACE)
  if(NOT REEVE_PACKAGE_SOURCES)
    target_link_libraries(reeve_${name}_library INTERFACE ${target})
    return()
  endif()
  set(is_wanted $<STREQUAL:$<TARGET_PROPERTY:REEVE_ARCHIVES>,all>)
  if(language STREQUAL cxx)
    set(is_wanted $<BOOL:$<TARGET_PROPERTY:REEVE_ARCHIVES>>)
  endif()
  target_link_libraries(reeve_${name}_library INTERFACE $<$<NOT:${is_wanted}>:${target}>)
  foreach(archive ${ARGN})
    if(archive MATCHES "^lib.*\\.a$")
      find_library(REEVE_ARCHIVE_${archive} ${archive} REQUIRED)
      set(archive ${REEVE_ARCHIVE_${archive}})
    endif()
    target_link_libraries(reeve_${name}_library INTERFACE $<${is_wanted}:${archive}>)
  endforeach()
endfunction()

reeve_library(fmt cxx fmt::fmt reeve_fmt_archive)
reeve_library(re2 cxx PkgConfig::re2 libre2.a)
reeve_library(simdjson cxx PkgConfig::simdjson reeve_simdjson_archive)
reeve_library(boost_json cxx Boost::json libboost_json.a libboost_container.a)
reeve_library(fyaml c PkgConfig::fyaml libfyaml.a)
reeve_library(sodium c PkgConfig::sodium libsodium.a)
reeve_library(sqlite c PkgConfig::sqlite libsqlite3.a)
reeve_library(openssl c PkgConfig::openssl libssl.a libcrypto.a)
reeve_library(vterm c PkgConfig::vterm libvterm.a)

# After the layers have been declared.
function(reeve_package_programs)
  if(NOT REEVE_PACKAGE_SOURCES)
    return()
  endif()
  foreach(archives cxx all)
    add_executable(reeve-${archives} EXCLUDE_FROM_ALL apps/reeve.cpp)
    target_link_libraries(reeve-${archives} PRIVATE reeve_cli reeve_server)
    add_executable(reeve-agent-${archives} EXCLUDE_FROM_ALL apps/agent.cpp apps/without_tls.cpp)
    target_link_libraries(reeve-agent-${archives} PRIVATE reeve_adapter)
    foreach(program reeve reeve-agent)
      set_target_properties(${program}-${archives} PROPERTIES REEVE_ARCHIVES ${archives} OUTPUT_NAME ${program}
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_SOURCE_DIR}/build/package/${archives})
      target_link_options(${program}-${archives} PRIVATE -Wl,-z,relro,-z,now)
    endforeach()
  endforeach()
  foreach(program reeve reeve-agent)
    # libstdc++ and libgcc of GCC 12 would need glibc 2.36 for two functions; see there.
    target_sources(${program}-all PRIVATE apps/older_glibc.cpp)
    target_link_options(${program}-all PRIVATE -static-libstdc++ -static-libgcc)
  endforeach()
endfunction()
