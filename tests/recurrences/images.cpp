// Stencils on images: a chain, a pyramid, a camera's pipeline.
#include <algorithm>
#include <cmath>

#include "recurrences/oracles.h"

namespace polyweft::recurrences {
namespace {

using polybench::Arrays;
using polybench::Grid;

/// A plane with an origin: rows and columns from -margin.
class Plane {
 public:
  Plane(int64_t rows, int64_t columns, int64_t margin)
      : rows_(rows),
        columns_(columns),
        margin_(margin),
        values_(static_cast<size_t>((rows + 2 * margin) * (columns + 2 * margin))) {}
  double& operator()(int64_t y, int64_t x) {
    return values_[static_cast<size_t>((y + margin_) * (columns_ + 2 * margin_) + x + margin_)];
  }
  template <typename F>
  void fill(F f) {
    for (int64_t y = -margin_; y < rows_ + margin_; ++y)
      for (int64_t x = -margin_; x < columns_ + margin_; ++x) (*this)(y, x) = f(y, x);
  }

 private:
  int64_t rows_, columns_, margin_;
  std::vector<double> values_;
};

/// Whole numbers modulo 2^16, as i16 holds them.
double wrapped(double v) {
  return static_cast<double>(static_cast<int16_t>(static_cast<uint16_t>(static_cast<int64_t>(v) & 0xffff)));
}

/// Separable: the weights are (r + 1)(s + 1).
void stencil_chain(Arrays& a) {
  const int64_t h = a["H"], w = a["W"];
  const Grid in = a.grid("X", h, w), out = a.grid("Y", h, w);
  Plane image(h, w, 64);
  image.fill(
      [&](int64_t y, int64_t x) { return in(std::clamp<int64_t>(y, 0, h - 1), std::clamp<int64_t>(x, 0, w - 1)); });
  for (int64_t margin = 62; margin >= 0; margin -= 2) {
    Plane rows(h, w, margin + 2), next(h, w, margin);
    for (int64_t y = -margin - 2; y < h + margin + 2; ++y)
      for (int64_t x = -margin; x < w + margin; ++x)
        for (int64_t s = 0; s < 5; ++s) rows(y, x) += static_cast<double>(s + 1) * image(y, x + s - 2);
    for (int64_t y = -margin; y < h + margin; ++y)
      for (int64_t x = -margin; x < w + margin; ++x) {
        double sum = 0;
        for (int64_t r = 0; r < 5; ++r) sum += static_cast<double>(r + 1) * rows(y + r - 2, x);
        next(y, x) = wrapped(sum);
      }
    image = next;
  }
  for (int64_t y = 0; y < h; ++y)
    for (int64_t x = 0; x < w; ++x) out(y, x) = image(y, x);
}

/// The evaluator takes seconds for 32 stages of 130 x 130: two sizes will do.
void one_odd_size(std::map<std::string, int64_t>& sizes) {
  if (sizes["H"] != 6) sizes = {{"H", 1}, {"W", 3}};
}

struct Image {
  int64_t rows, columns;
  std::vector<double> values;
  double at(int64_t y, int64_t x) const {
    return values[static_cast<size_t>(std::clamp<int64_t>(y, 0, rows - 1) * columns +
                                      std::clamp<int64_t>(x, 0, columns - 1))];
  }
};

Image half(const Image& from) {
  const double tap[] = {1, 4, 6, 4, 1};
  Image out{(from.rows + 1) / 2, (from.columns + 1) / 2, {}};
  for (int64_t y = 0; y < out.rows; ++y)
    for (int64_t x = 0; x < out.columns; ++x) {
      double sum = 0;
      for (int64_t r = 0; r < 5; ++r)
        for (int64_t s = 0; s < 5; ++s) sum += tap[r] * tap[s] * from.at(2 * y + r - 2, 2 * x + s - 2);
      out.values.push_back(sum / 256);
    }
  return out;
}

/// What the half image, drawn large, lacks of the whole one.
std::vector<double> detail(const Image& whole, const Image& small) {
  std::vector<double> out;
  for (int64_t y = 0; y < whole.rows; ++y)
    for (int64_t x = 0; x < whole.columns; ++x) {
      const double above = (small.at(y / 2, x / 2) + small.at(y / 2, (x + 1) / 2)) / 2,
                   below = (small.at((y + 1) / 2, x / 2) + small.at((y + 1) / 2, (x + 1) / 2)) / 2;
      out.push_back(whole.at(y, x) - (above + below) / 2);
    }
  return out;
}

void pyramid(Arrays& a) {
  const Image whole{a["H"], a["W"], a.values.at("X")};
  const Image one = half(whole), two = half(one), three = half(two);
  a.values["D0"] = detail(whole, one);
  a.values["D1"] = detail(one, two);
  a.values["D2"] = detail(two, three);
  a.values["G3"] = three.values;
}

double floor_shift(double v, int bits) {
  return std::floor(std::ldexp(v, -bits));
}

/// The colour that the sensor has at a pixel: 0 red, 1 green, 2 blue.
int64_t colour_at(int64_t y, int64_t x) {
  return (y & 1) + (x & 1);
}

/// Of the pixels around (y, x), those of colour k, averaged; the pixel itself where it has that colour.
double demosaiced(Plane& raw, int64_t k, int64_t y, int64_t x) {
  if (colour_at(y, x) == k) return raw(y, x);
  double sum = 0, count = 0;
  for (int64_t dy = -1; dy <= 1; ++dy)
    for (int64_t dx = -1; dx <= 1; ++dx)
      if (colour_at(y + dy, x + dx) == k) sum += raw(y + dy, x + dx), count += 1;
  return std::floor(sum / count);
}

void camera(Arrays& a) {
  const int64_t h = 2 * a["H"], w = 2 * a["W"];
  const Grid in = a.grid("raw", h + 6, w + 6), matrix = a.grid("matrix", 3, 3), out = a.grid("picture", 3, h, w);
  const auto &gain = a.values.at("gain"), &curve = a.values.at("curve");
  Plane raw(h, w, 3);
  raw.fill([&](int64_t y, int64_t x) { return in(y + 3, x + 3); });
  std::vector<Plane> toned(3, Plane(h, w, 1));
  for (int64_t y = -1; y <= h; ++y)
    for (int64_t x = -1; x <= w; ++x) {
      double balanced[3];
      for (int64_t k = 0; k < 3; ++k) balanced[k] = floor_shift(gain[k] * demosaiced(raw, k, y, x), 8);
      for (int64_t k = 0; k < 3; ++k) {
        const double mixed =
            floor_shift(matrix(k, 0) * balanced[0] + matrix(k, 1) * balanced[1] + matrix(k, 2) * balanced[2], 8);
        toned[k](y, x) = curve[static_cast<size_t>(std::clamp(mixed, 0.0, 1023.0))];
      }
    }
  for (int64_t k = 0; k < 3; ++k)
    for (int64_t y = 0; y < h; ++y)
      for (int64_t x = 0; x < w; ++x) {
        Plane& t = toned[k];
        const double edge = 4 * t(y, x) - t(y - 1, x) - t(y + 1, x) - t(y, x - 1) - t(y, x + 1);
        out(k, y, x) = std::clamp(t(y, x) + floor_shift(a.scalar("strength") * edge, 5), 0.0, 255.0);
      }
}

void make_a_camera(Arrays& a) {
  a.values["gain"] = {412, 256, 337};
  a.values["matrix"] = {380, -96, -28, -60, 370, -54, 4, -130, 382};
  a.values["strength"] = {9};
  for (size_t v = 0; v < 1024; ++v)
    a.values.at("curve")[v] = std::floor(255 * std::pow(static_cast<double>(v) / 1023, 1 / 2.2));
}

double grey_of(const Grid& planes, int64_t y, int64_t x) {
  return 0.299 * planes(0, y, x) + 0.587 * planes(1, y, x) + 0.114 * planes(2, y, x);
}

/// Corners: the tensor of the gradients around a pixel, whose matrices are correlations with Sobel's.
void harris_rgb(Arrays& a) {
  const double across[3][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
  const int64_t h = a["H"], w = a["W"];
  const Grid in = a.grid("X", 3, h + 4, w + 4), out = a.grid("R", h, w);
  auto gradient = [&](int64_t y, int64_t x, bool down) {
    double sum = 0;
    for (int64_t r = 0; r < 3; ++r)
      for (int64_t s = 0; s < 3; ++s) sum += (down ? across[s][r] : across[r][s]) * grey_of(in, y + r, x + s);
    return sum / 12;
  };
  for (int64_t y = 0; y < h; ++y)
    for (int64_t x = 0; x < w; ++x) {
      double xx = 0, xy = 0, yy = 0;
      for (int64_t r = 0; r < 3; ++r)
        for (int64_t s = 0; s < 3; ++s) {
          const double gx = gradient(y + r, x + s, false), gy = gradient(y + r, x + s, true);
          xx += gx * gx, xy += gx * gy, yy += gy * gy;
        }
      out(y, x) = xx * yy - xy * xy - 0.04 * (xx + yy) * (xx + yy);
    }
}

void unsharp_rgb(Arrays& a) {
  const int64_t h = a["H"], w = a["W"];
  const Grid in = a.grid("X", 3, h, w), out = a.grid("Y", 3, h, w);
  double bell[7], whole = 0;
  for (int64_t r = 0; r < 7; ++r)
    whole += bell[r] = std::exp(-static_cast<double>((r - 3) * (r - 3)) / (2 * 1.5 * 1.5));
  for (int64_t y = 0; y < h; ++y)
    for (int64_t x = 0; x < w; ++x) {
      double blurred = 0;
      for (int64_t r = 0; r < 7; ++r)
        for (int64_t s = 0; s < 7; ++s)
          blurred += bell[r] / whole * bell[s] / whole *
                     grey_of(in, std::clamp<int64_t>(y + r - 3, 0, h - 1), std::clamp<int64_t>(x + s - 3, 0, w - 1));
      for (int64_t k = 0; k < 3; ++k)
        out(k, y, x) = (2 * grey_of(in, y, x) - blurred) / grey_of(in, y, x) * in(k, y, x);
    }
}

/// Grey is a divisor.
void lighten(Arrays& a) {
  for (double& v : a.values.at("X")) v = static_cast<double>(static_cast<float>(0.25 + std::abs(v)));
}

}  // namespace

std::vector<polybench::Kernel> image_kernels() {
  const char* here = "recurrences";
  return {{"stencil_chain", stencil_chain, nullptr, one_odd_size, here},
          {"pyramid", pyramid, nullptr, nullptr, here},
          {"camera", camera, make_a_camera, nullptr, here},
          {"harris_rgb", harris_rgb, nullptr, nullptr, here},
          {"unsharp_rgb", unsharp_rgb, lighten, nullptr, here}};
}

}  // namespace polyweft::recurrences
