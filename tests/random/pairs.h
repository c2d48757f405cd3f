// Random (program, trace) pairs and their judges.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/oracles/evaluator.h"
#include "polyweft/program.h"
#include "polyweft/target.h"
#include "polyweft/trace.h"

namespace polyweft::random_test {

struct Pair {
  Program source;  ///< parameters have their values as defaults
  Trace trace;
  NumericsClass cls = NumericsClass::reassoc;
  bool whole_numbers = false;  ///< inputs are whole numbers, on which every judge must agree bit for bit
  uint64_t data_seed = 1;
  int threads = 1;
  std::string target = "host";
  bool ask_checker = false;
  bool base_order = false;  ///< poly's base nest, also where the program has no recurrence; the trace is empty then
  bool show_code = false;   ///< print nest, LLVM IR and assembly
  bool run_code = true;     ///< machine code, too
};
/// Everything follows from the seed: the program (two generators), the steps, their decisions, the class, the data, the
/// threads.
Pair random_pair(uint64_t seed);
/// The same for a machine with blocks and threads: loops of its trace are bound to axes, as far as that is legal.
Pair random_grid_pair(uint64_t seed, const std::string& target);
/// Program, trace and settings, for people.
std::string described(const Pair& pair);

enum class Outcome : uint8_t {
  agreed,
  refused,      ///< the sizes do not fit together (PW031x), or isl gave up
  no_program,   ///< an extent of 0 made a program that the language refuses
  disagreement  ///< somebody is wrong
};
struct Judgement {
  Outcome outcome = Outcome::agreed;
  std::string kind;     ///< "tags", "compiled" ...: what a smaller pair must show as well
  std::string message;  ///< values and places
  bool tiny = false;    ///< an output or input without elements, or of one element only
  bool recurrence = false;
  bool parallel = false, vector = false, packed = false, auto_vectorized = false, batch = false;
  bool asked_checker = false, not_decided = false;
  std::string undecided_why;
};
/// Text, replay, verifier, evaluator, interpreter (values, what is written, tags), machine code behind walls, and the
/// checker where asked.
Judgement judge(const Pair& pair);

/// What pairs of one program, class and data share.
struct Expected {
  Program program;  ///< bound and normalized
  std::vector<TensorData> inputs;
  ir::Evaluation wanted;
};
/// Null with `why` set: the language refuses the program with these sizes, or (a disagreement) the evaluator fails.
std::shared_ptr<const Expected> expected_of(const Pair& pair, Judgement& why);
/// As above, without evaluating anew.
Judgement judge(const Pair& pair, const Expected& expected);

/// A pair as small as steps, levels, programs and sizes can be made while `judge` still shows `kind`.
Pair shrunk(Pair pair, const std::string& kind, int budget = 400);

}  // namespace polyweft::random_test
