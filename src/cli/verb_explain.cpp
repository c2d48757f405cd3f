#include <iostream>
#include <memory>

#include "verbs.h"

namespace polyweft::cli {

Verb add_explain(CLI::App& app) {
  struct Options {
    CommonOptions common;
    std::string code;
  };
  auto options = std::make_shared<Options>();
  options->common.add_to(app);
  app.add_option("CODE", options->code, "A message code, e.g. PW0204")->required();
  return [options] {
    auto text = explain_code(options->code);
    if (!text) return report(fail("PW0007", options->code + ": no such message code", {"codes look like PW0204 and stand at the end of a message"}), options->common);
    if (options->common.json)
      print_json("explain", {{"event", "explain"}, {"code", options->code}, {"text", *text}});
    else
      std::cout << *text << (text->back() == '\n' ? "" : "\n");
    return static_cast<int>(kDone);
  };
}

}  // namespace polyweft::cli
