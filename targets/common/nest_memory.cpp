// Accesses to memory: places, loads and stores, and the statements that they serve.

#include <algorithm>
#include <numeric>

#include "targets/common/nest_code.h"

namespace polyweft::targets {

llvm::Value* NestCode::load_place(const Place& place, ElementType type) {
  llvm::Type* memory = scalar_.memory_type(type);
  const llvm::Align element(static_cast<uint64_t>(size_bytes(type)));
  const bool uniform = !place.offsets && place.stride == 0;
  if (lanes_.width == 1 || (uniform && !lanes_.guarded))
    return scalar_.from_memory(b_.CreateAlignedLoad(memory, place.pointer, element), type);
  auto* vector = llvm::FixedVectorType::get(memory, lanes_.width);
  if (!place.offsets && place.stride == 1) {
    const llvm::Align align(static_cast<uint64_t>(place.alignment));
    llvm::Value* raw = lanes_.mask
                           ? static_cast<llvm::Value*>(b_.CreateMaskedLoad(vector, place.pointer, align, lanes_.mask,
                                                                           llvm::Constant::getNullValue(vector)))
                           : b_.CreateAlignedLoad(vector, place.pointer, align);
    return scalar_.from_memory(raw, type);
  }
  if (!place.offsets && place.stride == -1) {
    llvm::Value* first =
        b_.CreateInBoundsGEP(memory, place.pointer, b_.getInt64(-static_cast<uint64_t>(lanes_.width - 1)));
    llvm::Value* raw =
        lanes_.mask
            ? static_cast<llvm::Value*>(b_.CreateMaskedLoad(vector, first, element, b_.CreateVectorReverse(lanes_.mask),
                                                            llvm::Constant::getNullValue(vector)))
            : b_.CreateAlignedLoad(vector, first, element);
    return scalar_.from_memory(b_.CreateVectorReverse(raw), type);
  }
  llvm::Value* raw = b_.CreateMaskedGather(vector, places_.pointers_of(place, memory), element, masks_.full_mask(),
                                           llvm::Constant::getNullValue(vector));
  return scalar_.from_memory(raw, type);
}

llvm::Instruction* NestCode::store_place(const Place& place, ElementType type, llvm::Value* value) {
  llvm::Type* memory = scalar_.memory_type(type);
  const llvm::Align element(static_cast<uint64_t>(size_bytes(type)));
  if (lanes_.width == 1) return b_.CreateAlignedStore(scalar_.to_memory(value, type), place.pointer, element);
  llvm::Value* raw = scalar_.to_memory(scalar_.splat(value, lanes_.width), type);
  if (!place.offsets && place.stride == 1) {
    const llvm::Align align(static_cast<uint64_t>(place.alignment));
    if (lanes_.mask) return b_.CreateMaskedStore(raw, place.pointer, align, lanes_.mask);
    auto* store = b_.CreateAlignedStore(raw, place.pointer, align);
    const uint64_t bytes = module_.getDataLayout().getTypeStoreSize(raw->getType()).getFixedValue();
    if (lanes_.non_temporal && align.value() >= bytes)
      store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                         llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    return store;
  }
  if (!place.offsets && place.stride == -1) {
    llvm::Value* first =
        b_.CreateInBoundsGEP(memory, place.pointer, b_.getInt64(-static_cast<uint64_t>(lanes_.width - 1)));
    llvm::Value* reversed = b_.CreateVectorReverse(raw);
    if (lanes_.mask) return b_.CreateMaskedStore(reversed, first, element, b_.CreateVectorReverse(lanes_.mask));
    return b_.CreateAlignedStore(reversed, first, element);
  }
  const bool masks_elements = scalar_.can().masked_vectors || size_bytes(type) >= 4;
  if (!place.offsets && place.stride == 2 && lanes_.width >= 4 && masks_elements)
    return store_spread(place, raw, element);
  return b_.CreateMaskedScatter(raw, places_.pointers_of(place, memory), element, masks_.full_mask());
}

/// Elements at places that differ from lane to lane, of a buffer that one vector holds: a permutation of it, where a
/// gather asks memory for each lane. Null for larger buffers, and where the target has no such permutations.
llvm::Value* NestCode::load_of_table(const Buffer& buffer, const Place& place) {
  const int64_t elements = allocated_elements(buffer), width = static_cast<int64_t>(lanes_.width),
                bytes = size_bytes(buffer.type);
  if (!place.offsets || !scalar_.can().line_permutes || elements > width || elements < 1 ||
      (bytes != 4 && bytes != 8) || bytes * width != kLineBytes)
    return nullptr;
  llvm::Type* memory = scalar_.memory_type(buffer.type);
  auto* vector = llvm::FixedVectorType::get(memory, lanes_.width);
  const llvm::Align element(static_cast<uint64_t>(bytes));
  llvm::Value* table = elements == width
                           ? static_cast<llvm::Value*>(b_.CreateAlignedLoad(vector, place.pointer, element))
                           : b_.CreateMaskedLoad(vector, place.pointer, element, masks_.first_lanes(elements),
                                                 llvm::Constant::getNullValue(vector));
  llvm::Value* index = b_.CreateSExtOrTrunc(
      place.offsets, llvm::FixedVectorType::get(b_.getIntNTy(static_cast<unsigned>(8 * bytes)), lanes_.width));
  return scalar_.from_memory(scalar_.hooks().looked_up(b_, table, index), buffer.type);
}

/// An address that was not needed after all.
static void drop_unused(llvm::Value* pointer, const llvm::Value* base) {
  while (auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer)) {
    if (gep == base || !gep->use_empty()) return;
    pointer = gep->getPointerOperand();
    gep->eraseFromParent();
  }
}

