#include <gtest/gtest.h>

#include "targets/cpu/x86/gather_lanes.h"

using polyweft::targets::gathered_lanes;

TEST(GatherCycles, lanes_by_the_name_of_the_instruction) {
  const struct {
    const char* name;
    int lanes;
  } cases[] = {{"VGATHERQPDZrm", 8},    {"VGATHERDPDZrm", 8},    {"VGATHERDPSZrm", 16},    {"VGATHERQPSZrm", 8},
               {"VPGATHERDDZrm", 16},   {"VPGATHERQQZrm", 8},    {"VGATHERQPDZ256rm", 4},  {"VGATHERDPSZ256rm", 8},
               {"VPGATHERDQZ256rm", 4}, {"VGATHERDPDZ128rm", 2}, {"VPGATHERDDZ128rm", 4},  {"VGATHERDPSYrm", 8},
               {"VGATHERQPDYrm", 4},    {"VPGATHERDDYrm", 8},    {"VGATHERDPSrm", 4},      {"VGATHERQPDrm", 2},
               {"VPSCATTERDDZmr", 16},  {"VSCATTERQPDZmr", 8},   {"VSCATTERDPDZ256mr", 4}, {"VPSCATTERQQZ128mr", 2},
               {"VGATHERPF0DPDm", 0},   {"VSCATTERPF1QPSm", 0},  {"VMOVUPDZrm", 0},        {"VPERMT2PDZrr", 0}};
  for (const auto& [name, lanes] : cases) EXPECT_EQ(gathered_lanes(name), lanes) << name;
}
