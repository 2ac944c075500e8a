//! Faults, the driver, and independence of the number of threads.

mod common;

use std::sync::Arc;

use common::{difference, run};
use tnrs_hal::{Arg, Driver, Fault};
use tnrs_hlo::{Builder, Composite, Func, GatherDims, Literal, ReduceKind, TensorType};
use tnrs_softcore::{compile, CompileSpec, SoftcoreDriver};
use tnrs_types::{DType, Dims, Raises, Scalar};

/// `x[check(i)]` of rows.
fn lookup() -> Func {
    let mut b = Builder::new("lookup");
    let x = b.param(TensorType::new(DType::F32, &[4, 3]));
    let ty = TensorType::new(DType::I64, &[5, 1]);
    let i = b.param(ty.clone());
    let check =
        Composite::CheckIndex { lo: 0, hi: 4, site: "aten::embedding", dim: 0, raises: Raises::Index };
    let i = b.composite(check, &[i], &[ty]).unwrap()[0];
    let dims = GatherDims {
        offset_dims: Dims::from_slice(&[1]),
        collapsed_slice_dims: Dims::from_slice(&[0]),
        start_index_map: Dims::from_slice(&[0]),
        index_vector_dim: 1,
        slice_sizes: Dims::from_slice(&[1, 3]),
    };
    let y = b.gather(x, i, dims).unwrap();
    b.finish(&[y])
}

fn literal(ty: TensorType, f: impl Fn(usize) -> Scalar) -> Literal {
    let n: Vec<Scalar> = (0..ty.numel() as usize).map(f).collect();
    Literal::from_scalars(&ty, &n).unwrap()
}

#[test]
fn an_index_out_of_range_is_a_fault_and_writes_nothing() {
    let f = lookup();
    let exe = compile(&f, &CompileSpec::dense(&f)).unwrap();
    let (mut x, mut y) = ([1.0f32; 12], [7.0f32; 15]);
    let mut w = vec![0u128; exe.workspace_bytes() / 16 + 8];
    let w = w.as_mut_ptr().cast::<u8>();
    let w = w.wrapping_add(w.align_offset(64));
    for (bad, at) in [(4i64, 0), (-1, 4), (i64::MAX, 2)] {
        let mut i = [0i64, 1, 2, 3, 0];
        i[at] = bad;
        let args = [
            Arg::Memory(x.as_mut_ptr().cast()),
            Arg::Memory(i.as_mut_ptr().cast()),
            Arg::Memory(y.as_mut_ptr().cast()),
        ];
        // SAFETY: every argument has the elements that the function's types say.
        let fault = unsafe { exe.run(&args, w) }.unwrap_err();
        let raises = Raises::Index;
        let want = Fault::IndexOutOfRange { site: "aten::embedding", dim: 0, index: bad, size: 4, raises };
        assert_eq!(fault, want);
        assert_eq!(y, [7.0; 15]);
    }
}

#[test]
fn the_driver_conforms() {
    tnrs_hal::conformance::check(&SoftcoreDriver::with_settings(None, Some("2"), Some("64M")).unwrap());
}

#[test]
fn driver_allocates_copies_executes_and_records() {
    let d = SoftcoreDriver::with_settings(None, Some("2"), Some("64M")).unwrap();
    assert_eq!(d.device_count(), 2);
    assert!(d.host_visible());
    let bytes = 10 << 20;
    let (a, b) = (d.allocate(1, bytes).unwrap(), d.allocate(1, bytes).unwrap());
    assert_eq!((a as usize % 4096, b as usize % 4096), (0, 0));
    assert!(d.allocate(1, 60 << 20).is_err());
    let host: Vec<u8> = (0..bytes).map(|i| (i * 7 % 251) as u8).collect();
    let mut back = vec![0u8; bytes];
    let mut q = d.queue(1);
    let before = q.record();
    // SAFETY: all ranges are `bytes` long and disjoint.
    unsafe {
        q.copy(a, host.as_ptr(), bytes).unwrap();
        q.copy(b, a, bytes).unwrap();
        q.copy(back.as_mut_ptr(), b, bytes).unwrap();
    }
    q.synchronize().unwrap();
    assert_eq!(host, back);

    let f = lookup();
    let exe = compile(&f, &CompileSpec::dense(&f)).unwrap();
    let mut i = [9i64; 5];
    let args = [Arg::Memory(a), Arg::Memory(i.as_mut_ptr().cast()), Arg::Memory(b)];
    // SAFETY: device memory is larger than the operands, and the workspace of this program is empty.
    let fault = unsafe { q.execute(&Arc::clone(&exe), &args, back.as_mut_ptr()) };
    assert!(fault.is_err());
    assert!(q.synchronize().is_ok(), "a fault is reported once, and the queue is usable afterwards");
    let after = q.record();
    after.wait();
    assert!(after.is_complete() && after.completed_ns() >= before.completed_ns());
    // SAFETY: allocated above, nothing outstanding.
    unsafe {
        d.release(1, a, bytes);
        d.release(1, b, bytes);
    }
    let again = d.allocate(1, 60 << 20).unwrap();
    // SAFETY: as above.
    unsafe { d.release(1, again, 60 << 20) };
}

/// Sums and products of every shape class, large enough to be shared among threads.
fn reductions() -> Vec<Literal> {
    let mut out = Vec::new();
    for (dtype, dims, over) in [
        (DType::F32, vec![700, 900], vec![0, 1]),
        (DType::F32, vec![700, 900], vec![0]),
        (DType::F32, vec![700, 900], vec![1]),
        (DType::BF16, vec![20, 300, 100], vec![1]),
        (DType::I64, vec![600, 1000], vec![0]),
        (DType::F32, vec![100_000, 3], vec![0]),
        (DType::F32, vec![100_000, 3], vec![1]),
    ] {
        let mut b = Builder::new("sum");
        let ty = TensorType::new(dtype, &dims);
        let x = b.param(ty.clone());
        let y = b.mul(x, x).unwrap();
        let s = b.reduce(ReduceKind::Add, y, &over).unwrap();
        let f = b.finish(&[s, y]);
        let x = literal(ty, |i| Scalar::Int((i * 37 % 23) as i64 - 11));
        let found = run(&f, &CompileSpec::dense(&f), std::slice::from_ref(&x)).unwrap();
        let wanted = tnrs_hlo::interpret(&f, &[x]);
        for (f, w) in found.iter().zip(&wanted) {
            let d = difference(f, w, common::tolerance(dtype));
            assert_eq!(d, None, "{dtype:?} {dims:?} over {over:?}");
        }
        out.extend(found);
    }
    out
}

/// FNV-1a of the bits of all results.
fn digest(ls: &[Literal]) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325u64;
    for l in ls {
        let Literal::Dense(_, bytes) = l.to_dense() else { unreachable!("to_dense writes elements out") };
        for &b in bytes.iter() {
            h = (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    h
}

#[test]
fn reductions_do_not_depend_on_the_number_of_threads() {
    const CHILD: &str = "SOFTCORE_TEST_CHILD";
    let own = digest(&reductions());
    if std::env::var_os(CHILD).is_some() {
        println!("digest {own:016x}");
        return;
    }
    for threads in ["1", "2", "5"] {
        let out = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["reductions_do_not_depend", "--nocapture"])
            .env(CHILD, "1")
            .env("TORCH_NEURONX_SOFTCORE_THREADS", threads)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(text.contains(&format!("digest {own:016x}")), "{threads} threads: {text}");
    }
}
