// What kernels call, through the functions of include/tilecore_sim.h.
#pragma once
#include "../include/tilecore_sim/calls.h"
#include "atomics.h"
#include "barriers.h"
#include "collectives.h"
#include "instrumentation.h"
#include "launch.h"
#include "products.h"
#include "teams.h"

namespace tcsim {
inline Worker& here() { return *current_worker; }
inline tc_dim3 to_dim3(const Index& index) { return {index.x, index.y, index.z}; }
inline tc_dim3 to_dim3(const uint32_t* extent) { return {extent[0], extent[1], extent[2]}; }
}  // namespace tcsim

TC_SIM_EXPORT int64_t tc_sim_slot(unsigned number) { return tcsim::here().launch->request->slots[number]; }
TC_SIM_EXPORT tc_dim3 tc_sim_thread_index() { return tcsim::to_dim3(tcsim::here().actor->index); }
TC_SIM_EXPORT tc_dim3 tc_sim_block_index() { return tcsim::to_dim3(tcsim::here().actor->block->index); }
TC_SIM_EXPORT tc_dim3 tc_sim_block_size() { return tcsim::to_dim3(tcsim::here().launch->request->block); }
TC_SIM_EXPORT tc_dim3 tc_sim_grid_size() { return tcsim::to_dim3(tcsim::here().launch->request->grid); }
TC_SIM_EXPORT unsigned tc_sim_warp_width() { return tcsim::here().launch->request->warp; }
TC_SIM_EXPORT unsigned tc_sim_thread() { return tcsim::here().actor->thread; }

TC_SIM_EXPORT void* tc_sim_shared() { return reinterpret_cast<void*>(tcsim::here().block->shared.begin); }

TC_SIM_EXPORT void* tc_sim_static_shared(const void* key, size_t bytes, size_t alignment, int line) {
  tcsim::Worker& worker = tcsim::here();
  tcsim::Block& block = *worker.block;
  for (const auto& known : block.statics)
    if (known.first == key) return reinterpret_cast<void*>(block.shared.begin + known.second);
  const uint64_t at = (block.static_used + alignment - 1) / alignment * alignment;
  if (at + bytes > worker.launch->request->shared_limit)
    tcsim::fail(worker, "shared_too_small", tcsim::site_of_line(line),
                "%llu bytes of shared memory are needed, a block has %llu", static_cast<unsigned long long>(at + bytes),
                static_cast<unsigned long long>(worker.launch->request->shared_limit));
  block.static_used = at + bytes;
  block.shared.end = block.shared.begin + block.static_used;
  block.statics.emplace_back(key, at);
  return reinterpret_cast<void*>(block.shared.begin + at);
}

TC_SIM_EXPORT void tc_sim_move(void* to, const void* from, unsigned bytes, int line) {
  tcsim::Worker& worker = tcsim::here();
  const uint32_t site = tcsim::site_of_line(line);
  tcsim::require_aligned(worker, from, bytes, "source of a vector move", site);
  tcsim::require_aligned(worker, to, bytes, "destination of a vector move", site);
  tcsim::touch(worker, from, bytes, false, false, site);
  tcsim::touch(worker, to, bytes, true, false, site);
  memcpy(to, from, bytes);
}
TC_SIM_EXPORT void tc_sim_load(void* to, const void* from, unsigned bytes, unsigned alignment, int line) {
  tcsim::Worker& worker = tcsim::here();
  tcsim::require_aligned(worker, from, alignment, "read", tcsim::site_of_line(line));
  tcsim::touch(worker, from, bytes, false, false, tcsim::site_of_line(line));
  memcpy(to, from, bytes);
}
TC_SIM_EXPORT void tc_sim_store(void* to, const void* from, unsigned bytes, unsigned alignment, int line) {
  tcsim::Worker& worker = tcsim::here();
  tcsim::require_aligned(worker, to, alignment, "write", tcsim::site_of_line(line));
  tcsim::touch(worker, to, bytes, true, false, tcsim::site_of_line(line));
  memcpy(to, from, bytes);
}

TC_SIM_EXPORT void tc_sim_matrix_rows(const void* const* rows, int line) {
  tcsim::check_matrix_rows(tcsim::here(), rows, tcsim::site_of_line(line));
}

TC_SIM_EXPORT void tc_sim_note_piece(void* to, const void* from, unsigned arrangement) {
  tcsim::note_origin(*tcsim::here().block, to, from, tcsim::kPiece, arrangement);
}
TC_SIM_EXPORT unsigned tc_sim_arrangement(const void* piece) {
  return tcsim::arrangement_of(*tcsim::here().block, reinterpret_cast<uintptr_t>(piece));
}
TC_SIM_EXPORT void tc_sim_mismatched_swizzle(const void* piece, const char* what, const char* message, int line) {
  tcsim::mismatched_swizzle(tcsim::here(), piece, what, message, tcsim::site_of_line(line));
}

