#include "lang/parser.h"

#include <algorithm>
#include <set>

#include "lang/analyzer.h"
#include "lang/grammar.h"

namespace polyweft::lang {
namespace {

/// Every program carries the text of its file for the messages of later checks; a file of very many programs only while
/// it is cheap.
constexpr size_t kMaxCopiedBytes = size_t{1} << 26;

Error error_of(std::vector<Diagnostic> diagnostics, const std::string& source_name) {
  std::stable_sort(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
  });
  Error error;
  error.code = diagnostics[0].code;
  error.message = diagnostics[0].text;
  error.notes = diagnostics[0].notes;
  error.source_name = source_name;
  error.diagnostics = std::move(diagnostics);
  return error;
}

Error too_long(const std::string& source_name, size_t bytes) {
  Diagnostic diagnostic;
  diagnostic.code = "PW0806";
  diagnostic.text = "the text has " + std::to_string(bytes) + " bytes, more than 1048576";
  diagnostic.where = {1, 1, 1};
  return error_of({diagnostic}, source_name);
}

void report_same_names(const Tree& tree, Reporter& report) {
  std::set<std::string> names;
  for (const ProgramSyntax& each : tree.programs)
    if (!names.insert(each.name.text).second && !each.name.text.empty())
      return report.error("PW0110", each.name.extent, "there are two programs named " + each.name.text);
}

}  // namespace

Result<Parsed> parse(const std::string& text, const std::string& source_name) {
  if (text.size() > kMaxSourceBytes) return too_long(source_name, text.size());
  Source source(source_name, text);
  Reporter report(source);
  Tree tree = parse_syntax(source, report);
  report_same_names(tree, report);
  Parsed parsed;
  for (ProgramSyntax& syntax : tree.programs) {
    if (syntax.broken || report.full()) continue;
    Program program = Analyzer(syntax, report).run();
    program.source_name = source_name;
    if ((parsed.programs.size() + 1) * text.size() <= kMaxCopiedBytes) program.source_text = text;
    parsed.programs.push_back(std::move(program));
  }
  if (report.error_count() != 0) return error_of(report.take_errors(), source_name);
  parsed.warnings = report.take_warnings();
  return parsed;
}

}  // namespace polyweft::lang
