/* The thread pool that runs the blocks of host kernels.
 *
 * One launch owns the pool at a time; a launch that finds it taken, or that is made from inside a kernel, runs on its
 * own thread. The owner publishes a job (a range of blocks), takes part in it, closes it when no block is left and
 * waits for the workers that joined. A worker that wakes too late finds the gate closed, so nobody waits for it.
 *
 * Some schedulers wake a thread on the processor of the one that woke it, and leave both there although others idle:
 * a worker that finds another thread of the job on its processor moves over to one that the job does not use. */
#ifndef TILECORE_POOL_H_
#define TILECORE_POOL_H_

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* The first four bytes of the scratch memory are 0 when a block function starts; what else it leaves there is its code,
 * unless it returns one. */
typedef int32_t (*tc_block_function)(const int64_t *slots, int64_t begin, int64_t end, uint8_t *scratch);

typedef struct {
    tc_block_function run;
    int64_t work; /* nanoseconds of one block, 0 unknown */
} tc_pool_entry;

typedef struct {
    int64_t count;
    tc_pool_entry entries[];
} tc_pool_kernel;

enum {
    TC_POOL_NO_MEMORY = -1,
    TC_POOL_INLINE_NS = 10000, /* less work than this is not worth waking anybody */
    TC_POOL_SHARE_NS = 5000,   /* work that one more thread is worth */
    TC_POOL_CHUNK_NS = 10000,  /* work that is taken at once, at least */
    TC_POOL_CHUNKS = 32,       /* chunks for each thread, where there are blocks enough */
    TC_POOL_SPIN_NS = 30000,   /* how long an idle worker looks for the next job before it sleeps */
    TC_POOL_SPIN_FEW_NS = 10000,
    TC_POOL_STAY_NS = 1000000, /* how long one that found no block left stays awake until the launch ends, at most */
    TC_POOL_FEW = 4, /* threads up to which spinning is kept short */
    TC_POOL_STACK = 8 << 20,
    TC_POOL_CPUS = 1024        /* processors that are told apart */
};

#define TC_GATE_OPEN ((uint64_t)1 << 32)

static struct {
    pthread_mutex_t mutex; /* of `wake` and `done` */
    pthread_cond_t wake, done;
    atomic_int owned;      /* whether a launch has the pool; what follows up to the job belongs to that launch */
    pthread_t *threads;
    int running;           /* workers */
    atomic_int wanted;     /* threads, the caller included */
    atomic_uint epoch;     /* changes when there is something to look at: a job, or the end */
    atomic_int sleepers, stopping, owner_sleeps;
    _Atomic uint64_t gate; /* TC_GATE_OPEN, plus the number of workers inside */

    tc_block_function run;
    const int64_t *slots;
    int64_t total, chunk, scratch;
    _Atomic int64_t next;
    atomic_int code;
    _Atomic uint64_t taken[TC_POOL_CPUS / 64]; /* processors that threads of the job were on when they joined */
} tc_pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

typedef struct {
    void *memory;
    size_t size;
} tc_scratch;

static _Thread_local int tc_depth; /* launches that this thread is inside of */
static _Thread_local tc_scratch *tc_own_scratch;
static pthread_key_t tc_scratch_key;
static pthread_once_t tc_pool_once = PTHREAD_ONCE_INIT;

static void tc_scratch_free(void *given) {
    tc_scratch *scratch = given;
    free(scratch->memory);
    free(scratch);
}

/* A child of fork has none of the threads: it starts over with an empty pool. */
static void tc_pool_in_child(void) {
    static const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static const pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    tc_pool.mutex = mutex;
    tc_pool.wake = tc_pool.done = cond;
    tc_pool.threads = NULL;
    tc_pool.running = 0;
    tc_pool.owned = tc_pool.sleepers = tc_pool.stopping = tc_pool.owner_sleeps = 0;
    tc_pool.gate = 0;
}

static void tc_pool_prepare(void) {
    pthread_key_create(&tc_scratch_key, tc_scratch_free);
    pthread_atfork(NULL, NULL, tc_pool_in_child);
}

