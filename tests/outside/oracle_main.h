// SPDX-License-Identifier: MIT
// Behind the kernels that oracle.h was put in front of: reads the graph as Indigo's own main()
// does, runs one kernel with its threads in ascending or in descending order, and prints what it
// holds: race, bounds, both or nothing.
//
//   PROGRAM NUMBER GRAPH.egr THREADS BLOCKS ascending|descending
#include <cstdint>
#include <cstring>

namespace oracle {

inline std::vector<int> ints_of(std::FILE* file, std::size_t count) {
  std::vector<int> values(count);
  if (std::fread(values.data(), sizeof(int), count, file) != count) std::exit(3);
  return values;
}

struct Problem {
  int nodes = 0;
  std::unique_ptr<Array> nindex, nlist, data1, data2;
};
inline Problem problem;

inline Kernel kernel = nullptr;

inline void run_thread() {
  kernel(*problem.nindex, *problem.nlist, *problem.data1, *problem.data2, problem.nodes);
  threads[static_cast<std::size_t>(current)].done = true;
  _longjmp(scheduler, 1);
}

inline void run_block(int block, bool descending) {
  const int count = block_size.x;
  block_index.x = block;
  shared.clear();
  whole_meetings.clear();
  threads = std::vector<Thread>(static_cast<std::size_t>(count));
  std::vector<int> phases(static_cast<std::size_t>(count));
  constexpr std::size_t kStack = 1 << 15;
  static const auto stacks = std::make_unique_for_overwrite<char[]>(threads.size() * kStack);
  char* stack = stacks.get();
  for (Thread& thread : threads) {
    getcontext(&thread.context);
    thread.context.uc_stack = {stack, 0, kStack};
    stack += kStack;
    makecontext(&thread.context, run_thread, 0);
  }
  for (bool left = true; left;) {
    left = false;
    for (int i = 0; i < count; ++i) {
      current = descending ? count - 1 - i : i;
      const auto t = static_cast<std::size_t>(current);
      if (threads[t].done) continue;
      left = true;
      thread_index.x = current;
      phase = phases[t];
      go_on(threads[t]);
      phases[t] = phase;
    }
  }
}

}  // namespace oracle

int main(int argc, char** argv) {
  using namespace oracle;
  if (argc != 6) return 2;
  kernel = kernels[std::atoi(argv[1])];
  std::FILE* file = std::fopen(argv[2], "rb");
  if (file == nullptr) return 3;
  const std::vector<int> sizes = ints_of(file, 2);
  const int nodes = sizes[0], edges = std::max(sizes[1], 1), size = std::max(nodes, edges);
  problem.nodes = nodes;
  problem.nindex = std::make_unique<Array>(ints_of(file, static_cast<std::size_t>(nodes) + 1));
  problem.nlist = std::make_unique<Array>(ints_of(file, static_cast<std::size_t>(sizes[1])));
  std::vector<int> data1(static_cast<std::size_t>(size)), data2 = data1;
  for (std::size_t i = 1; i < data1.size(); ++i) data1[i] = std::rand() % nodes;
  for (std::size_t i = 1; i < data2.size(); ++i) data2[i] = std::rand() % edges;
  problem.data1 = std::make_unique<Array>(data1);
  problem.data2 = std::make_unique<Array>(data2);
  block_size.x = std::atoi(argv[3]);
  grid_size.x = std::atoi(argv[4]);
  const bool descending = std::strcmp(argv[5], "descending") == 0;
  for (int i = 0; i < grid_size.x; ++i) {
    run_block(descending ? grid_size.x - 1 - i : i, descending);
  }
  std::printf("%s%s", has_race ? "race " : "", leaves_an_array ? "bounds " : "");
}
