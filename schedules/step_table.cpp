#include "schedules/step_table.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace polyweft::schedules {
namespace {

template <typename S, size_t k = 0>
constexpr size_t alternative_of() {
  if constexpr (std::is_same_v<S, std::variant_alternative_t<k, Step>>)
    return k;
  else
    return alternative_of<S, k + 1>();
}

/// The function of a step's type, which asks isl or does not, as one of any step.
template <typename S, auto kFunction>
Result<NestTemplate> apply_step(NestTemplate t, const Step& step, const Isl& isl) {
  if constexpr (std::is_invocable_v<decltype(kFunction), NestTemplate, const S&, const Isl&>)
    return kFunction(std::move(t), std::get<S>(step), isl);
  else
    return kFunction(std::move(t), std::get<S>(step));
}

template <typename S, auto kFunction>
StepKind kind(const char* name, const char* grammar, std::vector<StepForm> forms) {
  return {name, grammar, std::move(forms), alternative_of<S>(), apply_step<S, kFunction>};
}

std::vector<StepKind> all_kinds() {
  return {
      kind<TileStep, tile>("tile", "'tile' statement '[' index ':' size { ',' index ':' size } ']' ;",
                           {{StepGroup::loops, "tile", "new loops outside the point loops", "T1",
                             "PW0305 reverses a kept order; PW0304 vectorized already"}}),
      kind<PermuteStep, permute>("permute", "'permute' statement '[' loop { ',' loop } ']' ;",
                                 {{StepGroup::loops, "permute", "loops exchange places", "T1",
                                   "PW0305; PW0304 a loop leaves its own tile loop"}}),
      kind<SplitStep, split>(
          "split", "'split' statement loop 'at' INT { ',' INT } ;      (* ascending values of the index *)",
          {{StepGroup::loops, "split",
            "the range of an index in parts, one loop after the other. A range that begins elsewhere (a window of "
            "columns) begins with a part of its own, so that its vectors lie between those of the first cut",
            "T1", "PW0303 outside the range; PW0304 not the outermost loop over its index"}}),
      kind<IndexSetSplitStep, index_set_split>(
          "index_set_split", "'index_set_split' statement index { ',' index } ( 'mod' INT | 'at' INT { ',' INT } ) ;",
          {{StepGroup::loops, "index_set_split",
            "a statement in classes of residues (`mod`) or ranges of a data index (`at`). Each is a statement `Y.p1`, "
            "`Y.p2`, .. whose indices count its own values. Conditions that the part decides become constants",
            "T9", "PW0306 with two folds of one element in two parts; PW0304 shaped already"}}),
      kind<ParallelStep, parallel>(
          "parallel",
          "'parallel' statement ( loop | index 'in' INT ) ;      (* in: a new outermost loop over so many equal parts "
          "of the index, `i.p` *)",
          {{StepGroup::loops, "parallel", "iterations, or equal parts of an index, run concurrently",
            "T2: distance 0 along data indices; T1 for the loop over parts",
            "PW0306 with two folds into one element"}}),
      kind<BindStep, bind>(
          "bind", "'bind' statement loop 'to' axis ;      (* block_x block_y block_z thread_x thread_y thread_z *)",
          {{StepGroup::loops, "bind", "iterations are blocks of a grid or threads of a block", "T2, as parallel",
            "PW0306; PW0304 an axis twice, blocks inside threads; PW0519 by a CPU, when code is made"}}),
      kind<VectorizeStep, vectorize>(
          "vectorize", "'vectorize' statement loop size ;",
          {{StepGroup::loops, "vectorize", "lanes innermost",
            "T4. Over a reduced index T6: lanes fold apart, a tree merges; states of several components too (argmax "
            "with its value, combiners)",
            "PW0307 with two folds: the class keeps the order, or the combiner is not associative and commutative"}}),
      kind<UnrollStep, unroll>("unroll", "'unroll' statement loop { ',' loop } ;",
                               {{StepGroup::loops, "unroll", "unroll and jam", "structural", "PW0304"}}),
      kind<TensorizeStep, tensorize>(
          "tensorize",
          "'tensorize' statement loop { ',' loop } 'by' instruction ;      (* the point loop of a reduced index, after "
          "vectorize *)",
          {{StepGroup::loops, "tensorize",
            "the last tile of a reduced index and the lanes are one [instruction](add_an_instruction.md)",
            "structural equality, T1", "PW0322 what differs; PW0307 the class; PW0416 no such instruction"}}),
      kind<AutovectorizeStep, autovectorize>(
          "autovectorize", "'autovectorize' [ 'without' 'gathers' ] ;      (* the last step *)",
          {{StepGroup::loops, "autovectorize",
            "vectors, unrolling and register promotion are left to LLVM's O3 pipeline. Alone it compiles the base "
            "order as a C compiler compiles plain loops. Every search has it as a candidate. On targets whose compiler "
            "uses gathers and scatters there is a second one without: LLVM counts some 5 cycles for a gather, of which "
            "Zen 5 was measured at 15 to 20",
            "structural: the compiler proves its own transformations. It is told that buffers do not overlap, and may "
            "reassociate sums where the class allows it",
            "PW0304 explicit vectors, axes or registers beside it, steps after it"}}),
      kind<BatchStep, batch>("batch",
                             "'batch' INT [ 'in' INT ] ;      (* the only step: lanes, a power of two from 2 to 64; "
                             "in: equal parts at once *)",
                             {{StepGroup::loops, "batch",
                               "elements of the outermost loops that all statements of the base order share are lanes "
                               "(a batch of small matrices, of filters, of complex numbers). What an element makes is "
                               "in registers of its own. Short loops are unrolled. What lies between lanes in memory "
                               "is loaded and stored in whole rows and transposed in registers",
                               "all that the statements write has the batch's index alone in one subscript, so "
                               "elements are independent (`src/ir/passes/batch_lanes.h`)",
                               "PW0304 no such loops, bounds that differ from element to element, more than 1536 "
                               "unrolled computations, other steps beside it"}}),
      kind<PromoteStep, promote>(
          "promote",
          "'promote' tensor [ 'read' INT ] [ 'in' statement ] 'at' loop scope [ 'layout' '[' digit { ',' digit } ']' ] "
          "[ 'vectors' INT ] ;",
          {{StepGroup::memory, "promote",
            "private copy in another layout; shared: by all threads of the block, so many neighbours at once",
            "the source is final before the nest; the layout is a digit order, hence injective (T7)",
            "PW0308, PW0309"}}),
      kind<AccumulateStep, accumulate>("accumulate", "'accumulate' statement 'at' loop scope ;",
                                       {{StepGroup::memory, "accumulate", "partial results in a private buffer",
                                         "T1: the store sits after all folds of the tile", "PW0308, PW0305"}}),
      kind<StreamStep, stream>(
          "stream", "'stream' statement ;",
          {{StepGroup::memory, "stream", "streaming stores of an output whose rows lie on cache lines",
            "structural: a mark", "PW0308 not an output; PW0304 no lanes over a data index, and no transposition"}}),
      kind<PrefetchStep, prefetch>(
          "prefetch",
          "'prefetch' tensor 'in' statement 'along' loop 'by' size ;      (* loop: an index; size: how many of its "
          "values later *)",
          {{StepGroup::memory, "prefetch",
            "each line that the vectors of a tensor (or its copy in memory) read prefetches a later one, once a "
            "register block. By 0: none. With tiles, the lines of a later tile, shared among the blocks that load it",
            "structural: a hint", "PW0308 nothing of it moves; PW0304 no lanes and no instruction"}}),
      kind<PipelineStep, pipeline>(
          "pipeline", "'pipeline' statement loop 'by' size ;      (* size: slots of each copy *)",
          {{StepGroup::memory, "pipeline",
            "copies inside a loop are made some iterations ahead: a buffer has so many slots, iteration i takes slot i "
            "modulo their number. Where the machine has no copies of its own they are plain ones",
            "T13: sources are final before the loop; slots of iterations under way differ",
            "PW0308 nothing is copied there; PW0304 no serial loop; PW0311 sizes at which copies of two iterations "
            "meet"}}),
      kind<RfactorStep, rfactor>(
          "rfactor",
          "'rfactor' statement index 'in' INT ;      (* a loop over parts of a reduced index, `k.p`, around the "
          "accumulator *)",
          {{StepGroup::stages, "rfactor",
            "parts of a reduction with accumulators of their own, merged by a tree over their number. The loop over "
            "parts may be parallel. argmax keeps the first index, since its state holds it",
            "T6", "PW0307 with two folds where the class or the combiner keeps their order"}}),
      kind<InlineStep, inline_producer>("inline", "'inline' statement ;",
                                        {{StepGroup::stages, "inline", "reads become the producer's right-hand side",
                                          "T5, syntactic substitution", "PW0308"}}),
      kind<ComputeAtStep, compute_at>(
          "compute_at",
          "'compute_at' statement 'in' statement 'at' loop scope [ 'layout' '[' digit { ',' digit } ']' ] [ 'slide' [ "
          "'whole' | 'fold' size ] ] ;",
          {{StepGroup::stages, "compute_at",
            "the producer is placed at a loop of the consumer, on what is read there. The consumer may itself be "
            "placed at another's loop, and the producer may define several tensors",
            "T5: the window covers the reads (box arithmetic)", "PW0308, PW0314"},
           {StepGroup::stages, "compute_at .. slide",
            "the producer's buffer is outside that loop. Each iteration computes only what no earlier one has; "
            "iterations before the first fill it. The dimension that moves is a circular buffer of exactly the "
            "window's size, of the next multiple of N (`fold N`; a power of two is reduced by a mask), or whole "
            "(`whole`). Producers of producers slide along the same loop, and so do the producers placed inside such a "
            "producer (sums of columns in registers beside the row that reads them)",
            "T10: the window moves up along one dimension at one speed, read off the subscripts (of all readers, "
            "clamps included); the loop is serial and stays so",
            "PW0315 with two instances: it moves down, not at all, along two dimensions, at two speeds, unevenly; "
            "PW0306 concurrent iterations; PW0304 no serial loop over a data index, registers"}}),
      kind<FuseStep, fuse>("fuse", "'fuse' statement 'into' statement 'at' loop ;",
                           {{StepGroup::stages, "fuse", "consumer at the end of the producer's iteration",
                             "delta box 0 along shared indices", "PW0305 with the element read, PW0314"}}),
      kind<DistributeStep, distribute>(
          "distribute", "'distribute' statement | 'distribute' NAME 'at' loop ;      (* NAME: a band *)",
          {{StepGroup::stages, "distribute", "back to a nest of its own", "topological order", "PW0304, PW0314"},
           {StepGroup::recurrences, "distribute .. at", "loops of a band inside one become loops of each statement",
            "no relation leads back in the sequence at equal outer loops", "PW0305"}}),
      kind<BandStep, band>(
          "band",
          "'band' NAME '[' member { ',' member } ']' 'of' statement ':' '[' linear { ',' linear } ']' { ',' statement "
          "':' '[' linear { ',' linear } ']' } ;",
          {{StepGroup::recurrences, "band",
            "statements in loops over common members, in this sequence where all are equal. A tensor's name stands for "
            "all its equations, `A@3.p2` for a piece of one",
            "every relation has a lexicographically positive distance over the members, or distance 0 and its source "
            "earlier in the sequence (exact, by isl)",
            "PW0305 with distances and instances; PW0324 where the members do not give back the indices"}}),
      kind<SkewStep, skew>("skew", "'skew' NAME member 'by' linear ;",
                           {{StepGroup::recurrences, "skew",
                             "a multiple of other members is added to a member of a band, before its loops are changed",
                             "as band", "PW0305; PW0304"}}),
      kind<ShiftStep, shift>(
          "shift", "'shift' statement member 'by' INT ;",
          {{StepGroup::recurrences, "shift",
            "a constant is added to a member of one statement of a band, before its loops are changed", "as band",
            "PW0305; PW0304"}}),
      kind<ReverseStep, reverse>(
          "reverse", "'reverse' NAME member ;",
          {{StepGroup::recurrences, "reverse", "a member of a band runs backwards, before its loops are changed",
            "as band", "PW0305; PW0304"}}),
      kind<FoldStep, fold>("fold", "'fold' tensor dim 'mod' INT [ 'down' ] ;",
                           {{StepGroup::recurrences, "fold",
                             "elements whose coordinates (`d0`), or cells whose coordinates (`c0`, after `store`), are "
                             "equal modulo a number share a cell: three anti-diagonals of an alignment. Which of them "
                             "lives later follows from the band's order",
                             "anti-dependences become relations of the band: T1 then holds for all tile sizes",
                             "PW0305; PW0323 with what is made before, or read after"}}),
      kind<StoreStep, store>(
          "store",
          "'store' tensor ( 'in' tensor | '[' linear { ',' linear } ']' [ 'layout' '[' digit { ',' digit } ']' ] ) ;   "
          "   (* over d0, d1, ..: the cell of an element, the last coordinate moves fastest *)",
          {{StepGroup::recurrences, "store",
            "skewed or exchanged cells; with `layout` their coordinates `c0`, `c1`, .. in blocks",
            "the map gives back the element by whole numbers; the layout is a digit order, hence injective",
            "PW0308; PW0303"},
           {StepGroup::recurrences, "store .. in",
            "a local in the cells of the output that it is copied to at the end; the copy moves nothing",
            "each write to the output is that copy, from the same place, after all writes to the local: proven by the "
            "checker",
            "PW0308; PW0304"}}),
      kind<IsolateStep, isolate>(
          "isolate", "'isolate' statement { ',' statement } 'in' NAME 'at' loop 'where' linear { ',' linear } ;",
          {{StepGroup::recurrences, "isolate",
            "in tiles where conditions (over members and parameters) hold throughout, these statements alone, `S.far`, "
            "with loops of their own. Again at a loop further in, in what is left: `S.far2`",
            "T9 by the tile's position: no other statement has an instance there", "PW0306"}}),
      kind<CutStep, cut>(
          "cut", "'cut' statement 'where' linear ;",
          {{StepGroup::recurrences, "cut",
            "before its band, a statement or the folds of a sum in two pieces, `S.p1` where the value is not negative "
            "and `S.p2`, each with members of its own",
            "the pieces are disjoint and all of it; the band then as ever",
            "PW0302, PW0303; PW0304 placed already, a reduced index of a whole sum, a piece that the band lacks"}}),
      kind<SnapshotStep, snapshot>(
          "snapshot", "'snapshot' NAME 'of' tensor 'read' INT 'in' statement ;",
          {{StepGroup::recurrences, "snapshot",
            "before all other steps, a read gets cells of its own: `snapshot C of path read 2 in path@2` makes a "
            "statement C[k, i] = path[k-1, i, k-1]. Bands place, cut and fold it like any other, and the reader reads "
            "it. In the nest it is copies into a buffer that holds elements of the tensor",
            "T5. Cells of the tensor may be overwritten by later elements as soon as the copy is made: the reader's "
            "anti-dependences are C's",
            "PW0308 an element would be held twice, or what is read depends on data; PW0304 a name that is taken, "
            "other steps before"}}),
      kind<OnlineStep, online>(
          "online", "'online' statement 'by' INT ;",
          {{StepGroup::stages, "online",
            "before all other steps, a maximum and the sums over its index of exponentials below it become one "
            "reduction over tuples, over blocks of so many values of the index: `online m by 256` makes m.x, m.e and a "
            "part of each sum (`s.b`) for a block, and (m.m, s.s, ..)",
            "T11, class reassoc", "PW0308 no such form, or a block that does not fit; PW0304 other steps before"}}),
      kind<WavefrontStep, wavefront>(
          "wavefront", "'wavefront' NAME '[' loop ',' loop { ',' loop } ']' ;",
          {{StepGroup::recurrences, "wavefront",
            "tiles whose numbers have one sum run concurrently; loops outside stay", "T3", "PW0306"}}),
      kind<OverlapStep, overlap>(
          "overlap",
          "'overlap' NAME '[' member ':' size ',' member ':' size { ',' member ':' size } ']' scope ;      (* the "
          "first member is time *)",
          {{StepGroup::recurrences, "overlap",
            "the outermost loops of a band: blocks of time, then tiles of space in cells of their own, which compute "
            "again what neighbours would give. Tiles of a block run in any order, or concurrently (`parallel`)",
            "T5: ranges grow backwards in time by what the relations reach",
            "PW0305 with distances: within one step of time something is needed without an end; PW0314 all times are "
            "read outside; PW0304; PW0311 a block shorter than what is looked back"}}),
  };
}

}  // namespace

std::span<const StepKind> step_kinds() {
  static const std::vector<StepKind> kinds = all_kinds();
  return kinds;
}

const StepKind& kind_of(const Step& step) {
  const auto kinds = step_kinds();
  return *std::find_if(kinds.begin(), kinds.end(),
                       [&](const StepKind& kind) { return kind.alternative == step.index(); });
}

}  // namespace polyweft::schedules