/* This thread's scratch memory, 64-byte aligned, at least `size` bytes; NULL when there is none to be had. */
static void *tc_scratch_of(int64_t size) {
    tc_scratch *own = tc_own_scratch;
    if (!own) {
        own = calloc(1, sizeof *own);
        if (!own) return NULL;
        tc_own_scratch = own;
        pthread_setspecific(tc_scratch_key, own); /* frees it when the thread ends */
    }
    if ((size_t)size > own->size || !own->memory) {
        size_t rounded = ((size_t)size + 4095) & ~(size_t)4095;
        free(own->memory);
        own->memory = NULL;
        own->size = 0;
        if (rounded < (size_t)size || posix_memalign(&own->memory, 64, rounded ? rounded : 4096)) return own->memory = NULL;
        own->size = rounded ? rounded : 4096;
        *(int32_t *)own->memory = 0;
    }
    return own->memory;
}

/* Runs blocks and returns their code; the status word is 0 again afterwards. */
static int tc_run(tc_block_function run, const int64_t *slots, int64_t begin, int64_t end, void *scratch) {
    int code = run(slots, begin, end, scratch);
    int status = *(int32_t *)scratch;
    *(int32_t *)scratch = 0;
    return code ? code : status;
}

static inline void tc_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static inline int64_t tc_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t tc_spin_ns(void) {
    return atomic_load(&tc_pool.wanted) <= TC_POOL_FEW ? TC_POOL_SPIN_FEW_NS : TC_POOL_SPIN_NS;
}

/* Blocks of the job, chunk by chunk, until none is left. The first code that is not 0 ends the job. */
static void tc_pool_work(void) {
    void *scratch = tc_scratch_of(tc_pool.scratch);
    int none = 0;
    if (!scratch) {
        atomic_compare_exchange_strong(&tc_pool.code, &none, TC_POOL_NO_MEMORY);
        atomic_store(&tc_pool.next, tc_pool.total);
        return;
    }
    for (;;) {
        int64_t begin = atomic_fetch_add(&tc_pool.next, tc_pool.chunk);
        if (begin >= tc_pool.total) return;
        int64_t left = tc_pool.total - begin;
        int64_t end = begin + (left < tc_pool.chunk ? left : tc_pool.chunk);
        int code = tc_run(tc_pool.run, tc_pool.slots, begin, end, scratch);
        if (code) {
            none = 0;
            atomic_compare_exchange_strong(&tc_pool.code, &none, code);
            atomic_store(&tc_pool.next, tc_pool.total);
            return;
        }
    }
}

/* Takes the processor that this thread is on; 0 where another thread of the job has it. */
static int tc_pool_take_cpu(void) {
    int cpu = sched_getcpu();
    if (cpu < 0 || cpu >= TC_POOL_CPUS) return 1;
    uint64_t bit = (uint64_t)1 << (cpu % 64);
    return !(atomic_fetch_or(&tc_pool.taken[cpu / 64], bit) & bit);
}

/* Moves this worker to processors that are free, among those that it may use (`allowed`); stays where there are none. */
static void tc_pool_move_over(const cpu_set_t *allowed) {
    cpu_set_t open;
    CPU_ZERO(&open);
    for (int cpu = 0; cpu < TC_POOL_CPUS; cpu++) {
        if (CPU_ISSET(cpu, allowed) && !(atomic_load(&tc_pool.taken[cpu / 64]) >> (cpu % 64) & 1)) CPU_SET(cpu, &open);
    }
    if (CPU_COUNT(&open) && !sched_setaffinity(0, sizeof open, &open)) tc_pool_take_cpu();
}

static int tc_pool_join(void) {
    uint64_t gate = atomic_load(&tc_pool.gate);
    do {
        if (!(gate & TC_GATE_OPEN)) return 0;
    } while (!atomic_compare_exchange_weak(&tc_pool.gate, &gate, gate + 1));
    return 1;
}

static void tc_pool_leave(void) {
    if (atomic_fetch_sub(&tc_pool.gate, 1) == 1 && atomic_load(&tc_pool.owner_sleeps)) {
        pthread_mutex_lock(&tc_pool.mutex);
        pthread_cond_signal(&tc_pool.done);
        pthread_mutex_unlock(&tc_pool.mutex);
    }
}

