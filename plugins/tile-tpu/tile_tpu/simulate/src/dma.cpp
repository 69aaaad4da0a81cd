#include "dma.h"

#include <algorithm>
#include <cstring>

#include "calls.h"

namespace sim {

uint64_t Side::offset(int n, int c, int h) const {
  if (local) return view.offset(n, c, h);
  return address - memory->base() + uint64_t(n * stride[0] + c * stride[1] + h * stride[2]);
}

Side local_side(const char* role, local_addr_t address, const dim4& shape, const dim4* stride, data_type_t type) {
  Side side{role, true, dma_view(role, address, shape, stride, type), 0, {}, core->local.get()};
  const dim4& s = side.view.stride;
  const int strides[] = {s.n, s.c, s.h, s.w};
  for (int i = 0; i < 4; ++i) side.stride[i] = int64_t(strides[i]) * side.view.size;
  return side;
}

Side system_side(const char* role, system_addr_t address, const dim4& shape, const dim4* stride, data_type_t type,
                 bool write) {
  if (bits_of(type) < 8) fail("unsupported", "the simulator has no 4-bit tensors", name_of(type));
  Side side{role, false, {}, address, {}, nullptr};
  const int64_t plane = int64_t(shape.h) * shape.w;
  const int64_t strides[] = {stride ? stride->n : shape.c * plane, stride ? stride->c : plane,
                             stride ? stride->h : shape.w, stride ? stride->w : 1};
  const int extents[] = {shape.n, shape.c, shape.h, shape.w};
  int64_t last = 0;
  for (int i = 0; i < 4; ++i) {
    if (strides[i] < 0) fail("stride", text("a stride of %s is negative", role));
    side.stride[i] = strides[i] * size_of(type);
    last += (extents[i] - 1) * side.stride[i];
  }
  side.memory = &device->global(address, address + uint64_t(last) + size_of(type) - 1);
  side.l2 = device->in_l2(address);
  note_system(side, address - side.memory->base(), uint64_t(last) + size_of(type), write);
  return side;
}

void Traffic::run(uint64_t run_bytes) {
  bytes += run_bytes;
  beats += (run_bytes + device->chip.beat_bytes - 1) / device->chip.beat_bytes;
}

void spend_dma(Engine engine, const Traffic& traffic, const Side* to, const Side* from) {
  Counts& counts = core->counts;
  const Chip& chip = device->chip;
  const auto in_ddr = [](const Side* side) { return side && !side->local && !side->l2; };
  const auto in_l2 = [](const Side* side) { return side && side->l2; };
  double cycles = double(traffic.beats);
  if (in_ddr(from)) counts.bytes_in += traffic.bytes;
  if (in_ddr(to)) counts.bytes_out += traffic.bytes;
  if (in_l2(from) || in_l2(to)) counts.bytes_l2 += traffic.bytes;
  if (!in_ddr(from) && !in_ddr(to) && !in_l2(from) && !in_l2(to)) counts.bytes_local += traffic.bytes;
  const int passes = int(in_ddr(from)) + int(in_ddr(to));  // one memory answers both
  if (passes) cycles = std::max(cycles, passes * double(traffic.bytes) / chip.ddr_bytes_per_cycle);
  if (in_l2(from) || in_l2(to)) cycles = std::max(cycles, double(traffic.bytes) / chip.l2_bytes_per_cycle);
  cycles *= chip.dma_cycle;
  counts.dma_cycles += cycles;
  spend(engine, cycles);
}

// SDMA and HAU do not wait for the others' commands, nor the others for theirs.
static bool alone(Engine engine) { return engine == Engine::sdma || engine == Engine::hau; }
static bool ordered(Engine a, Engine b) { return a == b || !(alone(a) || alone(b)); }

void note_system(const Side& side, uint64_t first, uint64_t bytes, bool write) {
  if (side.local) return;
  const Running& now = core->now;
  const uint64_t last = first + bytes - 1;
  core->alone_used |= alone(now.engine);
  for (const Touch& before : core->touched_system)
    if (!core->alone_used)
      break;
    else if (!ordered(before.engine, now.engine) && before.memory == side.memory && first <= before.last &&
        before.first <= last && (write || before.write))
      throw Failure{"hazard",
                    text("%s %s what %s in line %d %s, and neither waits for the other", name_of(now.engine),
                         write ? "writes" : "reads", before.function, before.line, before.write ? "writes" : "reads"),
                    side.memory->name(),
                    before.engine == Engine::hau ? "tpu_hau_poll() between them" : "tpu_poll() between them", "",
                    side.memory->name()};
  auto& all = core->touched_system;
  if (!all.empty() && all.back().function == now.function && all.back().line == now.line && all.back().memory == side.memory &&
      all.back().write == write && all.back().engine == now.engine && first == all.back().last + 1)
    all.back().last = last;
  else
    all.push_back({now.engine, now.function, now.line, side.memory, first, last, write});
}

void note_side(const Side& side, uint64_t offset, int64_t step, int64_t count, int size, bool write) {
  if (write)
    side.memory->writes(offset, step, count, size);
  else
    side.memory->reads(offset, step, count, size);
}

static void move_row(uint8_t* to, int64_t to_step, const uint8_t* from, int64_t from_step, int count, int size) {
  if (to_step == size && from_step == size) {
    std::memmove(to, from, size_t(count) * size);
    return;
  }
  for (int i = 0; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, size);
}

// Along w DMA takes no steps longer than a beat (tpu_gdma_move_max_wstride_byte_len) and none of 0.
static void check_steps(const Side& side, int extent, int size) {
  const int longest = device->chip.beat_bytes;
  if (extent > 1 && (side.stride[3] < size || side.stride[3] > longest))
    fail("stride", text("elements of %s are too far from each other along w", side.role),
         text("%lld bytes apart", static_cast<long long>(side.stride[3])), text("%d to %d bytes", size, longest),
         "let another axis have that stride, and w one element");
}

void move(Engine engine, const Side& to, const Side& from, const dim4& shape, const int (&order)[4], int size) {
  const int extents[4] = {shape.n, shape.c, shape.h, shape.w};
  const bool along_w = order[3] == 3;  // rows of one side are rows of the other
  if (along_w) {
    check_steps(to, extents[3], size);
    check_steps(from, extents[3], size);
  }
  const int64_t to_step = to.stride[3];
  Traffic traffic;
  int at[4] = {0, 0, 0, 0};
  for (at[0] = 0; at[0] < extents[0]; ++at[0])
    for (at[1] = 0; at[1] < extents[1]; ++at[1])
      for (at[2] = 0; at[2] < extents[2]; ++at[2]) {
        const uint64_t target = to.offset(at[0], at[1], at[2]);
        note_side(to, target, to_step, extents[3], size, true);
        uint8_t* row = to.memory->at(target);
        int source[4];
        at[3] = 0;
        for (int axis = 0; axis < 4; ++axis) source[order[axis]] = at[axis];
        if (along_w) {
          const uint64_t offset = from.offset(source[0], source[1], source[2]);
          note_side(from, offset, from.stride[3], extents[3], size, false);
          move_row(row, to_step, from.memory->at(offset), from.stride[3], extents[3], size);
        } else {
          for (int w = 0; w < extents[3]; ++w) {
            source[order[3]] = w;
            const uint64_t offset = from.offset(source[0], source[1], source[2]) + uint64_t(source[3] * from.stride[3]);
            note_side(from, offset, size, 1, size, false);
            std::memcpy(row + w * to_step, from.memory->at(offset), size);
          }
        }
        const bool dense = to_step == size && along_w && from.stride[3] == size;
        if (dense)
          traffic.run(uint64_t(extents[3]) * size);
        else
          for (int w = 0; w < extents[3]; ++w) traffic.run(size);
      }
  spend_dma(engine, traffic, &to, &from);
}

}  // namespace sim
