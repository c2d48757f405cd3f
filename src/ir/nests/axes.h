// Axis loops: loops whose iterations are the blocks of a grid or the threads of a block. Those over threads run
// concurrently between two `sync block`, which all threads of a block reach; a loop over an axis ends when all its
// iterations have ended.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// block_x, block_y, block_z, thread_x, thread_y, thread_z; outermost dimension last, as on the devices.
const std::vector<std::string>& axis_names();
bool is_axis_name(const std::string& name);
/// Threads of one block, which can wait for each other.
bool is_thread_axis(const std::string& name);
/// Is the loop bound to such an axis?
bool is_thread_axis(const Loop& loop);
/// Of each node: is it such a node, or is there one in it?
std::vector<bool> nodes_with(const LoopNest& nest, const std::function<bool(const Node&)>& is_such);
/// A Sync.
std::vector<bool> nodes_with_sync(const LoopNest& nest);

}  // namespace polyweft::ir
