/* What a program of kernels is asked on its standard input. Requests and answers are the frames of
   src/support/framing.h; numbers are little-endian, of 32 bits. C, for the program's side has no library. */
#ifndef POLYWEFT_PROGRAM_REQUESTS_H
#define POLYWEFT_PROGRAM_REQUESTS_H

enum polyweft_program_request {
  polyweft_reserve = 0, /* bytes; the address of as many, between pages that nobody may touch; 0: there is no memory */
  polyweft_write = 1,   /* address, what is written there; nothing */
  polyweft_read = 2,    /* address, bytes; what lies there */
  polyweft_call = 3,    /* function, calls in a row, arguments; code of the first call that failed or 0, ns of all calls
                           (64 bits) */
  polyweft_counted = 4  /* 0; 1 where times of calls are counts, the same each time, else 0 */
};

enum { polyweft_most_arguments = 64 };

#endif
