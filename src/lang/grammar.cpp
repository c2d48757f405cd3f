#include "lang/grammar.h"

#include <limits>

#include "lang/expression_parser.h"
#include "lang/familiar_names.h"

namespace polyweft::lang {
namespace {

bool starts_item(std::string_view word) {
  return word == "in" || word == "const" || word == "let" || word == "out" || word == "combine" || word == "program";
}

class FileParser {
 public:
  FileParser(const Source& source, Reporter& report, Tree& tree)
      : report_(report), tokens_(source, report), expressions_(tokens_, tree), tree_(tree) {}

  void run() {
    if (!tokens_.at("program")) {
      tokens_.error_expected("'program'");
      tokens_.recover([](std::string_view word) { return word == "program"; });
    }
    while (tokens_.at("program") && !report_.full()) program();
  }

 private:
  void program() {
    ProgramSyntax& program = tree_.programs.emplace_back();
    size_t errors = report_.error_count();
    header(program);
    recover_if_failed();
    while (tokens_.kind() != TokenKind::end && !tokens_.at("program") && !report_.full()) {
      item(program);
      if (!tokens_.failed() && tokens_.kind() != TokenKind::end && !at_item_start())
        tokens_.error_expected("an operator or a new item (in, const, combine, let, out)",
                               std::string(remedy_for(tokens_.text())));
      recover_if_failed();
    }
    program.broken = report_.error_count() != errors || report_.full();
  }

  bool at_item_start() const { return tokens_.kind() == TokenKind::keyword && starts_item(tokens_.text()); }

  void recover_if_failed() {
    if (tokens_.failed()) tokens_.recover(starts_item);
  }

  void header(ProgramSyntax& program) {
    tokens_.take("program");
    program.name = expressions_.name("the name of the program");
    tokens_.expect("(");
    if (!tokens_.at(")")) {
      do program.parameters.push_back(parameter());
      while (tokens_.take(","));
    }
    tokens_.expect(")");
    if (!tokens_.take("assume")) return;
    do program.assumptions.push_back(expressions_.condition());
    while (tokens_.take(","));
  }

  ParameterSyntax parameter() {
    ParameterSyntax parameter;
    parameter.is_const = tokens_.take("const");
    parameter.name = expressions_.name("a parameter");
    tokens_.expect("=");
    if (tokens_.kind() != TokenKind::integer) {
      tokens_.error_expected("an integer");
      return parameter;
    }
    auto value = integer_value(std::string(tokens_.text()));
    if (parameter.is_const && (!value || *value > static_cast<uint64_t>(kMaxInteger)))
      tokens_.error("PW0807", tokens_.extent(), parameter.name.text + ": the value is above 2^40");
    if (!parameter.is_const && (!value || *value > static_cast<uint64_t>(kMaxSize)))
      tokens_.error("PW0809", tokens_.extent(), parameter.name.text + ": the value is above 2^31 - 1");
    parameter.value = static_cast<int64_t>(value.value_or(1));
    tokens_.advance();
    return parameter;
  }

  void item(ProgramSyntax& program) {
    ItemSyntax item{};
    if (tokens_.at("in") || (tokens_.at("const") && tokens_.text_ahead(1) == "in")) {
      item.kind = ItemSyntax::Kind::input;
      item.input = input();
    } else if (tokens_.at("const")) {
      item.kind = ItemSyntax::Kind::constant;
      item.constant = constant();
    } else if (tokens_.at("combine")) {
      item.kind = ItemSyntax::Kind::combiner;
      item.combiner = combiner();
    } else if (tokens_.at("let") || tokens_.at("out")) {
      item.kind = ItemSyntax::Kind::equation;
      item.equation = equation();
    } else {
      return tokens_.error_expected("an item (in, const, combine, let, out)");
    }
    if (!tokens_.failed()) program.items.push_back(std::move(item));
  }

  std::vector<Node*> shape() {
    std::vector<Node*> extents;
    if (!tokens_.take("[")) return extents;
    do extents.push_back(expressions_.sum());
    while (tokens_.take(","));
    tokens_.expect("]");
    return extents;
  }

  InputSyntax input() {
    InputSyntax input;
    input.is_const = tokens_.take("const");
    tokens_.expect("in");
    input.name = expressions_.name("the name of an input");
    tokens_.expect(":");
    input.type = expressions_.type();
    input.shape = shape();
    if (tokens_.take("values")) input.values = expressions_.range();
    return input;
  }

