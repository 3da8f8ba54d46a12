#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/commands/init_files.h"
#include "cli/connect.h"
#include "os/file.h"
#include "project/project.h"
#include "project/trust.h"
#include "spec/config_file.h"

namespace reeve::cli {

namespace {

namespace fs = std::filesystem;

// Trusts exactly the text that this command has written, not later changes to the file.
void trust_own(std::string_view text) {
  const auto parsed =
      spec::parse_config({.project = std::make_shared<const spec::Source>("config.yaml", std::string(text)),
                          .is_trusted = [](const std::string&) { return true; }});
  // A process inside a run cannot trust anything on behalf of the user.
  if (!parsed || is_inside_run()) return;
  try {
    project::record_trust(".", parsed->project_trust().digest);
  } catch (const base::Error&) {
    // The file was written but is not trusted; the next start reports that.
  }
}

bool has_text(const fs::path& path, std::string_view text) {
  try {
    return os::read_file(path, 2 * text.size()) == text;
  } catch (const base::Error&) {
    return false;
  }
}

ExitCode run(const Call& call) {
  refuse_host(call, "init");
  const fs::path folder = ".reeve";
  const auto around = project::find_project("..");
  const bool is_nested = !fs::is_directory(folder) && around.has_value();
  base::Value created = base::Value::array();
  base::Value kept = base::Value::array();
  bool has_own_config = false;
  for (const InitFile& file : init_files()) {
    const fs::path path = folder / file.name;
    // A workflow that cannot run with the roles of the user's config would be no help.
    if (file.needs_config && !has_own_config && !fs::exists(path)) continue;
    os::create_folders(path.parent_path());
    const bool is_new = os::create_file(path, file.text);
    const bool is_config = file.name == "config.yaml";
    if (is_config) has_own_config = is_new || has_text(path, file.text);
    if (is_config && is_new) trust_own(file.text);
    (is_new ? created : kept).as_array()->push_back(base::Value::string(path.string()));
    if (call.is_json) continue;
    if (is_new) {
      fmt::print("{} {}  {}\n", call.out.paint(view::Tint::green, call.out.pick("✓", "+")), path.string(), file.what);
    } else {
      fmt::print("  {}  already exists, kept unchanged\n", path.string());
    }
  }
  if (call.is_json) {
    base::Value record = base::Value::object();
    record.set("created", std::move(created));
    record.set("kept", std::move(kept));
    print_json(call, record);
    return ExitCode::done;
  }
  if (is_nested) {
    print_aside("note: this folder is inside the project {}; commands run here now use the new project\n",
                base::quoted(around->string()));
  }
  if (!created.as_array()->empty()) print_aside("new to Reeve? `reeve demo` shows what it does in half a minute\n");
  print_next(call, has_own_config ? "reeve flow run hello" : "reeve flow list");
  return ExitCode::done;
}

}  // namespace

Command make_init() {
  return {
      .name = "init",
      .summary = "Set up this folder: a commented config and workflows that run",
      .about =
          R"(Writes `.reeve/config.yaml`, two workflows, schemas for editors and `.reeve/.gitignore`. A script stands
in for the agent, so `reeve flow run hello` runs as it is. Existing files are kept unchanged, so it is safe to run
again; beside a config of your own it writes no workflows. To undo it, remove `.reeve/`.)",
      .examples = {{"reeve init", "in your project folder"},
                   {"reeve flow run hello", "run the first workflow; it asks nothing"}},
      .positionals = {},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
