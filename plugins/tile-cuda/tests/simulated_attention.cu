#include "tilecore_cuda.h"
TC_WGMMA(64, 16, f16, f16, f32)

// O = softmax(scale Q K^T) V by tiles of 128 rows, 64 wide, on S keys: warps 0 to 3 fill rings of two slots for K and
// V, warps 4 to 11 are two warpgroups of 64 rows each. Q and the exponentials are held in registers; the products of
// the next scores go on under the softmax of these. Blocks walk over tiles.
constexpr int ROWS = 128, KEYS = 64, WIDE = 64, SLOTS = 2;
constexpr int Q_BYTES = ROWS * WIDE * 2, KV_BYTES = KEYS * WIDE * 2;
constexpr int K_AT = Q_BYTES, V_AT = K_AT + SLOTS * KV_BYTES, BARRIERS_AT = V_AT + SLOTS * KV_BYTES;

struct pipeline_state {
  int slot = 0;
  unsigned parity;
  TC_FN explicit pipeline_state(unsigned start) : parity(start) {}
  TC_FN void next() {
    if (++slot == SLOTS) slot = 0, parity ^= 1;
  }
};

TC_FN float exponential(float x) { return tc_exp2(x); }

// The scores of one tile to exponentials; of their sums and largest, those so far are brought to the new largest.
TC_FN void soften(float* s, float* most, float* sum, float* corrections, float scale, bool first) {
  for (int r = 0; r < 2; ++r) {
    float top = first ? s[2 * r] : most[r];
    for (int j = 0; j < KEYS / 8; ++j)
      for (int e = 0; e < 2; ++e) top = tc_max(top, s[4 * j + 2 * r + e]);
    top = tc_max(top, tc_shuffle_xor(top, 1));
    top = tc_max(top, tc_shuffle_xor(top, 2));
    corrections[r] = first ? 0.0f : exponential((most[r] - top) * scale);
    most[r] = top;
    float total = 0;
    for (int j = 0; j < KEYS / 8; ++j) {
      for (int e = 0; e < 2; ++e) {
        float& x = s[4 * j + 2 * r + e];
        x = exponential((x - top) * scale);
        total += x;
      }
    }
    sum[r] = (first ? 0.0f : sum[r] * corrections[r]) + total;
  }
}
TC_FN void pack(tc_half* p, const float* s) {
  for (int i = 0; i < KEYS / 2; ++i) p[i] = tc_half(s[i]);
}

