// Tensor maps and copies of boxes on the simulated device. PTX ISA 8.7, sections "Tensors" and "cp.async.bulk.tensor";
// the driver's "Tensor Map Object Management".
#pragma once

// The fields that simulated_maps.py writes: sizes in elements, strides in bytes, the driver's codes of dtype, swizzle
// and fill.
struct alignas(64) tc_tensor_map {
  unsigned char* address;
  long long shape[5], strides[4], box[5], steps[5];
  long long rank, dtype, swizzle, fill;
};
// Taken in place of the number of a line, which a coordinate must not be mistaken for.
struct tc_called_at {
  int line;
};

TC_FN void tc_tensor_prefetch(const tc_tensor_map*) {}

// The swizzled address of a 16-byte piece of a tile, which depends on bits of the address. span: bytes of a row.
TC_FN unsigned char* tc_swizzled(unsigned char* address, unsigned span) {
  const uintptr_t bits = reinterpret_cast<uintptr_t>(address);
  return reinterpret_cast<unsigned char*>(bits ^ ((bits >> 3) & (span - 16) & 0x70));
}

// One copy: a box of the map from a place on, and its tile in shared memory.
struct tc_box {
  tc_tensor_map map;
  unsigned char* tile;
  long long at[5], counts[5];  // of elements
  unsigned item, span;         // bytes of an element, of the swizzle's rows
  long long rows, row_bytes;

  TC_FN long long bytes() const { return rows * row_bytes; }
  // The row's first element in the tensor, null outside of it.
  TC_FN unsigned char* row(long long number) const {
    unsigned char* from = map.address;
    for (int axis = 1; axis < 5 && axis < map.rank; ++axis) {
      const long long place = at[axis] + number % counts[axis] * map.steps[axis];
      if (place < 0 || place >= map.shape[axis]) return nullptr;
      from += place * map.strides[axis - 1];
      number /= counts[axis];
    }
    return from;
  }
  // The elements of a row that are in the tensor.
  TC_FN long long first() const { return at[0] < 0 ? (-at[0] < counts[0] ? -at[0] : counts[0]) : 0; }
  TC_FN long long last() const {
    const long long end = map.shape[0] - at[0];
    return end < first() ? first() : end < counts[0] ? end : counts[0];
  }
  TC_FN unsigned char* piece(long long number, long long byte) const {
    return tc_swizzled(tile + number * row_bytes + byte, span);
  }
};

TC_FN unsigned tc_map_item(long long dtype) {
  return dtype == 0 ? 1 : dtype == 1 || dtype == 6 || dtype == 9 ? 2 : dtype == 4 || dtype == 5 || dtype == 8 ? 8 : 4;
}

inline tc_box tc_box_of(const tc_tensor_map* map, const void* tile, int rank, const int* at, int line) {
  tc_box box;
  box.map = *map;
  box.tile = static_cast<unsigned char*>(const_cast<void*>(tile));
  if (map->rank != rank) tc_sim_fail("invalid_operation", "as many coordinates as the tensor map has axes", line);
  if (map->steps[0] != 1)
    tc_sim_fail("invalid_operation", "a tensor map that steps along its innermost axis, which hardware does not", line);
  if (reinterpret_cast<uintptr_t>(tile) % 128)
    tc_sim_fail("misaligned", "the tile of a tensor copy must lie at a multiple of 128 bytes", line);
  box.item = tc_map_item(map->dtype);
  if (at[0] * (long long)box.item % 16)
    tc_sim_fail("misaligned", "the innermost coordinate of a tensor copy must be a multiple of 16 bytes", line);
  box.span = map->swizzle == 0 ? 16 : 16u << map->swizzle;
  box.rows = 1;
  for (int axis = 0; axis < 5; ++axis) {
    const bool used = axis < rank;
    box.at[axis] = used ? at[axis] : 0;
    box.counts[axis] = used ? (map->box[axis] + map->steps[axis] - 1) / map->steps[axis] : 1;
    if (axis) box.rows *= box.counts[axis];
  }
  box.row_bytes = box.counts[0] * box.item;
  return box;
}

// -- the effects of copies when they land: their reads and writes have been checked before ---------------------------

