// Loops over blocks and threads, in a function that each thread of a grid runs (GridHooks).
//
// All threads of a block walk together through the nodes that have a loop over threads or a barrier inside. A node that
// has none is work: of one thread for each iteration of the loops over threads around it, the first one along all other
// axes. Where such a loop ends, and where work stands outside of loops over threads that the kernel has, the threads
// wait for each other before the next work begins.
#pragma once

#include <map>
#include <vector>

#include "targets/common/code_emitter.h"
#include "targets/common/loops/async_copies.h"
#include "targets/common/loops/branches.h"
#include "targets/common/loops/serial_loops.h"

namespace polyweft::targets {

class FragmentLoops;

class AxisLoops : MemoryPart {
 public:
  AxisLoops(const Addresses& addresses, Branches& branches, SerialLoops& serial_loops, AsyncCopies& async_copies,
            FragmentLoops& fragment_loops, CodeEmitter& further)
      : MemoryPart(addresses),
        branches_(branches),
        serial_loops_(serial_loops),
        async_copies_(async_copies),
        fragment_loops_(fragment_loops),
        further_(further) {}

  /// The function is a kernel of the device, for the nodes from `root` on. It is launched with as many blocks and
  /// threads along each axis as the longest of its loops has iterations.
  void begin_kernel(NodeId root);
  /// Emits the node where threads walk together; false: it is code of one thread.
  bool takes(NodeId id);

 private:
  void work(NodeId id);
  void choice(const If& node);
  void under(llvm::Value* condition, const std::function<void()>& emit);
  void serial_loop(const Loop& loop);
  void axis_loop(const Loop& loop);
  bool mentions_threads(const Affine& e) const;
  bool mentions_threads(const Guard& g) const;
  llvm::Value* both(llvm::Value* some, llvm::Value* other);
  void wait();

  Branches& branches_;
  SerialLoops& serial_loops_;
  AsyncCopies& async_copies_;
  FragmentLoops& fragment_loops_;
  CodeEmitter& further_;
  bool walks_together_ = false;
  bool must_wait_ = false;                          ///< before the next work
  llvm::Value* active_ = nullptr;                   ///< of the walking threads those that count; null: all
  std::map<std::string, VarId> bound_ = {};         ///< axes of the loops around
  std::vector<std::string> threads_ = {};           ///< axes of threads that the kernel's loops have
  std::map<std::string, int64_t> iterations_ = {};  ///< axes all of whose loops have so many; 0: not so
  std::vector<bool> is_parted_ = {}, is_met_ = {};  ///< by node: is there a loop over an axis inside, a barrier?
};

}  // namespace polyweft::targets
