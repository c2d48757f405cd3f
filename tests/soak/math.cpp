// The functions of the language over all f32 (f16, bf16) arguments and random f64: machine code in vectors, against the
// C library one precision wider; on an eighth of them, spread over all exponents, also machine code in scalars and for
// another target, bit for bit the same; whatever might be a new largest error is judged again by MPFR.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "ir/values/scalar.h"
#include "ir/values/scalar_math.h"
#include "lang/parser.h"
#include "schedules/steps.h"
#include "soak/function_errors.h"
#include "soak/part.h"
#include "support/rng.h"
#include "targets/kernels.h"

namespace polyweft::soak {
namespace {

constexpr int64_t kBlock = 1 << 14;    ///< arguments of one call
constexpr int64_t kUnitF32 = 1 << 21;  ///< positive patterns of a unit; as many negative ones with them
constexpr int64_t kUnitF64 = 1 << 18;
constexpr int64_t kUnitsF64 = 384;  ///< 10^8 arguments
constexpr int64_t kOthers = 8;  ///< of so many blocks one is also run as scalars and on the other target, bit for bit
constexpr double kBound = 4;    ///< ULP, in f32 and f64
constexpr double kNarrowBound = 2;  ///< ULP of f16 and bf16, after rounding

enum class Symmetry : uint8_t { none, even, odd };
struct Function {
  const char* name;
  Op op;
  Symmetry symmetry;
};
const Function kFunctions[] = {{"exp", Op::exp, Symmetry::none},         {"log", Op::log, Symmetry::none},
                               {"tanh", Op::tanh, Symmetry::odd},        {"erf", Op::erf, Symmetry::odd},
                               {"sin", Op::sin, Symmetry::odd},          {"cos", Op::cos, Symmetry::even},
                               {"sigmoid", Op::sigmoid, Symmetry::none}, {"rsqrt", Op::rsqrt, Symmetry::none},
                               {"sqrt", Op::sqrt, Symmetry::none},       {"pow", Op::pow, Symmetry::none}};

/// One function of one type as machine code: vectors and scalars of the host, vectors of x86-64-v3 where the host has
/// more.
class Kernel {
 public:
  Kernel(const Function& function, ElementType type) {
    const bool two = function.op == Op::pow;
    const std::string name = name_of(type);
    const std::string text = "program m(N = " + std::to_string(kBlock) + ")\nin X: " + name + "[N]\n" +
                             (two ? "in P: " + name + "[N]\n" : "") + "out Y[i: N] = " + function.name +
                             (two ? "(X[i], P[i])\n" : "(X[i])\n");
    const int lanes = static_cast<int>(find_target("host")->machine.units.vector_bits / 8 /
                                       size_bytes(type == ElementType::f64 ? type : ElementType::f32));
    add(text, "trace 1\n  vectorize Y i " + std::to_string(lanes) + "\n", "host");
    add(text, "trace 1\n", "host");
    const bool has_more = targets_test::runnable_targets().size() > 2;
    if (has_more)
      add(text, "trace 1\n  vectorize Y i " + std::to_string(type == ElementType::f64 ? 4 : 8) + "\n", "x86-64-v3");
    arguments_.push_back(make_tensor(type, {kBlock}));
    if (two) arguments_.push_back(make_tensor(type, {kBlock}));
    arguments_.push_back(make_tensor(type, {kBlock}));
    for (size_t k = 0; k < codes_.size(); ++k) results_.push_back(arguments_.back());
  }
  template <class T>
  T* argument(size_t k) {
    return reinterpret_cast<T*>(arguments_[k].bytes.data());
  }
  template <class T>
  const T* result(size_t variant = 0) const {
    return reinterpret_cast<const T*>(results_[variant].bytes.data());
  }
  void run(size_t variant) {
    std::swap(arguments_.back(), results_[variant]);
    targets_test::call(codes_[variant].code->address("m"), arguments_);
    std::swap(arguments_.back(), results_[variant]);
  }
  size_t variants() const { return codes_.size(); }
  /// Element whose bits differ from the first variant's; NaNs are one value. -1: none.
  template <class T, class Bits>
  int64_t difference(size_t variant) const {
    const T *a = result<T>(0), *b = result<T>(variant);
    if (std::memcmp(a, b, sizeof(T) * kBlock) == 0) return -1;
    for (int64_t k = 0; k < kBlock; ++k)
      if (std::bit_cast<Bits>(a[k]) != std::bit_cast<Bits>(b[k]) && !(std::isnan(a[k]) && std::isnan(b[k]))) return k;
    return -1;
  }

