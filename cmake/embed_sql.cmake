# reeve_embed_sql(TARGET): the .sql files of src/store as C++.
#
# sql/NAME.sql is the statement `Sql::NAME` for both engines; NAME.sqlite.sql and NAME.postgresql.sql are its two texts
# where one does not serve; one alone makes a statement of that engine only. NAME.many.sql does
# the same for many rows at once on PostgreSQL. migrations/NNNN.{sqlite,postgresql}.sql are the migrations in their order.
function(reeve_embed_sql target)
  set(folder ${CMAKE_CURRENT_SOURCE_DIR}/store)
  set(generated ${PROJECT_BINARY_DIR}/generated/store)
  file(GLOB statements CONFIGURE_DEPENDS ${folder}/sql/*.sql)
  file(GLOB migrations CONFIGURE_DEPENDS ${folder}/migrations/*.sql)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${statements} ${migrations})

  set(names)
  foreach(file ${statements})
    get_filename_component(stem ${file} NAME)
    string(REGEX REPLACE "\\..*$" "" stem ${stem})
    list(APPEND names ${stem})
  endforeach()
  list(REMOVE_DUPLICATES names)
  list(SORT names)

  set(enumerators)
  set(rows)
  foreach(name ${names})
    string(APPEND enumerators "  ${name},\n")
    string(APPEND rows "    {\"${name}\"")
    foreach(engine sqlite postgresql)
      set(file ${folder}/sql/${name}.${engine}.sql)
      if(NOT EXISTS ${file})
        set(file ${folder}/sql/${name}.sql)
      endif()
      # A statement may be for one engine alone.
      set(text "")
      if(EXISTS ${file})
        file(READ ${file} text)
      endif()
      string(APPEND rows ",\n     R\"sql(${text})sql\"")
    endforeach()
    set(text "")
    if(EXISTS ${folder}/sql/${name}.many.sql)
      file(READ ${folder}/sql/${name}.many.sql text)
    endif()
    string(APPEND rows ",\n     R\"sql(${text})sql\"},\n")
  endforeach()

  set(steps)
  file(GLOB numbers RELATIVE ${folder}/migrations ${folder}/migrations/*.sqlite.sql)
  list(SORT numbers)
  foreach(file ${numbers})
    string(REGEX REPLACE "\\..*$" "" number ${file})
    math(EXPR count "${number}")
    string(APPEND steps "    {${count}")
    foreach(engine sqlite postgresql)
      file(READ ${folder}/migrations/${number}.${engine}.sql text)
      string(APPEND steps ",\n     R\"sql(${text})sql\"")
    endforeach()
    string(APPEND steps "},\n")
  endforeach()

  file(CONFIGURE OUTPUT ${generated}/sql.h @ONLY CONTENT "#pragma once

#include <span>
#include <string_view>

namespace reeve::store {

// Every statement, by the name of its file in src/store/sql.
enum class Sql {
@enumerators@};

struct SqlText {
  std::string_view name;
  std::string_view sqlite;
  std::string_view postgresql;
  // For PostgreSQL, where it pays: the same for many rows at once, `:rows` being a JSON list of the parameters.
  std::string_view many;
};
std::span<const SqlText> sql_texts() noexcept;
inline const SqlText& text_of(Sql statement) noexcept { return sql_texts()[static_cast<std::size_t>(statement)]; }

struct Migration {
  int number;
  std::string_view sqlite;
  std::string_view postgresql;
};
// In their order, from 1 on.
std::span<const Migration> migrations() noexcept;

}  // namespace reeve::store
")
  file(CONFIGURE OUTPUT ${generated}/sql.cpp @ONLY CONTENT "#include \"store/sql.h\"

namespace reeve::store {
namespace {
constexpr SqlText texts[] = {
@rows@};
constexpr Migration steps[] = {
@steps@};
}  // namespace
std::span<const SqlText> sql_texts() noexcept { return texts; }
std::span<const Migration> migrations() noexcept { return steps; }
}  // namespace reeve::store
")
  target_sources(${target} PRIVATE ${generated}/sql.cpp)
  target_include_directories(${target} PUBLIC ${PROJECT_BINARY_DIR}/generated)
endfunction()
