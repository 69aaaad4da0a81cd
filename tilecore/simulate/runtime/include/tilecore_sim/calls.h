// The runtime's functions, as kernels call them. `line`: the source line of the call, TC_LINE as a default argument.
#pragma once
#include <stddef.h>
#include <stdint.h>

#define TC_LINE __builtin_LINE()

struct tc_dim3 {
  unsigned x, y, z;
};

extern "C" {
int64_t tc_sim_slot(unsigned number);  // of the kernel's arguments
tc_dim3 tc_sim_thread_index();
tc_dim3 tc_sim_block_index();
tc_dim3 tc_sim_block_size();
tc_dim3 tc_sim_grid_size();
unsigned tc_sim_warp_width();
unsigned tc_sim_thread();  // number in the block, x fastest

void* tc_sim_shared();
void* tc_sim_static_shared(const void* key, size_t bytes, size_t alignment, int line);

// Checked copies between any two places; bytes is the alignment too.
void tc_sim_move(void* to, const void* from, unsigned bytes, int line);
void tc_sim_load(void* to, const void* from, unsigned bytes, unsigned alignment, int line);
void tc_sim_store(void* to, const void* from, unsigned bytes, unsigned alignment, int line);
// The eight rows, 16 bytes each, of one matrix that is about to be read: they should come from one column of a tensor.
void tc_sim_matrix_rows(const void* const* rows, int line);

// Of a piece of 16 bytes of shared memory that lands: where from, null if that is no piece of a tensor; arrangement:
// how the copy that it belongs to exchanges pieces, a number from 1 that means something to the backend. Plain stores
// forget both. tc_sim_arrangement: of a piece, 0 where it is not known.
void tc_sim_note_piece(void* to, const void* from, unsigned arrangement);
unsigned tc_sim_arrangement(const void* piece);
void tc_sim_mismatched_swizzle(const void* piece, const char* what, const char* message, int line);

void tc_sim_barrier(int line);
unsigned tc_sim_block_vote(int predicate, int kind, int line);  // 1 any, 2 all, 3 count
void tc_sim_named_barrier(int id, unsigned threads, int waits, int line);

// operands: one pointer a lane, null for lanes that take no part.
typedef void (*tc_sim_collective_body)(void* const* operands, unsigned lanes, void* context);
void tc_sim_collective(const char* name, unsigned width, uint64_t mask, void* operands, tc_sim_collective_body body,
                       void* context, int line);
void tc_sim_act_as(unsigned lane);
void tc_sim_warp_barrier(uint64_t mask, int line);
uint64_t tc_sim_shuffle(uint64_t value, unsigned lane, int kind, unsigned width, uint64_t mask, int line);
uint64_t tc_sim_vote(int predicate, int kind, uint64_t mask, int line);  // 1 any, 2 all, 3 ballot

void tc_sim_copy_async(void* to, const void* from, unsigned bytes, unsigned valid_bytes, int line);
void tc_sim_commit(unsigned channel, int line);
void tc_sim_wait(unsigned channel, unsigned remaining, int reads_only, int line);
void* tc_sim_async_begin(unsigned channel, int line);
void* tc_sim_async_begin_on(void* barrier, unsigned bytes, int line);
void tc_sim_async_reads(void* work, const void* from, size_t bytes);
void tc_sim_async_writes(void* work, void* to, size_t bytes);
void tc_sim_async_updates(void* work, void* to, size_t bytes);  // atomically, so that updates race with no other
void tc_sim_async_start(void* work, void (*body)(void* state), const void* state, size_t state_bytes);

// Where asynchronous work sees shared memory by a way of its own (SimulatedDevice.own_proxy): what this thread has
// written, and what it knows others to have written, is seen by it; the transaction barriers that it has initialised
// are.
void tc_sim_fence_proxy();
void tc_sim_publish_transactions();

// Clusters of blocks: a barrier of all their threads, and the same place in another block's shared memory, which plain
// accesses, transaction barriers (but for waits) and asynchronous work take.
void tc_sim_cluster_arrive(int line);
void tc_sim_cluster_wait(int line);
unsigned tc_sim_cluster_rank();
void* tc_sim_remote_shared(const void* own, unsigned rank, int line);

// The threads of a team of `width` have as many registers from here on, fewer than before or more (it waits for them).
void tc_sim_team_limit(unsigned width, unsigned registers, int grows, int line);

// Teams: neighbouring warps whose asynchronous work reads shared memory, and reads and writes arrays of the threads'
// own. fence, commit and wait are of a warp. The others are called in the body of a collective of the team's threads:
// work begins, says what each warp reads of shared memory and which registers each lane gives it (written: they are
// sums), and starts; its body runs when a warp waits for it. The name is that of the operation, and outlives the run.
void tc_sim_team_fence(int line);
void tc_sim_team_commit(int line);
void tc_sim_team_wait(unsigned remaining, int line);
void* tc_sim_team_begin(const char* name, int line);
void tc_sim_team_reads(void* work, unsigned warp, const void* from, size_t bytes);
void tc_sim_team_registers(void* work, unsigned lane, const void* registers, size_t bytes, int written);
void tc_sim_team_start(void* work, void (*body)(void* state), const void* state, size_t state_bytes);
// For bodies: memory until the next call, and d (rows x columns) += a (rows x depth) * b (depth x columns), by rows.
void* tc_sim_scratch(size_t bytes);
void tc_sim_multiply_floats(float* d, const float* a, const float* b, size_t rows, size_t columns, size_t depth);
void tc_sim_multiply_ints(int32_t* d, const int32_t* a, const int32_t* b, size_t rows, size_t columns, size_t depth);

void tc_sim_transaction_init(void* barrier, unsigned count, int line);
void tc_sim_transaction_drop(void* barrier, int line);
unsigned tc_sim_transaction_arrive(void* barrier, unsigned arrivals, unsigned expected_bytes, int line);
void tc_sim_transaction_complete(void* barrier, unsigned bytes, int line);
void tc_sim_transaction_arrive_on_copies(void* barrier, int counted, int line);
int tc_sim_transaction_try_wait(void* barrier, unsigned parity, int line);
void tc_sim_transaction_wait(void* barrier, unsigned parity, int line);

// what: 0 load, 1 store, 2 update; begin hands out the old value, finish takes the new one (not for loads).
void tc_sim_atomic_begin(void* p, unsigned bytes, int what, int order, int line, void* old);
void tc_sim_atomic_finish(void* p, unsigned bytes, int what, int order, const void* fresh);
void tc_sim_fence(int device);

void tc_sim_print(const char* format, ...) __attribute__((format(printf, 1, 2)));
void tc_sim_fail(const char* kind, const char* message, int line);
void tc_sim_assert_failed(long number, int line);
}
