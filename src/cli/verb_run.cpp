#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <memory>

#include "input_files.h"
#include "standard_streams.h"
#include "verbs.h"

namespace polyweft::cli {
namespace {

struct RunOptions : CommonOptions {
  std::string file;
  std::vector<std::string> inputs, outputs;  ///< NAME=PATH
  uint64_t seed = 1;
  bool verify = false;
  bool symbolic = false;
};

// An array on standard output leaves no room for words there.
std::ostream& text_stream(const std::map<std::string, std::string>& outputs) {
  for (const auto& [name, path] : outputs)
    if (is_standard_stream(path)) return std::cerr;
  return std::cout;
}

Status one_thing_on_standard_output(const std::map<std::string, std::string>& outputs, const RunOptions& options) {
  int arrays = 0;
  for (const auto& [name, path] : outputs) arrays += is_standard_stream(path);
  if (arrays > 1) return fail("PW0003", "--output: standard output takes one array, not " + std::to_string(arrays));
  if (arrays == 1 && options.json)
    return fail("PW0003", "--output: with --json standard output holds lines of JSON; write the array to a file");
  return Ok{};
}

Result<std::vector<TensorData>> load_inputs(Tuner& tuner, const Program& program, const RunOptions& options,
                                            const TaskOptions& task) {
  auto files = read_inputs(options.inputs, program, task.parameters);
  if (!files) return files.error();
  auto data = tuner.make_inputs(program, task, InputSet::random, options.seed);
  if (!data) return data;
  const auto ids = program.inputs();
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto& tensor = program.tensors[ids[i]];
    const auto found = files->find(tensor.name);
    if (found == files->end()) continue;
    (*data)[i] = std::move(found->second);
  }
  return data;
}

// A NaN's sign says nothing.
double shown(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

double as_number(const Literal& value) {
  return shown(is_float(value.type) ? value.f : static_cast<double>(value.i));
}

// Something a person can compare by eye: the first elements and the sum.
void print_summary(const std::string& name, const TensorData& data, const RunOptions& options, std::ostream& text) {
  double sum = 0;
  std::vector<double> first;
  for (int64_t i = 0; i < data.elements(); ++i) {
    sum += as_number(data.at(i));
    if (i < 4) first.push_back(as_number(data.at(i)));
  }
  if (options.json)
    print_json("run", {{"event", "output"},
                       {"name", name},
                       {"type", name_of(data.type)},
                       {"extents", data.extents},
                       {"sum", sum},
                       {"first", first}});
  else
    text << fmt::format("{}: {}[{}]  sum {:.9g}  [{}{}]\n", printable(name), name_of(data.type),
                        fmt::join(data.extents, ", "), shown(sum), fmt::join(first, ", "),
                        data.elements() > 4 ? ", .." : "");
}

Status emit_outputs(const Program& program, const std::vector<TensorData>& outputs, const RunOptions& options) {
  auto paths = named_paths(options.outputs, "--output");
  if (!paths) return paths.error();
  const auto ids = program.outputs();
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string& name = program.tensors[ids[i]].name;
    print_summary(name, outputs[i], options, text_stream(*paths));
    if (const auto path = paths->find(name); path != paths->end())
      if (auto written =
              write_through(path->second, [&](const std::string& file) { return write_npy(file, outputs[i]); });
          !written)
        return written;
  }
  return Ok{};
}

int verify_result(Tuner& tuner, const Program& program, const TaskOptions& task, const std::vector<TensorData>& inputs,
                  const RunOptions& options) {
  auto comparison = tuner.verify(program, task, inputs);
  if (!comparison) return report(comparison.error(), options);
  if (auto emitted = emit_outputs(program, comparison->outputs, options); !emitted)
    return report(emitted.error(), options);
  if (options.json)
    print_json("run", {{"event", "verify"},
                       {"equal", comparison->equal},
                       {"tested", comparison->is_tested},
                       {"detail", comparison->detail}});
  else
    text_stream(*named_paths(options.outputs, "--output")) << (!comparison->equal      ? "MISMATCH: "
                                                               : comparison->is_tested ? "verified: "
                                                                                       : "not tested: ")
                                                           << comparison->detail << "\n";
  return comparison->equal && comparison->is_tested ? kDone : kNo;
}

/// The kernel at the sizes that are given, or compiled for all sizes and called with these.
Result<Kernel> kernel_of(Tuner& tuner, const Program& program, const TaskOptions& task) {
  if (!task.symbolic) return tuner.compile(program, task);
  TaskOptions open = task;
  open.parameters.clear();
  const auto kernel = tuner.compile(program, open);
  const auto sizes = kernel ? make_binding(program, task.parameters) : Result<Binding>(kernel.error());
  return sizes ? kernel->at(*sizes) : Result<Kernel>(sizes.error());
}

int run_program(const RunOptions& options) {
  auto job = make_job(options, options.file);
  if (!job) return report(job.error(), options);
  const TimingsAtEnd timings(job->tuner, options);
  auto& [program, task, tuner] = *job;
  task.symbolic = options.symbolic;
  auto paths = named_paths(options.outputs, "--output");
  if (!paths) return report(paths.error(), options);
  if (auto known = names_exist(*paths, program, program.outputs(), "output"); !known)
    return report(known.error(), options);
  if (auto fits = one_thing_on_standard_output(*paths, options); !fits) return report(fits.error(), options);
  auto inputs = load_inputs(tuner, program, options, task);
  if (!inputs) return report(inputs.error(), options);
  if (options.verify) return verify_result(tuner, program, task, *inputs, options);
  auto kernel = kernel_of(tuner, program, task);
  if (!kernel) return report(kernel.error(), options);
  auto outputs = kernel->run(*inputs);
  if (!outputs) return report(outputs.error(), options);
  if (auto emitted = emit_outputs(program, *outputs, options); !emitted) return report(emitted.error(), options);
  if (options.json)
    print_json("run", {{"event", "done"}, {"origin", kernel->origin()}});
  else
    std::cerr << "kernel: " << kernel->origin() << "\n";
  return kDone;
}

}  // namespace

Verb add_run(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  options->add_to(app);
  options->add_workspace_to(app);
  options->add_schedule_to(app);
  app.add_option("FILE", options->file, "Program text, FILE:PROGRAM, or - for standard input")->required();
  app.add_option("--input", options->inputs,
                 "Read an input from a file: NAME=FILE.npy (others are seeded); - is standard input")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  app.add_option("--output", options->outputs, "Write an output to a file: NAME=FILE.npy; - is standard output")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  app.add_option("--seed", options->seed, "Seed of the data made for other inputs")->capture_default_str();
  app.add_flag("--verify", options->verify, "Compare with the compiled base nest; exit 1 on a mismatch");
  app.add_flag("--symbolic", options->symbolic,
               "Compile for all sizes, and give those of -p at the call, as programs that `build --symbolic` serves");
  return [options] { return run_program(*options); };
}

}  // namespace polyweft::cli
