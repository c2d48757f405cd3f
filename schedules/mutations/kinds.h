// All mutations, by what they change. See mutations.cpp for what each does.
#pragma once

#include "schedules/mutations/mutations.h"

namespace polyweft::schedules {

// sizes.cpp
bool resize(Trace& trace, const Change& c);

// loops.cpp
bool exchange_loops(Trace& trace, const Change& c);
bool leave_out_a_step(Trace& trace, const Change& c);
bool leave_to_compiler(Trace& trace, const Change& c);
std::vector<Step> move_loop(const Change& c);
std::vector<Step> add_tile(const Change& c);
std::vector<Step> add_unroll(const Change& c);
std::vector<Step> add_lanes(const Change& c);
std::vector<Step> add_parts(const Change& c);

// memory.cpp
std::vector<Step> add_copy(const Change& c);
std::vector<Step> add_accumulator(const Change& c);
std::vector<Step> add_stream(const Change& c);
std::vector<Step> add_prefetch_of_reads(const Change& c);
std::vector<Step> add_storage(const Change& c);
bool change_copy(Trace& trace, const Change& c);

// places.cpp
std::vector<Step> place_in_reader(const Change& c);
std::vector<Step> inline_in_readers(const Change& c);
std::vector<Step> fuse_into_source(const Change& c);
bool change_place(Trace& trace, const Change& c);

// members.cpp
std::vector<Step> skew_member(const Change& c);
std::vector<Step> distribute_band(const Change& c);

}  // namespace polyweft::schedules
