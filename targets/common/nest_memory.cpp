#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <numeric>

#include "support/integer_division.h"
#include "targets/common/nest_code.h"

namespace polyweft::targets {
namespace {

constexpr int64_t kLineBytes = 64;
constexpr VarId kGather = 0x7fffff00;  // stands for a data-dependent subscript while offsets are computed

}  // namespace

// Offset of an access in elements. Data-dependent subscripts become variables kGather + n whose values are in `gathers`.
Affine NestCode::offset_of(const Access& access, std::vector<llvm::Value*>* gathers) {
  std::vector<Affine> index;
  for (const auto& s : access.index) {
    Affine e = fold(s.affine);
    if (s.data) {
      const VarId stand_in = kGather + static_cast<VarId>(gathers->size());
      llvm::Value* value = expression(s.data);
      gathers->push_back(value);
      facts_.set(stand_in, {facts_.range(fold(s.lo)).lo, facts_.range(fold(s.hi)).hi, 1});
      variables_[stand_in] = value;
      e = e + Affine::variable(stand_in);
    }
    index.push_back(std::move(e));
  }
  return is_symbolic(access.id) ? symbolic_offset(access.id, std::move(index)) : facts_.offset(nest_.buffers[access.id], index);
}

llvm::Value* NestCode::base_of(BufferId id) {
  if (!bases_[id]) throw Refusal{fail("PW0501", "buffer " + nest_.buffers[id].name + " is used outside its lifetime")};
  return bases_[id];
}

/// Lanes a fixed stride apart, no data in the subscripts.
NestCode::Place NestCode::place_at(BufferId id, const Affine& offset) {
  Place place;
  place.stride = offset.coefficient(kLane);
  place.alignment = alignment_of(id, offset);
  llvm::Type* type = scalar_.memory_type(nest_.buffers[id].type);
  llvm::Value* pointer = stream_pointer(id, offset);
  if (!pointer) {
    pointer = base_of(id);
    if (llvm::Value* variable = scalar_part(offset)) pointer = b_.CreateInBoundsGEP(type, pointer, variable);
  }
  if (offset.constant != 0) pointer = b_.CreateInBoundsGEP(type, pointer, b_.getInt64(static_cast<uint64_t>(offset.constant)));
  place.pointer = pointer;
  name_place(place, id, offset);
  return place;
}

int64_t NestCode::alignment_of(BufferId id, const Affine& offset) const {
  const Buffer& buffer = nest_.buffers[id];
  const int64_t element = size_bytes(buffer.type);
  const bool in_argument = buffer.within && nest_.buffers[buffer.within->host].scope == Scope::argument;  // at a multiple of 64 in others
  const int64_t base_alignment = in_argument || (buffer.scope == Scope::argument && !buffer.is_packed && !aligned_[id]) ? element : 64;
  return std::gcd(base_alignment, facts_.known_divisor(offset - Affine::variable(kLane, offset.coefficient(kLane))) * element);
}

void NestCode::name_place(Place& place, BufferId id, const Affine& offset) const {
  char mask[48];
  std::snprintf(mask, sizeof mask, "@%u@%p", lanes_.width, static_cast<void*>(lanes_.mask));
  place.offset = offset;
  place.key = std::to_string(id) + ":" + key_of(offset) + mask;
}

NestCode::Place NestCode::place_of(const Access& access) {
  std::vector<llvm::Value*> gathers;
  Affine offset = offset_of(access, &gathers);
  bool lane_inside = false;
  for (const auto& term : offset.terms) {
    Affine one;
    one.terms = {term};
    const bool plain_lane = !term.quasi && term.var == kLane;
    lane_inside |= !plain_lane && depends_on_lane(one);
    if (!term.quasi && term.var >= kGather && term.var < kGather + gathers.size()) lane_inside |= ScalarCode::lanes(variables_[term.var]) > 1;
  }
  const bool by_lane = lane_inside || (!gathers.empty() && lanes_.width > 1);
  if (!by_lane && gathers.empty()) return place_at(access.id, offset);
  Place place;
  place.stride = offset.coefficient(kLane);
  place.alignment = alignment_of(access.id, offset);
  place.pointer = base_of(access.id);
  llvm::Type* type = scalar_.memory_type(nest_.buffers[access.id].type);
  if (by_lane)
    place.offsets = scalar_.splat(integer(offset), lanes_.width);
  else
    place.pointer = b_.CreateInBoundsGEP(type, place.pointer, integer(offset));
  if (!gathers.empty()) {
    clear_caches();                                                                                 // the stand-ins are free again
    for (size_t k = 0; k < gathers.size(); ++k) variables_.erase(kGather + static_cast<VarId>(k));  // a parallel loop hands all variables on
  } else {
    name_place(place, access.id, offset);
  }
  return place;
}

llvm::Value* NestCode::pointers_of(const Place& place, llvm::Type* type) {
  if (place.offsets) return b_.CreateInBoundsGEP(type, place.pointer, place.offsets);
  // 32-bit steps gather twice as many elements an instruction.
  const bool is_short = std::abs(place.stride) * static_cast<int64_t>(lanes_.width) < INT32_MAX / 16;
  std::vector<llvm::Constant*> steps;
  for (int64_t lane = 0; lane < static_cast<int64_t>(lanes_.width); ++lane)
    steps.push_back(llvm::ConstantInt::get(is_short ? b_.getInt32Ty() : b_.getInt64Ty(), static_cast<uint64_t>(lane * place.stride), true));
  return b_.CreateInBoundsGEP(type, place.pointer, llvm::ConstantVector::get(steps));
}

llvm::Value* NestCode::load_place(const Place& place, ElementType type) {
  llvm::Type* memory = scalar_.memory_type(type);
  const llvm::Align element(static_cast<uint64_t>(size_bytes(type)));
  const bool uniform = !place.offsets && place.stride == 0;
  if (lanes_.width == 1 || (uniform && !lanes_.guarded)) return scalar_.from_memory(b_.CreateAlignedLoad(memory, place.pointer, element), type);
  auto* vector = llvm::FixedVectorType::get(memory, lanes_.width);
  if (!place.offsets && place.stride == 1) {
    const llvm::Align align(static_cast<uint64_t>(place.alignment));
    llvm::Value* raw = lanes_.mask ? static_cast<llvm::Value*>(b_.CreateMaskedLoad(vector, place.pointer, align, lanes_.mask, llvm::Constant::getNullValue(vector)))
                                   : b_.CreateAlignedLoad(vector, place.pointer, align);
    return scalar_.from_memory(raw, type);
  }
  if (!place.offsets && place.stride == -1) {
    llvm::Value* first = b_.CreateInBoundsGEP(memory, place.pointer, b_.getInt64(-static_cast<uint64_t>(lanes_.width - 1)));
    llvm::Value* raw =
        lanes_.mask ? static_cast<llvm::Value*>(b_.CreateMaskedLoad(vector, first, element, b_.CreateVectorReverse(lanes_.mask), llvm::Constant::getNullValue(vector)))
                    : b_.CreateAlignedLoad(vector, first, element);
    return scalar_.from_memory(b_.CreateVectorReverse(raw), type);
  }
  llvm::Value* raw = b_.CreateMaskedGather(vector, pointers_of(place, memory), element, full_mask(), llvm::Constant::getNullValue(vector));
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
      store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    return store;
  }
  if (!place.offsets && place.stride == -1) {
    llvm::Value* first = b_.CreateInBoundsGEP(memory, place.pointer, b_.getInt64(-static_cast<uint64_t>(lanes_.width - 1)));
    llvm::Value* reversed = b_.CreateVectorReverse(raw);
    if (lanes_.mask) return b_.CreateMaskedStore(reversed, first, element, b_.CreateVectorReverse(lanes_.mask));
    return b_.CreateAlignedStore(reversed, first, element);
  }
  const bool masks_elements = scalar_.units().scale || size_bytes(type) >= 4;
  if (!place.offsets && place.stride == 2 && lanes_.width >= 4 && masks_elements) return store_spread(place, raw, element);
  return b_.CreateMaskedScatter(raw, pointers_of(place, memory), element, full_mask());
}