 private:
  void add(const std::string& text, const std::string& trace_text, const std::string& target) {
    auto file = lang::parse(text, "math");
    if (!file) throw std::runtime_error(file.error().message);
    const Program program =
        polyweft::normalize(polyweft::bind(file->programs.front(), *make_binding(file->programs.front(), {})));
    auto trace = parse_trace(trace_text);
    auto made = schedules::replay(program, NumericsClass::strict, *trace);
    if (!made) throw std::runtime_error(made.error().message);
    auto nest = instantiate(*made, values_of(*trace));
    if (!nest) throw std::runtime_error(nest.error().message);
    codes_.push_back(targets_test::load(*nest, *find_target(target)));
  }
  std::vector<targets_test::Loaded> codes_;
  std::vector<TensorData> arguments_, results_;
};

/// The largest error of one function in one type.
struct Worst {
  int64_t arguments = 0;
  double ulp = 0;
  double x = 0, y = 0;
};

/// One function, one type, a stretch of arguments.
struct MathUnit {
  size_t function;
  ElementType type;
  int64_t stretch;
};

class Math : public Part {
 public:
  explicit Math(uint64_t seed) : seed_(seed) {
    const int64_t stretches = (int64_t{1} << 31) / kUnitF32;
    // First a sample of everything, then all f32, then the rest of the random f64. An odd factor spreads a short run
    // over all exponents.
    for (size_t f = 0; f < std::size(kFunctions); ++f) {
      units_.push_back({f, ElementType::f64, 0});
      units_.push_back({f, ElementType::f32, 501});
    }
    for (size_t f = 0; f < std::size(kFunctions); ++f) {
      units_.push_back({f, ElementType::f16, 0});
      units_.push_back({f, ElementType::bf16, 0});
    }
    for (int64_t s = 1; s < stretches; ++s)
      for (size_t f = 0; f < std::size(kFunctions); ++f)
        if (kFunctions[f].op != Op::pow || s < kUnitsF64)
          units_.push_back({f, ElementType::f32, (s * 37 + 501) % stretches});
    for (int64_t s = 1; s < kUnitsF64; ++s)
      for (size_t f = 0; f < std::size(kFunctions); ++f) units_.push_back({f, ElementType::f64, s});
  }
  std::string name() const override { return "math"; }
  int64_t units() const override { return static_cast<int64_t>(units_.size()); }

  void run(int64_t k) override {
    if (k == 0) check_stored();
    const MathUnit& unit = units_[static_cast<size_t>(k)];
    if (unit.type == ElementType::f64)
      run_random<double, uint64_t>(unit);
    else if (kFunctions[unit.function].op == Op::pow && unit.type == ElementType::f32)
      run_random<float, uint32_t>(unit);
    else if (unit.type == ElementType::f32)
      run_f32(unit);
    else
      run_narrow(unit);
  }
  bool rerun(const std::string& what) override {
    std::istringstream in(what);
    std::string function, type;
    double x = 0, y = 0;
    std::string xs, ys;
    in >> function >> type >> xs >> ys;
    x = std::strtod(xs.c_str(), nullptr);
    y = ys.empty() ? 0 : std::strtod(ys.c_str(), nullptr);
    for (const Function& f : kFunctions) {
      if (f.name != function) continue;
      const ElementType t = *element_type_named(type);
      const double got = value_at(f, t, x, y), error = exact_.error(f.op, x, y, got, format_of(t));
      std::printf("%s(%a) = %a in %s, %.4f ULP\n", f.name, x, got, type.c_str(), error);
      if (error > bound_of(t)) failed("beyond the bound", what);
      return true;
    }
    return false;
  }

  /// One line a function and type; docs/math_accuracy.txt holds these lines.
  std::string figures() const override {
    std::string out = std::to_string(failures()) + " beyond the bounds or with other bits";
    for (const auto& [key, worst] : worst_) {
      char line[160];
      std::snprintf(line, sizeof line, "\n%-8s %-4s %11lld arguments, largest error %.4f ULP at %a", key.first.c_str(),
                    name_of(key.second), static_cast<long long>(worst.arguments), worst.ulp, worst.x);
      out += line;
      if (key.first == "pow") std::snprintf(line, sizeof line, ", %a", worst.y), out += line;
    }
    return out;
  }
  std::string saved() const override {
    std::string out;
    for (const auto& [key, worst] : worst_) {
      char text[160];
      std::snprintf(text, sizeof text, "%s %d %lld %a %a %a ", key.first.c_str(), static_cast<int>(key.second),
                    static_cast<long long>(worst.arguments), worst.ulp, worst.x, worst.y);
      out += text;
    }
    return out;
  }
  void restore(const std::string& line) override {
    std::istringstream in(line);
    std::string function, ulp, x, y;
    int type = 0;
    long long arguments = 0;
    while (in >> function >> type >> arguments >> ulp >> x >> y)
      worst_[{function, static_cast<ElementType>(type)}] = {arguments, std::strtod(ulp.c_str(), nullptr),
                                                            std::strtod(x.c_str(), nullptr),
                                                            std::strtod(y.c_str(), nullptr)};
  }

