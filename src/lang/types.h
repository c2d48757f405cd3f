// What type a tree has, as far as the types of tensors are known (LANGUAGE.md section 3).
#pragma once

#include <optional>

#include "lang/context.h"

namespace polyweft::lang {

/// The type of a scalar tree, or nothing: an untyped literal, or tensors whose type is still open. Memoized in the
/// tree.
std::optional<ElementType> decide(const Context& context, Node& node);
/// The type of component `c` of a tree that gives a tuple.
std::optional<ElementType> decide_component(const Context& context, Node& node, size_t c);

/// The one of two types that holds more.
ElementType wider(ElementType a, ElementType b);

}  // namespace polyweft::lang
