// The nouns: a fiber is one thread of a block, a worker is the host thread that runs blocks.
#pragma once
#include <setjmp.h>
#include <stdint.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "clocks.h"
#include "report.h"
#include "shadow.h"
#include "switch.h"

namespace tcsim {

struct Block;
struct Worker;
struct BankCounter;

constexpr uint32_t kLineSite = 0x80000000u;
inline uint32_t site_of_line(int line) { return kLineSite | static_cast<uint32_t>(line); }

struct Index {
  uint32_t x = 0, y = 0, z = 0;
};

enum class State : uint8_t {
  ready,
  running,
  barrier,
  named_barrier,
  collective,
  transaction,
  cluster,
  polling,
  exited
};

// A piece of work that lands later, on behalf of the thread that started it.
struct Operation {
  void* target = nullptr;  // of a plain copy
  const void* source = nullptr;
  uint32_t bytes = 0, valid_bytes = 0;
  uint32_t group = 0, agent_clock = 0;
  int line = 0;
  bool writes_global = false;
  void (*body)(void*) = nullptr;
  std::vector<unsigned char> state;  // of body
  struct Transaction* barrier = nullptr;
  struct Fiber* owner = nullptr;
  struct Block* home = nullptr;  // whose agent it is of; null: the owner's
  bool arrives = false;  // arrives on barrier when the owner's copies so far have landed
  struct Known* memo = nullptr;  // of reader lists, while its reads are declared
};

// A reader list, and the one with one more reader.
struct Known {
  uint32_t parent, made;
};
constexpr unsigned kRemembered = 16;

// Registers of a thread that a team's work uses.
struct Guard {
  uintptr_t begin, end;
  const char* name;  // of the work that used them last
  int line;
  uint32_t group;
  bool sums;     // the work writes them
  bool touched;  // by the thread, since the last fence
};

// One warp of a team: its groups of work, and the agent that reads shared memory for it.
struct TeamWarp {
  uint32_t agent = 0, open_group = 1, done = 0;
  Known memo[kRemembered];
  uint32_t memo_group = 0;
  int memo_line = 0;
};

// Work of a team that has not landed.
struct TeamWork {
  const char* name = nullptr;
  int line = 0;
  uint32_t first_thread = 0, first_warp = 0;
  std::vector<uint32_t> groups;  // that it belongs to in each warp
  void (*body)(void*) = nullptr;
  std::vector<unsigned char> state;
};

// Asynchronous work of one thread that it waits for by groups. Its reads and writes are of two agents, actors that
// run beside the threads: who waits for the group is ordered after them.
struct Channel {
  uint32_t read_agent = 0, write_agent = 0;
  uint32_t open_group = 1, reads_done = 0, writes_done = 0, landed = 0;
  std::deque<Operation> waiting;
};
constexpr unsigned kChannels = 4;

struct Fiber {
  Context context;
  Block* block = nullptr;
  uint32_t thread = 0;
  Index index;
  State state = State::ready;
  int line = 0;  // where it waits
  int barrier_name = 0;
  uint64_t epoch = 0;
  uint32_t clock = 1;
  Clock known;
  Clock proxied;  // writes up to there are seen by asynchronous work that has a way to memory of its own
  Foreign foreign;
  std::unique_ptr<Channel> channels[kChannels];
  bool fenced = false;
  Knowledge fence;                // what later relaxed stores publish
  std::vector<Knowledge> loaded;  // what relaxed loads saw; a fence acquires it
  uintptr_t looked_at = 0;        // by its last atomic operation, which changed nothing
  uint64_t polled_at = 0;
  uint64_t result = 0;
  uint32_t cluster_phase = 0, cluster_waits = 0;  // of the cluster's barrier: arrived at, waited for
  TeamWarp* team = nullptr;                       // once it has worked in one
  std::vector<Guard> guards;
  uintptr_t guards_begin = ~uintptr_t(0), guards_end = 0;  // of all of them
  bool fenced_registers = false;                           // since it last waited for the team's work
  Known shared_readers[kRemembered], global_readers[kRemembered];
  uint32_t passed_shared[kRemembered], passed_global[kRemembered];  // reader lists that this thread is ordered after

