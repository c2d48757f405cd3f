/* The model of a unit (unit.c), as the start of a program uses it. */
#ifndef POLYWEFT_UNIT_H
#define POLYWEFT_UNIT_H

/* Made from the description, in an object of its own (unit_table.h). */
extern const long polyweft_unit_table[];
/* Before a call: nothing is under way, and no cycle was counted. */
void polyweft_unit_begin(void);
/* Since then, until all is done; and of them those in which products were made. */
unsigned long polyweft_unit_cycles(void);
unsigned long polyweft_unit_busy(void);
/* Does what the instruction says with these 32 registers; 0: it is none of the unit's. */
int polyweft_unit_executes(unsigned instruction, const unsigned long* registers);
/* Of the CPU, as the kernel counts them: a cycle each. */
extern unsigned long polyweft_unit_instructions;
/* Says what is wrong, and ends the program. */
__attribute__((noreturn)) void polyweft_unit_fault(const char* what);

#endif