inline __attribute__((no_sanitize_thread)) void tc_land_piece(const tc_box& box, long long row,
                                                              const unsigned char* from, long long byte) {
  unsigned char* to = box.piece(row, byte);
  const long long first = box.first() * box.item, last = box.last() * box.item;
  const unsigned char* start = from ? from + box.at[0] * box.item : nullptr;
  const bool whole = from && byte >= first && byte + 16 <= last;
  if (whole) {
    __builtin_memcpy(to, start + byte, 16);
  } else {
    for (long long i = byte; i < byte + 16; ++i) {
      const bool inside = from && i >= first && i < last;
      // not a number: all bits but the sign's, which is in an element's last byte
      const unsigned char filled = !box.map.fill ? 0 : (i + 1) % box.item ? 0xff : 0x7f;
      to[i - byte] = inside ? start[i] : filled;
    }
  }
  tc_sim_note_piece(to, whole ? start + byte : nullptr, unsigned(box.map.swizzle) + 1);
}
inline __attribute__((no_sanitize_thread)) void tc_land_box(const tc_box& box) {
  for (long long row = 0; row < box.rows; ++row) {
    const unsigned char* from = box.row(row);
    for (long long byte = 0; byte < box.row_bytes; byte += 16) tc_land_piece(box, row, from, byte);
  }
}

template <class T>
TC_FN void tc_add_in_place(unsigned char* to, const unsigned char* from) {
  T old, value;
  __builtin_memcpy(&old, to, sizeof(T));
  __builtin_memcpy(&value, from, sizeof(T));
  old = T(old + value);
  __builtin_memcpy(to, &old, sizeof(T));
}
inline __attribute__((no_sanitize_thread)) void tc_put_element(const tc_box& box, unsigned char* to,
                                                               const unsigned char* from, bool adds) {
  if (!adds) {
    for (unsigned i = 0; i < box.item; ++i) to[i] = from[i];
    return;
  }
  switch (box.map.dtype) {
    case 2:
    case 3:
      return tc_add_in_place<uint32_t>(to, from);
    case 4:
    case 5:
      return tc_add_in_place<uint64_t>(to, from);
    case 6:
      return tc_add_in_place<tc_half>(to, from);
    case 7:
      return tc_add_in_place<float>(to, from);
    case 8:
      return tc_add_in_place<double>(to, from);
    default:
      return tc_add_in_place<tc_bfloat16>(to, from);
  }
}
inline __attribute__((no_sanitize_thread)) void tc_put_box(const tc_box& box, bool adds) {
  for (long long row = 0; row < box.rows; ++row) {
    unsigned char* to = box.row(row);
    if (!to) continue;
    for (long long i = box.first(); i < box.last(); ++i) {
      const long long byte = i * box.item;
      tc_put_element(box, to + (box.at[0] + i) * box.item, box.piece(row, byte & ~15ll) + (byte & 15), adds);
    }
  }
}

// -- their calls ------------------------------------------------------------------------------------------------------

// The part of every row that is in the tensor, to declare(address, bytes).
template <class Declare>
inline void tc_rows_inside(const tc_box& box, Declare declare) {
  const long long first = box.first(), last = box.last();
  if (first >= last) return;
  for (long long number = 0; number < box.rows; ++number)
    if (unsigned char* row = box.row(number)) declare(row + (box.at[0] + first) * box.item, (last - first) * box.item);
}

inline void tc_load_box(void* to, const tc_tensor_map* map, void* barrier, int rank, const int* at, int line) {
  const tc_box box = tc_box_of(map, to, rank, at, line);
  tc_async_work work(barrier, unsigned(box.bytes()), line);
  tc_rows_inside(box, [&](const void* row, long long bytes) { work.reads(row, bytes); });
  work.writes(to, box.bytes());
  work.start([=] { tc_land_box(box); });
}

inline void tc_load_box_multicast(void* to, const tc_tensor_map* map, void* barrier, unsigned mask, int rank,
                                  const int* at, int line) {
  if (mask == 0) tc_sim_fail("invalid_operation", "a tensor copy to no block of the cluster", line);
  for (unsigned block = 0; block < 16; ++block)
    if (mask >> block & 1)
      tc_load_box(tc_sim_remote_shared(to, block, line), map, tc_sim_remote_shared(barrier, block, line), rank, at,
                  line);
}

