#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "failure.h"

namespace sim {

thread_local Running* running = nullptr;

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint8_t kMany = 255;

uint8_t* map(uint64_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) fail("out_of_memory", "the host has not enough memory for the simulated one");
  return static_cast<uint8_t*>(at);
}

void note(std::vector<uint8_t>& pages, uint64_t offset, uint64_t bytes) {
  for (uint64_t page = offset / kPage; page <= (offset + bytes - 1) / kPage; ++page) pages[page] = 1;
}

template <class F>
void sweep(std::vector<uint8_t>& pages, F clear) {
  for (uint64_t page = 0; page < pages.size(); ++page)
    if (pages[page]) {
      clear(page * kPage);
      pages[page] = 0;
    }
}

const Touch* other_side(const Memory* memory, uint64_t offset, bool wrote) {
  for (auto it = running->touched.rbegin(); it != running->touched.rend(); ++it)
    if (it->memory == memory && it->engine != running->engine && it->write == wrote && it->first <= offset && offset <= it->last) return &*it;
  return nullptr;
}

}  // namespace

Memory::Memory(std::string name, uint64_t base, uint64_t bytes, bool shared)
    : name_(std::move(name)), base_(base), bytes_(bytes), shared_(shared) {
  const uint64_t whole = (bytes + kPage - 1) / kPage * kPage + kPage;
  data_ = map(whole);
  valid_ = map(whole);
  engines_ = map(whole);
  if (shared) {
    writers_ = map(whole);
    readers_ = map(whole);
  }
  for (auto* pages : {&region_pages_, &epoch_pages_, &valid_pages_}) pages->assign(whole / kPage, 0);
}

Memory::~Memory() {
  const uint64_t whole = (bytes_ + kPage - 1) / kPage * kPage + kPage;
  for (uint8_t* block : {data_, valid_, engines_, writers_, readers_})
    if (block) munmap(block, whole);
}

std::string Memory::place(uint64_t offset) const {
  if (lane_bytes_) return text("lane %llu, byte %llu", (unsigned long long)(offset / lane_bytes_),
                               (unsigned long long)(offset % lane_bytes_));
  return text("byte %llu", (unsigned long long)offset);
}

void Memory::remember(uint64_t first, uint64_t last, bool write) const {
  auto& all = running->touched;
  if (!all.empty()) {
    Touch& before = all.back();
    if (before.memory == this && before.function == running->function && before.line == running->line &&
        before.engine == running->engine && before.write == write) {
      before.first = std::min(before.first, first);
      before.last = std::max(before.last, last);
      return;
    }
  }
  all.push_back({running->engine, running->function, running->line, this, first, last, write});
}

void Memory::reads(uint64_t offset, int64_t step, int64_t count, int size) {
  if (running && running->in_region) remember(offset, offset + uint64_t((count - 1) * step) + size - 1, false);
  if (step == size || step == 0 || count == 1) return read_run(offset, step == size ? count * size : size);
  for (int64_t i = 0; i < count; ++i) read_run(offset + i * step, size);
}

void Memory::writes(uint64_t offset, int64_t step, int64_t count, int size) {
  if (rights_ == Rights::read)
    throw Failure{"read_only", "a tensor that the kernel only reads is written", name_, "a tensor that it may write",
                  "pass it as an output", name_};
  if (running && running->in_region) remember(offset, offset + uint64_t((count - 1) * step) + size - 1, true);
  if (step == size || step == 0 || count == 1) return write_run(offset, step == size ? count * size : size);
  for (int64_t i = 0; i < count; ++i) write_run(offset + i * step, size);
}

void Memory::spoils(uint64_t offset, uint64_t bytes) {
  write_run(offset, bytes);
  std::memset(valid_ + offset, 0, bytes);
}

bool Memory::all_valid(uint64_t offset, uint64_t bytes) const {
  return initialised_ || !std::memchr(valid_ + offset, 0, bytes);
}

void Memory::set_valid(uint64_t offset, uint64_t bytes) {
  if (initialised_) return;
  std::memset(valid_ + offset, 1, bytes);
  note(valid_pages_, offset, bytes);
}

void Memory::uninitialised(uint64_t offset, uint64_t bytes) const {
  const auto* gap = static_cast<const uint8_t*>(std::memchr(valid_ + offset, 0, bytes));
  const uint64_t first = offset + uint64_t(gap - (valid_ + offset));
  throw Failure{"uninitialised", "a byte that nothing has written is read", name_ + ", " + place(first),
                "memory that a copy or an instruction has filled",
                lane_bytes_ ? "a lane sees only its own memory: a row is not in every lane" : "", name_};
}

