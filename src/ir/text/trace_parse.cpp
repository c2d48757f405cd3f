// Parser of traces: recursive descent over one step at a time; everything that comes from outside is bounded here.
#include <algorithm>
#include <functional>
#include <set>

#include "ir/text/trace_lexer.h"
#include "polyweft/trace.h"

namespace polyweft {
namespace {

constexpr size_t kMaxBytes = 64 << 10;
constexpr size_t kMaxSteps = 1024;
constexpr size_t kMaxDecisions = 64;
constexpr size_t kMaxSplits = 64;
constexpr int64_t kMaxModulus = 64;
constexpr size_t kMaxMembers = 16;
constexpr int64_t kMaxRead = 1000;
constexpr int64_t kMostVectors = 64;  ///< elements that a thread copies at once

class Parser : ir::TraceLexer {
 public:
  explicit Parser(const std::string& text) : TraceLexer(text) {}

  Result<Trace> run() {
    skip_blank(Lines::many);
    expect_word("trace");
    if (integer() != 1) error("trace: unknown version; this build reads version 1");
    while (!failed() && skip_to_item()) item();
    if (!failed()) check_names();
    if (failed()) return first_error();
    return trace_;
  }

 private:
  void item() {
    std::string word = name();
    if (word == "decide") return decide();
    if (word == "require") return require();
    if (trace_.steps.size() >= kMaxSteps) return error("trace: more than 1024 steps");
    if (word == "tile") return tile();
    if (word == "permute") return permute();
    if (word == "parallel") return parallel();
    if (word == "bind") return bind();
    if (word == "vectorize") return vectorize();
    if (word == "unroll") return unroll();
    if (word == "promote") return promote();
    if (word == "accumulate") return accumulate();
    if (word == "inline") return add(InlineStep{name()});
    if (word == "compute_at") return compute_at();
    if (word == "fuse") return fuse();
    if (word == "distribute") return distribute();
    if (word == "band") return band();
    if (word == "skew") return skew();
    if (word == "shift") return shift();
    if (word == "reverse") return reverse();
    if (word == "fold") return fold();
    if (word == "isolate") return isolate();
    if (word == "store") return store();
    if (word == "cut") return cut();
    if (word == "snapshot") return snapshot();
    if (word == "wavefront") return wavefront();
    if (word == "overlap") return overlap();
    if (word == "split") return split();
    if (word == "index_set_split") return index_set_split();
    if (word == "tensorize") return tensorize();
    if (word == "stream") return add(StreamStep{name()});
    if (word == "prefetch") return prefetch();
    if (word == "rfactor") return rfactor();
    if (word == "autovectorize") return autovectorize();
    if (word == "batch") return batch();
    if (word == "online") return online();
    if (word == "pipeline") return pipeline();
    error(
        "trace: unknown step '" + word +
        "'; known are tile permute split index_set_split parallel vectorize unroll promote accumulate inline "
        "compute_at fuse distribute tensorize stream prefetch bind "
        "rfactor band skew shift reverse fold isolate wavefront store cut snapshot overlap autovectorize batch online "
        "pipeline");
  }
  template <class T>
  void add(T step) {
    if (!failed()) trace_.steps.push_back(std::move(step));
  }
  std::vector<TileStep::Level> levels() {
    std::vector<TileStep::Level> out;
    expect('[');
    do {
      TileStep::Level level;
      level.index = name();
      expect(':');
      level.size = size();
      out.push_back(std::move(level));
    } while (accept(','));
    expect(']');
    return out;
  }
  void tile() {
    TileStep s{name(), {}};
    s.levels = levels();
    add(std::move(s));
  }
  void overlap() {
    OverlapStep s{name(), {}};
    s.levels = levels();
    s.scope = scope();
    add(std::move(s));
  }
  void permute() {
    PermuteStep s{name(), {}};
    expect('[');
    if (accept(']')) return add(std::move(s));  // a statement without loops
    s.loops = names();
    expect(']');
    add(std::move(s));
  }
  void parallel() {
    ParallelStep s{name(), "", 0};
    s.loop = name();
    if (accept_word("in") && (s.parts = integer()) < 1) error("parallel: no parts");
    add(std::move(s));
  }
  void bind() {
    BindStep s{name(), "", ""};
    s.loop = name();
    expect_word("to");
    s.axis = name();
    add(std::move(s));
  }
  void vectorize() {
    VectorizeStep s{name(), "", {}};
    s.loop = name();
    s.lanes = size();
    add(std::move(s));
  }
  void autovectorize() {
    AutovectorizeStep s{accept_word("without")};
    if (s.avoids_gathers && !accept_word("gathers")) error("autovectorize: expected 'without gathers'");
    add(s);
  }
  void batch() {
    BatchStep s{integer(), 1};
    if (accept_word("in") && (s.parts = integer()) < 2) error("batch: fewer than two parts");
    add(s);
  }
  void unroll() {
    UnrollStep s{name(), {}};
    s.loops = names();
    add(std::move(s));
  }
  uint32_t read_number() {
    const int64_t number = integer();
    if (number < 1 || number > kMaxRead) error("trace: reads are counted from 1");
    return static_cast<uint32_t>(number);
  }
  void promote() {
    PromoteStep s;
    s.tensor = name();
    if (accept_word("read")) s.read = read_number();
    if (accept_word("in")) s.statement = name();
    expect_word("at");
    s.at = name();
    s.scope = scope();
    if (accept_word("layout")) s.layout = layout();
    if (accept_word("vectors")) s.vectors = vectors();
    add(std::move(s));
  }
  uint32_t vectors() {
    const int64_t number = integer();
    const bool is_power = number > 1 && (number & (number - 1)) == 0;
    if (!is_power || number > kMostVectors)
      error("trace: vectors of 2, 4, .. " + std::to_string(kMostVectors) + " elements");
    return static_cast<uint32_t>(number);
  }
  void accumulate() {
    AccumulateStep s{name(), "", Scope::reg};
    expect_word("at");
    s.at = name();
    s.scope = scope();
    add(std::move(s));
  }
  void compute_at() {
    ComputeAtStep s;
    s.producer = name();
    expect_word("in");
    s.consumer = name();
    expect_word("at");
    s.at = name();
    s.scope = scope();
    if (accept_word("layout")) s.layout = layout();
    if (accept_word("slide")) s.sliding = sliding();
    add(std::move(s));
  }
  Sliding sliding() {
    Sliding out;
    out.is_whole = accept_word("whole");
    if (!out.is_whole && accept_word("fold")) out.multiple = size();
    return out;
  }
  void fuse() {
    FuseStep s;
    s.statement = name();
    expect_word("into");
    s.into = name();
    expect_word("at");
    s.at = name();
    add(std::move(s));
  }
  void distribute() {
    DistributeStep s{name(), ""};
    if (accept_word("at")) s.at = name();
    add(std::move(s));
  }
  void band() {
    BandStep s;
    s.name = name();
    expect('[');
    s.members = names();
    expect(']');
    expect_word("of");
    do {
      skip_blank(Lines::many);  // a list of statements may go over several lines
      BandStep::Statement statement;
      statement.name = name();
      expect(':');
      expect('[');
      do statement.members.push_back(linear());
      while (accept(','));
      expect(']');
      s.statements.push_back(std::move(statement));
    } while (accept(','));
    if (s.members.size() > kMaxMembers) error("trace: more than 16 members of a band");
    if (s.statements.size() > kMaxSteps) error("trace: more than 256 statements in a band");
    for (const auto& statement : s.statements)
      if (statement.members.size() != s.members.size())
        error("trace: band " + s.name + " has " + std::to_string(s.members.size()) + " members, " + statement.name +
              " gives " + std::to_string(statement.members.size()));
    add(std::move(s));
  }
  /// 2*t + i - 1
  LinearText linear() {
    LinearText out;
    bool negative = accept('-');
    do {
      int64_t factor = 1;
      bool is_constant = peek_digit();
      if (is_constant) factor = integer();
      if (is_constant && accept('*')) is_constant = false;
      if (negative) factor = -factor;
      if (is_constant)
        out.constant += factor;
      else
        out.terms.push_back({factor, name()});
      if (out.terms.size() > kMaxMembers) error("trace: more than 16 terms");
      negative = peek('-');
    } while (accept('+') || accept('-'));
    return out;
  }
  void isolate() {
    IsolateStep s;
    s.statements = names();
    expect_word("in");
    s.band = name();
    expect_word("at");
    s.at = name();
    expect_word("where");
    do s.where.push_back(linear());
    while (accept(',') && s.where.size() < kMaxMembers);
    add(std::move(s));
  }
  void store() {
    StoreStep s{name(), {}, {}, {}};
    if (!peek('[')) {
      expect_word("in");
      s.output = name();
      return add(std::move(s));
    }
    expect('[');
    do s.cell.push_back(linear());
    while (accept(',') && s.cell.size() < kMaxMembers);
    expect(']');
    if (accept_word("layout")) s.layout = layout();
    add(std::move(s));
  }
  void cut() {
    CutStep s{name(), {}};
    expect_word("where");
    s.where = linear();
    add(std::move(s));
  }
  void snapshot() {
    SnapshotStep s{name(), "", 1, ""};
    expect_word("of");
    s.tensor = name();
    expect_word("read");
    s.read = read_number();
    expect_word("in");
    s.statement = name();
    add(std::move(s));
  }
  void online() {
    OnlineStep s{name(), 0};
    expect_word("by");
    s.block = integer();
    if (s.block < 1) error("trace: a block of less than one value");
    add(std::move(s));
  }
  void wavefront() {
    WavefrontStep s{name(), {}};
    expect('[');
    s.loops = names();
    expect(']');
    add(std::move(s));
  }
  void skew() {
    SkewStep s{name(), "", {}};
    s.member = name();
    expect_word("by");
    s.by = linear();
    add(std::move(s));
  }
  void shift() {
    ShiftStep s{name(), "", 0};
    s.member = name();
    expect_word("by");
    s.by = signed_integer();
    add(std::move(s));
  }
  void reverse() {
    ReverseStep s{name(), ""};
    s.member = name();
    add(std::move(s));
  }
  void fold() {
    FoldStep s{name(), "", 1, true};
    s.dim = name();
    expect_word("mod");
    s.window = integer();
    if (s.window < 1) error("trace: a fold by 0");
    s.forward = !accept_word("down");
    add(std::move(s));
  }
  void rfactor() {
    RfactorStep s{name(), "", 0};
    s.index = name();
    expect_word("in");
    s.parts = integer();
    add(std::move(s));
  }
  void tensorize() {
    TensorizeStep s;
    s.statement = name();
    s.loops = names();
    expect_word("by");
    s.instruction = name();
    add(std::move(s));
  }
  void pipeline() {
    PipelineStep s;
    s.statement = name();
    s.loop = name();
    expect_word("by");
    s.by = size();
    add(std::move(s));
  }
  void prefetch() {
    PrefetchStep s;
    s.tensor = name();
    expect_word("in");
    s.statement = name();
    expect_word("along");
    s.index = name();
    expect_word("by");
    s.by = size();
    add(std::move(s));
  }
  void split() {
    SplitStep s;
    s.statement = name();
    s.loop = name();
    expect_word("at");
    s.at = ascending();
    add(std::move(s));
  }
  void index_set_split() {
    IndexSetSplitStep s;
    s.statement = name();
    s.indices = names();
    if (accept_word("mod")) {
      s.modulus = integer();
      if (s.modulus < 2 || s.modulus > kMaxModulus) error("trace: expected a modulus from 2 to 64");
    } else {
      expect_word("at");
      s.at = ascending();
    }
    add(std::move(s));
  }
  std::vector<int64_t> ascending() {
    std::vector<int64_t> out;
    do out.push_back(signed_integer());
    while (accept(',') && out.size() < kMaxSplits);
    if (std::adjacent_find(out.begin(), out.end(), std::greater_equal<int64_t>()) != out.end())
      error("trace: the values of a split must ascend");
    return out;
  }
  std::vector<LayoutDigit> layout() {
    std::vector<LayoutDigit> out;
    expect('[');
    do {
      LayoutDigit digit;
      digit.dim = name();
      if (accept('/'))
        digit.part = LayoutDigit::Part::quotient;
      else if (accept('%'))
        digit.part = LayoutDigit::Part::remainder;
      if (digit.part != LayoutDigit::Part::whole) digit.factor = size();
      out.push_back(std::move(digit));
    } while (accept(','));
    expect(']');
    return out;
  }
  void decide() {
    do {
      Decision decision;
      decision.name = name();
      expect('=');
      decision.value = integer();
      if (accept_word("of"))
        while (!failed() && peek_digit() && decision.candidates.size() < 4096) decision.candidates.push_back(integer());
      if (trace_.decisions.size() >= kMaxDecisions) return error("trace: more than 64 decisions");
      if (!failed()) trace_.decisions.push_back(std::move(decision));
    } while (accept(','));
  }
  void require() {
    Constraint constraint;
    constraint.name = name();
    expect(':');
    do constraint.terms.push_back(monomial());
    while (accept('+'));
    expect('<');
    expect('=');
    constraint.at_most = decimal();
    if (!failed()) trace_.constraints.push_back(std::move(constraint));
  }
  Monomial monomial() {
    Monomial out;
    if (peek_digit() || peek('-'))
      out.coeff = decimal();
    else
      out.decisions.push_back(name());
    while (accept('*')) out.decisions.push_back(name());
    return out;
  }
  Scope scope() {
    std::string word = name();
    for (Scope s :
         {Scope::heap, Scope::stack, Scope::reg, Scope::tile, Scope::shared, Scope::scratchpad, Scope::accumulator})
      if (word == name_of(s)) return s;
    error("trace: unknown scope '" + word + "'; known are heap stack reg tile shared scratchpad accumulator");
    return Scope::heap;
  }
  std::vector<std::string> names() {
    std::vector<std::string> out;
    do out.push_back(name());
    while (accept(','));
    return out;
  }
  Size size() {
    if (peek_digit()) return Size{integer(), ""};
    return Size{0, name()};
  }

