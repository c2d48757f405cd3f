// Private to src/poly and schedules/: ownership, failure and quota of isl's C API.
//
// isl reports failure by a null pointer and remembers the kind in its context. A Handle refuses null by throwing
// IslFailure; `attempt` turns that into a value, so no exception leaves the folder. An isl context is single-threaded:
// one Context a call.
#pragma once

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/flow.h>
#include <isl/id.h>
#include <isl/ilp.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <isl/val.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "polyweft/result.h"

namespace polyweft::poly {

/// Operations of isl that one question may take (LANGUAGE.md section 6 names the figure in its message).
inline constexpr unsigned long kQuota = 100'000;

struct IslFailure : std::exception {
  const char* what() const noexcept override { return "isl gave no result"; }
};

template <class T>
struct IslOps;
#define PW_ISL_TYPE(type)                                 \
  template <>                                             \
  struct IslOps<type> {                                   \
    static type* copy(type* p) { return type##_copy(p); } \
    static void free(type* p) { type##_free(p); }         \
  };
PW_ISL_TYPE(isl_set)
PW_ISL_TYPE(isl_map)
PW_ISL_TYPE(isl_basic_set)
PW_ISL_TYPE(isl_basic_map)
PW_ISL_TYPE(isl_union_set)
PW_ISL_TYPE(isl_union_map)
PW_ISL_TYPE(isl_space)
PW_ISL_TYPE(isl_local_space)
PW_ISL_TYPE(isl_aff)
PW_ISL_TYPE(isl_pw_aff)
PW_ISL_TYPE(isl_multi_aff)
PW_ISL_TYPE(isl_pw_multi_aff)
PW_ISL_TYPE(isl_multi_pw_aff)
PW_ISL_TYPE(isl_val)
PW_ISL_TYPE(isl_point)
PW_ISL_TYPE(isl_id)
PW_ISL_TYPE(isl_schedule)
PW_ISL_TYPE(isl_schedule_constraints)
PW_ISL_TYPE(isl_schedule_node)
PW_ISL_TYPE(isl_union_access_info)
PW_ISL_TYPE(isl_union_flow)
#undef PW_ISL_TYPE

/// Owns one reference to an isl object; never null except after take().
template <class T>
class Handle {
 public:
  explicit Handle(T* p) : p_(p) {
    if (!p) throw IslFailure();
  }
  Handle(const Handle& other) : p_(IslOps<T>::copy(other.p_)) {}
  Handle(Handle&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~Handle() {
    if (p_) IslOps<T>::free(p_);
  }
  T* get() const { return p_; }  ///< for __isl_keep
  T* copy() const { return IslOps<T>::copy(p_); }
  T* take() { return std::exchange(p_, nullptr); }  ///< for __isl_take

 private:
  T* p_;
};
using BasicSet = Handle<isl_basic_set>;
using Set = Handle<isl_set>;
using Map = Handle<isl_map>;
using UnionSet = Handle<isl_union_set>;
using UnionMap = Handle<isl_union_map>;
using Space = Handle<isl_space>;
using PwAff = Handle<isl_pw_aff>;
using Aff = Handle<isl_aff>;
using Val = Handle<isl_val>;
using Point = Handle<isl_point>;

/// isl's answer to a yes/no question.
inline bool yes(isl_bool answer) {
  if (answer == isl_bool_error) throw IslFailure();
  return answer == isl_bool_true;
}
inline isl_size size(isl_size n) {
  if (n < 0) throw IslFailure();
  return n;
}

/// An isl context whose errors are values. Objects must not outlive it.
class Context {
 public:
  Context() : ctx_(isl_ctx_alloc()) {
    PW_CHECK(ctx_ != nullptr);
    isl_options_set_on_error(ctx_, ISL_ON_ERROR_CONTINUE);
  }
  ~Context() { isl_ctx_free(ctx_); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  isl_ctx* get() const { return ctx_; }
  /// Starts counting a new question; zero: no limit.
  void set_quota(unsigned long operations) {
    isl_ctx_reset_error(ctx_);
    isl_ctx_reset_operations(ctx_);
    isl_ctx_set_max_operations(ctx_, operations);
  }
  /// Operations since set_quota(), at most `limit`. isl counts and does not tell: found by bisection, since an
  /// allocation fails exactly where the count has reached the limit. Ends the question: its quota and its error are
  /// forgotten.
  unsigned long operations(unsigned long limit) {
    unsigned long least = 0, most = limit;
    while (least < most) {
      unsigned long middle = least + (most - least) / 2;
      isl_ctx_set_max_operations(ctx_, middle + 1);
      isl_val* probe = isl_val_zero(ctx_);
      isl_val_free(probe);
      if (probe)
        most = middle;
      else
        least = middle + 1;
    }
    isl_ctx_set_max_operations(ctx_, 0);
    isl_ctx_reset_error(ctx_);
    return least;
  }
  bool quota_spent() const { return isl_ctx_last_error(ctx_) == isl_error_quota; }
  /// How many questions ended at their quota.
  int quota_stops() const { return quota_stops_; }
  void count_stop() { quota_stops_ += quota_spent(); }

 private:
  int quota_stops_ = 0;
  isl_ctx* ctx_;
};

/// Runs f with `operations` of isl; nothing where isl failed or the quota was spent (context.quota_spent() tells
/// which).
template <class F>
auto attempt(Context& context, unsigned long operations, const F& f) -> std::optional<decltype(f())> {
  struct Reset {
    Context& context;
    ~Reset() { isl_ctx_set_max_operations(context.get(), 0); }
  } reset{context};
  context.set_quota(operations);
  try {
    return f();
  } catch (const IslFailure&) {
    context.count_stop();
    return std::nullopt;
  }
}
/// The same as a Result: PW0830 where the quota was spent, PW0834 where isl failed otherwise.
template <class F>
auto answer(Context& context, unsigned long operations, const std::string& what, const F& f) -> Result<decltype(f())> {
  auto result = attempt(context, operations, f);
  if (result) return *std::move(result);
  if (context.quota_spent())
    return fail("PW0830", what + " not decided within the quota (" + std::to_string(operations) + " isl operations)",
                {"simplify the guards and subscripts"});
  const char* why = isl_ctx_last_error_msg(context.get());
  return fail("PW0834", what + ": isl failed: " + (why ? why : "no reason given"));
}

inline Set intersect(Set a, Set b) {
  return Set(isl_set_intersect(a.take(), b.take()));
}
inline Set unite(Set a, Set b) {
  return Set(isl_set_union(a.take(), b.take()));
}
inline Set subtract(Set a, Set b) {
  return Set(isl_set_subtract(a.take(), b.take()));
}
inline bool is_empty(const Set& s) {
  return yes(isl_set_is_empty(s.get()));
}
inline bool is_empty(const Map& m) {
  return yes(isl_map_is_empty(m.get()));
}
inline bool is_empty(const UnionMap& m) {
  return yes(isl_union_map_is_empty(m.get()));
}
inline bool is_subset(const Set& a, const Set& b) {
  return yes(isl_set_is_subset(a.get(), b.get()));
}
inline Map intersect(Map a, Map b) {
  return Map(isl_map_intersect(a.take(), b.take()));
}
inline Map unite(Map a, Map b) {
  return Map(isl_map_union(a.take(), b.take()));
}
inline Map reverse(Map m) {
  return Map(isl_map_reverse(m.take()));
}
/// x -> b(a(x))
inline Map compose(Map a, Map b) {
  return Map(isl_map_apply_range(a.take(), b.take()));
}
inline Map restrict_domain(Map m, Set s) {
  return Map(isl_map_intersect_domain(m.take(), s.take()));
}
inline Map restrict_range(Map m, Set s) {
  return Map(isl_map_intersect_range(m.take(), s.take()));
}
inline Set apply(Set s, Map m) {
  return Set(isl_set_apply(s.take(), m.take()));
}
/// With output dimensions that are 0 up to so many.
inline Map padded(Map map, unsigned dims) {
  unsigned have = static_cast<unsigned>(size(isl_map_dim(map.get(), isl_dim_out)));
  isl_map* out = isl_map_add_dims(map.take(), isl_dim_out, dims - have);
  for (unsigned d = have; d < dims; ++d) out = isl_map_fix_si(out, isl_dim_out, d, 0);
  return Map(out);
}
inline Set domain_of(Map m) {
  return Set(isl_map_domain(m.take()));
}
inline Set range_of(Map m) {
  return Set(isl_map_range(m.take()));
}

template <class T, class To>
std::string isl_text(T* object, To* to_str) {
  char* text = to_str(object);
  if (!text) throw IslFailure();
  std::string out(text);
  std::free(text);
  return out;
}
inline std::string text(const Set& s) {
  return isl_text(s.get(), isl_set_to_str);
}
inline std::string text(const Map& m) {
  return isl_text(m.get(), isl_map_to_str);
}
inline std::string text(const UnionMap& m) {
  return isl_text(m.get(), isl_union_map_to_str);
}

/// A small integer out of isl; throws where it is not finite or does not fit.
inline int64_t integer(Val v) {
  if (!yes(isl_val_is_int(v.get())) || isl_val_n_abs_num_chunks(v.get(), 8) > 1) throw IslFailure();
  return isl_val_get_num_si(v.get());
}

/// Least and greatest value of one dimension; throws where there is none.
inline Aff dimension(const Set& s, unsigned d) {
  return Aff(isl_aff_var_on_domain(isl_local_space_from_space(isl_set_get_space(s.get())), isl_dim_set, d));
}
inline int64_t least(const Set& s, unsigned d) {
  return integer(Val(isl_set_min_val(s.get(), dimension(s, d).get())));
}
inline int64_t greatest(const Set& s, unsigned d) {
  return integer(Val(isl_set_max_val(s.get(), dimension(s, d).get())));
}

}  // namespace polyweft::poly
