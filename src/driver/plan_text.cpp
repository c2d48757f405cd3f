#include "driver/plan_text.h"

#include <nlohmann/json.hpp>

#include "support/hash.h"

namespace polyweft {
namespace {

using Json = nlohmann::json;

}  // namespace

std::string question_about(const std::string& what, const Task& task, const Target& target) {
  Hasher out;
  out.field(what).field(task.source_text).field(task.source.name).field(name_of(task.key.cls));
  for (const int64_t value : task.binding) out.field(std::to_string(value));
  out.field(std::to_string(task.key.threads)).field(task.device).field(target.name).field(describe(target));
  return what + " " + hex(out.finish256());
}

std::string key_of(const std::vector<NestTemplate>& templates) {
  Hasher out;
  for (const NestTemplate& each : templates) out.field(each.trace.text());
  return hex(out.finish128());
}

std::string text_of(const Plan& plan) {
  return Json{{"nest", print(plan.nest)}, {"trace", plan.trace}, {"origin", plan.origin}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Plan> plan_from(const std::string& text) {
  const Json kept = Json::parse(text, nullptr, false);
  if (!kept.is_object()) return std::nullopt;
  auto nest = parse_loop_nest(kept.value("nest", ""));
  if (!nest) return std::nullopt;
  return Plan{std::move(*nest), kept.value("trace", ""), kept.value("origin", "")};
}

std::string text_of(const std::vector<Candidate>& candidates) {
  Json out = Json::array();
  for (const Candidate& each : candidates)
    out.push_back({each.sketch, each.decisions, each.predicted_ns, each.nest_hash});
  return out.dump();
}

std::optional<std::vector<Candidate>> candidates_from(const std::string& text,
                                                      const std::vector<NestTemplate>& templates) {
  try {
    std::vector<Candidate> out;
    for (const Json& each : Json::parse(text)) {
      Candidate made{each.at(0), each.at(1), each.at(2), each.at(3)};
      if (made.sketch >= templates.size() || made.decisions.size() != templates[made.sketch].trace.decisions.size())
        return std::nullopt;
      out.push_back(std::move(made));
    }
    return out;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace polyweft