TC_SIM_EXPORT void tc_sim_barrier(int line) { tcsim::block_barrier(tcsim::here(), false, 0, line); }
TC_SIM_EXPORT unsigned tc_sim_block_vote(int predicate, int kind, int line) {
  return static_cast<unsigned>(tcsim::block_barrier(tcsim::here(), predicate != 0, kind, line));
}
TC_SIM_EXPORT void tc_sim_named_barrier(int id, unsigned threads, int waits, int line) {
  tcsim::named_barrier(tcsim::here(), id, threads, waits != 0, line);
}
TC_SIM_EXPORT void tc_sim_collective(const char* name, unsigned width, uint64_t mask, void* operands,
                                     tc_sim_collective_body body, void* context, int line) {
  tcsim::collective(tcsim::here(), name, width, mask, operands, body, context, false, line);
}
TC_SIM_EXPORT void tc_sim_act_as(unsigned lane) { tcsim::act_as(tcsim::here(), lane); }
TC_SIM_EXPORT void tc_sim_warp_barrier(uint64_t mask, int line) {
  int nothing = 0;
  tcsim::collective(tcsim::here(), "a warp barrier", 0, mask, &nothing, nullptr, nullptr, true, line);
}
TC_SIM_EXPORT uint64_t tc_sim_shuffle(uint64_t value, unsigned lane, int kind, unsigned width, uint64_t mask,
                                      int line) {
  tcsim::Worker& worker = tcsim::here();
  const unsigned warp = worker.launch->request->warp;
  if (width == 0) width = warp;
  if (width > warp || (width & (width - 1)))
    tcsim::fail(worker, "invalid_operation", tcsim::site_of_line(line), "a shuffle in groups of %u lanes", width);
  tcsim::Shuffle mine{value, lane, width, kind, value};
  tcsim::collective(worker, "a shuffle", 0, mask, &mine, tcsim::shuffle_lanes, nullptr, false, line);
  return mine.result;
}
TC_SIM_EXPORT uint64_t tc_sim_vote(int predicate, int kind, uint64_t mask, int line) {
  tcsim::Vote mine{kind, predicate != 0, 0};
  tcsim::collective(tcsim::here(), "a vote", 0, mask, &mine, tcsim::vote_lanes, nullptr, false, line);
  return mine.result;
}

TC_SIM_EXPORT void tc_sim_copy_async(void* to, const void* from, unsigned bytes, unsigned valid, int line) {
  tcsim::start_copy(tcsim::here(), to, from, bytes, valid, line);
}
TC_SIM_EXPORT void tc_sim_commit(unsigned channel, int line) { tcsim::commit_group(tcsim::here(), channel, line); }
TC_SIM_EXPORT void tc_sim_wait(unsigned channel, unsigned remaining, int reads_only, int line) {
  tcsim::wait_groups(tcsim::here(), channel, remaining, reads_only != 0, line);
}
TC_SIM_EXPORT void* tc_sim_async_begin(unsigned channel, int line) {
  return tcsim::begin_operation(tcsim::here(), channel, line);
}
TC_SIM_EXPORT void* tc_sim_async_begin_on(void* barrier, unsigned bytes, int line) {
  return tcsim::begin_transaction(tcsim::here(), barrier, bytes, line);
}
TC_SIM_EXPORT void tc_sim_async_reads(void* work, const void* from, size_t bytes) {
  tcsim::declare_range(tcsim::here(), static_cast<tcsim::Operation*>(work), from, static_cast<unsigned>(bytes), false);
}
TC_SIM_EXPORT void tc_sim_async_writes(void* work, void* to, size_t bytes) {
  tcsim::declare_range(tcsim::here(), static_cast<tcsim::Operation*>(work), to, static_cast<unsigned>(bytes), true);
}
TC_SIM_EXPORT void tc_sim_async_updates(void* work, void* to, size_t bytes) {
  tcsim::declare_range(tcsim::here(), static_cast<tcsim::Operation*>(work), to, static_cast<unsigned>(bytes), true,
                       true);
}
TC_SIM_EXPORT void tc_sim_async_start(void* work, void (*body)(void*), const void* state, size_t bytes) {
  tcsim::start_operation(tcsim::here(), static_cast<tcsim::Operation*>(work), body, state, bytes);
}

TC_SIM_EXPORT void tc_sim_fence_proxy() {
  tcsim::fence_proxy(tcsim::here(), *tcsim::here().actor);
  tcsim::publish_transactions(tcsim::here());
}
TC_SIM_EXPORT void tc_sim_publish_transactions() { tcsim::publish_transactions(tcsim::here()); }

TC_SIM_EXPORT void tc_sim_cluster_arrive(int line) { tcsim::cluster_arrive(tcsim::here(), line); }
TC_SIM_EXPORT void tc_sim_cluster_wait(int line) { tcsim::cluster_wait(tcsim::here(), line); }
TC_SIM_EXPORT unsigned tc_sim_cluster_rank() { return tcsim::here().actor->block->rank; }
TC_SIM_EXPORT void* tc_sim_remote_shared(const void* own, unsigned rank, int line) {
  return tcsim::remote_shared(tcsim::here(), own, rank, line);
}
TC_SIM_EXPORT void tc_sim_team_limit(unsigned width, unsigned registers, int grows, int line) {
  tcsim::limit_registers(tcsim::here(), width, registers, grows != 0, line);
}

