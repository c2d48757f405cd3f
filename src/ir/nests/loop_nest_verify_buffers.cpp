#include <algorithm>
#include <set>

#include "ir/nests/loop_nest_rules.h"
#include "ir/text/loop_nest_text.h"

namespace polyweft::ir {
namespace {

int64_t checked_product(const std::vector<int64_t>& values, const std::string& subject) {
  int64_t product = 1;
  for (int64_t v : values)
    require(!__builtin_mul_overflow(product, v, &product) && product <= (int64_t{1} << 58), "PW0412",
            subject + ": more than 2^58 elements");
  return product;
}

class Buffers {
 public:
  explicit Buffers(const LoopNest& nest) : nest_(nest) {}

  void whole() const {
    for (const Combiner& c : nest_.combiners) combiner(c);
    for (const Buffer& b : nest_.buffers) buffer(b);
    for (const Buffer& b : nest_.buffers)
      if (b.within) within(b);
    arguments();
  }

 private:
  const std::string& name(BufferId id) const { return nest_.buffers[id].name; }

  void combiner(const Combiner& c) const {
    size_t n = c.types.size();
    require(n > 0 && c.identity.size() == n && c.result.size() == n, "PW0415",
            "combiner " + c.name + ": components missing");
    for (size_t k = 0; k < n; ++k) {
      require(c.identity[k].type == c.types[k], "PW0415", "combiner " + c.name + ": identity of another type");
      visit(c.result[k], [&](const ExprNode& e) {
        require(e.op != Op::read && e.op != Op::reduce && e.op != Op::affine && e.op != Op::guarded, "PW0415",
                "combiner " + c.name + ": reads data");
        require(e.op != Op::variable || e.var < 2 * n, "PW0411", "combiner " + c.name + ": unknown component");
      });
    }
  }

  void buffer(const Buffer& b) const {
    require(b.extents.size() <= kMaxNestRank, "PW0412",
            "buffer " + b.name + ": rank is larger than " + std::to_string(kMaxNestRank));
    for (int64_t extent : b.extents)
      require((extent >= 0 || nest_.symbolic) && extent <= kMaxNestNumber, "PW0412",
              "buffer " + b.name + ": extent outside 0..2^40");
    for (const Fold& f : b.folds)
      require(f.dim < b.extents.size() && f.window >= 1, "PW0412",
              "buffer " + b.name + ": fold of a dimension it has not");
    require(b.align_bytes >= 1 && (b.align_bytes & (b.align_bytes - 1)) == 0, "PW0412",
            "buffer " + b.name + ": alignment is no power of two");
    if (std::find(b.extents.begin(), b.extents.end(), kSymbolicExtent) == b.extents.end()) layout(b);
    require(b.scope != Scope::constant || static_cast<int64_t>(b.data.size()) == checked_product(b.extents, b.name),
            "PW0412", "buffer " + b.name + ": constant without its data");
    require(!b.values || (b.scope == Scope::argument && !b.is_output && b.type != ElementType::boolean), "PW0412",
            "buffer " + b.name + ": values are promised of inputs of numbers only");
    for (const Literal& l : b.data) require(l.type == b.type, "PW0415", "buffer " + b.name + ": data of another type");
  }

  void within(const Buffer& b) const {
    const std::string subject = "buffer " + b.name;
    require(b.within->host < nest_.buffers.size() && b.scope == Scope::heap, "PW0412",
            subject + ": only buffers of the heap lie within others");
    require(!nest_.symbolic, "PW0418", subject + ": of a symbolic nest, whose sizes are not known");
    const Buffer& host = nest_.buffers[b.within->host];
    require(
        !host.within && &host != &b && ((host.scope == Scope::argument && host.is_output) || host.scope == Scope::heap),
        "PW0412",
        subject + ": lies within " + host.name +
            ", which is neither an output nor a buffer of the heap with memory of its own");
    const int64_t unit = size_bytes(b.type), bytes = allocated_elements(b) * unit,
                  room = allocated_elements(host) * size_bytes(host.type);
    const bool is_aligned = host.scope == Scope::heap
                                ? b.within->at_bytes % 64 == 0
                                : b.within->at_bytes % unit == 0 && size_bytes(host.type) % unit == 0;
    require(is_aligned && b.within->at_bytes >= 0 && bytes <= room && b.within->at_bytes <= room - bytes, "PW0412",
            subject + ": " + std::to_string(bytes) + " bytes from " + std::to_string(b.within->at_bytes) +
                " on do not fit into " + host.name + " of " + std::to_string(room));
  }

