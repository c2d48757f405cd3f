/* A model of a unit beside a CPU, from the numbers of unit_table.h. Its instructions are none of the CPU's, which
   traps: the handler does what the unit would, and counts cycles.

   Values. Products and first values happen at once, in order. Bytes that are copied in arrive when the program has
   waited for their group, and what they replace is gone when the copy is issued: who does not wait reads nonsense.

   Time. The CPU issues a command every few cycles, and waits where an engine has too many that are not done. There are
   three engines, each in order: copies in, copies out, products with first values. Copies take the cycles of their
   bytes one after the other, and a latency each; so many may be under way. A command begins when the rows that it reads
   were written, and those that it writes were written and read: a scoreboard by rows. */
#include "targets/unit/runtime/unit.h"

#include "targets/unit/runtime/unit_table.h"

typedef unsigned char byte;
typedef unsigned long wide;

enum { kMostRows = 1 << 17, kMostCopies = 1 << 15, kMostGroups = 64, kMostQueue = 256, kMostMemory = 1 << 23 };

static byte memory[kMostMemory]; /* scratchpad, then sums */
static wide written[kMostRows], read_until[kMostRows];

struct copy {
  const byte* from;
  wide to, rows, bytes, stride, apart;
};
static struct copy under_way[kMostCopies];
static wide first_copy, last_copy;                           /* of those under way, modulo kMostCopies */
static wide group_end[kMostGroups], group_done[kMostGroups]; /* of the latest groups: copies up to, cycles */
static wide groups, group_time, stride_bytes, apart_bytes, apart_is_said;

struct engine {
  wide free;             /* when the next command may begin */
  wide done[kMostQueue]; /* of its latest commands */
  wide issued;
};
static struct engine in, out, unit;
static wide now, busy;
static unsigned long counted; /* instructions of the CPU that were seen */
unsigned long polyweft_unit_instructions;

static wide figure(enum unit_figure which) {
  return (wide)polyweft_unit_table[which];
}
static wide larger(wide a, wide b) {
  return a > b ? a : b;
}

void polyweft_unit_begin(void) {
  for (wide row = 0; row < kMostRows; ++row) written[row] = read_until[row] = 0;
  first_copy = last_copy = groups = group_time = now = busy = stride_bytes = apart_bytes = apart_is_said = 0;
  const struct engine idle = {0};
  in = out = unit = idle;
  counted = polyweft_unit_instructions;
}
/* What the CPU has done since. */
static void catch_up(void) {
  now += polyweft_unit_instructions - counted;
  counted = polyweft_unit_instructions;
}
unsigned long polyweft_unit_cycles(void) {
  catch_up();
  return larger(now, larger(larger(in.free, out.free), unit.free));
}
unsigned long polyweft_unit_busy(void) {
  return busy;
}

/* ---- memory ---- */

struct place {
  byte* at;
  wide row, room, row_bytes;
};
/* Ends the program for addresses that are none. */
static struct place place_of(wide local) {
  const wide sums = figure(unit_accumulator_first), pad = figure(unit_scratchpad_bytes);
  struct place out;
  if (figure(unit_accumulator_bytes) > 0 && local >= sums) {
    const wide at = local - sums;
    if (at >= figure(unit_accumulator_bytes)) polyweft_unit_fault("an address behind the sums' memory");
    out.at = memory + pad + at;
    out.row_bytes = figure(unit_accumulator_row_bytes);
    out.row = pad / figure(unit_row_bytes) + at / out.row_bytes;
    out.room = figure(unit_accumulator_bytes) - at;
    return out;
  }
  if (local >= pad) polyweft_unit_fault("an address behind the scratchpad");
  out.at = memory + local;
  out.row_bytes = figure(unit_row_bytes);
  out.row = local / out.row_bytes;
  out.room = pad - local;
  return out;
}
static byte* bytes_at(wide local, wide bytes) {
  const struct place place = place_of(local);
  if (bytes > place.room) polyweft_unit_fault("a row that leaves its memory");
  return place.at;
}

/* Of rows of so many bytes, so far apart: when all were written, and read; or sets it. */
enum use { kAfterWrites = 1, kAfterReads = 2, kSetsWritten = 4, kSetsRead = 8 };
static wide rows_of(wide local, wide rows, wide bytes, wide apart, int use, wide time) {
  wide latest = 0;
  for (wide r = 0; r < rows; ++r) {
    const struct place place = place_of(local + r * apart);
    for (wide k = 0; k * place.row_bytes < bytes; ++k) {
      const wide row = place.row + k;
      if (use & kAfterWrites) latest = larger(latest, written[row]);
      if (use & kAfterReads) latest = larger(latest, read_until[row]);
      if (use & kSetsWritten) written[row] = larger(written[row], time);
      if (use & kSetsRead) read_until[row] = larger(read_until[row], time);
    }
  }
  return latest;
}

