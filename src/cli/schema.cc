// schema: the JSON Schema of the records that a command prints.
#include <memory>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/records.h"

namespace longformer::cli {

void add_schema(CLI::App& root, Commands& commands) {
  CLI::App* app =
      root.add_subcommand("schema", "The JSON Schema of the records that a command prints");
  auto command = std::make_shared<std::string>();
  app->add_option("command", *command,
                  "A command that has --json; train prints three kinds of records")
      ->required()
      ->check(CLI::IsMember(commands_with_records()))
      ->type_name("COMMAND");
  commands.add(app, [command] {
    Output output;
    output.line(json_schema(*find_records(*command)).dump(2));
    output.flush();
    return kDone;
  });
}

}  // namespace longformer::cli
