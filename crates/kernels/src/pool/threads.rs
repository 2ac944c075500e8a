//! The pool's threads: where they run, how they sleep and wake.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

use super::queue::{Slot, MAX_CHUNKS};

/// How long a thread without work looks for more before it sleeps. Longer than the gap between the launches of an
/// eager program, short enough not to be seen as load.
const SPIN: Duration = Duration::from_micros(40);

/// Jobs that may run at one time; callers beyond that run their job alone.
const SLOTS: usize = 16;

/// Threads that one thread wakes; the woken wake further ones while chunks are left.
const FAN_OUT: usize = 2;

/// A thread pool in which the caller of a job does as much of it as it can and never waits for a thread that has not
/// begun a chunk, so a busy machine costs no more than the other threads' help.
///
/// There is one worker for each CPU of the process's affinity mask, pinned to it; the one on the caller's CPU stays
/// out of the caller's job. With one thread there are no workers. After `fork` the child has no workers either:
/// its jobs run wholly on their callers.
pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    threads: usize,
    /// CPU of each worker; empty when workers are not pinned.
    cpus: Vec<usize>,
    slots: [Slot; SLOTS],
    /// Counts published jobs: what idle threads watch.
    published: AtomicU64,
    workers: Vec<Worker>,
    stop: AtomicBool,
}

#[repr(align(128))]
struct Worker {
    parked: AtomicBool,
    thread: OnceLock<Thread>,
}

thread_local! {
    /// This thread is inside a chunk, where a further job runs inline.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Resets [`INSIDE`] also when the chunk panics.
struct Inside(bool);

impl Inside {
    fn enter() -> Inside {
        Inside(INSIDE.replace(true))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.0);
    }
}

/// The process's pool: as many threads as its CPU affinity allows, or as TORCH_NEURONX_SOFTCORE_THREADS says.
/// Both are read at the first call.
pub fn global() -> &'static Pool {
    static POOL: OnceLock<Pool> = OnceLock::new();
    POOL.get_or_init(|| {
        let wanted = tnrs_types::flags::SOFTCORE_THREADS.get().and_then(|v| v.parse::<usize>().ok());
        Pool::new(wanted.unwrap_or_else(|| affinity().len()))
    })
}

impl Pool {
    /// A pool of `threads` threads (at least 1), the caller of a job being one of them.
    pub fn new(threads: usize) -> Pool {
        let threads = threads.clamp(1, 1024);
        let cpus = affinity();
        let cpus = if cpus.len() >= threads && threads > 1 { cpus[..threads].to_vec() } else { Vec::new() };
        let workers = if threads > 1 { threads } else { 0 };
        let shared = Arc::new(Shared {
            threads,
            cpus,
            slots: std::array::from_fn(|_| Slot::new()),
            published: AtomicU64::new(0),
            workers: (0..workers)
                .map(|_| Worker { parked: AtomicBool::new(false), thread: OnceLock::new() })
                .collect(),
            stop: AtomicBool::new(false),
        });
        for id in 0..workers {
            let shared = shared.clone();
            // A thread that the system refuses is only help that does not come.
            let _ =
                std::thread::Builder::new().name(format!("neuron-pool-{id}")).spawn(move || shared.serve(id));
        }
        Pool { shared }
    }

    /// Threads that may take part in a job, the caller included.
    pub fn threads(&self) -> usize {
        self.shared.threads
    }

