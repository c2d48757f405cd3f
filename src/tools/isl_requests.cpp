#include "tools/isl_requests.h"

#include <isl/version.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "ir/nests/added_instructions.h"
#include "ir/normalize/normalize.h"
#include "ir/oracles/bound_program.h"
#include "lang/parser.h"
#include "poly/band_json.h"
#include "poly/base_nest.h"
#include "poly/check.h"
#include "poly/check/checker.h"
#include "poly/show.h"
#include "support/build_identity.h"

namespace polyweft::tools {
namespace {

using json = nlohmann::json;

json describe(const Diagnostic& d) {
  return {{"severity", d.severity == Severity::error ? "error" : "warning"},
          {"code", d.code},
          {"text", d.text},
          {"line", d.where.line},
          {"column", d.where.column},
          {"length", d.where.length},
          {"notes", d.notes}};
}

json describe(const std::vector<Diagnostic>& list) {
  json out = json::array();
  for (const Diagnostic& d : list) out.push_back(describe(d));
  return out;
}

json refusal(const Error& error) {
  return {{"error",
           {{"code", error.code},
            {"message", error.message},
            {"notes", error.notes},
            {"diagnostics", describe(error.diagnostics)}}}};
}

/// The program that a request is about, at its sizes.
struct Question {
  Question(Program as_parsed, Program at_sizes, NumericsClass of)
      : source(std::move(as_parsed)), program(std::move(at_sizes)), cls(of), bands(program) {}

