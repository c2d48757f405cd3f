#include "ir/oracles/interpreter.h"

#include <algorithm>
#include <deque>

#include "ir/nests/axes.h"
#include "ir/oracles/interpreter_memory.h"
#include "ir/values/exact.h"
#include "ir/values/scalar.h"

namespace polyweft::ir {
namespace {

std::string index_text(const std::vector<int64_t>& index) {
  std::string out;
  for (int64_t x : index) out += (out.empty() ? "" : ", ") + std::to_string(x);
  return "[" + out + "]";
}

class Interpreter {
 public:
  Interpreter(const LoopNest& nest, const InterpreterOptions& options)
      : nest_(nest), options_(options), memory_(nest), with_sync_(nodes_with_sync(nest)) {
    for (const Parameter& parameter : nest.params) env_.push_back(parameter.value);
    env_.resize(nest.params.size() + nest.loop_names.size());
  }

  Status run(const std::vector<TensorData>& inputs) {
    prepare(inputs);
    for (const Pack& pack : nest_.packs) execute(pack.root);
    execute(nest_.root);
    if (failure_) return *failure_;
    return Ok{};
  }

  void extract(BufferId id, NestRun& out) {
    const Buffer& buffer = nest_.buffers[id];
    TensorData data = make_tensor(buffer.type, buffer.extents);
    std::vector<uint8_t> written(static_cast<size_t>(data.elements()));
    std::vector<Tag> tags(options_.with_tags ? written.size() : 0);
    memory_.for_each_index(id, [&](int64_t flat, const std::vector<int64_t>& index) {
      const Cell& cell = *memory_.cell(id, index);
      if (!cell.written) return;
      data.set(flat, cell.value);
      written[static_cast<size_t>(flat)] = 1;
      if (options_.with_tags) tags[static_cast<size_t>(flat)] = cell.tag;
    });
    out.tensors.push_back(std::move(data));
    out.written.push_back(std::move(written));
    out.tags.push_back(std::move(tags));
  }

 private:
  using Thread = std::vector<std::pair<VarId, int64_t>>;  ///< values of its axis loops
  /// An asynchronous copy on its way; group -1: not committed yet.
  struct LateCopy {
    BufferId buffer = 0;
    Cell* to = nullptr;
    Cell value;
    int64_t group = -1;
  };

  // ---- buffers ----

  BufferId source_of(BufferId argument) const {
    for (const Pack& pack : nest_.packs)
      if (pack.packed == argument) return pack.source;
    return argument;
  }

  void prepare(const std::vector<TensorData>& inputs) {
    for (BufferId id = 0; id < nest_.buffers.size(); ++id) {
      Scope scope = nest_.buffers[id].scope;
      if (scope != Scope::argument && scope != Scope::constant) continue;
      if (!memory_.allocate(id, options_.cell_limit)) return fail_limit();
      if (scope == Scope::constant) memory_.fill_constant(id);
    }
    size_t next = 0;
    for (BufferId id : nest_.arguments) {
      if (nest_.buffers[id].is_output) continue;
      if (next == inputs.size())
        return fail_once("PW0490", "more inputs are needed than the " + std::to_string(next) + " given");
      fill_input(source_of(id), inputs[next++]);
    }
    if (next != inputs.size())
      fail_once("PW0490", std::to_string(inputs.size()) + " inputs given, " + std::to_string(next) + " needed");
  }

  void fill_input(BufferId id, const TensorData& data) {
    const Buffer& buffer = nest_.buffers[id];
    if (data.type != buffer.type || data.extents != buffer.extents)
      return fail_once("PW0490", buffer.name + ": is " + name_of(data.type) + index_text(data.extents) +
                                     ", the nest wants " + name_of(buffer.type) + index_text(buffer.extents));
    memory_.fill_argument(id, data);
  }

  bool is_read_only(BufferId id) const {
    const Buffer& buffer = nest_.buffers[id];
    return buffer.scope == Scope::constant ||
           (buffer.scope == Scope::argument && !buffer.is_output && !buffer.is_packed);
  }

  // ---- nodes ----

  void execute(NodeId id) {
    if (failure_ || id == kNoNode) return;
    if (!threads_.empty() && !with_sync_[id]) return execute_by_each({id});
    std::visit([this](const auto& node) { execute(node); }, nest_.nodes[id]);
  }

  /// What holds no barrier is done by one thread after the other.
  void execute_by_each(const std::vector<NodeId>& nodes) {
    std::vector<Thread> threads = std::move(threads_);
    threads_.clear();
    for (size_t k = 0; k < threads.size() && !failure_; ++k) {
      size_t turn = options_.last_thread_first ? threads.size() - 1 - k : k;
      for (const auto& [var, value] : threads[turn]) env_[var] = value;
      memory_.turn_to(static_cast<int64_t>(turn), static_cast<int64_t>(threads.size()));
      for (NodeId id : nodes) execute(id);
    }
    memory_.turn_to(0, 1);
    threads_ = std::move(threads);
  }

