//! What the runtime itself costs: nanoseconds per operation over the null driver, fastest of 100 rounds.
//! Run with `cargo run --release -p tnrs-runtime --example overhead`.
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Instant;
use tnrs_hal::null::{HostExecutable, NullDriver};
use tnrs_hal::Executable;
use tnrs_runtime::{Block, Event, Launch, Runtime};

const ROUNDS: usize = 100;

/// Prints the cost of one of `per_round` operations.
fn measure(name: &str, per_round: usize, mut round: impl FnMut()) {
    let fastest = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            round();
            start.elapsed()
        })
        .min()
        .expect("there are rounds");
    println!("{name:<44} {:8.1} ns", fastest.as_nanos() as f64 / per_round as f64);
}

fn main() {
    let rt = Runtime::init(Box::new(NullDriver::new(1, 8 << 30, 2)));
    const N: usize = 10_000;
    for bytes in [512, 40_000, 4 << 20] {
        measure(&format!("alloc + free, {bytes} bytes"), N, || {
            for _ in 0..N {
                let block = rt.alloc(0, 0, black_box(bytes)).expect("memory");
                // SAFETY: the block is freed once and nothing uses it.
                unsafe { rt.free(black_box(block.ctx)) };
            }
        });
    }
    let mut window: Vec<Option<Block>> = vec![None; 64];
    measure("alloc + free, mixed sizes, 64 live", N, || {
        for i in 0..N {
            let slot = &mut window[i * 7 % 64];
            if let Some(block) = slot.take() {
                // SAFETY: as above.
                unsafe { rt.free(block.ctx) };
            }
            *slot = Some(rt.alloc(0, 0, 256 << (i * 11 % 12)).expect("memory"));
        }
    });
    let exe = HostExecutable::shared("empty", 100, |args| {
        black_box(args);
        Ok(())
    });
    let args = [tnrs_hal::Arg::Memory(null_mut()); 3];
    let launch = |exe: &Arc<dyn Executable>| {
        // SAFETY: the program touches no memory.
        unsafe { rt.launch(0, 0, Launch { exe, args: &args, workspace: null_mut(), stack: None }) }
            .expect("launch");
    };
    measure("the program alone", N, || {
        for _ in 0..N {
            // SAFETY: the program touches no memory.
            unsafe { black_box(&exe).run(&args, null_mut()) }.expect("run");
        }
    });
    measure("launch inline", N, || {
        (0..N).for_each(|_| launch(&exe));
    });
    measure("synchronise an idle stream", N, || {
        (0..N).for_each(|_| rt.sync_stream(0, 0).expect("sync"));
    });
    let event = Event::new(false);
    measure("record an event on an idle stream", N, || {
        (0..N).for_each(|_| rt.record_event(&event, 0, 0).expect("record"));
    });
    let slow = HostExecutable::shared("queued", 1_000_000, |_| Ok(()));
    measure("launch to the worker, 1000 at a time", 1000, || {
        (0..1000).for_each(|_| launch(&slow));
        rt.sync_stream(0, 0).expect("sync");
    });
    measure("launch to the worker and synchronise", 200, || {
        for _ in 0..200 {
            launch(&slow);
            rt.sync_stream(0, 0).expect("sync");
        }
    });
}
