#include "poly/strong_components.h"

#include <algorithm>

namespace polyweft::poly {
namespace {

/// Tarjan 1972; emits components in reverse topological order of "needs", that is producers first.
class Tarjan {
 public:
  explicit Tarjan(const std::vector<std::vector<uint32_t>>& edges)
      : edges_(edges), number_(edges.size(), 0), low_(edges.size(), 0), on_stack_(edges.size(), false) {
    for (uint32_t v = 0; v < edges.size(); ++v)
      if (number_[v] == 0) visit(v);
  }
  std::vector<std::vector<uint32_t>> found;

 private:
  void visit(uint32_t v) {
    number_[v] = low_[v] = ++count_;
    stack_.push_back(v);
    on_stack_[v] = true;
    for (uint32_t w : edges_[v]) {
      if (number_[w] == 0) {
        visit(w);
        low_[v] = std::min(low_[v], low_[w]);
      } else if (on_stack_[w]) {
        low_[v] = std::min(low_[v], number_[w]);
      }
    }
    if (low_[v] == number_[v]) emit(v);
  }
  void emit(uint32_t v) {
    std::vector<uint32_t> component;
    uint32_t w;
    do {
      w = stack_.back();
      stack_.pop_back();
      on_stack_[w] = false;
      component.push_back(w);
    } while (w != v);
    std::sort(component.begin(), component.end());
    found.push_back(std::move(component));
  }
  const std::vector<std::vector<uint32_t>>& edges_;
  std::vector<uint32_t> number_, low_, stack_;
  std::vector<bool> on_stack_;
  uint32_t count_ = 0;
};

}  // namespace

std::vector<std::vector<uint32_t>> strong_components(const std::vector<std::vector<uint32_t>>& edges) {
  return Tarjan(edges).found;
}

}  // namespace polyweft::poly
