#include "lang/rope.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "lang/source.h"

namespace polyweft::dsl::detail {
namespace {

struct Written {
  std::vector<std::variant<std::string, const IndexState*>> parts;
  std::string misuse;
};

/// Shared parts are written wherever they stand, which may be 2^n times: the end comes with the limit of a text.
void flatten(const Rope& whole, Written& out) {
  size_t bytes = 0;
  std::vector<std::pair<const Rope*, size_t>> stack{{&whole, 0}};  // and the piece that comes next
  while (!stack.empty()) {
    auto& [rope, next] = stack.back();
    if (next == 0 && out.misuse.empty()) out.misuse = rope->misuse;
    if (next == rope->pieces.size()) {
      stack.pop_back();
      continue;
    }
    const Rope::Piece& piece = rope->pieces[next++];
    if (const auto* inner = std::get_if<RopePtr>(&piece)) {
      stack.emplace_back(inner->get(), 0);
      continue;
    }
    if (const auto* text = std::get_if<std::string>(&piece)) {
      out.parts.emplace_back(*text);
      bytes += text->size();
    } else {
      out.parts.emplace_back(std::get<std::shared_ptr<IndexState>>(piece).get());
      ++bytes;
    }
    if (bytes <= lang::kMaxSourceBytes) continue;
    if (out.misuse.empty())
      out.misuse = "an equation has more than 1 MiB of text; give what stands in it several times a name by a let";
    return;
  }
}

/// The ropes that stand in it, whose last owner it is.
void take_ropes(Rope& from, std::vector<RopePtr>& out) {
  for (Rope::Piece& piece : from.pieces)
    if (auto* inner = std::get_if<RopePtr>(&piece); inner && inner->use_count() == 1) out.push_back(std::move(*inner));
}

/// i, j, k .. z without those in use, then i1, j1 ..
class FreeNames {
 public:
  explicit FreeNames(std::set<std::string> used) : used_(std::move(used)) {}
  std::string next() {
    while (true) {
      std::string name(1, "ijklmnpqrstuvwxyz"[number_ % 17]);
      if (number_ >= 17) name += std::to_string(number_ / 17);
      ++number_;
      if (used_.insert(name).second) return name;
    }
  }

 private:
  std::set<std::string> used_;
  size_t number_ = 0;
};

}  // namespace

Rope::~Rope() {
  std::vector<RopePtr> left;
  take_ropes(*this, left);
  while (!left.empty()) {
    const RopePtr rope = std::move(left.back());
    left.pop_back();
    take_ropes(const_cast<Rope&>(*rope), left);  // nobody else has it
  }
}

RopePtr make_rope(Level level, std::vector<Rope::Piece> pieces) {
  auto rope = std::make_shared<Rope>();
  rope->level = level;
  rope->pieces = std::move(pieces);
  return rope;
}

RopePtr rope_text(std::string text, Level level) {
  return make_rope(level, {std::move(text)});
}

RopePtr at_level(const RopePtr& rope, Level least) {
  return rope->level >= least ? rope : make_rope(kPrimary, {std::string("("), rope, std::string(")")});
}

void append_list(std::vector<Rope::Piece>& pieces, const std::vector<RopePtr>& items) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i != 0) pieces.emplace_back(std::string(", "));
    pieces.emplace_back(items[i]);
  }
}

RopePtr extent_of(const IndexState* index, const RopePtr& rope) {
  std::set<const Rope*> seen;
  std::vector<const Rope*> stack{rope.get()};
  while (!stack.empty()) {
    const Rope& each = *stack.back();
    stack.pop_back();
    if (!seen.insert(&each).second) continue;
    for (const Hint& hint : each.hints)
      if (hint.index.get() == index) return hint.extent;
    for (auto piece = each.pieces.rbegin(); piece != each.pieces.rend(); ++piece)
      if (const auto* inner = std::get_if<RopePtr>(&*piece)) stack.push_back(inner->get());
  }
  return nullptr;
}

