// Programs piece by piece: polyweft::dsl by numbers.
#include <functional>
#include <map>

#include "errors.h"
#include "handles.h"

using namespace polyweft::capi;
using polyweft::dsl::CombinerHandle;
using polyweft::dsl::Element;
using polyweft::dsl::Index;
using polyweft::dsl::ReductionIndices;
using polyweft::dsl::SubscriptArg;
using polyweft::dsl::TensorRef;
using polyweft::dsl::Value;

namespace {

/// An argument that is wrong, in words.
struct Misuse {
  std::string what;
};

/// The number of what `body` makes; 0 and an error where an argument is wrong.
template <class F>
uint32_t made_by(pw_builder* builder, const char* function, const F& body) {
  uint32_t out = 0;
  if (!builder) {
    null_argument("builder");
    return 0;
  }
  guarded([&] {
    try {
      out = body(*builder);
      return PW_OK;
    } catch (const Misuse& wrong) {
      const polyweft::Error error = polyweft::fail("PW0150", std::string(function) + ": " + wrong.what);
      if (!builder->misuse) builder->misuse = error;
      return fail_with(error);
    }
  });
  return out;
}

template <class T>
const T* at_number(const std::vector<T>& all, uint32_t number) {
  return number >= 1 && number <= all.size() ? &all[number - 1] : nullptr;
}
std::string text_or_misuse(const char* text, const char* what) {
  if (!text) throw Misuse{std::string(what) + " is NULL"};
  return text;
}
const pw_builder::Expression& expression(const pw_builder& b, pw_expr number) {
  const auto* found = at_number(b.expressions, number);
  if (!found) throw Misuse{std::to_string(number) + " is no expression of this builder"};
  return *found;
}
Value value_at(const pw_builder& b, pw_expr number) {
  return std::visit([](const auto& each) { return Value(each); }, expression(b, number));
}
const Index& index_at(const pw_builder& b, pw_expr number) {
  const auto* index = std::get_if<Index>(&expression(b, number));
  if (!index) throw Misuse{"expression " + std::to_string(number) + " is no index"};
  return *index;
}
Element element_at(const pw_builder& b, pw_expr number, pw_expr guard) {
  const auto* element = std::get_if<Element>(&expression(b, number));
  if (!element) throw Misuse{"expression " + std::to_string(number) + " is no element of a tensor"};
  return guard ? element->where(value_at(b, guard)) : *element;
}
const TensorRef& tensor_at(const pw_builder& b, pw_tensor number) {
  const auto* found = at_number(b.tensors, number);
  if (!found) throw Misuse{std::to_string(number) + " is no tensor of this builder"};
  return *found;
}

template <class T>
void is_list(const T* items, size_t count, const char* what) {
  if (count > 0 && !items) throw Misuse{std::string(what) + " is NULL"};
}
std::vector<Value> values_at(const pw_builder& b, const pw_expr* numbers, size_t count, const char* what) {
  is_list(numbers, count, what);
  std::vector<Value> out;
  for (size_t i = 0; i < count; ++i) out.push_back(value_at(b, numbers[i]));
  return out;
}
ReductionIndices indices_at(const pw_builder& b, const pw_expr* numbers, size_t count, pw_expr guard) {
  is_list(numbers, count, "indices");
  std::vector<Index> indices;
  for (size_t i = 0; i < count; ++i) indices.push_back(index_at(b, numbers[i]));
  const ReductionIndices all(std::move(indices));
  return guard ? all.where(value_at(b, guard)) : all;
}
polyweft::ElementType type_at(const char* name) {
  const auto type = polyweft::element_type_named(text_or_misuse(name, "type"));
  if (!type) throw Misuse{"there is no type '" + std::string(name) + "'"};
  return *type;
}

pw_expr add(pw_builder& b, pw_builder::Expression expression) {
  b.expressions.push_back(std::move(expression));
  return static_cast<pw_expr>(b.expressions.size());
}
pw_tensor add(pw_builder& b, TensorRef tensor) {
  b.tensors.push_back(std::move(tensor));
  return static_cast<pw_tensor>(b.tensors.size());
}

using Unary = Value (*)(const Value&);
using Binary = Value (*)(const Value&, const Value&);
const std::map<std::string, Unary>& unary_operators() {
  using namespace polyweft::dsl;
  static const std::map<std::string, Unary> all = {
      {"-", [](const Value& a) { return -a; }},
      {"not", [](const Value& a) { return !a; }},
      {"~", [](const Value& a) { return ~a; }},
  };
  return all;
}
const std::map<std::string, Binary>& binary_operators() {
  static const std::map<std::string, Binary> all = {
      {"+", [](const Value& a, const Value& b) { return a + b; }},
      {"-", [](const Value& a, const Value& b) { return a - b; }},
      {"*", [](const Value& a, const Value& b) { return a * b; }},
      {"/", [](const Value& a, const Value& b) { return a / b; }},
      {"//", [](const Value& a, const Value& b) { return polyweft::dsl::floor_div(a, b); }},
      {"%", [](const Value& a, const Value& b) { return a % b; }},
      {"&", [](const Value& a, const Value& b) { return a & b; }},
      {"|", [](const Value& a, const Value& b) { return a | b; }},
      {"^", [](const Value& a, const Value& b) { return a ^ b; }},
      {"<<", [](const Value& a, const Value& b) { return a << b; }},
      {">>", [](const Value& a, const Value& b) { return a >> b; }},
      {"==", [](const Value& a, const Value& b) { return a == b; }},
      {"!=", [](const Value& a, const Value& b) { return a != b; }},
      {"<", [](const Value& a, const Value& b) { return a < b; }},
      {"<=", [](const Value& a, const Value& b) { return a <= b; }},
      {">", [](const Value& a, const Value& b) { return a > b; }},
      {">=", [](const Value& a, const Value& b) { return a >= b; }},
      {"and", [](const Value& a, const Value& b) { return a && b; }},
      {"or", [](const Value& a, const Value& b) { return a || b; }},
  };
  return all;
}

/// The name of a function: letters, digits and '_'.
bool is_word(const std::string& name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

Value applied(const std::string& name, const std::vector<Value>& arguments) {
  const auto one = unary_operators().find(name);
  if (one != unary_operators().end() && arguments.size() == 1) return one->second(arguments[0]);
  const auto two = binary_operators().find(name);
  if (two != binary_operators().end() && arguments.size() == 2) return two->second(arguments[0], arguments[1]);
  if (name == "tuple") return polyweft::dsl::tuple(arguments);
  if (const auto type = polyweft::element_type_named(name); type && arguments.size() == 1)
    return polyweft::dsl::convert(*type, arguments[0]);
  if (is_word(name)) return polyweft::dsl::call(name, arguments);
  throw Misuse{"'" + name.substr(0, 60) + "' is no operator of " + std::to_string(arguments.size()) +
               (arguments.size() == 1 ? " argument" : " arguments")};
}

Value reduced(const std::string& name, const ReductionIndices& indices, const Value& body) {
  using Reduction = Value (*)(const ReductionIndices&, const Value&);
  static const std::map<std::string, Reduction> all = {
      {"sum", polyweft::dsl::sum},       {"prod", polyweft::dsl::prod},     {"max", polyweft::dsl::max},
      {"min", polyweft::dsl::min},       {"any", polyweft::dsl::any},       {"all", polyweft::dsl::all},
      {"argmax", polyweft::dsl::argmax}, {"argmin", polyweft::dsl::argmin},
  };
  const auto found = all.find(name);
  if (found == all.end()) throw Misuse{"there is no reducer '" + name.substr(0, 60) + "'"};
  return found->second(indices, body);
}

/// An identity, which is a literal of its component's type.
Value literal_of(polyweft::ElementType type, double value) {
  return polyweft::is_float(type) ? Value(value) : Value(static_cast<int64_t>(value));
}

CombinerHandle combiner_of(pw_builder& b, const std::string& name, const polyweft::dsl::CombinerOptions& options,
                           pw_combine body, void* user) {
  return b.builder.combine(name, options, [&](const std::vector<Value>& left, const std::vector<Value>& right) {
    std::vector<pw_expr> l, r, result(left.size(), 0);
    for (const Value& each : left) l.push_back(add(b, each));
    for (const Value& each : right) r.push_back(add(b, each));
    body(user, l.data(), r.data(), result.data());
    return values_at(b, result.data(), result.size(), "result");
  });
}

}  // namespace

extern "C" {

pw_status pw_builder_create(const char* name, pw_builder** out) {
  if (!name) return null_argument("name");
  if (!out) return null_argument("out");
  return guarded([&] {
    *out = new pw_builder{polyweft::dsl::ProgramBuilder(name), {}, {}, {}, {}};
    return PW_OK;
  });
}
void pw_builder_free(pw_builder* builder) {
  delete builder;
}

pw_expr pw_builder_param(pw_builder* builder, const char* name, int64_t value, int is_const) {
  return made_by(builder, "pw_builder_param", [&](pw_builder& b) {
    const std::string text = text_or_misuse(name, "name");
    return add(b, is_const ? b.builder.const_param(text, value) : b.builder.param(text, value));
  });
}
int pw_builder_assume(pw_builder* builder, pw_expr condition) {
  return static_cast<int>(made_by(builder, "pw_builder_assume", [&](pw_builder& b) {
    b.builder.assume(value_at(b, condition));
    return 1u;
  }));
}
pw_expr pw_builder_integer(pw_builder* builder, int64_t value) {
  return made_by(builder, "pw_builder_integer", [&](pw_builder& b) { return add(b, Value(value)); });
}
pw_expr pw_builder_number(pw_builder* builder, double value) {
  return made_by(builder, "pw_builder_number", [&](pw_builder& b) { return add(b, Value(value)); });
}
pw_expr pw_builder_index(pw_builder* builder, const char* name) {
  return made_by(builder, "pw_builder_index", [&](pw_builder& b) { return add(b, name ? Index(name) : Index()); });
}
pw_expr pw_builder_index_in(pw_builder* builder, pw_expr index, pw_expr lo, pw_expr hi) {
  return made_by(builder, "pw_builder_index_in", [&](pw_builder& b) {
    const Index& own = index_at(b, index);
    return add(b, lo ? own.in(value_at(b, lo), value_at(b, hi)) : own.in(value_at(b, hi)));
  });
}

pw_tensor pw_builder_input(pw_builder* builder, const char* name, const char* type, const pw_expr* shape, size_t rank,
                           int is_const, pw_expr lo, pw_expr hi) {
  return made_by(builder, "pw_builder_input", [&](pw_builder& b) {
    polyweft::dsl::InputOptions options;
    options.is_const = is_const != 0;
    if (lo) options.values.push_back(value_at(b, lo));
    if (lo || hi) options.values.push_back(value_at(b, hi));
    return add(
        b, b.builder.input(text_or_misuse(name, "name"), type_at(type), values_at(b, shape, rank, "shape"), options));
  });
}
pw_tensor pw_builder_constant(pw_builder* builder, const char* name, const char* type, const int64_t* shape,
                              size_t rank, const double* values, size_t count) {
  return made_by(builder, "pw_builder_constant", [&](pw_builder& b) {
    is_list(shape, rank, "shape");
    is_list(values, count, "values");
    return add(b, b.builder.constant(text_or_misuse(name, "name"), type_at(type), {shape, shape + rank},
                                     {values, values + count}));
  });
}
pw_tensor pw_builder_tensor(pw_builder* builder, const char* kind, const char* name, const char* type,
                            const pw_expr* shape, size_t rank) {
  return made_by(builder, "pw_builder_tensor", [&](pw_builder& b) {
    const std::string what = text_or_misuse(kind, "kind"), own = text_or_misuse(name, "name");
    const auto extents = values_at(b, shape, rank, "shape");
    const auto annotated = type ? std::optional(type_at(type)) : std::nullopt;
    if (what == "let") return add(b, b.builder.let(own, extents, annotated));
    if (what == "out") return add(b, b.builder.output(own, extents, annotated));
    if (what == "out partial") return add(b, b.builder.partial_output(own, extents, annotated));
    throw Misuse{"kind '" + what.substr(0, 60) + "' is not let, out or out partial"};
  });
}

pw_expr pw_builder_element(pw_builder* builder, pw_tensor tensor, const pw_expr* subscripts, size_t count) {
  return made_by(builder, "pw_builder_element", [&](pw_builder& b) {
    is_list(subscripts, count, "subscripts");
    std::vector<SubscriptArg> all;
    for (size_t i = 0; i < count; ++i) {
      const auto* index = std::get_if<Index>(&expression(b, subscripts[i]));
      all.push_back(index ? SubscriptArg(*index) : SubscriptArg(value_at(b, subscripts[i])));
    }
    return add(b, tensor_at(b, tensor).at(all));
  });
}
pw_expr pw_builder_apply(pw_builder* builder, const char* name, const pw_expr* arguments, size_t count) {
  return made_by(builder, "pw_builder_apply", [&](pw_builder& b) {
    return add(b, applied(text_or_misuse(name, "name"), values_at(b, arguments, count, "arguments")));
  });
}
pw_expr pw_builder_reduce(pw_builder* builder, const char* reducer, const pw_expr* indices, size_t count, pw_expr guard,
                          pw_expr body) {
  return made_by(builder, "pw_builder_reduce", [&](pw_builder& b) {
    return add(b, reduced(text_or_misuse(reducer, "reducer"), indices_at(b, indices, count, guard), value_at(b, body)));
  });
}
pw_expr pw_builder_where(pw_builder* builder, pw_expr guard, pw_expr value, pw_expr otherwise) {
  return made_by(builder, "pw_builder_where", [&](pw_builder& b) {
    return add(b, polyweft::dsl::where(value_at(b, guard), value_at(b, value)).otherwise(value_at(b, otherwise)));
  });
}

pw_combiner pw_builder_combiner(pw_builder* builder, const char* name, const char* const* types,
                                const double* identities, size_t count, int is_associative, int is_commutative,
                                pw_combine body, void* user) {
  return made_by(builder, "pw_builder_combiner", [&](pw_builder& b) {
    is_list(types, count, "types");
    is_list(identities, count, "identities");
    if (!body) throw Misuse{"body is NULL"};
    polyweft::dsl::CombinerOptions options;
    options.associative = is_associative != 0;
    options.commutative = is_commutative != 0;
    for (size_t i = 0; i < count; ++i) {
      options.types.push_back(type_at(types[i]));
      options.identity.push_back(literal_of(options.types.back(), identities[i]));
    }
    b.combiners.push_back(combiner_of(b, text_or_misuse(name, "name"), options, body, user));
    return static_cast<pw_combiner>(b.combiners.size());
  });
}
pw_expr pw_builder_reduce_by(pw_builder* builder, pw_combiner combiner, const pw_expr* indices, size_t count,
                             pw_expr guard, const pw_expr* bodies, size_t body_count) {
  return made_by(builder, "pw_builder_reduce_by", [&](pw_builder& b) {
    const auto* by = at_number(b.combiners, combiner);
    if (!by) throw Misuse{std::to_string(combiner) + " is no combiner of this builder"};
    return add(b, polyweft::dsl::reduce(*by, indices_at(b, indices, count, guard),
                                        values_at(b, bodies, body_count, "bodies")));
  });
}

int pw_builder_define(pw_builder* builder, pw_expr element, pw_expr guard, pw_expr value) {
  return static_cast<int>(made_by(builder, "pw_builder_define", [&](pw_builder& b) {
    element_at(b, element, guard) = value_at(b, value);
    return 1u;
  }));
}
int pw_builder_define_several(pw_builder* builder, const pw_expr* elements, size_t count, pw_expr value) {
  return static_cast<int>(made_by(builder, "pw_builder_define_several", [&](pw_builder& b) {
    is_list(elements, count, "elements");
    if (count == 0) throw Misuse{"there is no element"};
    std::vector<Element> all;
    for (size_t i = 0; i < count; ++i) all.push_back(element_at(b, elements[i], 0));
    b.builder.define(all, value_at(b, value));
    return 1u;
  }));
}

pw_status pw_builder_text(const pw_builder* builder, pw_buffer** out) {
  if (!builder) return null_argument("builder");
  if (!out) return null_argument("out");
  return guarded([&] {
    *out = new_buffer(builder->builder.text());
    return PW_OK;
  });
}
pw_status pw_builder_build(const pw_builder* builder, pw_program** out) {
  if (!builder) return null_argument("builder");
  if (!out) return null_argument("out");
  return guarded([&] {
    if (builder->misuse) return fail_with(*builder->misuse);
    auto program = builder->builder.build();
    if (!program) return fail_with(program.error(), builder->builder.text());
    std::string key = polyweft::program_key(*program);
    *out = new pw_program{std::move(*program), std::move(key)};
    return PW_OK;
  });
}

}  // extern "C"