/// Elements at places that differ from lane to lane, of a buffer that one vector holds: a permutation of it, where a gather asks memory for each lane. Null for
/// larger buffers and without AVX-512.
llvm::Value* NestCode::load_of_table(const Buffer& buffer, const Place& place) {
  const int64_t elements = allocated_elements(buffer), width = static_cast<int64_t>(lanes_.width), bytes = size_bytes(buffer.type);
  if (!place.offsets || !scalar_.units().scale || elements > width || elements < 1 || (bytes != 4 && bytes != 8) || bytes * width != kLineBytes) return nullptr;
  llvm::Type* memory = scalar_.memory_type(buffer.type);
  auto* vector = llvm::FixedVectorType::get(memory, lanes_.width);
  const llvm::Align element(static_cast<uint64_t>(bytes));
  llvm::Value* table = elements == width ? static_cast<llvm::Value*>(b_.CreateAlignedLoad(vector, place.pointer, element))
                                         : b_.CreateMaskedLoad(vector, place.pointer, element, first_lanes(elements), llvm::Constant::getNullValue(vector));
  llvm::Value* index = b_.CreateSExtOrTrunc(place.offsets, llvm::FixedVectorType::get(b_.getIntNTy(static_cast<unsigned>(8 * bytes)), lanes_.width));
  const llvm::Intrinsic::ID permute = bytes == 8 ? (is_float(buffer.type) ? llvm::Intrinsic::x86_avx512_permvar_df_512 : llvm::Intrinsic::x86_avx512_permvar_di_512)
                                      : is_float(buffer.type) ? llvm::Intrinsic::x86_avx512_permvar_sf_512
                                                              : llvm::Intrinsic::x86_avx512_permvar_si_512;
  return scalar_.from_memory(b_.CreateIntrinsic(permute, {table, index}), buffer.type);
}