std::string number_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, number);
  std::string text(buffer, end.ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

bool is_name(const std::string& text) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  auto word = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), word);
}

RopePtr range_text(const RopePtr& lo, const RopePtr& hi) {
  if (!lo) return at_level(hi, kSum);
  return make_rope(kSum, {at_level(lo, kSum), std::string(".."), at_level(hi, kSum)});
}

RopePtr Access::read() const {
  const TensorState& state = builder->tensors[tensor];
  if (subscripts.empty()) return rope_text(state.name);
  auto rope = std::make_shared<Rope>();
  std::vector<RopePtr> items;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    items.push_back(subscripts[d].value_.rope());
    if (subscripts[d].is_index_ && d < state.shape.size())
      rope->hints.push_back({subscripts[d].index_.state_, state.shape[d]});
  }
  rope->pieces.emplace_back(state.name + "[");
  append_list(rope->pieces, items);
  rope->pieces.emplace_back(std::string("]"));
  return rope;
}

RopePtr Access::range_of(const SubscriptArg& subscript, size_t dimension) const {
  if (subscript.index_.hi_) return range_text(subscript.index_.lo_, subscript.index_.hi_);
  const TensorState& state = builder->tensors[tensor];
  return dimension < state.shape.size() ? at_level(state.shape[dimension], kSum) : nullptr;
}

RopePtr Access::slots(std::string& misuse) const {
  std::vector<RopePtr> items;
  std::set<const IndexState*> bound;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const SubscriptArg& each = subscripts[d];
    if (!each.is_index_ || !bound.insert(each.index_.state_.get()).second) {
      items.push_back(at_level(each.value_.rope(), kSum));
      continue;
    }
    RopePtr range = range_of(each, d);
    if (!range) {
      misuse = "slot " + std::to_string(d) + " of " + builder->tensors[tensor].name +
               ": the index has no range; write i.in(N), or give the tensor a shape";
      range = rope_text("1");
    }
    items.push_back(make_rope(kSum, {each.index_.state_, std::string(": "), range}));
  }
  std::vector<Rope::Piece> pieces;
  if (!items.empty()) pieces.emplace_back(std::string("["));
  append_list(pieces, items);
  if (!items.empty()) pieces.emplace_back(std::string("]"));
  return make_rope(kPrimary, std::move(pieces));
}

void BuilderState::note(const std::string& text) {
  if (misuse.empty()) misuse = text;
}

void BuilderState::declare(const std::string& new_name) {
  if (!is_name(new_name))
    note("'" + new_name.substr(0, 60) + "' is not a name: a letter, then letters, digits and '_'");
  names.push_back(new_name);
}

std::string BuilderState::write(const RopePtr& item, std::string& first_misuse) const {
  Written written;
  flatten(*item, written);
  if (first_misuse.empty()) first_misuse = written.misuse;
  std::set<std::string> used(names.begin(), names.end());
  for (const auto& part : written.parts)
    if (const auto* index = std::get_if<const IndexState*>(&part))
      if (!(*index)->name.empty()) {
        used.insert((*index)->name);
        if (!is_name((*index)->name) && first_misuse.empty())
          first_misuse = "'" + (*index)->name.substr(0, 60) + "' is not a name of an index";
      }
  FreeNames free_names(std::move(used));
  std::vector<std::pair<const IndexState*, std::string>> chosen;
  std::string text;
  for (const auto& part : written.parts) {
    if (const auto* piece = std::get_if<std::string>(&part)) {
      text += *piece;
      continue;
    }
    const IndexState* index = std::get<const IndexState*>(part);
    if (!index->name.empty()) {
      text += index->name;
      continue;
    }
    auto found = std::find_if(chosen.begin(), chosen.end(), [&](const auto& each) { return each.first == index; });
    if (found == chosen.end()) found = chosen.insert(chosen.end(), {index, free_names.next()});
    text += found->second;
  }
  return text;
}

}  // namespace polyweft::dsl::detail
