#include "support/hash.h"

#include <gtest/gtest.h>

namespace polyweft {
namespace {

// Expected values computed with Python's hashlib.blake2b(digest_size=32).
TEST(Hash, blake2b_256_agrees_with_hashlib) {
  EXPECT_EQ(hex(blake2b_256("")), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(hex(blake2b_256("abc")), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

TEST(Hash, the_short_digest_is_a_prefix_of_the_long_one) {
  EXPECT_EQ(hex(blake2b_128("abc")), hex(blake2b_256("abc")).substr(0, 32));
}

TEST(Hash, keyed_digest_agrees_with_hashlib_and_depends_on_the_key) {
  EXPECT_EQ(hex(blake2b_256_keyed("0123456789abcdef", "abc")),
            "66b4857d42c644c61fca8c0bcea243e0e75088582c7964bbac6b92c02381d9c7");
  EXPECT_NE(blake2b_256_keyed("0123456789abcdeg", "abc"), blake2b_256_keyed("0123456789abcdef", "abc"));
}

TEST(Hash, pieces_give_the_digest_of_the_whole) {
  Hasher hasher;
  hasher.update("a").update("").update("bc");
  EXPECT_EQ(hasher.finish256(), blake2b_256("abc"));
}

TEST(Hash, fields_are_not_confused_with_another_split) {
  Hasher one, two;
  one.field("ab").field("c");
  two.field("a").field("bc");
  EXPECT_NE(one.finish128(), two.finish128());
}

TEST(Hash, hexadecimal_round_trips_and_refuses_what_it_is_not) {
  const Digest128 digest = blake2b_128("x");
  EXPECT_EQ(digest128_from_hex(hex(digest)), digest);
  EXPECT_FALSE(digest128_from_hex("0g").has_value());
  EXPECT_FALSE(digest128_from_hex(hex(digest).substr(1)).has_value());
  EXPECT_FALSE(digest128_from_hex(std::string(32, 'G')).has_value());
  EXPECT_FALSE(digest256_from_hex(hex(digest)).has_value());
}

}  // namespace
}  // namespace polyweft