/// An integer of a table at a place that the code knows: a number, so that sums of products by it are sums of few
/// additions. Null elsewhere.
llvm::Value* NestCode::number_of_table(const Access& access) {
  const Buffer& buffer = nest_.buffers[access.id];
  const auto* table = llvm::dyn_cast_or_null<llvm::GlobalVariable>(bases_[access.id]);
  if (buffer.scope != Scope::constant || !is_integer(buffer.type) || !table || has_data(access)) return nullptr;
  const Affine offset = places_.offset_of(access, nullptr);
  if (!offset.is_constant() || offset.constant < 0 || offset.constant >= allocated_elements(buffer)) return nullptr;
  return scalar_.from_memory(table->getInitializer()->getAggregateElement(static_cast<unsigned>(offset.constant)),
                             buffer.type);
}

llvm::Value* NestCode::load(const Access& access) {
  const Buffer& buffer = nest_.buffers[access.id];
  if (in_registers(access.id)) {
    if (llvm::Value* known = register_value(register_key(access))) return known;
    llvm::Type* type = register_type_of(access.id);
    return llvm::PoisonValue::get(
        lanes_.width > 1 ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(type, lanes_.width)) : type);
  }
  if (!waiting_.empty()) write_waiting_of(access.id);
  if (llvm::Value* number = number_of_table(access)) return number;
  if (llvm::Value* turned = load_from_aligned_pair(access)) return turned;
  if (llvm::Value* near = load_neighbours(access)) return near;
  if (llvm::Value* column = load_strided(access)) return column;
  const Place place = places_.place_of(access);
  if (llvm::Value* chosen = strides_.is_symbolic(access.id) ? nullptr : load_of_table(buffer, place)) return chosen;
  if (place.key.empty()) return load_place(place, buffer.type);
  // A load is known by its offset, its shape and its mask, until a store may have met it and until control flow parts
  // or joins.
  const bool is_line = lies_in_whole_lines(access.id, place);
  const std::string key = is_line ? place.key + " whole" : place.key;
  if (llvm::Value* known = loads_.value(key)) {
    drop_unused(place.pointer, bases_[access.id]);
    return known;
  }
  llvm::Value* value = load_between(access.id, place);
  if (!value) {
    value =
        is_line ? load_line(place.pointer, buffer.type) : load_place(places_.in_reach(place, access.id), buffer.type);
    pointers_.note_aligned(access.id, place, value);
  }
  loads_.note(key, {value, KnownLoads::Span{access.id, place.offset, lanes_.width}});
  prefetch(access, place);
  return value;
}

void NestCode::store(const Access& access, llvm::Value* value) {
  const Buffer& buffer = nest_.buffers[access.id];
  const bool is_short = buffer.type == ElementType::i64 && value->getType()->getScalarSizeInBits() == 32;
  if (is_short != short_[access.id]) value = is_short ? long_index(value) : short_index(value);
  if (in_registers(access.id)) {
    const RegKey key = register_key(access);
    if (!lanes_.mask && lanes_.width > 1)  // whole lanes replace what was known of single ones
      file_.erase(file_.upper_bound(key),
                  file_.lower_bound({key.first, key.second + static_cast<int64_t>(lanes_.width)}));
    llvm::Value*& cell = file_[key];
    llvm::Value* wide = scalar_.splat(value, lanes_.width);
    // Lanes that nothing ever reads need not be kept: a blend would lengthen each step of an accumulation.
    const bool keeps_lanes = cell && lanes_.mask && lanes_.active != in_use_[key];
    cell = keeps_lanes ? b_.CreateSelect(lanes_.mask, wide, cell) : wide;
    return;
  }
  if (lanes_.width > 1 && store_later(access, value)) return;
  if (!waiting_.empty()) write_waiting_of(access.id);
  const Place place = places_.place_of(access);
  if (!store_whole(access.id, place, value)) store_place(place, buffer.type, value);
  loads_.forget_loads(access.id, place);
}

/// The state and a product, rounded once; of a sum of products one after the other.
llvm::Value* NestCode::fused_sum(const Expr& product, llvm::Value* state) {
  if (product->op == Op::add) return fused_sum(product->args[1], fused_sum(product->args[0], state));
  if (product->op != Op::mul) throw Refusal{fail("PW0501", "a fused accumulation needs a product")};
  std::vector<llvm::Value*> operands = {expression(product->args[0]), expression(product->args[1]), state};
  scalar_.unify(operands);
  return scalar_.fma(product->type, operands[0], operands[1], operands[2]);
}