inline void tc_store_box(const tc_tensor_map* map, const void* from, bool adds, int rank, const int* at, int line) {
  const tc_box box = tc_box_of(map, from, rank, at, line);
  if (adds && (map->dtype < 2 || map->dtype > 9))
    tc_sim_fail("invalid_operation", "a tensor copy cannot add elements of this type", line);
  for (long long byte = 0; byte < box.bytes(); byte += 16) {
    const unsigned known = tc_sim_arrangement(box.tile + byte);
    if (known && known != unsigned(map->swizzle) + 1)
      tc_sim_mismatched_swizzle(box.tile + byte, "tensor copy",
                                "the tile was copied here by a tensor map of another swizzle", line);
  }
  tc_async_work work(tc_channel_bulk, line);
  work.reads(from, box.bytes());
  tc_rows_inside(box, [&](void* row, long long bytes) { adds ? work.updates(row, bytes) : work.writes(row, bytes); });
  work.start([=] { tc_put_box(box, adds); });
}

// The forms with a policy: what L2 keeps is not simulated.
#define TC_TENSOR_COPIES(RANK, PLACES, AT)                                                                        \
  TC_FN void tc_tensor_load(void* to, const tc_tensor_map* map, void* barrier, TC_PACK PLACES,                    \
                            tc_called_at at = {TC_LINE}) {                                                        \
    const int places[] = {TC_PACK AT};                                                                            \
    tc_load_box(to, map, barrier, RANK, places, at.line);                                                         \
  }                                                                                                               \
  TC_FN void tc_tensor_load_hinted(void* to, const tc_tensor_map* map, void* barrier, unsigned long long,         \
                                   TC_PACK PLACES, tc_called_at at = {TC_LINE}) {                                 \
    const int places[] = {TC_PACK AT};                                                                            \
    tc_load_box(to, map, barrier, RANK, places, at.line);                                                         \
  }                                                                                                               \
  TC_FN void tc_tensor_load_multicast_hinted(void* to, const tc_tensor_map* map, void* barrier,                   \
                                             unsigned short mask, unsigned long long, TC_PACK PLACES,             \
                                             tc_called_at at = {TC_LINE}) {                                       \
    const int places[] = {TC_PACK AT};                                                                            \
    tc_load_box_multicast(to, map, barrier, mask, RANK, places, at.line);                                         \
  }                                                                                                               \
  TC_FN void tc_tensor_load_multicast(void* to, const tc_tensor_map* map, void* barrier, unsigned short mask,     \
                                      TC_PACK PLACES, tc_called_at at = {TC_LINE}) {                              \
    const int places[] = {TC_PACK AT};                                                                            \
    tc_load_box_multicast(to, map, barrier, mask, RANK, places, at.line);                                         \
  }                                                                                                               \
  TC_FN void tc_tensor_store(const tc_tensor_map* map, const void* from, TC_PACK PLACES,                          \
                             tc_called_at at = {TC_LINE}) {                                                       \
    const int places[] = {TC_PACK AT};                                                                            \
    tc_store_box(map, from, false, RANK, places, at.line);                                                        \
  }                                                                                                               \
  TC_FN void tc_tensor_add(const tc_tensor_map* map, const void* from, TC_PACK PLACES,                            \
                           tc_called_at at = {TC_LINE}) {                                                         \
    const int places[] = {TC_PACK AT};                                                                            \
    tc_store_box(map, from, true, RANK, places, at.line);                                                         \
  }
#define TC_PACK(...) __VA_ARGS__
TC_TENSOR_COPIES(1, (int x), (x))
TC_TENSOR_COPIES(2, (int x, int y), (x, y))
TC_TENSOR_COPIES(3, (int x, int y, int z), (x, y, z))
TC_TENSOR_COPIES(4, (int x, int y, int z, int u), (x, y, z, u))
TC_TENSOR_COPIES(5, (int x, int y, int z, int u, int v), (x, y, z, u, v))
#undef TC_TENSOR_COPIES
#undef TC_PACK

TC_FN void tc_commit_stores(int line = TC_LINE) { tc_commit_group(tc_channel_bulk, line); }
template <int N>
TC_FN void tc_wait_stores_read(int line = TC_LINE) {
  tc_wait_group(tc_channel_bulk, N, true, line);
}
template <int N>
TC_FN void tc_wait_stores(int line = TC_LINE) {
  tc_wait_group(tc_channel_bulk, N, false, line);
}