/// An address that was not needed after all.
static void drop_unused(llvm::Value* pointer, const llvm::Value* base) {
  while (auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer)) {
    if (gep == base || !gep->use_empty()) return;
    pointer = gep->getPointerOperand();
    gep->eraseFromParent();
  }
}

/// An integer of a table at a place that the code knows: a number, so that sums of products by it are sums of few additions. Null elsewhere.
llvm::Value* NestCode::number_of_table(const Access& access) {
  const Buffer& buffer = nest_.buffers[access.id];
  const auto* table = llvm::dyn_cast_or_null<llvm::GlobalVariable>(bases_[access.id]);
  if (buffer.scope != Scope::constant || !is_integer(buffer.type) || !table || has_data(access)) return nullptr;
  const Affine offset = offset_of(access, nullptr);
  if (!offset.is_constant() || offset.constant < 0 || offset.constant >= allocated_elements(buffer)) return nullptr;
  return scalar_.from_memory(table->getInitializer()->getAggregateElement(static_cast<unsigned>(offset.constant)), buffer.type);
}

llvm::Value* NestCode::load(const Access& access) {
  const Buffer& buffer = nest_.buffers[access.id];
  if (in_registers(access.id)) {
    if (llvm::Value* known = register_value(register_key(access))) return known;
    llvm::Type* type = register_type_of(access.id);
    return llvm::PoisonValue::get(lanes_.width > 1 ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(type, lanes_.width)) : type);
  }
  if (llvm::Value* number = number_of_table(access)) return number;
  if (llvm::Value* turned = load_turned(access)) {
    if (streams_) streams_->scattered[access.id] = true;
    return turned;
  }
  if (llvm::Value* near = load_neighbours(access)) {
    if (streams_) streams_->scattered[access.id] = true;
    return near;
  }
  const Place place = place_of(access);
  if (llvm::Value* chosen = is_symbolic(access.id) ? nullptr : load_of_table(buffer, place)) {
    if (streams_) streams_->scattered[access.id] = true;
    return chosen;
  }
  if (place.key.empty()) {
    note_cell(access.id, place, nullptr, false);
    return load_place(place, buffer.type);
  }
  // A load is known by its offset, its shape and its mask, until a store may have met it and until control flow parts or joins.
  const bool is_line = lies_in_whole_lines(access.id, place);
  const std::string key = is_line ? place.key + " whole" : place.key;
  if (const auto it = loads_.find(key); it != loads_.end()) {
    drop_unused(place.pointer, bases_[access.id]);
    return it->second.value;
  }
  llvm::Value* value = load_between(access.id, place);
  if (!value) {
    value = is_line ? load_line(place.pointer, buffer.type) : load_place(place, buffer.type);
    note_aligned(access.id, place, value);
    note_cell(access.id, place, value, false);
  }
  loads_[key] = {value, Known::Span{access.id, place.offset, lanes_.width}};
  prefetch(access, place);
  return value;
}

