// Every convolution's trace of schedules/library replays on its case, is proven, and gives the right elements.
//
// A case is told by the first line of its file. The oracle is the definition on a sample of elements, corners among
// them, in exact integers.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "library/cases.h"
#include "library/covering_sample.h"
#include "library/small_integers.h"
#include "polyweft/tuner.h"

namespace polyweft {
namespace {

using library_test::floats;
using library_test::integers;

using library_test::Convolution;

std::vector<Convolution> convolutions() {
  std::vector<Convolution> out;
  for (const auto& file : library_test::library_files()) {
    Convolution c;
    c.trace = library_test::contents(file);
    if (c.trace.rfind("# conv ", 0) != 0) continue;  // other tests' cases
    c.name = file.stem();
    if (!read_header(c.trace.substr(0, c.trace.find('\n')), c)) {
      ADD_FAILURE() << c.name << " does not say its case in its first line";
      continue;
    }
    out.push_back(std::move(c));
  }
  return out;
}

int64_t offset(const std::vector<int64_t>& extents, const std::vector<int64_t>& index) {
  int64_t out = 0;
  for (size_t d = 0; d < extents.size(); ++d) out = out * extents[d] + index[d];
  return out;
}

double element(const Convolution& c, TensorData& x, TensorData& w, const std::vector<int64_t>& at) {
  const int64_t f = at.back(), in_group = c.ci / c.groups, first = f / (c.co / c.groups) * in_group;
  double sum = 0;
  std::vector<int64_t> tap(c.rank(), 0);
  for (bool more = true; more;) {
    std::vector<int64_t> from = {at[0]}, weight = tap;
    for (size_t d = 0; d < c.rank() && from.size() == d + 1; ++d)
      if (auto row = c.hit(d, at[d + 1], tap[d])) from.push_back(*row);
    from.push_back(first);
    weight.insert(weight.end(), {0, f});
    if (from.size() == c.rank() + 2) {
      const float* pixel = floats(x) + offset(x.extents, from);
      const float* column = floats(w) + offset(w.extents, weight);
      for (int64_t k = 0; k < in_group; ++k)
        sum += static_cast<double>(pixel[k]) * static_cast<double>(column[k * c.co]);
    }
    size_t d = c.rank();
    while (d > 0 && ++tap[d - 1] == c.kernel[d - 1]) tap[--d] = 0;
    more = d > 0;
  }
  return sum;
}

/// Elements that differ from the definition, of a sample with all corners.
int wrong_elements(const Convolution& c, TensorData& x, TensorData& w, TensorData& y, std::mt19937& random) {
  int wrong = 0;
  for (int sample = 0; sample < 600; ++sample) {
    std::vector<int64_t> at;
    for (size_t d = 0; d < y.extents.size(); ++d) {
      const int64_t last = y.extents[d] - 1, any = static_cast<int64_t>(random() % static_cast<uint64_t>(y.extents[d]));
      at.push_back(sample >= 300 ? any : (sample >> d) % 2 ? last : sample % 7 == 0 ? any : 0);
    }
    wrong += static_cast<double>(floats(y)[offset(y.extents, at)]) != element(c, x, w, at);
  }
  return wrong;
}

/// The steps of its trace, and its family: ansor_c2d, resnet50_conv, ..
std::set<std::string> steps_of_convolution(const Convolution& c) {
  auto out = library_test::features_of(c.trace);
  out.insert("family " + c.name.substr(0, c.name.find('_', c.name.find('_') + 1)));
  return out;
}

// A sample that covers families and steps; all of them in the soak.
TEST(ConvolutionLibrary, traces_are_proven_and_right) {
  Tuner tuner(*find_target("host"), {});
  std::mt19937 random(1);
  const auto all = convolutions();
  EXPECT_GE(all.size(), 30u);
  for (const Convolution& c : library_test::covering_sample<Convolution>(all, steps_of_convolution)) {
    SCOPED_TRACE(c.name);
    const auto program = parse_program(library_test::program_in(c.trace));
    ASSERT_TRUE(program);
    TaskOptions options;
    options.trace = c.trace;
    auto kernel = tuner.compile(*program, options);  // proves the trace first
    if (!kernel) {
      ADD_FAILURE() << kernel.error().message;
      continue;
    }
    EXPECT_EQ(kernel->origin(), "trace");
    std::vector<int64_t> image = {c.n}, taps = c.kernel;
    image.insert(image.end(), c.size.begin(), c.size.end());
    image.push_back(c.ci);
    taps.insert(taps.end(), {c.ci / c.groups, c.co});
    TensorData x = integers(image, random), w = integers(taps, random);
    auto outputs = kernel->run({x, w});
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_EQ(wrong_elements(c, x, w, outputs->at(0), random), 0);
    floats(outputs->at(0))[0] += 1;  // the oracle sees one wrong corner
    EXPECT_GT(wrong_elements(c, x, w, outputs->at(0), random), 0);
  }
}

}  // namespace
}  // namespace polyweft