void Memory::read_run(uint64_t offset, uint64_t bytes) {
  if (!all_valid(offset, bytes)) uninitialised(offset, bytes);
  if (!running) return;
  if (lane_bytes_) running->unwaited.note(offset, bytes, false);
  if (running->in_region) mark_engine(offset, bytes, false);
  if (shared_) mark_core(offset, bytes, false);
}

void Memory::write_run(uint64_t offset, uint64_t bytes) {
  if (running && lane_bytes_) running->unwaited.note(offset, bytes, true);
  if (running && running->in_region) mark_engine(offset, bytes, true);
  if (running && shared_) mark_core(offset, bytes, true);
  if (initialised_) return;
  std::memset(valid_ + offset, 1, bytes);
  note(valid_pages_, offset, bytes);
}

void Memory::mark_engine(uint64_t offset, uint64_t bytes, bool write) {
  const int own = int(running->engine);
  const uint8_t read_bit = uint8_t(1u << own), write_bit = uint8_t(1u << (own + 4));
  // others' writes always conflict, others' reads only with a write of ours
  const uint8_t conflicts = uint8_t((write ? 0xffu : 0xf0u) & ~unsigned(read_bit | write_bit));
  uint8_t* marks = engines_ + offset;
  uint8_t seen = 0;
  const uint8_t bit = write ? write_bit : read_bit;
  for (uint64_t i = 0; i < bytes; ++i) {
    seen |= marks[i];
    marks[i] |= bit;
  }
  region_touched_ = true;
  note(region_pages_, offset, bytes);
  if (!(seen & conflicts)) return;
  uint64_t i = 0;
  while (!(marks[i] & conflicts)) ++i;
  const bool wrote = marks[i] & 0xf0 & conflicts;
  const Touch* other = other_side(this, offset + i, wrote);
  std::string who = other ? text("%s in line %d", other->function, other->line) : "the other engine";
  throw Failure{"hazard",
                text("%s %s what %s %s in the same parallel region", name_of(running->engine),
                     write ? "writes" : "reads", who.c_str(), wrote ? "writes" : "reads"),
                name_ + ", " + place(offset + i), "memory of its own for what runs at the same time",
                "end the region before, or use another buffer (two in turn)", name_};
}

void Memory::mark_core(uint64_t offset, uint64_t bytes, bool write) {
  const uint8_t own = uint8_t(running->core + 1);
  const auto foreign = [own](uint8_t mark) { return mark != 0 && mark != own; };
  uint8_t *writers = writers_ + offset, *readers = readers_ + offset;
  bool bad = false;
  if (write) {
    for (uint64_t i = 0; i < bytes; ++i) bad |= foreign(writers[i]) | foreign(readers[i]);
  } else {
    for (uint64_t i = 0; i < bytes; ++i) bad |= foreign(writers[i]);
  }
  if (bad) {
    uint64_t i = 0;
    while (!foreign(writers[i]) && !(write && foreign(readers[i]))) ++i;
    throw Failure{"cores",
                  text("core %d %s what another core %s, and no tpu_sync_all stands between", running->core,
                       write ? "writes" : "reads", foreign(writers[i]) ? "writes" : "reads"),
                  name_ + ", " + place(offset + i), "parts of their own for cores that run at the same time",
                  "divide the work by tpu_workitem_index(), or put tpu_sync_all() between", name_};
  }
  if (write) {
    std::memset(writers, own, bytes);
  } else {
    for (uint64_t i = 0; i < bytes; ++i) readers[i] = !readers[i] || readers[i] == own ? own : kMany;
  }
  note(epoch_pages_, offset, bytes);
}

void Memory::end_region() {
  if (!region_touched_) return;
  sweep(region_pages_, [this](uint64_t at) { std::memset(engines_ + at, 0, kPage); });
  region_touched_ = false;
}

void Memory::end_epoch() {
  if (!shared_) return;
  sweep(epoch_pages_, [this](uint64_t at) {
    std::memset(writers_ + at, 0, kPage);
    std::memset(readers_ + at, 0, kPage);
  });
}

void Memory::forget() {
  end_region();
  end_epoch();
  sweep(valid_pages_, [this](uint64_t at) {
    std::memset(valid_ + at, 0, kPage);
    std::memset(data_ + at, 0xa5, kPage);
  });
}

}  // namespace sim
