//! Calls through the whole core, with a host that allocates from the runtime and infers by hand.
#![allow(missing_docs, reason = "a test")]

use std::ffi::c_void;

use tnrs_dispatch::raw::{Place, RawArg, RawTensor, Tag};
use tnrs_dispatch::{
    call, declare, row_count, row_name, ArgKind, CallError, Host, OutMeta, Schema, TensorType, Variant,
};
use tnrs_runtime::Runtime;
use tnrs_softcore::SoftcoreDriver;
use tnrs_types::{contiguous_strides, DType, Dims};

struct TestHost {
    metas: Vec<OutMeta>,
    asked: usize,
}

impl TestHost {
    fn new(dims: &[i64]) -> Self {
        let meta = OutMeta { ty: TensorType::new(DType::F32, dims), strides: contiguous_strides(dims) };
        TestHost { metas: vec![meta], asked: 0 }
    }
}

impl Host for TestHost {
    fn retain(&mut self, _: &RawTensor) -> Box<dyn std::any::Any + Send + Sync> {
        Box::new(())
    }
    fn meta(&mut self, _: bool) -> Result<Option<Vec<Option<OutMeta>>>, CallError> {
        self.asked += 1;
        Ok(Some(self.metas.iter().cloned().map(Some).collect()))
    }
    fn empty(
        &mut self,
        dims: &[i64],
        _: Option<&[i64]>,
        dtype: DType,
        device: i8,
    ) -> Result<RawTensor, CallError> {
        let bytes = tnrs_types::numel(dims) as usize * dtype.size();
        let block = Runtime::get()
            .alloc(device as usize, 0, bytes)
            .map_err(|e| CallError::OutOfMemory(e.to_string()))?;
        let dims = Dims::from_slice(dims);
        let strides = contiguous_strides(&dims);
        Ok(Owned::at(block.ptr, dims, strides).view())
    }
    fn discard(&mut self, _: RawTensor) {}
    fn shrink(&mut self, _: &RawTensor, _: &[i64]) -> Result<RawTensor, CallError> {
        Err(CallError::Runtime("no bounded result expected".to_owned()))
    }
    fn resize(&mut self, _: usize, _: Option<usize>, _: &[i64]) -> Result<RawTensor, CallError> {
        Err(CallError::Runtime("no resize expected".to_owned()))
    }
    fn philox(&mut self, _: *mut c_void, _: i8, _: u64) -> Result<(u64, u64), CallError> {
        Ok((1, 0))
    }
    fn python_stack(&mut self) -> Option<String> {
        None
    }
}

/// A tensor over memory that outlives the test; sizes and strides are leaked with it.
struct Owned {
    data: *mut u8,
    dims: &'static [i64],
    strides: &'static [i64],
}

impl Owned {
    fn at(data: *mut u8, dims: Dims, strides: Dims) -> Self {
        Owned { data, dims: Vec::leak(dims.to_vec()), strides: Vec::leak(strides.to_vec()) }
    }
    fn view(&self) -> RawTensor {
        RawTensor {
            data: self.data,
            sizes: self.dims.as_ptr(),
            strides: self.strides.as_ptr(),
            ndim: self.dims.len() as i32,
            dtype: DType::F32 as u8,
            device_type: Place::Neuron as u8,
            device_index: 0,
            flags: 0,
            handle: self.data.cast(),
        }
    }
}

fn runtime() -> &'static Runtime {
    match Runtime::try_get() {
        Some(r) => r,
        None => Runtime::init(Box::new(SoftcoreDriver::new().expect("the software core starts"))),
    }
}

fn tensor(values: &mut [f32], offset: usize, dims: &[i64]) -> RawTensor {
    let data = values[offset..].as_mut_ptr().cast();
    Owned::at(data, Dims::from_slice(dims), contiguous_strides(dims)).view()
}

fn arg(t: &RawTensor) -> RawArg {
    RawArg { tag: Tag::Tensor as u32, len: 0, bits: std::ptr::from_ref(t) as u64 }
}

fn number(v: f64) -> RawArg {
    RawArg { tag: Tag::Float as u32, len: 0, bits: v.to_bits() }
}