    /// Calls `f(chunk, id)` once for each chunk in `0..chunks`, on the caller and on idle workers, and returns when
    /// all calls have returned. `id < threads()` differs among the threads that work on this job at one time.
    /// Inside a chunk a further `run` of the same thread is a plain loop with id 0. Several threads may call `run` at
    /// one time. A panic of `f` is resumed on the caller after the other chunks have run.
    pub fn run(&self, chunks: usize, f: &(dyn Fn(usize, usize) + Sync)) {
        let shared = &*self.shared;
        if chunks > MAX_CHUNKS {
            let step = chunks.div_ceil(MAX_CHUNKS);
            return self.run(chunks.div_ceil(step), &|group, id| {
                (group * step..((group + 1) * step).min(chunks)).for_each(|chunk| f(chunk, id));
            });
        }
        let slot = if chunks <= 1 || shared.threads == 1 || INSIDE.get() {
            None
        } else {
            shared.slots.iter().find(|s| s.acquire())
        };
        let Some(slot) = slot else {
            let _inside = Inside::enter();
            return (0..chunks).for_each(|chunk| f(chunk, 0));
        };
        let id = shared.id_of_caller();
        slot.publish(chunks, id, f);
        shared.published.fetch_add(1, Ordering::SeqCst);
        shared.wake((chunks - 1).min(FAN_OUT), id);
        {
            let _inside = Inside::enter();
            while slot.work(id, true) {}
        }
        if let Some(payload) = slot.finish() {
            resume_unwind(payload);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.published.fetch_add(1, Ordering::SeqCst);
        self.shared.wake(usize::MAX, usize::MAX);
    }
}

impl Shared {
    /// The id of the worker that shares the caller's CPU.
    fn id_of_caller(&self) -> usize {
        if self.cpus.is_empty() {
            return 0;
        }
        // SAFETY: no arguments; -1 on failure matches no CPU.
        let cpu = unsafe { libc::sched_getcpu() } as usize;
        self.cpus.iter().position(|&c| c == cpu).unwrap_or(0)
    }

    /// Wakes up to `count` sleeping workers other than `except`.
    fn wake(&self, count: usize, except: usize) {
        let mut left = count;
        for (id, worker) in self.workers.iter().enumerate() {
            if left == 0 {
                return;
            }
            if id != except
                && worker.parked.load(Ordering::SeqCst)
                && worker.parked.swap(false, Ordering::SeqCst)
            {
                if let Some(thread) = worker.thread.get() {
                    thread.unpark();
                    left -= 1;
                }
            }
        }
    }

    /// The life of worker `id`.
    fn serve(&self, id: usize) {
        if let Some(&cpu) = self.cpus.get(id) {
            pin(cpu);
        }
        let me = &self.workers[id];
        let _ = me.thread.set(std::thread::current());
        INSIDE.set(true);
        let mut seen = self.published.load(Ordering::SeqCst);
        loop {
            while self.help(id) {}
            let idle = Instant::now();
            let mut now = self.published.load(Ordering::SeqCst);
            while now == seen && idle.elapsed() < SPIN {
                for _ in 0..32 {
                    std::hint::spin_loop();
                }
                now = self.published.load(Ordering::SeqCst);
            }
            if now == seen {
                me.parked.store(true, Ordering::SeqCst);
                now = self.published.load(Ordering::SeqCst);
                if now == seen {
                    std::thread::park();
                }
                me.parked.store(false, Ordering::SeqCst);
                now = self.published.load(Ordering::SeqCst);
            }
            seen = now;
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
        }
    }

    /// Works on every job that offers worker `id` a chunk. False when there was none.
    fn help(&self, id: usize) -> bool {
        let mut helped = false;
        for slot in &self.slots {
            let offered = slot.offers(id);
            if offered > 1 {
                self.wake((offered as usize - 1).min(FAN_OUT), id);
            }
            while offered > 0 && slot.work(id, false) {
                helped = true;
            }
        }
        helped
    }
}

/// CPUs this thread may run on, ascending; one entry when the system does not say.
fn affinity() -> Vec<usize> {
    // SAFETY: cpu_set_t is plain bits, for which zero is valid, and the size given is its size.
    let (rc, set) = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let rc = libc::sched_getaffinity(0, std::mem::size_of_val(&set), &mut set);
        (rc, set)
    };
    // SAFETY: the index stays below the set's size.
    let cpus: Vec<usize> =
        (0..libc::CPU_SETSIZE as usize).filter(|&c| rc == 0 && unsafe { libc::CPU_ISSET(c, &set) }).collect();
    if cpus.is_empty() {
        vec![0]
    } else {
        cpus
    }
}

/// Binds this thread to one CPU. Failure leaves it unbound, which only costs speed.
fn pin(cpu: usize) {
    // SAFETY: cpu_set_t is plain bits, the CPU comes from an affinity mask, and the size given is its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, std::mem::size_of_val(&set), &set);
    }
}