/// The compiler may reassociate the sum or product that these instructions fold, where the class allows it.
llvm::FastMathFlags NestCode::flags_of_fold(const Compute& compute) const {
  llvm::FastMathFlags flags;
  const bool is_fold = compute.reducer == Reducer::sum || compute.reducer == Reducer::prod;
  if (!nest_.auto_vectorized || nest_.cls != NumericsClass::reassoc || !is_fold) return flags;
  flags.setAllowReassoc();
  flags.setAllowContract();
  return flags;
}

/// The same sum for the compiler's vectorizers, which take products and sums apart: it rounds once where the target has
/// an instruction for it.
llvm::Value* NestCode::contracted_sum(const Expr& product, llvm::Value* state, llvm::FastMathFlags flags) {
  if (product->op == Op::add)
    return contracted_sum(product->args[1], contracted_sum(product->args[0], state, flags), flags);
  if (product->op != Op::mul) throw Refusal{fail("PW0501", "a fused accumulation needs a product")};
  llvm::Value *a = expression(product->args[0]), *b = expression(product->args[1]);
  const llvm::IRBuilder<>::FastMathFlagGuard guard(b_);
  b_.setFastMathFlags(flags);
  return b_.CreateFAdd(state, b_.CreateFMul(a, b));
}

void NestCode::accumulate(const Compute& compute) {
  std::vector<llvm::Value*> state;
  for (const auto& dst : compute.dst) state.push_back(load(dst));
  const llvm::FastMathFlags flags = flags_of_fold(compute);
  if (compute.fused) {
    const bool is_wide = compute.rhs[0]->type == ElementType::f32 || compute.rhs[0]->type == ElementType::f64;
    store(compute.dst[0], flags.allowReassoc() && is_wide ? contracted_sum(compute.rhs[0], state[0], flags)
                                                          : fused_sum(compute.rhs[0], state[0]));
    return;
  }
  std::vector<llvm::Value*> all = state;
  for (size_t k = 0; k < compute.rhs.size(); ++k) all.push_back(operand_for(compute.dst[k], compute.rhs[k]));
  scalar_.unify(all);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(state.size());
  const llvm::IRBuilder<>::FastMathFlagGuard guard(b_);
  b_.setFastMathFlags(flags);
  const auto out = combined(compute, {all.begin(), middle}, {middle, all.end()});
  b_.clearFastMathFlags();
  for (size_t i = 0; i < out.size(); ++i) store(compute.dst[i], out[i]);
}

bool reads(const Expr& e, BufferId id) {
  return (e->op == Op::read && e->access.id == id) ||
         std::any_of(e->args.begin(), e->args.end(), [&](const Expr& arg) { return reads(arg, id); });
}

void NestCode::on(const Compute& compute) {
  if (compute.how == Write::store && compute.rhs[0]->op == Op::read &&
      ir::stays_in_place(nest_, compute, compute.rhs[0]->access.id))
    return;
  if (compute.how == Write::accumulate || compute.how == Write::merge) return accumulate(compute);
  if (compute.how == Write::init) {
    const bool indices = compute.reducer == Reducer::argmax || compute.reducer == Reducer::argmin;
    for (size_t i = 0; i < compute.dst.size(); ++i) {
      const ElementType type = nest_.buffers[compute.dst[i].id].type;
      llvm::Value* identity = nullptr;
      if (compute.reducer == Reducer::combiner)
        identity = scalar_.constant(nest_.combiners[compute.combiner].identity[i]);
      else if (indices && i > 0)
        identity = b_.getInt64(INT64_MAX);
      else
        identity = scalar_.identity(compute.reducer, type);
      store(compute.dst[i], identity);
    }
    return;
  }
  is_in_place_ =
      std::any_of(compute.rhs.begin(), compute.rhs.end(), [&](const Expr& e) { return reads(e, compute.dst[0].id); });
  std::vector<llvm::Value*> values;
  for (const auto& rhs : compute.rhs) values.push_back(expression(rhs));
  for (size_t i = 0; i < values.size(); ++i) store(compute.dst[i], values[i]);
  is_in_place_ = false;
}

void NestCode::on(const Copy& copy) {
  const Guard valid = fold(copy.valid);
  const ElementType type = nest_.buffers[copy.dst.id].type;
  llvm::Value* fill = scalar_.constant(copy.fill);
  if (!copy.has_src || facts_.decide(valid) == false) return store(copy.dst, fill);
  if (facts_.decide(valid) == true) return store(copy.dst, load(copy.src));
  auto source = make_read(type, copy.src);
  ExprNode node;
  node.op = Op::guarded;
  node.type = type;
  node.guard = copy.valid;
  node.args = {source, make_literal(copy.fill)};
  store(copy.dst, guarded(node));
}

}  // namespace polyweft::targets
