//! A forked child refuses work instead of hanging on workers that it does not have.
use tnrs_hal::null::NullDriver;
use tnrs_runtime::{is_bad_fork, Runtime};

#[test]
fn a_child_refuses_and_the_parent_goes_on() {
    let rt = Runtime::init(Box::new(NullDriver::new(1, 64 << 20, 2)));
    let block = rt.alloc(0, 0, 1000).unwrap();
    assert!(!is_bad_fork());
    // SAFETY: the child only reads atomics and builds two error values before it ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused = is_bad_fork()
            && rt.sync_stream(0, 0).is_err_and(|e| e.to_string().contains("spawn"))
            && rt.alloc(0, 0, 10).is_err_and(|e| e.to_string().contains("spawn"));
        // SAFETY: the block is live; freeing in a bad fork does nothing.
        unsafe {
            rt.free(block.ctx);
            libc::_exit(if refused { 0 } else { 1 });
        }
    }
    let mut status = -1;
    // SAFETY: waits for the child of the line above.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child saw both refusals");
    assert!(!is_bad_fork());
    rt.sync_device(0).unwrap();
    // SAFETY: the block is live and freed once in this process.
    unsafe { rt.free(block.ctx) };
}