  void forget_memos() {
    memset(shared_readers, 0, sizeof shared_readers);
    memset(global_readers, 0, sizeof global_readers);
    forget_passed();
  }
  void forget_passed() {
    memset(passed_shared, 0, sizeof passed_shared);
    memset(passed_global, 0, sizeof passed_global);
  }
};

struct BlockBarrier {
  uint32_t arrived = 0, first = 0;
  int line = 0, kind = 0;
  uint32_t count = 0;  // of true predicates
};

struct NamedBarrier {
  uint32_t threads = 0, arrived = 0;
  int line = 0;
  ClockSum known, proxied;
  Foreign foreign;
  std::vector<Fiber*> waiting;
};

// Threads that carry out one operation together: a warp, or several.
struct Meeting {
  const char* name = nullptr;
  int line = 0;
  uint64_t mask = 0;
  uint32_t first = 0, width = 0, expected = 0, arrived = 0;
  std::vector<void*> operands;
};

struct Transaction {
  struct Block* block = nullptr;
  uintptr_t address = 0;
  uint32_t count = 0;
  int64_t pending = 0, bytes = 0;
  uint32_t phase = 0;  // phases completed
  uint32_t agent = 0, agent_clock = 0;
  ClockSum arriving, arriving_proxied;
  Foreign arriving_foreign, done_foreign;
  Clock done, done_proxied;
  Clock memo_before, memo_after;
  uint32_t initialiser = 0;  // the thread
  bool published = false;    // to asynchronous work, after it was initialised
  std::vector<std::pair<Fiber*, uint32_t>> waiting;  // with the parity of the phase
};

struct SyncVariable {
  std::vector<Knowledge> published;
};
using SyncVariables = std::unordered_map<uintptr_t, SyncVariable>;

// Who does asynchronous work: an actor beside the threads, with a clock of its own.
struct Agent {
  uint32_t landed = 0;       // its work up to this clock is done
  uint32_t shared_read = 0;  // when it last read shared memory
  bool plain = false;        // its accesses are as those of threads
};

// Blocks that run side by side, by rank; missing: threads that have not arrived at their barrier.
struct Cluster {
  std::vector<struct Block*> blocks;
  uint32_t phase = 0, missing = 0, ended = 0;
  Foreign arriving_foreign, foreign;
  std::vector<Fiber*> waiting;
};

struct Origin {
  uintptr_t from = 0;  // 0: unknown
  unsigned arrangement = 0;
};

struct Block {
  uint32_t tag = 0, threads = 0, live = 0;
  Index index;
  std::vector<Fiber> fibers;
  Mapping stacks, memory;
  uintptr_t stacks_begin = 0, stacks_bytes = 0, memory_begin = 0, memory_bytes = 0;
  Space shared;
  Shadow shadow;
  Readers readers;
  uint64_t static_used = 0;
  std::vector<std::pair<const void*, uint64_t>> statics;
  BlockBarrier barrier;
  std::unordered_map<int, NamedBarrier> named;
  std::vector<std::vector<std::unique_ptr<Meeting>>> meetings;  // by first warp
  std::unordered_map<uintptr_t, std::unique_ptr<Transaction>> transactions;
  std::vector<Agent> agents;             // actor number minus threads
  std::vector<uint32_t> shared_readers;  // the agents that read shared memory
  SyncVariables sync;
  std::vector<Origin> origins;  // of the 16-byte pieces of shared memory that were copied from tensors
  std::deque<Operation> landing;  // on transaction barriers
  std::shared_ptr<Cluster> cluster;  // null: the block is alone
  uint32_t rank = 0;
  ClockSum cluster_arriving, cluster_arriving_proxied;
  Clock cluster_done, cluster_done_proxied;
  bool read_by_others = false, ended = false;
  std::vector<TeamWarp> team_warps;
  std::vector<uint32_t> team_registers;  // of a thread, by team
  std::vector<uint32_t> wanted_registers;
  uint64_t free_registers = 0;
  std::vector<std::unique_ptr<TeamWork>> team_work;
};

// Everything that the workers of one launch share.
struct Launch {
  const TcSimLaunch* request = nullptr;
  Mapping arena;
  uintptr_t arena_begin = 0;
  std::vector<Space> tensors;
  std::vector<uint16_t> page_owner;
  std::vector<std::unique_ptr<Shadow>> shadows;
  std::vector<uint32_t> order;  // of blocks
  std::atomic<uint32_t> next_block{0};
  std::atomic<bool> stop{false};
  std::atomic_flag atomics = ATOMIC_FLAG_INIT;
  uintptr_t module_begin = 0, module_end = 0;
  double deadline = 0;
};

struct Worker {
  Launch* launch = nullptr;
  Context scheduler;
  sigjmp_buf after_trap;  // of work that lands on the scheduler's own stack
  Fiber* running = nullptr;
  Fiber* actor = nullptr;  // whom accesses are charged to
  Block* block = nullptr;
  Meeting* meeting = nullptr;
  // copies of the running block's, for the quick test of an address
  uintptr_t shared_begin = 0, shared_bytes = 0, stacks_begin = 0, stacks_bytes = 0, arena_begin = 0, arena_bytes = 0;
  uint32_t quiet = 0;  // accesses are not looked at while it is not 0
  uint32_t fuel = 0;
  bool failed = false;
  uint64_t random = 0;
  uint64_t progress = 0;
  uint64_t idle_rounds = 0;
  uint32_t ticks = 0;  // since time was last looked at
  std::vector<Fiber*> ready, polling;
  std::vector<std::unique_ptr<Block>> resident, spare;
  Readers global_readers;
  SyncVariables sync;
  ClockSum sum, proxied_sum;
  TcSimCounts counts{};
  TcSimReport report{};
  std::string printed;
  std::unique_ptr<BankCounter> banks;
  std::vector<float> scratch;  // for the bodies of work that lands
  struct Deferred {
    unsigned bytes = 0;
    uintptr_t address = 0;
    unsigned char before[64];
    TcSimReport report;
  } deferred;

  uint64_t draw(uint64_t below) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return (random >> 11) % below;
  }
};

extern thread_local Worker* current_worker __attribute__((tls_model("initial-exec"), visibility("hidden")));

inline bool checks_global(const Launch& launch) { return launch.request->workers <= 1; }

}  // namespace tcsim