void NestCode::note_aligned(BufferId id, const Place& place, llvm::Value* value) {
  auto* load = llvm::dyn_cast<llvm::LoadInst>(value);
  if (streams_ && load && sharers_[id].empty() && place.alignment == kLineBytes && nest_.buffers[id].scope == Scope::heap)
    streams_->loads.push_back({load, place.pointer, id, place.offset});
}

/// Lanes k and up of one aligned vector, then the first ones of another: what stands above or below a vector whose lanes are rows, the storage skewed alike. None
/// where the lanes are not so.
std::optional<NestCode::TurnedLines> NestCode::turned_lines(const Access& access) {
  const Buffer& buffer = nest_.buffers[access.id];
  const auto width = static_cast<int64_t>(lanes_.width), bytes = size_bytes(buffer.type);
  if (!scalar_.units().scale || buffer.scope != Scope::heap || bytes < 4 || width * bytes != kLineBytes) return std::nullopt;
  if (has_data(access)) return std::nullopt;
  const Affine offset = offset_of(access, nullptr);
  if (!uses(offset - Affine::variable(kLane, offset.coefficient(kLane)), kLane)) return std::nullopt;
  std::vector<Affine> at;
  for (int64_t lane = 0; lane < width; ++lane) at.push_back(facts_.without_exact_quotients(facts_.simplify(substitute(offset, {{kLane, Affine::of(lane)}}))));
  int64_t turn = 1;
  while (turn < width && at[static_cast<size_t>(turn)] - at[0] == Affine::of(turn)) ++turn;
  if (turn == width) return std::nullopt;
  for (int64_t lane = turn; lane < width; ++lane)
    if (!(at[static_cast<size_t>(lane)] - at[static_cast<size_t>(turn)] == Affine::of(lane - turn))) return std::nullopt;
  const TurnedLines out{at[0] - Affine::of(width - turn) + Affine::variable(kLane), at[static_cast<size_t>(turn)] + Affine::variable(kLane), turn};
  if (alignment_of(access.id, out.low) < kLineBytes || alignment_of(access.id, out.high) < kLineBytes) return std::nullopt;
  return out;
}

llvm::Value* NestCode::load_turned(const Access& access) {
  const auto lines = turned_lines(access);
  if (!lines) return nullptr;
  const ElementType type = nest_.buffers[access.id].type;
  const auto width = static_cast<int64_t>(lanes_.width), bytes = size_bytes(type), turn = lines->turn;
  if (lanes_.prefetch)
    for (const Affine& line : {lines->low, lines->high}) prefetch(access, place_at(access.id, line));
  if (!lanes_.mask) return joined(aligned_load(access.id, lines->low), aligned_load(access.id, lines->high), width - turn, bytes);
  const Place low = place_at(access.id, lines->low), high = place_at(access.id, lines->high);
  if (!lanes_.start || !lies_in_whole_lines(access.id, low))
    return joined(load_part(access.id, lines->low, turn - width), load_part(access.id, lines->high, turn), width - turn, bytes);
  // A line that no active lane needs may be nobody's memory; the other one is not.
  llvm::Value* low_or_high = b_.CreateSelect(b_.CreateICmpSLT(lanes_.start, b_.getInt64(static_cast<uint64_t>(turn))), low.pointer, high.pointer);
  llvm::Value* high_or_low = b_.CreateSelect(b_.CreateICmpSGT(lanes_.count, b_.getInt64(static_cast<uint64_t>(turn))), high.pointer, low.pointer);
  return joined(load_line(low_or_high, type), load_line(high_or_low, type), width - turn, bytes);
}

llvm::Value* NestCode::load_line(llvm::Value* pointer, ElementType type) {
  return scalar_.from_memory(b_.CreateAlignedLoad(llvm::FixedVectorType::get(scalar_.memory_type(type), lanes_.width), pointer, llvm::Align(kLineBytes)), type);
}

/// Of a whole aligned vector the lanes that stand for active ones, `by` lanes further up: a vector without any may be nobody's memory.
llvm::Value* NestCode::load_part(BufferId id, const Affine& offset, int64_t by) {
  const auto width = static_cast<int>(lanes_.width);
  std::vector<int> from;
  for (int lane = 0; lane < width; ++lane) {
    const int64_t active = lane + by;
    from.push_back(active >= 0 && active < width ? static_cast<int>(active) : width);
  }
  llvm::Value* none = llvm::Constant::getNullValue(lanes_.mask->getType());
  const Place place = place_at(id, offset);
  const ElementType type = nest_.buffers[id].type;
  auto* vector = llvm::FixedVectorType::get(scalar_.memory_type(type), lanes_.width);
  llvm::Value* raw = b_.CreateMaskedLoad(vector, place.pointer, llvm::Align(static_cast<uint64_t>(place.alignment)), b_.CreateShuffleVector(lanes_.mask, none, from),
                                         llvm::Constant::getNullValue(vector));
  return scalar_.from_memory(raw, type);
}

