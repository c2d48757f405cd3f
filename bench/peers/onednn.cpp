// oneDNN 2 as Debian has it; weights and generated code are made before the call that is timed.
#include "peers/case.h"

#ifdef PW_HAS_ONEDNN
#include <dnnl.hpp>
#include <unordered_map>

namespace polyweft::peers {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
constexpr auto kF32 = memory::data_type::f32;
constexpr auto kForward = dnnl::prop_kind::forward_inference;

const dnnl::engine& engine() {
  static const dnnl::engine one(dnnl::engine::kind::cpu, 0);
  return one;
}
dnnl::stream& stream() {
  static dnnl::stream one(engine());
  return one;
}
memory memory_of(const memory::desc& desc, const float* data) {
  return memory(desc, engine(), const_cast<float*>(data));
}
/// `plain` in the layout that a primitive chose.
memory reordered(const memory::desc& wanted, memory plain) {
  if (wanted == plain.get_desc()) return plain;
  memory out(wanted, engine());
  dnnl::reorder(plain, out).execute(stream(), plain, out);
  stream().wait();
  return out;
}

void add(const dnnl::primitive& primitive, std::unordered_map<int, memory> arguments, const memory::desc& output,
         Peers& out) {
  memory result(output, engine(), nullptr);
  arguments[DNNL_ARG_DST] = result;
  out.push_back({"oneDNN", [=](void* y) {
                   memory target = result;
                   target.set_data_handle(y);
                   primitive.execute(stream(), arguments);
                   stream().wait();
                 }});
}

}  // namespace

void add_onednn_gemm(const Gemm& g, bool weights_packed, const Data& data, Peers& out) {
  const memory::desc a({g.m, g.k}, kF32, Tag::ab), b({g.k, g.n}, kF32, Tag::ab), c({g.m, g.n}, kF32, Tag::ab);
  const memory::desc wanted = weights_packed ? memory::desc({g.k, g.n}, kF32, Tag::any) : b;
  const dnnl::matmul::primitive_desc chosen(dnnl::matmul::desc(a, wanted, c), engine());
  add(dnnl::matmul(chosen),
      {{DNNL_ARG_SRC, memory_of(a, data.in<float>(0))},
       {DNNL_ARG_WEIGHTS, reordered(chosen.weights_desc(), memory_of(b, data.in<float>(1)))}},
      c, out);
}

void add_onednn_convolution(const Convolution& c, const Data& data, Peers& out) {
  const memory::desc x({1, c.in, c.height, c.width}, kF32, Tag::nhwc),
      y({1, c.out, c.out_height(), c.out_width()}, kF32, Tag::nhwc);
  const memory::dims shape =
      c.depthwise ? memory::dims{c.in, 1, 1, c.taps, c.taps} : memory::dims{c.out, c.in, c.taps, c.taps};
  const memory::desc plain(shape, kF32, c.depthwise ? Tag::hwigo : Tag::hwio), wanted(shape, kF32, Tag::any);
  const memory::dims stride = {c.stride, c.stride}, padding = {c.padding, c.padding};
  // What lies behind the last window is not padded.
  const memory::dims behind = {(c.out_height() - 1) * c.stride + c.taps - c.height - c.padding,
                               (c.out_width() - 1) * c.stride + c.taps - c.width - c.padding};
  const dnnl::convolution_forward::desc desc(kForward, dnnl::algorithm::convolution_direct, x, wanted, y, stride,
                                             padding, behind);
  const dnnl::convolution_forward::primitive_desc chosen(desc, engine());
  add(dnnl::convolution_forward(chosen),
      {{DNNL_ARG_SRC, memory_of(x, data.in<float>(0))},
       {DNNL_ARG_WEIGHTS, reordered(chosen.weights_desc(), memory_of(plain, data.in<float>(1)))}},
      y, out);
}

void add_onednn_rows(Rows kind, int64_t rows, int64_t columns, const Data& data, Peers& out) {
  const memory::desc x({rows, columns}, kF32, Tag::ab), row({columns}, kF32, Tag::a);
  if (kind == Rows::softmax)
    return add(dnnl::softmax_forward({dnnl::softmax_forward::desc(kForward, x, 1), engine()}),
               {{DNNL_ARG_SRC, memory_of(x, data.in<float>(0))}}, x, out);
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  add(dnnl::layer_normalization_forward({dnnl::layer_normalization_forward::desc(kForward, x, 1e-5F, flags), engine()}),
      {{DNNL_ARG_SRC, memory_of(x, data.in<float>(0))},
       {DNNL_ARG_SCALE, memory_of(row, data.in<float>(1))},
       {DNNL_ARG_SHIFT, memory_of(row, data.in<float>(2))}},
      x, out);
}

void add_onednn_stream(Stream kind, int64_t elements, const Data& data, Peers& out) {
  const memory::desc x({elements}, kF32, Tag::a);
  if (kind == Stream::add)
    return add(dnnl::binary({dnnl::binary::desc(dnnl::algorithm::binary_add, x, x, x), engine()}),
               {{DNNL_ARG_SRC_0, memory_of(x, data.in<float>(0))}, {DNNL_ARG_SRC_1, memory_of(x, data.in<float>(1))}},
               x, out);
  const auto algorithm = kind == Stream::exp ? dnnl::algorithm::eltwise_exp : dnnl::algorithm::eltwise_gelu_erf;
  add(dnnl::eltwise_forward({dnnl::eltwise_forward::desc(kForward, algorithm, x, 0, 0), engine()}),
      {{DNNL_ARG_SRC, memory_of(x, data.in<float>(0))}}, x, out);
}

void add_onednn_sum(int64_t rows, int64_t columns, int axis, const Data& data, Peers& out) {
  const memory::desc x({rows, columns}, kF32, Tag::ab),
      y(axis == 1 ? memory::dims{rows, 1} : memory::dims{1, columns}, kF32, Tag::ab);
  add(dnnl::reduction({dnnl::reduction::desc(dnnl::algorithm::reduction_sum, x, y, 0, 0), engine()}),
      {{DNNL_ARG_SRC, memory_of(x, data.in<float>(0))}}, y, out);
}

void add_onednn_transpose(int64_t rows, int64_t columns, const Data& data, Peers& out) {
  const memory::desc x({rows, columns}, kF32, Tag::ab), y({rows, columns}, kF32, Tag::ba);
  add(dnnl::reorder(memory_of(x, data.in<float>(0)), memory(y, engine(), nullptr)),
      {{DNNL_ARG_FROM, memory_of(x, data.in<float>(0))}}, y, out);
}

}  // namespace polyweft::peers
#else
namespace polyweft::peers {
void add_onednn_gemm(const Gemm&, bool, const Data&, Peers&) {}
void add_onednn_convolution(const Convolution&, const Data&, Peers&) {}
void add_onednn_rows(Rows, int64_t, int64_t, const Data&, Peers&) {}
void add_onednn_stream(Stream, int64_t, const Data&, Peers&) {}
void add_onednn_sum(int64_t, int64_t, int, const Data&, Peers&) {}
void add_onednn_transpose(int64_t, int64_t, const Data&, Peers&) {}
}  // namespace polyweft::peers
#endif