 private:
  static double bound_of(ElementType type) {
    return type == ElementType::f64 || type == ElementType::f32 ? kBound : kNarrowBound;
  }

  Kernel& kernel(size_t function, ElementType type) {
    auto& place = kernels_[{function, type}];
    if (!place) place = std::make_unique<Kernel>(kFunctions[function], type);
    return *place;
  }
  Worst& worst(const MathUnit& unit) { return worst_[{kFunctions[unit.function].name, unit.type}]; }
  std::string unit_text(const MathUnit& unit, double x, double y) const {
    char text[120];
    std::snprintf(text, sizeof text, "%s %s %a %a", kFunctions[unit.function].name, name_of(unit.type), x, y);
    return text;
  }

  /// By the interpreter's own scalars, of which machine code has the bits.
  static double value_at(const Function& f, ElementType type, double x, double y) {
    if (f.op == Op::sqrt)
      return type == ElementType::f64 ? std::sqrt(x) : static_cast<double>(std::sqrt(static_cast<float>(x)));
    return ir::own_function(f.op, type, x, y);
  }

  /// A suspect: its error by MPFR.
  void suspect(const MathUnit& unit, double x, double y, double got) {
    const double error = exact_.error(kFunctions[unit.function].op, x, y, got, format_of(unit.type));
    Worst& most = worst(unit);
    if (error > bound_of(unit.type)) {
      char text[120];
      std::snprintf(text, sizeof text, "%s(%a, %a) = %a: %.4g ULP", kFunctions[unit.function].name, x, y, got, error);
      if (++reported_ <= 40) failed(text, unit_text(unit, x, y));
    }
    if (error <= most.ulp) return;
    const auto stored = stored_.find(std::string(kFunctions[unit.function].name) + " " + name_of(unit.type));
    if (stored != stored_.end() && error > stored->second + 1e-3 && ++reported_ <= 40)
      failed("larger than docs/math_accuracy.txt says", unit_text(unit, x, y));
    most.ulp = error;
    most.x = x;
    most.y = y;
  }

  /// Vectors always; scalars and the other target every `kOthers` blocks.
  template <class T, class Bits>
  void run_variants(const MathUnit& unit, Kernel& code, bool all) {
    for (size_t variant = 0; variant < (all ? code.variants() : 1); ++variant) {
      code.run(variant);
      const int64_t k = variant == 0 ? -1 : code.template difference<T, Bits>(variant);
      if (k >= 0 && ++reported_ <= 40)
        failed("variant " + std::to_string(variant) + " has other bits",
               unit_text(unit, static_cast<double>(code.argument<T>(0)[k]), 0));
    }
    for (int64_t k = 0; k < kBlock; k += kBlock / 8) same_as_interpreter<T, Bits>(unit, code, k);
  }
  template <class T, class Bits>
  void same_as_interpreter(const MathUnit& unit, Kernel& code, int64_t k) {
    const Function& f = kFunctions[unit.function];
    const double x = static_cast<double>(code.argument<T>(0)[k]),
                 y = f.op == Op::pow ? static_cast<double>(code.argument<T>(1)[k]) : 0;
    const T got = code.result<T>()[k], wanted = static_cast<T>(value_at(f, unit.type, x, y));
    if (std::bit_cast<Bits>(got) == std::bit_cast<Bits>(wanted) || (std::isnan(got) && std::isnan(wanted))) return;
    if (++reported_ <= 40) failed("machine code and interpreter differ", unit_text(unit, x, y));
  }

