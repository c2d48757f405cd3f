// evaluate FILE.weft FOLDER NAME=VALUE...: reads FOLDER/<input>.npy, evaluates, writes FOLDER/<output>.out.npy, the
// error bounds as FOLDER/<output>.bound.npy and the mask of defined elements as FOLDER/<output>.written.npy. For
// tests/ir/oracle_numpy.py.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "ir/oracles/evaluator.h"
#include "ir/values/npy.h"
#include "lang/parser.h"

namespace {

using namespace polyweft;

[[noreturn]] void stop(const Error& error) {
  std::fprintf(stderr, "%s [%s]\n", error.message.c_str(), error.code.c_str());
  for (const Diagnostic& each : error.diagnostics) std::fprintf(stderr, "%d: %s\n", each.where.line, each.text.c_str());
  std::exit(1);
}

template <class T>
T need(Result<T> result) {
  if (!result) stop(result.error());
  return std::move(result).value();
}

Program bound_program_of(int argc, char** argv) {
  std::ifstream in(argv[1], std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  Program program = need(lang::parse(text, argv[1])).programs.at(0);
  std::map<std::string, int64_t> sizes;
  for (int k = 3; k < argc; ++k) {
    std::string item = argv[k];
    size_t equals = item.find('=');
    sizes[item.substr(0, equals)] = std::atoll(item.c_str() + equals + 1);
  }
  return polyweft::bind(program, need(make_binding(program, sizes)));
}

TensorData as_tensor(const std::vector<int64_t>& extents, const std::vector<double>& values) {
  TensorData out = make_tensor(ElementType::f64, extents);
  for (size_t k = 0; k < values.size(); ++k) out.set(static_cast<int64_t>(k), {ElementType::f64, values[k], 0});
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  Program program = bound_program_of(argc, argv);
  std::string folder = std::string(argv[2]) + "/";
  std::vector<TensorData> inputs;
  for (TensorId id : program.inputs())
    inputs.push_back(need(ir::read_npy(folder + program.tensors[id].name + ".npy", program.tensors[id].type)));
  ir::EvaluateOptions options;
  options.with_bounds = true;
  ir::Evaluation result = need(ir::evaluate(program, inputs, options));
  for (size_t k = 0; k < result.ids.size(); ++k) {
    std::string name = folder + program.tensors[result.ids[k]].name;
    const std::vector<int64_t>& extents = result.tensors[k].extents;
    need(ir::write_npy(name + ".out.npy", result.tensors[k]));
    need(ir::write_npy(name + ".bound.npy", as_tensor(extents, result.bound[k])));
    need(ir::write_npy(name + ".written.npy", TensorData{ElementType::u8, extents, result.written[k]}));
  }
  return 0;
}
