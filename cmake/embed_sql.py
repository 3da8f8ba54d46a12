#!/usr/bin/env python3
"""Writes the SQL files of src/store as C++: embed_sql.py FOLDER OUTPUT

sql/TABLE.sql holds statements, each under a line `-- name: NAME`, which becomes `Sql::NAME`. `-- name: NAME [sqlite]` and
`[postgresql]` are the two texts of a statement that one text cannot serve; one alone makes a statement of that engine
only. `[many]` does the same for many rows at once on PostgreSQL. migrations/NNNN.{sqlite,postgresql}.sql are the
migrations in their order."""

import pathlib
import re
import sys

KINDS = ("", "sqlite", "postgresql", "many")


def read_statements(folder):
    statements = {}
    for path in sorted(folder.glob("*.sql")):
        before, *parts = re.split(r"(?m)^-- name: ", path.read_text())
        if before.strip():
            sys.exit(f"{path}: the file must begin with `-- name: NAME`")
        for part in parts:
            head, _, text = part.partition("\n")
            found = re.fullmatch(r"(\w+)(?: \[(sqlite|postgresql|many)\])?", head)
            if not found:
                sys.exit(f"{path}: `-- name: {head}` is not a name with an optional [sqlite], [postgresql] or [many]")
            kinds = statements.setdefault(found[1], {})
            if (found[2] or "") in kinds:
                sys.exit(f"{path}: `{head}` occurs twice")
            kinds[found[2] or ""] = text.strip("\n") + "\n"
    return statements


def raw(text):
    return f'R"sql({text})sql"'


def main(folder, output):
    folder, output = pathlib.Path(folder), pathlib.Path(output)
    statements = read_statements(folder / "sql")
    names = sorted(statements)
    rows = []
    for name in names:
        kinds = statements[name]
        texts = [kinds.get(engine, kinds.get("", "")) for engine in ("sqlite", "postgresql")] + [kinds.get("many", "")]
        rows.append(f'    {{"{name}",\n     ' + ",\n     ".join(map(raw, texts)) + "},\n")
    steps = []
    for path in sorted((folder / "migrations").glob("*.sqlite.sql")):
        number = path.name.split(".")[0]
        texts = [(folder / "migrations" / f"{number}.{engine}.sql").read_text() for engine in ("sqlite", "postgresql")]
        steps.append(f"    {{{int(number)},\n     " + ",\n     ".join(map(raw, texts)) + "},\n")
    enumerators = "".join(f"  {name},\n" for name in names)
    write(output / "sql.h", HEADER.replace("@enumerators@", enumerators))
    write(output / "sql.cpp", SOURCE.replace("@rows@", "".join(rows)).replace("@steps@", "".join(steps)))


def write(path, text):
    """Leaves an unchanged file alone, so that its users are not compiled again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


HEADER = """#pragma once

#include <span>
#include <string_view>

namespace reeve::store {

// Every statement, by its name in src/store/sql.
enum class Sql {
@enumerators@};

struct SqlText {
  std::string_view name;
  std::string_view sqlite;
  std::string_view postgresql;
  // Batch form for PostgreSQL, where it is faster: `:rows` is a JSON list of the parameters. May be empty.
  std::string_view many;
};
std::span<const SqlText> sql_texts() noexcept;
inline const SqlText& text_of(Sql statement) noexcept { return sql_texts()[static_cast<std::size_t>(statement)]; }

struct Migration {
  int number;
  std::string_view sqlite;
  std::string_view postgresql;
};
// In order, starting at 1.
std::span<const Migration> migrations() noexcept;

}  // namespace reeve::store
"""

SOURCE = """#include "store/sql.h"

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
"""

if __name__ == "__main__":
    main(*sys.argv[1:])