  /// Threads of all axis loops around, outermost first; the axis with a barrier inside adds its own.
  void execute_threads(const Loop& loop, int64_t lo, int64_t hi) {
    std::vector<Thread> outer = threads_;
    if (threads_.empty()) threads_.emplace_back();
    std::vector<Thread> all;
    for (const Thread& thread : threads_)
      for (int64_t value = lo; value < hi; value += loop.step) {
        all.push_back(thread);
        all.back().emplace_back(loop.var, value);
      }
    threads_ = std::move(all);
    if (!threads_.empty()) execute(loop.body);
    threads_ = std::move(outer);
  }
  void execute(const Seq& seq) {
    std::vector<NodeId> between;  // barriers
    for (NodeId child : seq.children) {
      bool together = !threads_.empty() && !with_sync_[child];
      if (together) between.push_back(child);
      if (together) continue;
      if (!between.empty()) execute_by_each(between);
      between.clear();
      execute(child);
    }
    if (!between.empty()) execute_by_each(between);
  }
  void execute(const Loop& loop) {
    int64_t lo = evaluate(loop.lo.of.front(), env_), hi = evaluate(loop.hi.of.front(), env_);
    for (const Affine& e : loop.lo.of) lo = std::max(lo, evaluate(e, env_));
    for (const Affine& e : loop.hi.of) hi = std::min(hi, evaluate(e, env_));
    if (is_thread_axis(loop) && with_sync_[loop.body]) return execute_threads(loop, lo, hi);
    for (int64_t value = lo; value < hi && !failure_; value += loop.step) {
      env_[loop.var] = value;
      execute(loop.body);
    }
  }
  void execute(const If& node) { execute(evaluate(node.condition, env_) ? node.then : node.otherwise); }
  void execute(const Alloc& node) {
    if (!memory_.allocate(node.buffer, options_.cell_limit,
                          std::max<int64_t>(1, static_cast<int64_t>(threads_.size()))))
      return fail_limit();
    execute(node.body);
    std::erase_if(late_, [&](const LateCopy& copy) { return copy.buffer == node.buffer; });
  }
  /// Of a barrier: all have done what stands before.
  void execute(const Sync& sync) {
    if (sync.kind == Sync::Kind::async_commit) {
      for (LateCopy& copy : late_)
        if (copy.group < 0) copy.group = groups_;
      ++groups_;
    }
    if (sync.kind != Sync::Kind::async_wait) return;
    std::erase_if(late_, [&](const LateCopy& copy) {
      if (copy.group < 0 || copy.group >= groups_ - sync.arg) return false;
      *copy.to = copy.value;
      return true;
    });
  }

  void execute(const Copy& copy) {
    if (!count_step()) return;
    Cell* to = writable(copy.dst);
    if (!to) return;
    bool takes = copy.has_src && evaluate(copy.valid, env_);
    const Cell moved = takes ? value_at(copy.src) : Cell{};
    take(copy.dst, takes ? &copy.src : nullptr);
    if (failure_) return;
    Cell value = takes ? moved : Cell{copy.fill, tag_of_literal(copy.fill), true};
    const bool is_late = options_.late_copies && copy.is_async;
    *to = is_late ? Cell{} : value;
    if (is_late) late_.push_back({copy.dst.id, to, std::move(value), -1});
  }

  void execute(const Compute& compute) {
    if (!count_step()) return;
    std::vector<Cell*>& to = to_;
    to.clear();
    for (const Access& access : compute.dst) to.push_back(writable(access));
    if (failure_) return;
    if (compute.how == Write::init) {
      for (const Access& dst : compute.dst) take(dst, nullptr);
      return initialize(compute, to);
    }
    std::vector<Cell>& values = values_;
    values.clear();
    for (const Expr& e : compute.rhs) values.push_back(value_of(*e));
    if (failure_) return;
    const bool moves = compute.how == Write::store && compute.rhs.size() == 1 && compute.rhs[0]->op == Op::read;
    for (const Access& dst : compute.dst) take(dst, moves ? &compute.rhs[0]->access : nullptr);
    if (compute.how == Write::store) {
      for (size_t k = 0; k < to.size(); ++k) *to[k] = values.at(k);
      return;
    }
    for (size_t k = 0; k < to.size(); ++k)
      if (!to[k]->written) return fail_unwritten(compute.dst[k]);
    accumulate(compute, to, values);
  }

