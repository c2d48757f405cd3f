/* What the tests of the C ABI share. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "polyweft/c_api.h"

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "%s:%d: %s\n  last error: %s [%s]\n", __FILE__, __LINE__, #condition, pw_last_error(), \
              pw_last_error_code());                                                                         \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

static inline int error_has(const char* code, const char* part) {
  return strcmp(pw_last_error_code(), code) == 0 && strstr(pw_last_error(), part) != NULL;
}

static inline pw_task_options task(void) {
  pw_task_options options = {0};
  options.struct_size = sizeof options;
  return options;
}

static inline pw_program* program_of(const char* text) {
  pw_program* program = NULL;
  CHECK(pw_program_parse(text, &program) == PW_OK && program);
  return program;
}

static inline int text_has(const pw_buffer* text, const char* part) {
  const char* data = pw_buffer_data(text);
  return data && strlen(data) == pw_buffer_bytes(text) && strstr(data, part) != NULL;
}

/* builder.c */
void builds_programs(void);
/* sizes.c */
void sizes_at_the_call(pw_tuner* tuner);
/* reports.c: a tuner whose database has no record of the programs here, and the folder that it is in. */
void reports_and_records(pw_tuner* tuner);
void options_of_searches(pw_tuner* tuner);
void options_of_tuners(const char* folder);
