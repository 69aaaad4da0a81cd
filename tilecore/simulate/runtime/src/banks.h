// How often lanes of a warp meet in a bank of shared memory: 32 banks, 4 bytes wide.
#pragma once
#include <algorithm>

#include "state.h"

namespace tcsim {

struct BankCounter {
  struct Request {
    uint32_t lanes = 0, size = 0;
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

  void note(const Fiber& fiber, uintptr_t offset, unsigned size, uint32_t site) {
    const uint32_t turn = turns[(uint64_t(site) << 32) | fiber.thread]++;
    const Key key{fiber.block->tag, fiber.thread / warp, site, turn};
    Request& request = open[key];
    request.words.emplace_back(fiber.thread % warp, static_cast<uint32_t>(offset));
    request.size = std::max(request.size, size);
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
  void count(uint32_t site, Request& request) {
    const uint32_t together = request.size <= 4 ? 32 : request.size <= 8 ? 16 : 8;
    std::sort(request.words.begin(), request.words.end());
    uint32_t passes = 0, least = 0;
    for (size_t start = 0; start < request.words.size();) {
      const uint32_t group = request.words[start].first / together;
      std::vector<uint32_t> words[32];
      for (; start < request.words.size() && request.words[start].first / together == group; ++start)
        for (uint32_t byte = request.words[start].second & ~3u; byte < request.words[start].second + request.size;
             byte += 4)
          words[byte / 4 % 32].push_back(byte / 4);
      uint32_t most = 1;
      for (auto& bank : words) {
        std::sort(bank.begin(), bank.end());
        most = std::max(most, uint32_t(std::unique(bank.begin(), bank.end()) - bank.begin()));
      }
      passes += most;
      ++least;
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