/* ---- time ---- */

/* Waits until the engine takes a command. */
static void issue(struct engine* engine) {
  const wide queue = figure(unit_queue);
  if (engine->issued >= queue) now = larger(now, engine->done[(engine->issued - queue) % kMostQueue]);
}
static void note(struct engine* engine, wide done) {
  engine->done[engine->issued++ % kMostQueue] = done;
}
static wide time_of_copy(struct engine* engine, wide ready, wide rows, wide bytes) {
  const wide per_cycle = figure(unit_copy_bytes_per_cycle), flight = figure(unit_copies_in_flight);
  wide begin = larger(larger(now, ready), engine->free);
  if (engine->issued >= flight) begin = larger(begin, engine->done[(engine->issued - flight) % kMostQueue]);
  engine->free = begin + rows * ((bytes + per_cycle - 1) / per_cycle);
  const wide done = engine->free + figure(unit_copy_latency);
  note(engine, done);
  return done;
}

/* ---- commands ---- */

static void arrive(wide end) {
  for (; first_copy < end; ++first_copy) {
    const struct copy* copy = &under_way[first_copy % kMostCopies];
    for (wide r = 0; r < copy->rows; ++r) {
      byte* to = bytes_at(copy->to + r * copy->apart, copy->bytes);
      const byte* from = copy->from + r * copy->stride;
      for (wide k = 0; k < copy->bytes; ++k) to[k] = from[k];
    }
  }
}

static void copy_in(const wide* v) {
  const wide rows = v[unit_rows], bytes = v[unit_bytes], local = v[unit_local];
  if (last_copy - first_copy >= kMostCopies) polyweft_unit_fault("too many copies under way");
  const struct copy copy = {(const byte*)v[unit_memory], local, rows, bytes, stride_bytes, apart_bytes};
  under_way[last_copy++ % kMostCopies] = copy;
  for (wide r = 0; r < rows; ++r) {
    byte* to = bytes_at(local + r * apart_bytes, bytes);
    for (wide k = 0; k < bytes; ++k) to[k] = 0x55;
  }
  issue(&in);
  const wide ready = rows_of(local, rows, bytes, apart_bytes, kAfterWrites | kAfterReads, 0);
  const wide done = time_of_copy(&in, ready, rows, bytes);
  rows_of(local, rows, bytes, apart_bytes, kSetsWritten, done);
  group_time = larger(group_time, done);
}

static void copy_out(const wide* v) {
  const wide rows = v[unit_rows], bytes = v[unit_bytes], local = v[unit_local];
  for (wide r = 0; r < rows; ++r) {
    const byte* from = bytes_at(local + r * apart_bytes, bytes);
    byte* to = (byte*)v[unit_memory] + r * stride_bytes;
    for (wide k = 0; k < bytes; ++k) to[k] = from[k];
  }
  issue(&out);
  const wide ready = rows_of(local, rows, bytes, apart_bytes, kAfterWrites, 0);
  const wide done = time_of_copy(&out, ready, rows, bytes);
  rows_of(local, rows, bytes, apart_bytes, kSetsRead, done);
}

static void zero(const wide* v) {
  const wide rows = v[unit_rows], bytes = v[unit_bytes], local = v[unit_local];
  for (wide r = 0; r < rows; ++r) {
    byte* to = bytes_at(local + r * apart_bytes, bytes);
    for (wide k = 0; k < bytes; ++k) to[k] = 0;
  }
  issue(&unit);
  const wide ready = rows_of(local, rows, bytes, apart_bytes, kAfterWrites | kAfterReads, 0);
  unit.free = larger(larger(now, ready), unit.free) + rows * figure(unit_zero_row_cycles);
  note(&unit, unit.free);
  rows_of(local, rows, bytes, apart_bytes, kSetsWritten, unit.free);
}

static int element(const byte* at, int is_signed) {
  return is_signed ? (int)*(const signed char*)at : (int)*at;
}

