// expect: 5: missing return: host code 
// A function of the host says that it returns something.
#include <cstdio>

int prints(int n) {
  std::printf("%d\n", n);
}

int main(int argc, char**) {
  return prints(argc);
}
