#include "views.h"

#include <algorithm>
#include <vector>

namespace sim {
namespace {

int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

std::string shown(const dim4& d) { return text("(%d, %d, %d, %d)", d.n, d.c, d.h, d.w); }

View made(const char* role, local_addr_t address, const dim4& shape, const dim4* stride, data_type_t type) {
  const Chip& chip = device->chip;
  if (bits_of(type) < 8) fail("unsupported", "the simulator has no 4-bit tensors", name_of(type));
  if (address >= chip.local_bytes())
    fail("out_of_bounds", text("%s lies beyond local memory", role), text("0x%x", address),
         text("below 0x%llx", (unsigned long long)chip.local_bytes()));
  View view{role, type, size_of(type), shape, {}, int(address / chip.lane_bytes), address % chip.lane_bytes, false, {}};
  view.stride = stride ? *stride : aligned_stride(view.lane, shape, type);
  const dim4& s = view.stride;
  const int64_t last = int64_t(shape.n - 1) * s.n + int64_t(view.groups() - 1) * s.c + int64_t(shape.h - 1) * s.h +
                       int64_t(shape.w - 1) * s.w;
  const uint64_t end = view.byte + uint64_t(last + 1) * view.size;
  if (end > uint64_t(chip.lane_bytes))
    fail("out_of_bounds", text("%s does not fit into a lane's memory", role),
         text("%s of %s, strides %s, from byte %llu on: up to byte %llu", shown(shape).c_str(), name_of(type).c_str(),
              shown(s).c_str(), (unsigned long long)view.byte, (unsigned long long)end),
         text("at most %d bytes a lane", chip.lane_bytes));
  core->counts.high_water = std::max(core->counts.high_water, end);
  return view;
}

}  // namespace

int View::groups() const { return (lane + shape.c - 1) / device->chip.lanes + 1; }

uint64_t View::offset(int n, int c, int h) const {
  const Chip& chip = device->chip;
  const int at = lane + c;
  const uint64_t element = uint64_t(n) * stride.n + uint64_t(at / chip.lanes) * stride.c + uint64_t(h) * stride.h;
  return uint64_t(at % chip.lanes) * chip.lane_bytes + byte + element * size;
}

bool View::same_place(const View& other) const {
  const auto equal = [this, &other](int extent, int own, int its) {
    return extent == 1 || int64_t(own) * size == int64_t(its) * other.size;
  };
  return !constant && !other.constant && lane == other.lane && byte == other.byte &&
         equal(shape.n, stride.n, other.stride.n) && equal(groups(), stride.c, other.stride.c) &&
         equal(shape.h, stride.h, other.stride.h) && equal(shape.w, stride.w, other.stride.w);
}

void check_shape(const dim4* shape) {
  if (!shape) fail("argument", "the shape is NULL");
  for (int extent : {shape->n, shape->c, shape->h, shape->w})
    if (extent < 1 || extent > kLargestExtent)
      fail("extent", "an extent out of range", shown(*shape), "each from 1 to 65535", "cut the tensor into parts");
}

dim4 aligned_stride(int lane, const dim4& shape, data_type_t type) {
  const Chip& chip = device->chip;
  dim4 stride;
  stride.w = 1;
  stride.h = shape.w;
  stride.c = int(round_up(int64_t(shape.h) * shape.w, chip.eu_count(bits_of(type))));
  stride.n = (lane + shape.c + chip.lanes - 1) / chip.lanes * stride.c;
  return stride;
}

dim4 compact_stride(int lane, const dim4& shape) {
  const int lanes = device->chip.lanes, plane = shape.h * shape.w;
  return {(lane + shape.c + lanes - 1) / lanes * plane, plane, shape.w, 1};
}

View tensor_view(const char* role, local_addr_t address, const dim4& shape, const dim4* stride, data_type_t type,
                 Alignment alignment) {
  const bool units = alignment == Alignment::units || (alignment == Alignment::by_stride && !stride);
  const int multiple = units ? device->chip.eu_bytes : size_of(type);
  if (address % multiple)
    fail("alignment", text("%s is not aligned", role), text("address 0x%x", address),
         text("a multiple of %d bytes", multiple),
         stride || alignment != Alignment::by_stride
             ? ""
             : "without strides an operand is aligned; with strides a multiple of its element is enough");
  if (stride)
    for (int one : {stride->n, stride->c, stride->h, stride->w})
      if (one < 0 || one > kLargestStride)
        fail("stride", text("a stride of %s out of range", role), shown(*stride), "each from 0 to 262143 elements");
  return made(role, address, shape, stride, type);
}

View dma_view(const char* role, local_addr_t address, const dim4& shape, const dim4* stride, data_type_t type) {
  if (stride)
    for (int one : {stride->n, stride->c, stride->h, stride->w})
      if (one < 0) fail("stride", text("a stride of %s is negative", role), shown(*stride));
  return made(role, address, shape, stride, type);
}

View constant_view(const char* role, scalar_t value, data_type_t type, const dim4& shape) {
  return View{role, type, size_of(type), shape, {}, 0, 0, true, value};
}

void same_lane(std::initializer_list<const View*> views) {
  const View* first = nullptr;
  for (const View* view : views) {
    if (view->constant) continue;
    if (!first) first = view;
    if (view->lane != first->lane)
      fail("lane", "operands start in different lanes",
           text("%s in lane %d, %s in lane %d", first->role, first->lane, view->role, view->lane), "one lane for all",
           "move one of them by tpu_bdc_cpy_cross_npu or tpu_gdma_cpy_L2L");
  }
}

void written_once(const View& dst) {
  const dim4 &e = dst.shape, &s = dst.stride;
  if ((!s.n && e.n > 1) || (!s.h && e.h > 1) || (!s.w && e.w > 1) || (!s.c && dst.groups() > 1))
    fail("stride", text("%s has stride 0 on an axis that is longer than 1", dst.role), shown(s), "every element once");
}

void no_partial_overlap(const View& dst, std::initializer_list<const View*> sources) {
  const auto range = [](const View& v) {
    const int64_t last = int64_t(v.shape.n - 1) * v.stride.n + int64_t(v.groups() - 1) * v.stride.c +
                         int64_t(v.shape.h - 1) * v.stride.h + int64_t(v.shape.w - 1) * v.stride.w;
    return std::pair<uint64_t, uint64_t>(v.byte, v.byte + uint64_t(last + 1) * v.size);
  };
  for (const View* source : sources) {
    if (source->constant || dst.same_place(*source)) continue;
    const auto a = range(dst), b = range(*source);
    if (a.second <= b.first || b.second <= a.first) continue;
    if (dst.lane == source->lane && dst.byte == source->byte && dst.size < source->size) continue;  // cast in place
    // they interleave at best: exactly, byte by byte, in the lane that all of them use
    std::vector<uint8_t> written(a.second - a.first, 0);
    const auto walk = [](const View& v, auto body) {
      for (int n = 0; n < v.shape.n; ++n)
        for (int g = 0; g < v.groups(); ++g)
          for (int h = 0; h < v.shape.h; ++h)
            for (int w = 0; w < v.shape.w; ++w)
              body(v.byte + (uint64_t(n) * v.stride.n + uint64_t(g) * v.stride.c + uint64_t(h) * v.stride.h +
                             uint64_t(w) * v.stride.w) * v.size, v.size);
    };
    walk(dst, [&](uint64_t at, int size) { std::fill_n(written.begin() + (at - a.first), size, 1); });
    walk(*source, [&](uint64_t at, int size) {
      for (int i = 0; i < size; ++i)
        if (at + i >= a.first && at + i < a.second && written[at + i - a.first])
          fail("overlap", text("%s overlaps %s without being the same tensor", dst.role, source->role),
               text("byte %llu of the lanes", (unsigned long long)(at + i)), "apart, or exactly the same place");
    });
  }
}

// Cycles in which a bank gives or takes all of a view, as much as the units take at once in each.
static double bank_cycles(const View& view) {
  const auto own = [](int extent, int stride) { return stride ? int64_t(extent) : 1; };
  const int64_t bytes = own(view.shape.h, view.stride.h) * own(view.shape.w, view.stride.w) * view.size;
  const int64_t at_once = device->chip.eu_bytes;
  return double(own(view.shape.n, view.stride.n) * view.groups() * ((bytes + at_once - 1) / at_once));
}

void count_banks(std::initializer_list<const View*> views) {
  const uint64_t bank = uint64_t(device->chip.lane_bytes) / device->chip.banks;
  uint32_t used = 0;
  double waits = 0;
  for (const View* view : views) {
    if (view->constant) continue;
    const int64_t last = int64_t(view->shape.n - 1) * view->stride.n + int64_t(view->groups() - 1) * view->stride.c +
                         int64_t(view->shape.h - 1) * view->stride.h + int64_t(view->shape.w - 1) * view->stride.w;
    uint32_t own = 0;
    for (uint64_t b = view->byte / bank; b <= (view->byte + uint64_t(last + 1) * view->size - 1) / bank; ++b)
      own |= 1u << b;
    if (used & own) waits += bank_cycles(*view);
    used |= own;
  }
  if (!waits) return;
  waits *= device->chip.vector_cycle;
  ++core->counts.bank_conflicts;
  core->counts.conflict_cycles += waits;
  spend(Engine::tensor, waits);
}

namespace {

void note(const View& view, int n, int c, int h, int64_t count, bool write) {
  const uint64_t at = view.offset(n, c, h);
  const int64_t step = int64_t(view.stride.w) * view.size;
  if (write)
    core->local->writes(at, step, count, view.size);
  else
    core->local->reads(at, step, count, view.size);
}

}  // namespace

void note_read(const View& view, int n, int c, int h, int64_t count) {
  if (!view.constant) note(view, n, c, h, count, false);
}
void note_write(const View& view, int n, int c, int h, int64_t count) { note(view, n, c, h, count, true); }

}  // namespace sim