static void tc_pool_await(unsigned seen) {
    int64_t start = tc_now(), now = start, until = start + tc_spin_ns();
    do {
        for (int i = 0; i < 32; i++) {
            if (atomic_load(&tc_pool.epoch) != seen) return;
            tc_relax();
        }
        now = tc_now();
        /* while others work on their last blocks or between the entries of a launch: waking costs more than waiting */
        if (atomic_load(&tc_pool.owned) && now - start < TC_POOL_STAY_NS) until = now + tc_spin_ns();
    } while (now < until);
    pthread_mutex_lock(&tc_pool.mutex);
    atomic_fetch_add(&tc_pool.sleepers, 1);
    while (atomic_load(&tc_pool.epoch) == seen) pthread_cond_wait(&tc_pool.wake, &tc_pool.mutex);
    atomic_fetch_sub(&tc_pool.sleepers, 1);
    pthread_mutex_unlock(&tc_pool.mutex);
}

static void *tc_pool_worker(void *first_epoch) {
    unsigned seen = (unsigned)(uintptr_t)first_epoch;
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed)) CPU_ZERO(&allowed);
    tc_depth = 1; /* a launch from inside a kernel runs on its own thread */
    for (;;) {
        tc_pool_await(seen);
        seen = atomic_load(&tc_pool.epoch);
        if (atomic_load(&tc_pool.stopping)) return NULL;
        if (tc_pool_join()) {
            if (!tc_pool_take_cpu()) tc_pool_move_over(&allowed);
            tc_pool_work();
            tc_pool_leave();
        }
    }
}

static void tc_pool_stop(void) {
    atomic_store(&tc_pool.stopping, 1);
    pthread_mutex_lock(&tc_pool.mutex);
    atomic_fetch_add(&tc_pool.epoch, 1);
    pthread_cond_broadcast(&tc_pool.wake);
    pthread_mutex_unlock(&tc_pool.mutex);
    for (int i = 0; i < tc_pool.running; i++) pthread_join(tc_pool.threads[i], NULL);
    free(tc_pool.threads);
    tc_pool.threads = NULL;
    tc_pool.running = 0;
    atomic_store(&tc_pool.stopping, 0);
}