static void product(const wide* v) {
  const wide rows = v[unit_rows], columns = v[unit_columns], depth = v[unit_depth];
  const int a_signed = (int)figure(unit_element_is_signed_a), b_signed = (int)figure(unit_element_is_signed_b);
  int right[256][256];
  if (rows > 256 || columns > 256 || depth > 256) polyweft_unit_fault("a product that is larger than a unit");
  for (wide k = 0; k < depth; ++k) {
    const byte* b = bytes_at(v[unit_b] + k * v[unit_b_apart], columns);
    for (wide j = 0; j < columns; ++j) right[k][j] = element(b + j, b_signed);
  }
  for (wide i = 0; i < rows; ++i) {
    const byte* a = bytes_at(v[unit_a] + i * v[unit_a_apart], depth);
    unsigned* c = (unsigned*)bytes_at(v[unit_c] + i * v[unit_c_apart], 4 * columns);
    for (wide k = 0; k < depth; ++k) {
      const int left = element(a + k, a_signed);
      for (wide j = 0; j < columns; ++j) c[j] += (unsigned)(left * right[k][j]);
    }
  }
  issue(&unit);
  wide ready = rows_of(v[unit_a], rows, depth, v[unit_a_apart], kAfterWrites, 0);
  ready = larger(ready, rows_of(v[unit_b], depth, columns, v[unit_b_apart], kAfterWrites, 0));
  ready = larger(ready, rows_of(v[unit_c], rows, 4 * columns, v[unit_c_apart], kAfterReads, 0));
  const wide cycles = rows * figure(unit_product_row_cycles) + figure(unit_product_cycles);
  unit.free = larger(larger(now, ready), unit.free) + cycles;
  busy += cycles;
  note(&unit, unit.free);
  rows_of(v[unit_a], rows, depth, v[unit_a_apart], kSetsRead, unit.free);
  rows_of(v[unit_b], depth, columns, v[unit_b_apart], kSetsRead, unit.free);
  rows_of(v[unit_c], rows, 4 * columns, v[unit_c_apart], kSetsWritten, unit.free);
}

static void commit(void) {
  group_end[groups % kMostGroups] = last_copy;
  group_done[groups % kMostGroups] = group_time;
  ++groups;
  group_time = 0;
}
static void wait(wide latest) {
  if (latest >= kMostGroups) polyweft_unit_fault("a wait for all but more groups than are counted");
  const wide end = groups > latest ? groups - latest : 0;
  for (wide g = end > kMostGroups - latest ? end - (kMostGroups - latest) : 0; g < end; ++g)
    now = larger(now, group_done[g % kMostGroups]);
  if (end > 0) arrive(group_end[(end - 1) % kMostGroups]);
}
static void finish(void) {
  arrive(last_copy);
  for (struct engine* const* e = (struct engine* const[]){&in, &out, &unit, 0}; *e; ++e)
    if ((*e)->issued > 0) now = larger(now, (*e)->done[((*e)->issued - 1) % kMostQueue]);
}

static wide field(const long* numbers, wide first, wide second) {
  const wide value = numbers[0] == 1 ? first : second;
  const wide cut = numbers[2] >= 64 ? value >> numbers[1] : (value >> numbers[1]) & ((1UL << numbers[2]) - 1);
  return cut * (wide)numbers[3];
}

int polyweft_unit_executes(unsigned instruction, const unsigned long* registers) {
  const unsigned opcode = instruction & 127, funct3 = instruction >> 12 & 7, funct7 = instruction >> 25;
  const wide first = registers[instruction >> 15 & 31], second = registers[instruction >> 20 & 31];
  for (wide k = 0; k < figure(unit_command_count); ++k) {
    const long* command = polyweft_unit_table + unit_figures + k * unit_command_numbers;
    if (command[1] != opcode || command[2] != funct3 || command[3] != funct7) continue;
    wide v[unit_operands];
    for (int o = 0; o < unit_operands; ++o) {
      const long* numbers = command + unit_command_head + unit_field_numbers * o;
      v[o] = numbers[0] > 0 ? field(numbers, first, second) : 0;
      if (numbers[0] == 0 && (o == unit_a_apart || o == unit_b_apart)) v[o] = figure(unit_row_bytes);
      if (numbers[0] == 0 && o == unit_c_apart)
        v[o] = figure(unit_accumulator_bytes) > 0 ? figure(unit_accumulator_row_bytes) : figure(unit_row_bytes);
      if (o == unit_stride_bytes && numbers[0] > 0) stride_bytes = v[o];
      if (o == unit_apart && numbers[0] > 0) apart_bytes = v[o], apart_is_said = 1;
    }
    catch_up();
    now += figure(unit_command_cycles);
    const int is_box = command[0] == unit_copy_in || command[0] == unit_copy_out || command[0] == unit_zero;
    if (is_box && !apart_is_said) apart_bytes = place_of(v[unit_local]).row_bytes; /* of its own memory */
    if (command[0] == unit_copy_in) copy_in(v);
    if (command[0] == unit_copy_out) copy_out(v);
    if (command[0] == unit_zero) zero(v);
    if (command[0] == unit_product) product(v);
    if (command[0] == unit_commit) commit();
    if (command[0] == unit_wait) wait(v[unit_groups]);
    if (command[0] == unit_finish) finish();
    return 1;
  }
  return 0;
}