fn add(variant: Variant) -> u32 {
    let row = (0..row_count()).find(|&r| row_name(r) == "aten::add.Tensor").expect("add has a row");
    let in_place = variant == Variant::InPlace;
    let names = ["self", "other", "alpha"];
    let schema = Schema {
        name: if in_place { "aten::add_.Tensor" } else { "aten::add.Tensor" }.to_owned(),
        kinds: vec![ArgKind::Tensor, ArgKind::Tensor, ArgKind::Scalar],
        writes: vec![in_place, false, false],
        out_args: vec![false; 3],
        arg_names: names.iter().map(|n| (*n).to_owned()).collect(),
        ret_aliases: vec![in_place],
    };
    declare(row, variant, schema)
}

#[test]
fn a_changing_alpha_compiles_once() {
    runtime();
    let op = add(Variant::Own);
    let (mut a, mut b) = ([1.0f32, 2.0, 3.0], [10.0f32, 20.0, 30.0]);
    let (ta, tb) = (tensor(&mut a, 0, &[3]), tensor(&mut b, 0, &[3]));
    let mut host = TestHost::new(&[3]);
    for alpha in [0.5, 0.25, 3.0] {
        // SAFETY: the memory of every tensor outlives the calls.
        let rets = unsafe { call(op, &[arg(&ta), arg(&tb), number(alpha)], &mut host) }.expect("add runs");
        runtime().sync_stream(0, 0).expect("no fault");
        assert_eq!(rets.len(), 1);
        // SAFETY: the handle of a tensor of this host is its address.
        let out = unsafe { std::slice::from_raw_parts(rets[0].bits as *const f32, 3) };
        let want: Vec<f32> = a.iter().zip(&b).map(|(x, y)| x + alpha as f32 * y).collect();
        assert_eq!(out, want);
    }
    assert_eq!(host.asked, 1, "one miss, then hits");
}

#[test]
fn overlapping_memory_is_read_before_it_is_written() {
    runtime();
    let op = add(Variant::InPlace);
    let mut x: Vec<f32> = (0..1001).map(|i| i as f32).collect();
    let (head, tail) = (tensor(&mut x, 0, &[1000]), tensor(&mut x, 1, &[1000]));
    // SAFETY: as above.
    unsafe { call(op, &[arg(&tail), arg(&head), number(1.0)], &mut TestHost::new(&[1000])) }
        .expect("add_ runs");
    runtime().sync_stream(0, 0).expect("no fault");
    let want: Vec<f32> = (0..1001).map(|i| if i == 0 { 0.0 } else { (2 * i - 1) as f32 }).collect();
    assert_eq!(x, want);
}

#[test]
fn a_written_tensor_with_repeated_elements_is_refused() {
    runtime();
    let op = add(Variant::InPlace);
    let (mut a, mut b) = ([0.0f32], [1.0f32; 4]);
    let mut t = tensor(&mut a, 0, &[4]);
    t.strides = Vec::leak(vec![0]).as_ptr();
    let tb = tensor(&mut b, 0, &[4]);
    // SAFETY: as above.
    let error = unsafe { call(op, &[arg(&t), arg(&tb), number(1.0)], &mut TestHost::new(&[4])) };
    assert!(matches!(error, Err(CallError::Runtime(m)) if m.contains("more than one element")));
}

#[test]
fn host_tensors_and_other_devices_are_refused() {
    runtime();
    let op = add(Variant::Own);
    let (mut a, mut b) = ([0.0f32; 2], [1.0f32; 2]);
    let (ta, mut tb) = (tensor(&mut a, 0, &[2]), tensor(&mut b, 0, &[2]));
    for (place, index, name) in [(Place::Cpu, -1, "cpu"), (Place::Neuron, 1, "neuron:1")] {
        (tb.device_type, tb.device_index) = (place as u8, index);
        // SAFETY: as above.
        let error = unsafe { call(op, &[arg(&ta), arg(&tb), number(1.0)], &mut TestHost::new(&[2])) };
        let Err(CallError::Runtime(message)) = error else { panic!("mixed devices were accepted") };
        assert!(message.contains("neuron:0") && message.contains(name), "{message}");
    }
}