/* Workers for `wanted` threads; fewer when the system gives no more. They take no signals. */
static void tc_pool_resize(int wanted) {
    pthread_attr_t attributes;
    sigset_t all, before;
    if (tc_pool.running == wanted - 1) return;
    if (tc_pool.running) tc_pool_stop();
    tc_pool.threads = calloc((size_t)wanted, sizeof *tc_pool.threads);
    if (!tc_pool.threads) return;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, TC_POOL_STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    void *epoch = (void *)(uintptr_t)atomic_load(&tc_pool.epoch);
    while (tc_pool.running < wanted - 1 &&
           !pthread_create(&tc_pool.threads[tc_pool.running], &attributes, tc_pool_worker, epoch)) {
        tc_pool.running++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

static void tc_pool_wake(int64_t helpers) {
    atomic_fetch_add(&tc_pool.epoch, 1);
    int64_t sleepers = atomic_load(&tc_pool.sleepers);
    if (sleepers == 0) return;
    pthread_mutex_lock(&tc_pool.mutex);
    for (int64_t i = 0; i < helpers && i < sleepers; i++) pthread_cond_signal(&tc_pool.wake);
    pthread_mutex_unlock(&tc_pool.mutex);
}

/* Close the job and wait for those who are still inside. */
static void tc_pool_finish(void) {
    atomic_fetch_and(&tc_pool.gate, ~TC_GATE_OPEN);
    int64_t until = 0;
    while (atomic_load(&tc_pool.gate)) {
        for (int i = 0; i < 64 && atomic_load(&tc_pool.gate); i++) tc_relax();
        int64_t now = tc_now();
        if (!until) until = now + TC_POOL_SPIN_NS;
        if (now < until) continue;
        pthread_mutex_lock(&tc_pool.mutex);
        atomic_store(&tc_pool.owner_sleeps, 1);
        while (atomic_load(&tc_pool.gate)) pthread_cond_wait(&tc_pool.done, &tc_pool.mutex);
        atomic_store(&tc_pool.owner_sleeps, 0);
        pthread_mutex_unlock(&tc_pool.mutex);
    }
}

/* How many threads an entry is worth; 1: it runs where it is. */
static int64_t tc_pool_threads(int64_t blocks, int64_t work) {
    int64_t threads = atomic_load(&tc_pool.wanted), all;
    if (threads > blocks) threads = blocks;
    if (work > 0 && !__builtin_mul_overflow(blocks, work, &all)) {
        if (all < TC_POOL_INLINE_NS) return 1;
        if (threads > all / TC_POOL_SHARE_NS) threads = all / TC_POOL_SHARE_NS;
    }
    return threads;
}

static int64_t tc_pool_chunk(int64_t blocks, int64_t work, int64_t threads) {
    int64_t chunk = blocks / (threads * TC_POOL_CHUNKS);
    int64_t least = work > 0 ? (TC_POOL_CHUNK_NS + work - 1) / work : 1;
    int64_t most = (blocks + threads - 1) / threads;
    if (chunk < least) chunk = least;
    return chunk > most ? most : chunk < 1 ? 1 : chunk;
}

static int tc_pool_inline(tc_block_function run, const int64_t *slots, int64_t blocks, int64_t scratch) {
    void *memory = NULL;
    int code;
    if (tc_depth <= 1) {
        memory = tc_scratch_of(scratch);
        return memory ? tc_run(run, slots, 0, blocks, memory) : TC_POOL_NO_MEMORY;
    }
    /* inside a kernel this thread's scratch is in use */
    if (posix_memalign(&memory, 64, scratch > 64 ? (size_t)scratch : 64)) return TC_POOL_NO_MEMORY;
    *(int32_t *)memory = 0;
    code = tc_run(run, slots, 0, blocks, memory);
    free(memory);
    return code;
}

static int tc_pool_parallel(tc_block_function run, const int64_t *slots, int64_t blocks, int64_t scratch, int64_t work, int64_t threads) {
    tc_pool.run = run;
    tc_pool.slots = slots;
    tc_pool.total = blocks;
    tc_pool.chunk = tc_pool_chunk(blocks, work, threads);
    tc_pool.scratch = scratch;
    atomic_store(&tc_pool.next, 0);
    atomic_store(&tc_pool.code, 0);
    for (int i = 0; i < TC_POOL_CPUS / 64; i++) atomic_store_explicit(&tc_pool.taken[i], 0, memory_order_relaxed);
    tc_pool_take_cpu();
    atomic_store(&tc_pool.gate, TC_GATE_OPEN);
    tc_pool_wake(threads - 1);
    tc_pool_work();
    tc_pool_finish();
    return atomic_load(&tc_pool.code);
}

/* The native launch function (LoadedKernel.launch); `given` is a tc_pool_kernel. */
static int tc_pool_launch(void *given, const int64_t *slots, const int64_t *grids, void *stream) {
    const tc_pool_kernel *kernel = given;
    int code = 0, owner = 0;
    (void)stream;
    pthread_once(&tc_pool_once, tc_pool_prepare);
    tc_depth++;
    for (int64_t e = 0; e < kernel->count && !code; e++, grids += 4) {
        const tc_pool_entry *entry = &kernel->entries[e];
        int64_t blocks = grids[0] * grids[1] * grids[2];
        if (blocks == 0) continue;
        int64_t threads = tc_depth > 1 ? 1 : tc_pool_threads(blocks, entry->work);
        int none = 0;
        if (threads > 1 && !owner && (owner = atomic_compare_exchange_strong(&tc_pool.owned, &none, 1))) {
            tc_pool_resize(atomic_load(&tc_pool.wanted));
        }
        if (threads > 1 && owner && tc_pool.running) {
            code = tc_pool_parallel(entry->run, slots, blocks, grids[3], entry->work, threads);
        } else {
            code = tc_pool_inline(entry->run, slots, blocks, grids[3]);
        }
    }
    tc_depth--;
    if (owner) atomic_store(&tc_pool.owned, 0);
    return code;
}

/* Change the number of threads. The workers end now unless a kernel is running, else before the next launch. */
static void tc_pool_set_threads(int threads) {
    int none = 0;
    atomic_store(&tc_pool.wanted, threads);
    if (tc_depth == 0 && atomic_compare_exchange_strong(&tc_pool.owned, &none, 1)) {
        if (tc_pool.running && tc_pool.running != threads - 1) tc_pool_stop();
        atomic_store(&tc_pool.owned, 0);
    }
}

#endif
