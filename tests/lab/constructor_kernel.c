// An object whose constructor misbehaves while it is being loaded: the walls of stage one must hold.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
__attribute__((constructor)) static void at_load(void) {
#if defined(PW_SOCKET)
  socket(AF_INET, SOCK_STREAM, 0);
#elif defined(PW_EXEC)
  char* argv[] = {"/bin/true", 0};
  execve("/bin/true", argv, 0);
#elif defined(PW_HANG)
  for (volatile int on = 1; on;) {
  }
#elif defined(PW_EXIT)
  _exit(0);
#elif defined(PW_FILE)
  if (open("/etc/passwd", O_RDONLY) >= 0 || open("/tmp/polyweft_escaped", O_CREAT | O_WRONLY, 0600) >= 0)
    __builtin_trap();
#endif
}
int kernel(void* A, void* B, void* C) {
  (void)A, (void)B, (void)C;
  return 0;
}
