/* A unit as numbers, for the model of it that programs have in them (unit.c). C, for that side has no library. */
#ifndef POLYWEFT_UNIT_TABLE_H
#define POLYWEFT_UNIT_TABLE_H

/* Figures, in this order; then commands, each kUnitCommandNumbers long. */
enum unit_figure {
  unit_scratchpad_bytes,
  unit_accumulator_bytes,
  unit_accumulator_first, /* address of its first byte */
  unit_row_bytes,         /* of the scratchpad */
  unit_accumulator_row_bytes,
  unit_element_bytes, /* of a, b; elements of c have 4 */
  unit_element_is_signed_a,
  unit_element_is_signed_b,
  unit_copy_latency, /* cycles */
  unit_copy_bytes_per_cycle,
  unit_copies_in_flight,
  unit_queue,              /* commands of one engine that the CPU has issued and that are not done */
  unit_product_row_cycles, /* of a product, for each row of a */
  unit_product_cycles,     /* and beside them */
  unit_zero_row_cycles,
  unit_command_cycles, /* of the CPU, for each command */
  unit_clock_mhz,
  unit_command_count, /* how many */
  unit_figures
};
enum unit_kind {
  unit_stride,
  unit_copy_in,
  unit_copy_out,
  unit_zero,
  unit_product,
  unit_commit,
  unit_wait,
  unit_finish,
  unit_kinds
};
enum unit_operand {
  unit_memory,
  unit_local,
  unit_rows,
  unit_bytes,
  unit_stride_bytes,
  unit_apart,
  unit_a,
  unit_b,
  unit_c,
  unit_columns,
  unit_depth,
  unit_a_apart,
  unit_b_apart,
  unit_c_apart,
  unit_groups,
  unit_operands
};
/* Of a command: kind, opcode, funct3, funct7; then of each operand: register (0: it has none), shift, bits, divisor. */
enum {
  unit_command_head = 4,
  unit_field_numbers = 4,
  unit_command_numbers = unit_command_head + unit_field_numbers * unit_operands
};

#endif