  void initialize(const Compute& compute, const std::vector<Cell*>& to) {
    bool argument = compute.reducer == Reducer::argmax || compute.reducer == Reducer::argmin;
    for (size_t k = 0; k < to.size(); ++k) {
      ElementType type = nest_.buffers[compute.dst[k].id].type;
      Literal value;
      if (compute.reducer == Reducer::combiner)
        value = nest_.combiners[compute.combiner].identity[k];
      else if (argument && k > 0)
        value = {type, 0, INT64_MAX};
      else
        value = identity(compute.reducer, type);
      *to[k] = {value, Tag{}, true};
    }
  }

  void accumulate(const Compute& compute, const std::vector<Cell*>& to, const std::vector<Cell>& values) {
    accumulate_tags(compute, to, values);
    if (compute.reducer == Reducer::combiner)
      combine_state(nest_.combiners[compute.combiner], to, values);
    else if (compute.reducer == Reducer::argmax || compute.reducer == Reducer::argmin)
      take_better(compute.reducer, to, values);
    else if (compute.fused)
      to[0]->value = fused_sum(*compute.rhs[0], to[0]->value);
    else
      to[0]->value = combine(compute.reducer, to[0]->value, values.at(0).value);
  }

  void accumulate_tags(const Compute& compute, const std::vector<Cell*>& to, const std::vector<Cell>& values) {
    if (!options_.with_tags) return;
    const Combiner* combiner = compute.reducer == Reducer::combiner ? &nest_.combiners[compute.combiner] : nullptr;
    ElementType type = combiner ? combiner->types[0] : nest_.buffers[compute.dst[0].id].type;
    FoldOrder order = fold_order(nest_.cls, compute.reducer, type, combiner);
    tags_.clear();
    for (const Cell& value : values) tags_.push_back(value.tag);
    for (uint32_t k = 0; k < to.size(); ++k)
      to[k]->tag = compute.how == Write::merge
                       ? merge_tags(order, to[k]->tag, tags_[k])
                       : fold_tags(order, to[k]->tag, tag_of_term(compute.reducer, compute.combiner, k, tags_));
  }

  void combine_state(const Combiner& combiner, const std::vector<Cell*>& to, const std::vector<Cell>& values) {
    std::vector<Literal> state, next;
    for (const Cell* cell : to) state.push_back(cell->value);
    for (const Cell& cell : values) state.push_back(cell.value);
    for (const Expr& result : combiner.result) next.push_back(combiner_value(*result, state));
    for (size_t k = 0; k < to.size(); ++k) to[k]->value = next[k];
  }

  /// The variables of a combiner are its components, left then right.
  Literal combiner_value(const ExprNode& e, const std::vector<Literal>& state) {
    if (e.op == Op::variable) return state[e.var];
    if (e.op == Op::literal) return e.literal;
    if (e.op == Op::read) return value_of(e).value;
    Literal args[3];
    for (size_t k = 0; k < e.args.size(); ++k) args[k] = combiner_value(*e.args[k], state);
    return apply(e.op, e.type, std::span<const Literal>(args, e.args.size()), MathLibrary::own);
  }

  static void take_better(Reducer reducer, const std::vector<Cell*>& to, const std::vector<Cell>& values) {
    std::vector<int64_t> index, best_index;
    for (size_t k = 1; k < to.size(); ++k) {
      index.push_back(values.at(k).value.i);
      best_index.push_back(to[k]->value.i);
    }
    if (!beats(reducer, values.at(0).value, index, to[0]->value, best_index)) return;
    for (size_t k = 0; k < to.size(); ++k) to[k]->value = values[k].value;
  }

  Literal fused_sum(const ExprNode& product, const Literal& sum) {
    if (product.op == Op::add) return fused_sum(*product.args[1], fused_sum(*product.args[0], sum));
    PW_CHECK(product.op == Op::mul);
    Literal args[3] = {value_of(*product.args[0]).value, value_of(*product.args[1]).value, sum};
    return apply(Op::fma, sum.type, args, MathLibrary::own);
  }

  // ---- expressions ----

  Cell value_of(const ExprNode& e) {
    switch (e.op) {
      case Op::literal:
        return of_literal(e.literal);
      case Op::variable:
        return of_literal({ElementType::i64, 0, env_[e.var]});
      case Op::affine:
        return of_literal({ElementType::i64, 0, evaluate(e.affine, env_)});
      case Op::read: {
        const Cell* cell = accessed(e.access);
        if (cell && !cell->written) fail_unwritten(e.access);
        return cell ? *cell : Cell{{e.type, 0, 0}, {}, true};
      }
      case Op::guarded:
        return value_of(*e.args[evaluate(e.guard, env_) ? 0 : 1]);
      default:
        return operation(e);
    }
  }

