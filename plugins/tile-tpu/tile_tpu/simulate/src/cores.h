// Cores take turns: each runs until it ends or meets a barrier, in the order of its number, so that a run is the same
// every time.
#pragma once
#include "device.h"

namespace sim {

void run_core(Core& own, void (*entry)(const void*), const void* arguments);  // on a thread of its own
void start_turns();
void wait_for_turn();                   // of this core
void meet_all();                        // tpu_sync_all
bool all_finished(double seconds);      // waits up to so long
void request_stop();                    // whoever is in the simulator leaves
void break_out();                       // whoever is not is made to

}  // namespace sim