  ConstantSyntax constant() {
    ConstantSyntax constant;
    tokens_.take("const");
    constant.name = expressions_.name("the name of a constant");
    tokens_.expect(":");
    constant.type = expressions_.type();
    constant.shape = shape();
    tokens_.expect("=");
    constant.value = expressions_.literal();
    return constant;
  }

  std::vector<NameSyntax> names(const char* what) {
    std::vector<NameSyntax> result;
    if (!tokens_.take("(")) return {expressions_.name(what)};
    do result.push_back(expressions_.name(what));
    while (tokens_.take(","));
    tokens_.expect(")");
    if (result.size() == 1) tokens_.error_expected("',' and a second name");
    return result;
  }

  std::vector<ElementType> types() {
    std::vector<ElementType> result;
    if (!tokens_.take("(")) return {expressions_.type()};
    do result.push_back(expressions_.type());
    while (tokens_.take(","));
    tokens_.expect(")");
    return result;
  }

  std::vector<LiteralSyntax> literals() {
    std::vector<LiteralSyntax> result;
    if (!tokens_.take("(")) return {expressions_.literal()};
    do result.push_back(expressions_.literal());
    while (tokens_.take(","));
    tokens_.expect(")");
    return result;
  }

  CombinerSyntax combiner() {
    CombinerSyntax combiner;
    tokens_.take("combine");
    combiner.name = expressions_.name("the name of the combiner");
    tokens_.expect("(");
    combiner.left = names("a parameter of the combiner");
    tokens_.expect(",");
    combiner.right = names("a parameter of the combiner");
    tokens_.expect(")");
    tokens_.expect(":");
    combiner.types = types();
    tokens_.expect("from");
    combiner.identity = literals();
    while (tokens_.at("associative") || tokens_.at("commutative")) {
      (tokens_.at("associative") ? combiner.associative : combiner.commutative) = true;
      tokens_.advance();
    }
    tokens_.expect("=");
    combiner.body = expressions_.expression();
    return combiner;
  }

  SlotSyntax slot() {
    SlotSyntax slot;
    if (tokens_.kind_ahead(0) != TokenKind::end && tokens_.text_ahead(1) == ":")
      slot.index = expressions_.index();
    else
      slot.position = expressions_.sum();
    return slot;
  }

  /// "+=" and its like, as other languages write sums.
  void refuse_update() {
    const bool is_update = tokens_.at("+") || tokens_.at("-") || tokens_.at("*") || tokens_.at("/");
    if (!is_update || tokens_.text_ahead(1) != "=") return;
    const std::string sign(tokens_.text());
    const Extent where = tokens_.extent();
    tokens_.error("PW0102", {where.begin, where.end + 1}, "expected '=' but found '" + sign + "='",
                  {"an equation says once what each element is; a sum is = sum[k: K] .., and a recurrence reads other "
                   "elements of its own tensor"});
  }

  EquationSyntax equation() {
    EquationSyntax equation;
    uint32_t begin = tokens_.position();
    equation.is_output = tokens_.at("out");
    tokens_.advance();
    equation.partial = equation.is_output && tokens_.take("partial");
    equation.names = names("the name of a tensor");
    if (tokens_.take("[")) {
      do equation.slots.push_back(slot());
      while (tokens_.take(","));
      tokens_.expect("]");
    }
    if (tokens_.take(":")) equation.types = types();
    if (tokens_.take("where")) equation.where = expressions_.condition();
    equation.left = tokens_.since(begin);
    refuse_update();
    tokens_.expect("=");
    equation.rhs = expressions_.expression();
    return equation;
  }

  Reporter& report_;
  TokenStream tokens_;
  ExpressionParser expressions_;
  Tree& tree_;
};

}  // namespace

Tree parse_syntax(const Source& source, Reporter& report) {
  Tree tree;
  FileParser(source, report, tree).run();
  return tree;
}

std::optional<uint64_t> integer_value(const std::string& digits) {
  bool hex = digits.size() > 2 && digits[1] == 'x';
  uint64_t base = hex ? 16 : 10;
  uint64_t value = 0;
  for (size_t i = hex ? 2 : 0; i < digits.size(); ++i) {
    char c = digits[i];
    if (c == '_') continue;
    auto digit = static_cast<uint64_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    if (value > (std::numeric_limits<uint64_t>::max() - digit) / base) return std::nullopt;
    value = value * base + digit;
  }
  return value;
}

}  // namespace polyweft::lang