TC_SIM_EXPORT void tc_sim_team_fence(int line) { tcsim::team_fence(tcsim::here(), line); }
TC_SIM_EXPORT void tc_sim_team_commit(int line) { tcsim::team_commit(tcsim::here(), line); }
TC_SIM_EXPORT void tc_sim_team_wait(unsigned remaining, int line) { tcsim::team_wait(tcsim::here(), remaining, line); }
TC_SIM_EXPORT void* tc_sim_team_begin(const char* name, int line) {
  return tcsim::team_begin(tcsim::here(), name, line);
}
TC_SIM_EXPORT void tc_sim_team_reads(void* work, unsigned warp, const void* from, size_t bytes) {
  tcsim::team_reads(tcsim::here(), static_cast<tcsim::TeamWork*>(work), warp, from, static_cast<uint32_t>(bytes));
}
TC_SIM_EXPORT void tc_sim_team_registers(void* work, unsigned lane, const void* registers, size_t bytes, int written) {
  tcsim::team_registers(tcsim::here(), static_cast<tcsim::TeamWork*>(work), lane, registers, bytes, written != 0);
}
TC_SIM_EXPORT void tc_sim_team_start(void* work, void (*body)(void*), const void* state, size_t bytes) {
  tcsim::team_start(tcsim::here(), static_cast<tcsim::TeamWork*>(work), body, state, bytes);
}
TC_SIM_EXPORT void* tc_sim_scratch(size_t bytes) {
  auto& scratch = tcsim::here().scratch;
  if (scratch.size() * sizeof(float) < bytes) scratch.resize((bytes + sizeof(float) - 1) / sizeof(float));
  return scratch.data();
}
TC_SIM_EXPORT void tc_sim_multiply_floats(float* d, const float* a, const float* b, size_t rows, size_t columns,
                                          size_t depth) {
  tcsim::multiply_add(d, a, b, rows, columns, depth);
}
TC_SIM_EXPORT void tc_sim_multiply_ints(int32_t* d, const int32_t* a, const int32_t* b, size_t rows, size_t columns,
                                        size_t depth) {
  tcsim::multiply_add(reinterpret_cast<uint32_t*>(d), reinterpret_cast<const uint32_t*>(a),
                      reinterpret_cast<const uint32_t*>(b), rows, columns, depth);
}

TC_SIM_EXPORT void tc_sim_transaction_init(void* barrier, unsigned count, int line) {
  tcsim::initialise_transaction(tcsim::here(), barrier, count, line);
}
TC_SIM_EXPORT void tc_sim_transaction_drop(void* barrier, int line) {
  tcsim::drop_transaction(tcsim::here(), barrier, line);
}
TC_SIM_EXPORT unsigned tc_sim_transaction_arrive(void* barrier, unsigned arrivals, unsigned bytes, int line) {
  return tcsim::arrive(tcsim::here(), barrier, arrivals, bytes, line);
}
TC_SIM_EXPORT void tc_sim_transaction_complete(void* barrier, unsigned bytes, int line) {
  tcsim::complete_bytes(tcsim::here(), barrier, bytes, line);
}
TC_SIM_EXPORT void tc_sim_transaction_arrive_on_copies(void* barrier, int counted, int line) {
  tcsim::arrive_on_copies(tcsim::here(), barrier, counted != 0, line);
}
TC_SIM_EXPORT int tc_sim_transaction_try_wait(void* barrier, unsigned parity, int line) {
  return tcsim::try_wait(tcsim::here(), barrier, parity, line);
}
TC_SIM_EXPORT void tc_sim_transaction_wait(void* barrier, unsigned parity, int line) {
  tcsim::wait_phase(tcsim::here(), barrier, parity, line);
}

TC_SIM_EXPORT void tc_sim_atomic_begin(void* p, unsigned bytes, int what, int order, int line, void* old) {
  tcsim::begin_atomic(tcsim::here(), p, bytes, static_cast<tcsim::Atomic>(what), order, line, old);
}
TC_SIM_EXPORT void tc_sim_atomic_finish(void* p, unsigned bytes, int what, int order, const void* fresh) {
  tcsim::finish_atomic(tcsim::here(), p, bytes, static_cast<tcsim::Atomic>(what), order, fresh);
}
TC_SIM_EXPORT void tc_sim_fence(int device) { tcsim::fence(tcsim::here(), device != 0); }

TC_SIM_EXPORT void tc_sim_print(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  tcsim::here().printed += text;
}
TC_SIM_EXPORT void tc_sim_fail(const char* kind, const char* message, int line) {
  tcsim::fail(tcsim::here(), kind, tcsim::site_of_line(line), "%s", message);
}
TC_SIM_EXPORT void tc_sim_assert_failed(long number, int line) {
  tcsim::fail(tcsim::here(), "assertion", tcsim::site_of_line(line), "assertion %ld does not hold", number);
}
