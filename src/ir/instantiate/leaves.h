// The innermost places: one point of an equation, the first value of a reduction, one element moved.
#pragma once

#include <map>
#include <vector>

#include "ir/instantiate/body.h"
#include "ir/instantiate/merges.h"
#include "ir/instantiate/nest_writer.h"
#include "ir/instantiate/sized_template.h"
#include "ir/instantiate/storage.h"

namespace polyweft::ir {

class Leaves {
 public:
  Leaves(const SizedTemplate& schedule, NestWriter& nest, Storage& storage)
      : schedule_(schedule), nest_(nest), storage_(storage), merges_(schedule, nest, storage) {}

  /// What a body without loops does at its point, where its guards and open conditions hold.
  NodeId leaf(Body& body);

 private:
  NodeId unguarded(Body& body);
  NodeId compute(const Body& body);
  NodeId init(Body& body);
  NodeId move(const Body& body);
  NodeId fill(const Body& body);
  std::vector<Access> destinations(const Body& body, const std::map<VarId, Affine>& map);

  const SizedTemplate& schedule_;
  NestWriter& nest_;
  Storage& storage_;
  Merges merges_;
};

}  // namespace polyweft::ir