llvm::Value* NestCode::aligned_load(BufferId id, const Affine& offset) {
  const Place whole = place_at(id, offset);
  Known& known = loads_[whole.key];
  if (known.value) return known.value;
  known = {load_place(whole, nest_.buffers[id].type), Known::Span{id, offset, lanes_.width}};
  note_aligned(id, whole, known.value);
  return known.value;
}

/// Lanes `late` and up of the first, then of the second. LLVM 22 takes a permutation for it, which needs its indices in a register and overwrites an operand.
llvm::Value* NestCode::joined(llvm::Value* first, llvm::Value* second, int64_t late, int64_t element_bytes) {
  auto* call = llvm::FunctionType::get(first->getType(), {first->getType(), first->getType()}, false);
  const std::string text = (element_bytes == 8 ? "valignq $$" : "valignd $$") + std::to_string(late) + ", $1, $2, $0";
  llvm::CallInst* out = b_.CreateCall(call, llvm::InlineAsm::get(call, text, "=v,v,v", false), {first, second});
  out->setDoesNotAccessMemory();
  out->setDoesNotThrow();
  out->addFnAttr(llvm::Attribute::WillReturn);  // where nobody needs it, it vanishes
  return out;
}

/// An operation on lanes of two pairs of vectors, all turned alike, is done to the whole vectors: neighbours, which begin where this one ends, then share what it makes
/// of them, and one result is turned instead of two operands. The lanes beside the wanted ones are numbers of memory too; nobody reads what becomes of them.
llvm::Value* NestCode::operation_before_turn(const ExprNode& node, const std::vector<llvm::Value*>& args) {
  if (args.size() != 2 || !is_float(node.type) || (node.op != Op::add && node.op != Op::sub && node.op != Op::mul)) return nullptr;
  const auto* a = llvm::dyn_cast<llvm::CallInst>(args[0]);
  const auto* b = llvm::dyn_cast<llvm::CallInst>(args[1]);
  if (!a || !b || !a->isInlineAsm() || a->getCalledOperand() != b->getCalledOperand() || a->arg_size() != 2) return nullptr;
  llvm::Value* turned[2];
  for (unsigned k = 0; k < 2; ++k) turned[k] = scalar_.apply(node, {a->getArgOperand(k), b->getArgOperand(k)});
  auto* out = llvm::cast<llvm::CallInst>(a->clone());
  out->setArgOperand(0, turned[0]);
  out->setArgOperand(1, turned[1]);
  return b_.Insert(out);
}

/// A vector that starts late inside one aligned vector and ends in the next, from these two: its load would take part of two cache lines, and the lower one was the
/// higher one of the iteration before (rotate_neighbours). Only the late ones, so that loads and shuffles share the work. What is read beside the wanted elements
/// lies in their cache lines. Null where this does not hold.
llvm::Value* NestCode::load_between(BufferId id, const Place& place) {
  const Buffer& buffer = nest_.buffers[id];
  const auto width = static_cast<int64_t>(lanes_.width), bytes = size_bytes(buffer.type);
  if (!streams_ || streams_->stored[id] || !sharers_[id].empty() || !scalar_.units().scale || buffer.scope != Scope::heap || lanes_.mask || place.offsets ||
      place.stride != 1)
    return nullptr;
  const int64_t late = (place.offset.constant % width + width) % width;
  const Affine before = place.offset - Affine::of(late);
  if (bytes < 4 || width * bytes != kLineBytes || late <= width / 2 || alignment_of(id, before) < kLineBytes) return nullptr;
  llvm::Value* first = aligned_load(id, before);
  llvm::Value* second = aligned_load(id, before + Affine::of(width));
  streams_->has_neighbours = true;
  return joined(first, second, late, bytes);
}