  void run_f32(const MathUnit& unit) {
    Kernel& code = kernel(unit.function, unit.type);
    const Function& f = kFunctions[unit.function];
    float* x = code.argument<float>(0);
    std::vector<float> positive(kBlock);
    for (int64_t from = unit.stretch * kUnitF32; from < (unit.stretch + 1) * kUnitF32; from += kBlock) {
      const bool all = from / kBlock % kOthers == 0;
      for (const uint32_t sign : {0U, 0x80000000U}) {
        for (int64_t k = 0; k < kBlock; ++k) x[k] = std::bit_cast<float>(static_cast<uint32_t>(from + k) | sign);
        run_variants<float, uint32_t>(unit, code, all);
        if (sign == 0) std::copy_n(code.result<float>(), kBlock, positive.begin());
        if (sign == 0 || f.symmetry == Symmetry::none)
          judge_f32(unit, code);
        else
          is_symmetric(unit, code, positive);
      }
      worst(unit).arguments += 2 * kBlock;
    }
  }
  void is_symmetric(const MathUnit& unit, Kernel& code, const std::vector<float>& positive) {
    const uint32_t flip = kFunctions[unit.function].symmetry == Symmetry::odd ? 0x80000000U : 0;
    const float* got = code.result<float>();
    int64_t different = -1;
    for (int64_t k = 0; k < kBlock; ++k)
      if (std::bit_cast<uint32_t>(got[k]) != (std::bit_cast<uint32_t>(positive[static_cast<size_t>(k)]) ^ flip) &&
          !std::isnan(got[k]))
        different = k;
    if (different >= 0 && ++reported_ <= 40)
      failed("not symmetric", unit_text(unit, static_cast<double>(code.argument<float>(0)[different]), 0));
  }
  void judge_f32(const MathUnit& unit, Kernel& code) {
    const Op op = kFunctions[unit.function].op;
    const float *x = code.argument<float>(0), *got = code.result<float>();
    double largest = -1;
    int64_t at = 0;
    for (int64_t k = 0; k < kBlock; ++k) {
      const double error = error_of_f32(got[k], library(op, static_cast<double>(x[k]), 0.0));
      if (error > kBound - 0.1)
        suspect(unit, static_cast<double>(x[k]), 0, static_cast<double>(got[k]));
      else if (error > largest)
        largest = error, at = k;
    }
    // Where errors grow with the argument each would be a new record: one suspect a block.
    if (largest > worst(unit).ulp) suspect(unit, static_cast<double>(x[at]), 0, static_cast<double>(got[at]));
  }

  /// All 65,536 patterns; the result after rounding, against the exact value.
  void run_narrow(const MathUnit& unit) {
    const Function& f = kFunctions[unit.function];
    Kernel& code = kernel(unit.function, unit.type);
    for (int64_t from = 0; from < 65536; from += kBlock) {
      auto* x = code.argument<uint16_t>(0);
      auto* y = f.op == Op::pow ? code.argument<uint16_t>(1) : nullptr;
      for (int64_t k = 0; k < kBlock; ++k) x[k] = static_cast<uint16_t>(from + k);
      for (int64_t k = 0; y && k < kBlock; ++k) y[k] = static_cast<uint16_t>((from + k) * 40503 >> 3);
      for (size_t variant = 0; variant < code.variants(); ++variant) code.run(variant);
      TensorData argument = make_tensor(unit.type, {kBlock}), second = argument,
                 results[3] = {argument, argument, argument};
      std::memcpy(argument.bytes.data(), x, argument.bytes.size());
      if (y) std::memcpy(second.bytes.data(), y, second.bytes.size());
      for (size_t v = 0; v < code.variants(); ++v)
        std::memcpy(results[v].bytes.data(), code.result<uint16_t>(v), argument.bytes.size());
      for (int64_t k = 0; k < kBlock; ++k) {
        const double at = argument.at(k).f, power = y ? second.at(k).f : 0, got = results[0].at(k).f;
        for (size_t v = 1; v < code.variants(); ++v)
          if (const double other = results[v].at(k).f;
              !(other == got || (std::isnan(other) && std::isnan(got))) && ++reported_ <= 40)
            failed("variant " + std::to_string(v) + " has other bits", unit_text(unit, at, power));
        if (error_of(got, library(f.op, at, power), format_of(unit.type)) > worst(unit).ulp)
          suspect(unit, at, power, got);
      }
      worst(unit).arguments += kBlock;
    }
  }

