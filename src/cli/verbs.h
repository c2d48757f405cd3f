// The verbs: each adds its subcommand to the app and gives the function that runs it.
#pragma once

#include <functional>

#include "options.h"

namespace polyweft::cli {

using Verb = std::function<int()>;

Verb add_check(CLI::App& app);
Verb add_tune(CLI::App& app);
Verb add_measure(CLI::App& app);
Verb add_run(CLI::App& app);
Verb add_build(CLI::App& app);
Verb add_bench(CLI::App& app);
Verb add_show(CLI::App& app);
Verb add_explain(CLI::App& app);
Verb add_db(CLI::App& app);
Verb add_targets(CLI::App& app);
Verb add_config(CLI::App& app);
Verb add_completion(CLI::App& app);
Verb add_man(CLI::App& app);

}  // namespace polyweft::cli