  const Program source;   ///< as parsed, symbolic
  const Program program;  ///< bound and normalized
  const NumericsClass cls;
  poly::BandAnalyst bands;
};

Result<Program> program_of(const json& request) {
  std::string name = request.at("program");
  auto parsed = lang::parse(request.at("source").get<std::string>(), request.at("file").get<std::string>());
  if (!parsed) return parsed.error();
  for (Program& program : parsed->programs)
    if (program.name == name) return std::move(program);
  return fail("PW0002", "the text has no program " + name);
}

Result<Binding> binding_of(const json& request, const Program& source) {
  std::vector<int64_t> values = request.at("binding").get<std::vector<int64_t>>();
  if (values.size() != source.parameters.size()) return fail("PW0605", "a binding of the wrong length in a request");
  std::map<std::string, int64_t> by_name;
  for (size_t p = 0; p < values.size(); ++p) by_name[source.parameters[p].name] = values[p];
  return make_binding(source, by_name);
}

Result<std::unique_ptr<Question>> parsed_question(const json& request) {
  auto source = program_of(request);
  if (!source) return source.error();
  auto cls = numerics_class_named(request.at("class").get<std::string>());
  if (!cls) return fail("PW0605", "unknown numerics class in a request");
  auto binding = binding_of(request, *source);
  if (!binding) return binding.error();
  Program bound = polyweft::bind(*source, *binding);
  Program program = normalize(bound, *cls);
  return std::make_unique<Question>(*std::move(source), std::move(program), *cls);
}

json described(const poly::CheckReport& report) {
  return json{{"errors", describe(report.errors)}, {"warnings", describe(report.warnings)}};
}

/// For all sizes, for those with some of them given, or at the sizes of a task.
Result<json> check(const json& request) {
  auto program = program_of(request);
  if (!program) return program.error();
  if (request.contains("binding")) {
    auto binding = binding_of(request, *program);
    if (!binding) return binding.error();
    return described(poly::check(polyweft::bind(*program, *binding)));
  }
  const auto sizes = request.contains("sizes") ? request.at("sizes").get<std::map<std::string, int64_t>>()
                                               : std::map<std::string, int64_t>();
  auto binding = make_binding(*program, sizes);
  if (!binding) return binding.error();
  for (VarId p = 0; p < program->parameters.size(); ++p)
    if (sizes.contains(program->parameters[p].name))
      program->assumptions.push_back(guard_eq0(Affine::variable(p) - Affine::of((*binding)[p])));
  return described(poly::check(*program));
}

Result<json> base(Question& question, const json& request) {
  poly::BaseOptions options;
  options.workspace_limit_bytes = request.at("workspace");
  options.leanest = request.value("leanest", false);
  const bool of_bounds = request.value("bounds", false);
  const Program program = of_bounds ? ir::bound_program(question.program, question.cls) : question.program;
  auto nest = poly::base_nest(program, question.cls, options);
  if (!nest) return nest.error();
  return json{{"nest", print(*nest)}};
}

Result<json> symbolic(Question& question, const json&) {
  auto nest = poly::symbolic_nest(normalize(question.source, question.cls), question.cls);
  if (!nest) return nest.error();
  return json{{"nest", print(*nest)}};
}

Result<json> show(Question& question, const json& request) {
  std::string stage = request.at("stage");
  Result<std::string> text = fail("PW0605", "unknown stage " + stage + " in a request");
  if (stage == "scop") text = poly::show_scop(normalize(question.source, question.cls));
  if (stage == "dependences") text = poly::show_dependences(normalize(question.source, question.cls));
  if (stage == "schedule") text = poly::show_schedule(question.program);
  if (!text) return text.error();
  return json{{"text", *text}};
}

Result<json> dependences(Question& question, const json&) {
  auto found = poly::dependences(normalize(question.source, question.cls));
  if (!found) return found.error();
  json out = json::array();
  for (const poly::ShownDependence& d : *found)
    out.push_back({{"kind", d.kind},
                   {"source", d.source},
                   {"sink", d.sink},
                   {"relation", d.relation},
                   {"reducer", d.reducer},
                   {"indices", d.indices}});
  return out;
}

/// "isl-0.25-GMP" and a line end -> "0.25".
std::string isl_release() {
  std::string text = isl_version();
  size_t begin = text.find_first_of("0123456789");
  size_t end = text.find_first_not_of("0123456789.", begin);
  return begin == std::string::npos ? text : text.substr(begin, end - begin);
}

Result<json> prove(Question& question, const json& request) {
  auto nest = parse_loop_nest(request.at("nest").get<std::string>());
  if (!nest) return nest.error();
  poly::NestCheck verdict = poly::check_nest(question.program, *nest);
  if (nest->cls != question.cls)
    return fail("PW0406", "the nest is of class " + std::string(name_of(nest->cls)) + ", not " + name_of(question.cls));
  return json{{"verdict", static_cast<int>(verdict.verdict)},
              {"why", verdict.code.empty() ? verdict.message : verdict.code + ": " + verdict.message},
              {"checker", poly::kCheckerVersion},
              {"isl", isl_release()},
              {"ms", verdict.ms}};
}

Result<json> band(Question& question, const json& request) {
  auto facts = question.bands.facts(poly::question_from(request.at("question")));
  if (!facts) return facts.error();
  return poly::to_json(*facts);
}

Result<json> bands(Question& question, const json&) {
  auto proposals = poly::propose_bands(question.program);
  if (!proposals) return proposals.error();
  json out = json::array();
  for (const poly::BandProposal& proposal : *proposals) out.push_back(poly::to_json(proposal));
  return out;
}

/// Requests about one program follow one another: the last program is kept.
Result<Question*> question_of(const json& request) {
  thread_local std::string text;
  thread_local std::unique_ptr<Question> kept;
  std::string asked;
  for (const char* field : {"source", "file", "program", "class", "binding"}) asked += request.at(field).dump() + '\n';
  if (!kept || text != asked) {
    auto question = parsed_question(request);
    if (!question) return question.error();
    kept = std::move(question).value();
    text = std::move(asked);
  }
  return kept.get();
}

/// Who we are; and what the host knows of instructions beside the library's.
Result<json> hello(const json& request) {
  const auto texts = request.value("instructions", std::vector<std::string>());
  if (auto added = ir::add_instruction_texts(texts); !added) return added.error();
  return json{{"build", build_identity()}};
}

Result<json> answered(const json& request) {
  static const std::map<std::string, Result<json> (*)(Question&, const json&)> kAboutProgram = {
      {"base", base}, {"symbolic", symbolic}, {"show", show},  {"dependences", dependences},
      {"band", band}, {"bands", bands},       {"prove", prove}};
  const std::string op = request.at("op");
  if (op == "hello") return hello(request);
  if (op == "check") return check(request);
  const auto answer = kAboutProgram.find(op);
  if (answer == kAboutProgram.end()) return fail("PW0605", "unknown operation " + op + " in a request");
  auto question = question_of(request);
  if (!question) return question.error();
  return answer->second(**question, request);
}

}  // namespace

std::string answer_isl_request(std::string_view request) {
  try {
    auto result = answered(json::parse(request));
    return (result ? json{{"ok", *result}} : refusal(result.error()))
        .dump(-1, ' ', false, json::error_handler_t::replace);
  } catch (const json::exception& problem) {
    return refusal(fail("PW0605", std::string("malformed request: ") + problem.what()))
        .dump(-1, ' ', false, json::error_handler_t::replace);
  }
}

}  // namespace polyweft::tools