extern "C" __global__ void __launch_bounds__(384, 1)
    attention(const tc_half* Q, const tc_half* K, const tc_half* V, float* O, int keys, int tiles, float scale,
              const __grid_constant__ tc_tensor_map Q_map, const __grid_constant__ tc_tensor_map K_map,
              const __grid_constant__ tc_tensor_map V_map) {
  TC_SHARED(shared);
  unsigned long long* k_full = (unsigned long long*)(shared + BARRIERS_AT);
  unsigned long long *k_empty = k_full + SLOTS, *v_full = k_empty + SLOTS, *v_empty = v_full + SLOTS;
  unsigned long long *q_full = v_empty + SLOTS, *q_empty = q_full + 1;
  const int tx = threadIdx.x, lane = tx % 32, steps = (keys + KEYS - 1) / KEYS;
  if (tx == 0) {
    for (int s = 0; s < SLOTS; ++s) {
      tc_transaction_init(&k_full[s], 1), tc_transaction_init(&v_full[s], 1);
      tc_transaction_init(&k_empty[s], 8), tc_transaction_init(&v_empty[s], 8);
    }
    tc_transaction_init(q_full, 1), tc_transaction_init(q_empty, 8);
    tc_transaction_fence_init();
  }
  tc_barrier();

  if (tx < 128) {  // fills the rings
    tc_registers_release<24>();
    if (tx != 0) return;
    pipeline_state k(1), v(1);
    unsigned q_parity = 1;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      tc_transaction_wait(q_empty, q_parity), q_parity ^= 1;
      tc_transaction_arrive_expect(q_full, Q_BYTES);
      tc_tensor_load(shared, &Q_map, q_full, 0, tile * ROWS);
      for (int step = 0; step <= steps; ++step) {
        if (step < steps) {
          tc_transaction_wait(&k_empty[k.slot], k.parity);
          tc_transaction_arrive_expect(&k_full[k.slot], KV_BYTES);
          tc_tensor_load(shared + K_AT + k.slot * KV_BYTES, &K_map, &k_full[k.slot], 0, step * KEYS);
          k.next();
        }
        if (step > 0) {
          tc_transaction_wait(&v_empty[v.slot], v.parity);
          tc_transaction_arrive_expect(&v_full[v.slot], KV_BYTES);
          tc_tensor_load(shared + V_AT + v.slot * KV_BYTES, &V_map, &v_full[v.slot], 0, (step - 1) * KEYS);
          v.next();
        }
      }
    }
    return;
  }

  tc_registers_acquire<240>();
  const int who = tx / 128 - 1, warp = tx / 32 % 4;
  pipeline_state k(0), v(0);
  unsigned q_parity = 0;
  if (who == 1) tc_named_barrier_arrive(1, 256);
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    float s[KEYS / 2], o[WIDE / 2], most[2], sum[2], corrections[2];
    alignas(16) tc_half q[4][8], p[KEYS / 2];
    tc_transaction_wait(q_full, q_parity), q_parity ^= 1;
    const int row = who * 64 + warp * 16 + lane % 16;
    for (int part = 0; part < 4; ++part)
      tc_ldmatrix_x4(q[part], shared + row * 128 + ((2 * part + lane / 16) ^ (row & 7)) * 16);
    tc_warp_barrier();
    if (lane == 0) tc_transaction_arrive(q_empty);

    const unsigned char *k_tiles = shared + K_AT, *v_tiles = shared + V_AT;
    for (int i = 0; i < WIDE / 2; ++i) o[i] = 0;
    tc_transaction_wait(&k_full[k.slot], k.parity);
    tc_warpgroup_begin();
    for (int part = 0; part < 4; ++part)
      tc_wgmma_held_n64k16_f16_f16_f32<false>(
          s, q[part], tc_operand(k_tiles + k.slot * KV_BYTES + part * 32, 16, 1024, 1), part);
    tc_warpgroup_commit();
    tc_warpgroup_wait<0>();
    tc_warpgroup_settle<KEYS / 2>(s);
    if (lane == 0) tc_transaction_arrive(&k_empty[k.slot]);
    k.next();
    soften(s, most, sum, corrections, scale, true);
    pack(p, s);
    for (int step = 1; step < steps; ++step) {
      tc_transaction_wait(&k_full[k.slot], k.parity);
      tc_named_barrier(1 + who, 256);
      tc_warpgroup_begin();  // of the loop
      for (int part = 0; part < 4; ++part)
        tc_wgmma_held_n64k16_f16_f16_f32<false>(
            s, q[part], tc_operand(k_tiles + k.slot * KV_BYTES + part * 32, 16, 1024, 1), part);
      tc_warpgroup_commit();  // of the scores
      tc_transaction_wait(&v_full[v.slot], v.parity);
      for (int part = 0; part < 4; ++part)
        tc_wgmma_held_n64k16_f16_f16_f32<true>(
            o, p + 8 * part, tc_operand(v_tiles + v.slot * KV_BYTES + part * 2048, 8192, 1024, 1), true);
      tc_warpgroup_commit();  // of the values
      tc_named_barrier_arrive(2 - who, 256);
      tc_warpgroup_wait<1>();  // for the scores
      tc_warpgroup_settle<KEYS / 2>(s);
      if (lane == 0) tc_transaction_arrive(&k_empty[k.slot]);
      soften(s, most, sum, corrections, scale, false);
      tc_warpgroup_wait<0>();  // for the values
      tc_warpgroup_settle<WIDE / 2>(o);
      if (lane == 0) tc_transaction_arrive(&v_empty[v.slot]);
      k.next(), v.next();
      pack(p, s);
      for (int i = 0; i < WIDE / 2; ++i) o[i] *= corrections[i / 2 % 2];
    }
    tc_transaction_wait(&v_full[v.slot], v.parity);
    tc_warpgroup_begin();  // the last
    for (int part = 0; part < 4; ++part)
      tc_wgmma_held_n64k16_f16_f16_f32<true>(
          o, p + 8 * part, tc_operand(v_tiles + v.slot * KV_BYTES + part * 2048, 8192, 1024, 1), true);
    tc_warpgroup_commit();  // the last
    tc_warpgroup_wait<0>();  // the last
    tc_warpgroup_settle<WIDE / 2>(o);
    if (lane == 0) tc_transaction_arrive(&v_empty[v.slot]);
    v.next();
    for (int r = 0; r < 2; ++r) {
      float total = sum[r];
      total += tc_shuffle_xor(total, 1);
      total += tc_shuffle_xor(total, 2);
      const int at = tile * ROWS + who * 64 + warp * 16 + lane / 4 + 8 * r;
      for (int j = 0; j < WIDE / 8; ++j)
        for (int e = 0; e < 2; ++e) O[at * WIDE + 8 * j + lane % 4 * 2 + e] = o[4 * j + 2 * r + e] / total;
    }
  }
  if (who == 0) tc_named_barrier(1, 256);  // takes the arrival that the other made last
}
