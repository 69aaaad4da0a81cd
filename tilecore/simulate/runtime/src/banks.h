// How often lanes of a warp meet in a bank of shared memory. Banks are 4 bytes wide; the lanes are served in phases.
#pragma once
#include <algorithm>

#include "state.h"

namespace tcsim {

struct BankCounter {
  struct Request {
    uint32_t size = 0;
    bool write = false;
    std::vector<std::pair<uint32_t, uint32_t>> words;  // lane, first byte
  };
  struct Key {
    uint32_t block, warp, site, turn;
    bool operator==(const Key& o) const {
      return block == o.block && warp == o.warp && site == o.site && turn == o.turn;
    }
  };
  struct Hash {
    size_t operator()(const Key& k) const {
      return (((uint64_t(k.block) * 31 + k.warp) * 0x9E3779B97F4A7C15u) ^ (uint64_t(k.site) << 20) ^ k.turn) *
             0xBF58476D1CE4E5B9u;
    }
  };
  std::unordered_map<Key, Request, Hash> open;
  std::unordered_map<uint64_t, uint32_t> turns;  // of a thread at a site
  std::unordered_map<uint32_t, TcSimBankLine> lines;
  uint32_t warp = 32, threads = 0;
  const TcSimBankPhases* phases = nullptr;
  uint64_t phases_count = 0;

  void note(const Fiber& fiber, uintptr_t offset, unsigned size, bool write, uint32_t site) {
    const uint32_t turn = turns[(uint64_t(site) << 32) | fiber.thread]++;
    const Key key{fiber.block->tag, fiber.thread / warp, site, turn};
    Request& request = open[key];
    request.words.emplace_back(fiber.thread % warp, static_cast<uint32_t>(offset));
    request.size = std::max(request.size, size);
    request.write = write;
    const uint32_t lanes = std::min(warp, threads - key.warp * warp);
    if (request.words.size() == lanes) {
      count(site, request);
      open.erase(key);
    }
  }

  // What a block left over: requests that only some lanes made.
  void finish_block() {
    for (auto& entry : open) count(entry.first.site, entry.second);
    open.clear();
    turns.clear();
  }

 private:
  // The phases for the access; accesses wider than all of them are served like the widest.
  const TcSimBankPhases* phases_of(const Request& request) const {
    const TcSimBankPhases* widest = nullptr;
    for (uint64_t i = 0; i < phases_count; ++i) {
      if (!(request.write ? phases[i].writes : phases[i].reads)) continue;
      widest = &phases[i];
      if (widest->size >= request.size) break;
    }
    return widest;
  }

  // The words of the fullest bank, for the lanes of a phase; 0 where none of them takes part.
  static uint32_t cycles_of(const Request& request, uint64_t lanes, uint32_t banks) {
    std::vector<uint32_t> words[64];
    uint32_t most = 0;
    for (const auto& [lane, first_byte] : request.words) {
      if (!(lanes >> lane & 1)) continue;
      most = 1;
      for (uint32_t byte = first_byte & ~3u; byte < first_byte + request.size; byte += 4)
        words[byte / 4 % banks].push_back(byte / 4);
    }
    for (uint32_t bank = 0; bank < banks; ++bank) {
      std::sort(words[bank].begin(), words[bank].end());
      const auto end = std::unique(words[bank].begin(), words[bank].end());
      most = std::max(most, uint32_t(end - words[bank].begin()));
    }
    return most;
  }

  void count(uint32_t site, Request& request) {
    const TcSimBankPhases* served = phases_of(request);
    if (!served) return;
    uint32_t passes = 0, least = 0;
    for (uint32_t i = 0; i < served->count; ++i) {
      const uint32_t cycles = cycles_of(request, served->masks[i], served->banks);
      passes += cycles;
      least += cycles != 0;
    }
    TcSimBankLine& line = lines[site];
    line.site = site;
    line.worst = std::max(line.worst, passes);
    ++line.requests;
    line.passes += passes;
    line.least_passes += least;
  }
};

}  // namespace tcsim