/// By how many elements an iteration of the loop around moves the access, where it moves towards what lies `by` further; else 0.
int64_t NestCode::moves_towards(const Access& access, const Affine& offset, const std::vector<int64_t>& by) const {
  if (!streams_ || access.index.size() != by.size()) return 0;
  int64_t iterations = 0;
  for (size_t d = 0; d < by.size(); ++d) {
    const int64_t move = fold(access.index[d].affine).coefficient(streams_->var) * streams_->step;
    if (move != 0 && by[d] != 0 && by[d] % move == 0) iterations = by[d] / move;
  }
  for (size_t d = 0; d < by.size(); ++d)
    if (by[d] != iterations * fold(access.index[d].affine).coefficient(streams_->var) * streams_->step) return 0;
  const Affine next = facts_.simplify(substitute(offset, {{streams_->var, Affine::variable(streams_->var) + Affine::of(streams_->step)}})) - offset;
  return next.is_constant() ? next.constant : 0;
}

/// Has the block asked for this place, or do other iterations, which move by `step` towards a place `far` elements on?
bool NestCode::is_asked_for(BufferId id, const Affine& offset, int64_t step, int64_t far) const {
  return std::any_of(asked_.vectors.begin(), asked_.vectors.end(), [&](const auto& place) {
    const Affine apart = offset - place.second;
    if (place.first != id || !apart.is_constant()) return false;
    return apart.constant == 0 || (step != 0 && apart.constant % step == 0 && std::abs(apart.constant) < std::abs(far));
  });
}

/// One hint a cache line of the vector, however many rows of an unrolled block read it; addresses past the buffer's end do no harm, a hint never faults.
void NestCode::prefetch(const Access& access, const Place& place) {
  if (!lanes_.prefetch || place.offsets || place.stride != 1) return;
  if (asked_.block != b_.GetInsertBlock()) asked_ = {b_.GetInsertBlock(), {}, {}};
  const bool is_covered = std::all_of(lanes_.prefetch->begin(), lanes_.prefetch->end(), [&](const Prefetch& ahead) {
    if (ahead.buffer != access.id) return true;
    std::vector<Affine> by;
    for (int64_t distance : ahead.by) by.push_back(Affine::of(distance));
    const Affine offset = facts_.offset(nest_.buffers[access.id], by);
    return !offset.is_constant() || is_asked_for(access.id, place.offset, moves_towards(access, place.offset, ahead.by), offset.constant);
  });
  if (is_covered) return;
  asked_.vectors.emplace_back(access.id, place.offset);
  ask_ahead(access.id, place.pointer);
}

/// Of vectors among which lanes pick their elements, one for each line: taps that lie between share them.
void NestCode::prefetch_near(BufferId id, const Affine& offset) {
  if (!lanes_.prefetch) return;
  if (asked_.block != b_.GetInsertBlock()) asked_ = {b_.GetInsertBlock(), {}, {}};
  const int64_t line = std::max<int64_t>(kLineBytes / size_bytes(nest_.buffers[id].type), 1);
  const std::string key = std::to_string(id) + " near " + key_of(offset - Affine::of(offset.constant)) + " line " + std::to_string(floor_quotient(offset.constant, line));
  if (asked_.places.insert(key).second) ask_ahead(id, place_at(id, offset).pointer);
}

void NestCode::ask_ahead(BufferId id, llvm::Value* vector) {
  const Buffer& buffer = nest_.buffers[id];
  llvm::Type* memory = scalar_.memory_type(buffer.type);
  for (const Prefetch& ahead : *lanes_.prefetch) {
    if (ahead.buffer != id) continue;
    std::vector<Affine> by;
    for (int64_t distance : ahead.by) by.push_back(Affine::of(distance));
    const Affine offset = facts_.offset(buffer, by);
    if (!offset.is_constant()) continue;
    const int64_t line = std::max<int64_t>(64 / size_bytes(buffer.type), 1);
    for (int64_t at = 0; at < static_cast<int64_t>(lanes_.width); at += line) {
      llvm::Value* pointer = b_.CreateGEP(memory, vector, b_.getInt64(static_cast<uint64_t>(offset.constant + at)));
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()}, {pointer, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
    }
  }
}