  void layout(const Buffer& b) const {
    const std::string subject = "buffer " + b.name;
    std::vector<std::vector<int64_t>> factors(b.extents.size());
    std::vector<int64_t> padded;
    bool has_pads = !b.layout.pad.empty();
    require(!has_pads || b.layout.pad.size() == b.layout.pieces.size(), "PW0412",
            subject + ": one pad a layout piece is needed");
    for (size_t p = 0; p < b.layout.pieces.size(); ++p) {
      const Piece& piece = b.layout.pieces[p];
      require(piece.dim < factors.size(), "PW0412", subject + ": layout piece of a dimension it has not");
      require(piece.factor >= 0 && piece.factor <= kMaxNestNumber, "PW0412",
              subject + ": layout factor outside 0..2^40");
      factors[piece.dim].push_back(piece.factor);
      int64_t pad = has_pads ? b.layout.pad[p] : 0;
      require(pad >= 0 && pad <= kMaxNestNumber, "PW0412", subject + ": pad outside 0..2^40");
      padded.push_back(piece.factor + pad);
    }
    std::vector<int64_t> extents = folded_extents(b);
    for (size_t d = 0; d < extents.size(); ++d) {
      int64_t room = checked_product(factors[d], subject);
      require(!factors[d].empty() && room >= extents[d], "PW0412",
              subject + ": layout holds " + std::to_string(factors[d].empty() ? 0 : room) + " of " +
                  std::to_string(extents[d]) + " in dimension " + std::to_string(d));
      if (extents[d] > 0)
        for (int64_t f : factors[d]) require(f >= 1, "PW0412", subject + ": layout factor 0");
    }
    const int64_t elements = checked_product(padded, subject);
    require(!b.layout.by_xor || (b.scope == Scope::shared && b.align_bytes % kXorBytes == 0 &&
                                 elements * size_bytes(b.type) % kXorBytes == 0),
            "PW0412", subject + ": a layout by xor is of shared memory in whole units of 1024 bytes");
  }

  void arguments() const {
    std::set<BufferId> listed;
    for (BufferId id : nest_.arguments) {
      require(id < nest_.buffers.size(), "PW0412", "arguments: unknown buffer");
      require(listed.insert(id).second, "PW0412", "arguments: " + name(id) + " twice");
      require(nest_.buffers[id].scope == Scope::argument, "PW0412",
              "arguments: " + name(id) + " is not of scope argument");
    }
    for (const Pack& p : nest_.packs) {
      require(p.source < nest_.buffers.size() && p.packed < nest_.buffers.size(), "PW0412", "pack: unknown buffer");
      require(listed.count(p.packed) == 1 && nest_.buffers[p.packed].is_packed, "PW0412",
              "pack: " + name(p.packed) + " is not a packed argument");
      require(nest_.buffers[p.source].scope == Scope::argument && listed.insert(p.source).second, "PW0412",
              "pack: " + name(p.source) + " is no source of its own");
    }
    for (BufferId id = 0; id < nest_.buffers.size(); ++id) {
      bool is_argument = nest_.buffers[id].scope == Scope::argument;
      require(!is_argument || listed.count(id) == 1, "PW0412",
              "buffer " + name(id) + ": of scope argument, but no argument");
    }
  }

  const LoopNest& nest_;
};

}  // namespace

void verify_buffers(const LoopNest& nest) {
  Buffers(nest).whole();
}

}  // namespace polyweft::ir
