#include "support/framing.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "support/rng.h"

namespace polyweft {
namespace {

struct Pipe {
  int fds[2] = {-1, -1};
  Pipe() { PW_CHECK(pipe(fds) == 0); }
  ~Pipe() {
    close(fds[0]);
    close_writer();
  }
  void close_writer() {
    if (fds[1] >= 0) close(fds[1]);
    fds[1] = -1;
  }
  void put(std::string_view bytes) {
    PW_CHECK(write(fds[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
};

std::string code_after(std::string_view bytes) {
  Pipe pipe;
  pipe.put(bytes);
  pipe.close_writer();
  auto frame = read_frame(pipe.fds[0]);
  return frame ? "ok" : frame.error().code;
}

TEST(Framing, a_frame_comes_back_as_it_was_written) {
  Pipe pipe;
  ASSERT_TRUE(write_frame(pipe.fds[1], 100, "payload").ok());
  ASSERT_TRUE(write_frame(pipe.fds[1], 101, "").ok());
  EXPECT_EQ(*read_frame(pipe.fds[0]), (Frame{100, "payload"}));
  EXPECT_EQ(*read_frame(pipe.fds[0]), (Frame{101, ""}));
}

TEST(Framing, malformed_streams_are_errors) {
  const std::string good = encode_frame(1, "abc");
  EXPECT_EQ(code_after(""), "PW0607");
  EXPECT_EQ(code_after(good.substr(0, 5)), "PW0605");
  EXPECT_EQ(code_after(good.substr(0, good.size() - 1)), "PW0605");
  EXPECT_EQ(code_after("GET / HTTP/1.1\r\n\r\n"), "PW0605");
  std::string other_version = good;
  other_version[4] = 9;
  EXPECT_EQ(code_after(other_version), "PW0605");
}

TEST(Framing, a_length_over_the_limit_is_refused_before_any_allocation) {
  std::string huge = encode_frame(1, "");
  for (int i = 8; i < 12; ++i) huge[i] = '\xff';
  EXPECT_EQ(decode_frame_header(huge).error().code, "PW0605");
  std::string just_over = encode_frame(1, "");
  const uint32_t length = kMaxFrameBytes + 1;
  for (int i = 0; i < 4; ++i) just_over[8 + i] = static_cast<char>(length >> (8 * i));
  EXPECT_FALSE(decode_frame_header(just_over).ok());
}

TEST(Framing, values_round_trip_through_a_payload) {
  ByteWriter writer;
  writer.u8(255).u32(4000000000u).u64(UINT64_MAX).i64(INT64_MIN).f64(-0.0).f64(NAN).string("text\0more");
  ByteReader reader(writer.bytes());
  EXPECT_EQ(reader.u8(), 255);
  EXPECT_EQ(reader.u32(), 4000000000u);
  EXPECT_EQ(reader.u64(), UINT64_MAX);
  EXPECT_EQ(reader.i64(), INT64_MIN);
  EXPECT_TRUE(std::signbit(reader.f64()));
  EXPECT_TRUE(std::isnan(reader.f64()));
  EXPECT_EQ(reader.string(), "text");
  EXPECT_TRUE(reader.finish().ok());
}

TEST(Framing, a_short_payload_yields_zeros_and_one_error) {
  ByteReader reader("\x01\x02");
  EXPECT_EQ(reader.u64(), 0u);
  EXPECT_EQ(reader.u8(), 0);
  EXPECT_EQ(reader.string(), "");
  EXPECT_EQ(reader.finish().error().code, "PW0605");
}

TEST(Framing, left_over_bytes_are_an_error) {
  ByteReader reader("abc");
  reader.u8();
  EXPECT_FALSE(reader.finish().ok());
}

TEST(Framing, counts_and_lengths_that_lie_are_refused) {
  const std::string lie = ByteWriter().u32(1u << 30).bytes();
  ByteReader counted(lie);
  EXPECT_EQ(counted.count(8), 0u);
  EXPECT_FALSE(counted.finish().ok());
  ByteReader text(lie);
  EXPECT_EQ(text.string(), "");
  EXPECT_FALSE(text.finish().ok());
}

TEST(Framing, numbers_out_of_range_are_refused) {
  const std::string bytes = ByteWriter().i64(-5).bytes();
  ByteReader reader(bytes);
  EXPECT_EQ(reader.i64_in(0, 10), 0);
  EXPECT_TRUE(reader.failed());
}

TEST(Framing, random_bytes_never_crash_a_reader) {
  Rng rng(11);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(rng.below(64), '\0');
    for (char& c : bytes) c = static_cast<char>(rng());
    ByteReader reader(bytes);
    for (int i = 0; i < 8; ++i) switch (rng.below(6)) {
        case 0:
          reader.u8();
          break;
        case 1:
          reader.i64_in(-3, 3);
          break;
        case 2:
          reader.string();
          break;
        case 3:
          reader.count(4);
          break;
        case 4:
          reader.f64();
          break;
        case 5:
          reader.view();
          break;
      }
    (void)reader.finish().ok();
  }
}

}  // namespace
}  // namespace polyweft