/// No lane of one stands for an element of any lane of the other.
bool NestCode::are_apart(const Known::Span& a, const Known::Span& b) const {
  const int64_t lane_a = a.offset.coefficient(kLane), lane_b = b.offset.coefficient(kLane);
  const Affine rest_a = a.offset - Affine::variable(kLane, lane_a), rest_b = b.offset - Affine::variable(kLane, lane_b);
  if (moves(rest_a, kLane) || moves(rest_b, kLane)) return false;
  const Interval apart = facts_.range(rest_a - rest_b);
  const int64_t last_a = lane_a * (static_cast<int64_t>(a.width) - 1), last_b = lane_b * (static_cast<int64_t>(b.width) - 1);
  const int64_t most = std::max<int64_t>(0, last_a) - std::min<int64_t>(0, last_b);
  const int64_t least = std::min<int64_t>(0, last_a) - std::max<int64_t>(0, last_b);
  return apart.lo + least > 0 || apart.hi + most < 0;
}

/// Different buffers share no memory, but for those within others.
void NestCode::forget_loads(BufferId stored, const Place& place) {
  const Known::Span written{stored, place.offset, lanes_.width};
  std::erase_if(loads_, [&](const auto& entry) {
    const auto& at = entry.second.at;
    if (at && at->buffer != stored && std::find(sharers_[stored].begin(), sharers_[stored].end(), at->buffer) != sharers_[stored].end()) return true;
    return !at || (at->buffer == stored && (place.key.empty() || !are_apart(*at, written)));
  });
}

void NestCode::store(const Access& access, llvm::Value* value) {
  const Buffer& buffer = nest_.buffers[access.id];
  const bool is_short = buffer.type == ElementType::i64 && value->getType()->getScalarSizeInBits() == 32;
  if (is_short != short_[access.id]) value = is_short ? long_index(value) : short_index(value);
  if (in_registers(access.id)) {
    const RegKey key = register_key(access);
    if (!lanes_.mask && lanes_.width > 1)  // whole lanes replace what was known of single ones
      file_.erase(file_.upper_bound(key), file_.lower_bound({key.first, key.second + static_cast<int64_t>(lanes_.width)}));
    llvm::Value*& cell = file_[key];
    llvm::Value* wide = scalar_.splat(value, lanes_.width);
    // Lanes that nothing ever reads need not be kept: a blend would lengthen each step of an accumulation.
    const bool keeps_lanes = cell && lanes_.mask && lanes_.active != in_use_[key];
    cell = keeps_lanes ? b_.CreateSelect(lanes_.mask, wide, cell) : wide;
    return;
  }
  const Place place = place_of(access);
  llvm::Instruction* whole = store_whole(access.id, place, value);
  note_cell(access.id, place, whole ? whole : store_place(place, buffer.type, value), true);
  forget_loads(access.id, place);
}

/// The state and a product, rounded once; of a sum of products one after the other.
llvm::Value* NestCode::fused_sum(const Expr& product, llvm::Value* state) {
  if (product->op == Op::add) return fused_sum(product->args[1], fused_sum(product->args[0], state));
  if (product->op != Op::mul) throw Refusal{fail("PW0501", "a fused accumulation needs a product")};
  std::vector<llvm::Value*> operands = {expression(product->args[0]), expression(product->args[1]), state};
  scalar_.unify(operands);
  return scalar_.fma(product->type, operands[0], operands[1], operands[2]);
}

void NestCode::accumulate(const Compute& compute) {
  std::vector<llvm::Value*> state;
  for (const auto& dst : compute.dst) state.push_back(load(dst));
  if (compute.fused) {
    store(compute.dst[0], fused_sum(compute.rhs[0], state[0]));
    return;
  }
  std::vector<llvm::Value*> all = state;
  for (size_t k = 0; k < compute.rhs.size(); ++k) all.push_back(operand_for(compute.dst[k], compute.rhs[k]));
  scalar_.unify(all);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(state.size());
  const auto out = combined(compute, {all.begin(), middle}, {middle, all.end()});
  for (size_t i = 0; i < out.size(); ++i) store(compute.dst[i], out[i]);
}

static bool reads(const Expr& e, BufferId id) {
  return (e->op == Op::read && e->access.id == id) || std::any_of(e->args.begin(), e->args.end(), [&](const Expr& arg) { return reads(arg, id); });
}

void NestCode::on(const Compute& compute) {
  if (compute.how == Write::store && compute.rhs[0]->op == Op::read && ir::stays_in_place(nest_, compute, compute.rhs[0]->access.id)) return;
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
  is_in_place_ = std::any_of(compute.rhs.begin(), compute.rhs.end(), [&](const Expr& e) { return reads(e, compute.dst[0].id); });
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