  static Cell of_literal(const Literal& value) { return {value, tag_of_literal(value), true}; }

  Cell operation(const ExprNode& e) {
    PW_CHECK(e.args.size() <= 3);
    Literal args[3];
    Tag tags[3];
    for (size_t k = 0; k < e.args.size(); ++k) {
      Cell arg = value_of(*e.args[k]);
      args[k] = arg.value;
      tags[k] = arg.tag;
    }
    Cell out;
    out.value = apply(e.op, e.type, std::span<const Literal>(args, e.args.size()), MathLibrary::own);
    if (options_.with_tags) out.tag = tag_of_operation(e.op, e.type, std::span<const Tag>(tags, e.args.size()));
    out.written = true;
    return out;
  }

  // ---- accesses ----

  std::vector<int64_t> index_of(const Access& access) {
    std::vector<int64_t> index;
    index_of(access, index);
    return index;
  }
  void index_of(const Access& access, std::vector<int64_t>& index) {
    index.clear();
    for (const Subscript& s : access.index) {
      int64_t at = evaluate(s.affine, env_);
      if (s.data) at += index_data(*s.data);
      index.push_back(at);
    }
  }

  int64_t index_data(const ExprNode& data) {
    struct Leaves {
      Interpreter& interpreter;
      int64_t leaf(const ExprNode& e) { return interpreter.value_of(e).value.i; }
      bool truth(const ExprNode& e) { return leaf(e) != 0; }
      bool holds(const Guard& guard) { return evaluate(guard, interpreter.env_); }
    } leaves{*this};
    return static_cast<int64_t>(ExactValue<Leaves>(leaves).of(data));
  }

  Cell* accessed(const Access& access) {
    if (depth_ == indices_.size()) indices_.emplace_back();
    std::vector<int64_t>& index = indices_[depth_];
    ++depth_;  // a subscript may read another element
    index_of(access, index);
    --depth_;
    Cell* cell = memory_.cell(access.id, index);
    const Buffer& buffer = nest_.buffers[access.id];
    if (!cell)
      fail_once("PW0491", buffer.name + index_text(index) + " is outside its extents " + index_text(buffer.extents));
    return cell;
  }

  Cell value_at(const Access& access) {
    const Cell* cell = accessed(access);
    return cell ? *cell : Cell{};
  }

  /// Before a write, after all reads of its statement.
  void take(const Access& dst, const Access* from) {
    if (failure_ || !memory_.is_shared(dst.id)) return;
    memory_.take(dst.id, index_of(dst), from, from ? index_of(*from) : std::vector<int64_t>());
  }

  Cell* writable(const Access& access) {
    if (is_read_only(access.id)) {
      fail_once("PW0491", nest_.buffers[access.id].name + " is an input and is written");
      return nullptr;
    }
    return accessed(access);
  }

  // ---- failures ----

  bool count_step() {
    if (++steps_ > options_.step_limit) fail_limit();
    return !failure_;
  }
  void fail_limit() { fail_once("PW0812", "interpret: the nest needs more cells or steps than the limit"); }
  void fail_unwritten(const Access& access) {
    fail_once("PW0492", nest_.buffers[access.id].name + index_text(index_of(access)) + " is read before it is written");
  }
  void fail_once(const char* code, std::string message) {
    if (!failure_) failure_ = fail(code, std::move(message));
  }

  const LoopNest& nest_;
  const InterpreterOptions& options_;
  NestMemory memory_;
  std::vector<bool> with_sync_;
  std::vector<LateCopy> late_;
  int64_t groups_ = 0;           ///< of asynchronous copies
  std::vector<Thread> threads_;  ///< that stand together at a place with barriers inside; none outside such places
  std::vector<int64_t> env_;
  // Of the statement that runs: kept so that each takes no memory.
  std::vector<Cell*> to_;
  std::vector<Cell> values_;
  std::vector<Tag> tags_;
  std::deque<std::vector<int64_t>> indices_;  ///< of the accesses that are being made, one inside the other
  size_t depth_ = 0;
  int64_t steps_ = 0;
  std::optional<Error> failure_;
};

}  // namespace

Result<NestRun> interpret(const LoopNest& nest, const std::vector<TensorData>& inputs,
                          const InterpreterOptions& options) {
  Interpreter interpreter(nest, options);
  Status status = interpreter.run(inputs);
  if (!status) return status.error();
  NestRun out;
  for (BufferId id : nest.arguments)
    if (nest.buffers[id].is_output) interpreter.extract(id, out);
  return out;
}

}  // namespace polyweft::ir