  /// A third bit patterns, a third with moderate exponents, a third where the function is hard: next to multiples of
  /// pi/2, next to 1.
  template <class T, class Bits>
  T drawn(Rng& rng, Op op) {
    const auto bits = static_cast<Bits>(rng());
    const uint64_t kind = rng.below(3);
    if (kind == 0) return std::bit_cast<T>(bits);
    const double fraction = 1 + std::ldexp(static_cast<double>(rng() >> 12), -52);
    const double sign = op == Op::pow || op == Op::log || op == Op::rsqrt ? 1 : rng.chance(0.5) ? -1 : 1;
    if (kind == 1) return static_cast<T>(sign * std::ldexp(fraction, static_cast<int>(rng.below(41)) - 30));
    if (op == Op::sin || op == Op::cos)
      return static_cast<T>(sign * static_cast<double>(std::round(std::ldexp(static_cast<long double>(fraction),
                                                                             static_cast<int>(rng.below(60)))) *
                                                       1.57079632679489661923L));
    if (op == Op::log || op == Op::pow)
      return static_cast<T>(1 + (fraction - 1.5) * std::ldexp(1.0, -static_cast<int>(rng.below(30))));
    return static_cast<T>(sign * fraction * 8);
  }

  template <class T, class Bits>
  void run_random(const MathUnit& unit) {
    const Function& f = kFunctions[unit.function];
    Kernel& code = kernel(unit.function, unit.type);
    Rng rng(seed_ * 7919 + static_cast<uint64_t>(unit.stretch) * 64 + unit.function);
    T* x = code.argument<T>(0);
    T* y = f.op == Op::pow ? code.argument<T>(1) : nullptr;
    for (int64_t from = 0; from < kUnitF64; from += kBlock) {
      for (int64_t k = 0; k < kBlock; ++k) {
        x[k] = drawn<T, Bits>(rng, f.op);
        if (y)
          y[k] = rng.chance(0.3) ? std::bit_cast<T>(static_cast<Bits>(rng()))
                                 : static_cast<T>((static_cast<double>(rng() >> 11) * 0x1p-52 - 1) * 40);
      }
      run_variants<T, Bits>(unit, code, from / kBlock % kOthers == 0);
      const T* got = code.result<T>();
      double largest = -1;
      int64_t place = 0;
      for (int64_t k = 0; k < kBlock; ++k) {
        const auto at = static_cast<double>(x[k]), power = y ? static_cast<double>(y[k]) : 0;
        const bool sampled = k % 1024 == 0;  // MPFR whatever the library says
        const double error = error_of(static_cast<double>(got[k]),
                                      library(f.op, static_cast<long double>(at), static_cast<long double>(power)),
                                      format_of(unit.type));
        if (sampled || error > kBound - 0.1)
          suspect(unit, at, power, static_cast<double>(got[k]));
        else if (error > largest)
          largest = error, place = k;
      }
      if (largest > worst(unit).ulp)
        suspect(unit, static_cast<double>(x[place]), y ? static_cast<double>(y[place]) : 0,
                static_cast<double>(got[place]));
      worst(unit).arguments += kBlock;
    }
  }

  /// docs/math_accuracy.txt says what a whole sweep found: the errors at its arguments are as large as it says.
  void check_stored() {
    std::ifstream in(std::string(PW_SOURCE_DIR) + "/docs/math_accuracy.txt");
    int lines = 0;
    for (std::string line; std::getline(in, line);) {
      char function[16], type[8];
      long long arguments = 0;
      double ulp = 0, x = 0, y = 0;
      if (std::sscanf(line.c_str(), "%15s %7s %lld arguments, largest error %lf ULP at %la, %la", function, type,
                      &arguments, &ulp, &x, &y) < 5)
        continue;
      ++lines;
      const Function* f = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                       [&](const Function& g) { return std::strcmp(g.name, function) == 0; });
      const auto element = element_type_named(type);
      if (f == std::end(kFunctions) || !element) return failed("docs/math_accuracy.txt: " + line, "");
      if (*element != ElementType::f32 && *element != ElementType::f64) continue;
      const double error = exact_.error(f->op, x, y, value_at(*f, *element, x, y), format_of(*element));
      const std::string what = std::string(function) + " " + type;
      if (std::fabs(error - ulp) > 1e-3)
        failed(what + ": docs/math_accuracy.txt has " + std::to_string(ulp) + " ULP, found " + std::to_string(error),
               line);
      if (*element == ElementType::f32 && arguments >= int64_t{1} << 32) stored_[what] = ulp;
    }
    if (lines == 0) std::printf("math: nothing stored in docs/math_accuracy.txt\n");
  }

  uint64_t seed_;
  std::vector<MathUnit> units_;
  std::map<std::pair<size_t, ElementType>, std::unique_ptr<Kernel>> kernels_;
  std::map<std::pair<std::string, ElementType>, Worst> worst_;
  std::map<std::string, double> stored_;
  Exact exact_;
  int reported_ = 0;
};

}  // namespace

std::unique_ptr<Part> math_part(uint64_t seed) {
  return std::make_unique<Math>(seed);
}

}  // namespace polyweft::soak