  // Every decision that a size names must be in the table.
  void check_names() {
    std::set<std::string> known;
    for (const auto& decision : trace_.decisions)
      if (!known.insert(decision.name).second) return error("trace: decision '" + decision.name + "' is there twice");
    for (const auto& step : trace_.steps) check_sizes(step, known);
    for (const auto& constraint : trace_.constraints)
      for (const auto& term : constraint.terms)
        for (const auto& used : term.decisions) check_known(used, known);
  }
  void check_sizes(const Step& step, const std::set<std::string>& known) {
    if (const auto* s = std::get_if<TileStep>(&step))
      for (const auto& level : s->levels) check_known(level.size.decision, known);
    if (const auto* s = std::get_if<OverlapStep>(&step))
      for (const auto& level : s->levels) check_known(level.size.decision, known);
    if (const auto* s = std::get_if<VectorizeStep>(&step)) check_known(s->lanes.decision, known);
    if (const auto* s = std::get_if<PromoteStep>(&step))
      for (const auto& digit : s->layout) check_known(digit.factor.decision, known);
    if (const auto* s = std::get_if<StoreStep>(&step))
      for (const auto& digit : s->layout) check_known(digit.factor.decision, known);
    if (const auto* s = std::get_if<ComputeAtStep>(&step)) {
      for (const auto& digit : s->layout) check_known(digit.factor.decision, known);
      if (s->sliding) check_known(s->sliding->multiple.decision, known);
    }
  }
  void check_known(const std::string& used, const std::set<std::string>& known) {
    if (!used.empty() && !known.count(used))
      error("trace: size '" + used + "' is not decided; add: decide " + used + " = 32");
  }

  Trace trace_;
};

}  // namespace

Result<Trace> parse_trace(const std::string& text) {
  if (text.size() > kMaxBytes) return fail("PW0301", "trace: longer than 64 KiB");
  return Parser(text).run();
}

}  // namespace polyweft
