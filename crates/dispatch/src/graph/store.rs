//! What the memory that a recording meets holds, as values of the program.
//!
//! Memory is found by address. The recording's own memory has addresses that no machine maps, so a stray access faults
//! instead of reading rubbish; the addresses keep all that PyTorch knows of views and storage true. Other memory is that
//! of the graph's inputs, or of a tensor that the graph holds as a constant.

use std::any::Any;
use std::collections::BTreeMap;

use tnrs_hlo::{Builder, HloError, Value};
use tnrs_softcore::ParamSpec;
use tnrs_types::{numel, Scalar};

use super::layout::{self, Layout};
use crate::host::Host;
use crate::raw::RawTensor;
use crate::CallError;

/// The first address of recorded memory: not canonical on 64-bit machines.
const FIRST: usize = 0x7000_0000_0000_0000;
/// Largest constant in host memory, in bytes, that becomes part of a program.
const MAX_LITERAL: usize = 1 << 20;

/// Where a parameter of the program gets its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Memory of an input, this many bytes behind its element 0.
    Input(u16, isize),
    /// The number in an input in host memory.
    Number(u16),
    /// Memory of a constant.
    Constant(u16, isize),
    /// The default generator's seed.
    Seed,
    /// The default generator's offset, plus this many blocks.
    Offset(u64),
}

/// Whose memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Recording,
    Input(u16),
    Constant(u16),
}

pub(super) struct Store {
    pub len: usize,
    pub owner: Owner,
    /// How `value` lies in the memory; for inputs, how the input does.
    pub home: Option<Layout>,
    /// What the memory holds; none: nothing was written, or, for other memory, what it held before.
    pub value: Option<Value>,
    /// Parameters that read the memory as it was before the program.
    pub params: Vec<(Layout, usize)>,
    /// More than one input lies here.
    pub shared: bool,
}

impl Store {
    fn new(len: usize, owner: Owner, home: Option<Layout>) -> Store {
        Store { len, owner, home, value: None, params: Vec::new(), shared: false }
    }
}

/// A tensor that a program keeps alive, and its address.
pub(super) struct Kept {
    pub addr: usize,
    _tensor: Box<dyn Any + Send + Sync>,
}

/// All memory of a recording, and the parameters of its program.
pub(super) struct Memory {
    pub stores: BTreeMap<usize, Store>,
    next: usize,
    pub sources: Vec<Source>,
    pub params: Vec<ParamSpec>,
    pub constants: Vec<Kept>,
    /// Inputs in host memory: number of the input, address.
    host_inputs: Vec<(u16, usize)>,
}

fn refused(e: HloError) -> CallError {
    CallError::Unsupported(e.to_string())
}

fn unknown(t: &RawTensor) -> CallError {
    CallError::Unsupported(format!("dtype code {} has no counterpart on the device", t.dtype))
}

impl Memory {
    pub fn new(inputs: &[RawTensor]) -> Memory {
        let mut m = Memory {
            stores: BTreeMap::new(),
            next: FIRST,
            sources: Vec::new(),
            params: Vec::new(),
            constants: Vec::new(),
            host_inputs: Vec::new(),
        };
        for (i, t) in inputs.iter().enumerate() {
            let (start, len) = t.extent();
            if !t.on_device() {
                m.host_inputs.push((i as u16, start));
            } else if len > 0 {
                m.add_input(i as u16, start, len, Layout::of(t));
            }
        }
        m
    }

    /// Inputs whose memories meet become one store.
    fn add_input(&mut self, input: u16, start: usize, len: usize, home: Option<Layout>) {
        let (mut lo, mut hi, mut shared) = (start, start + len, false);
        let (mut owner, mut first) = (Owner::Input(input), home);
        while let Some(at) =
            self.stores.range(..hi).next_back().map(|(a, s)| (*a, a + s.len)).filter(|s| s.1 > lo)
        {
            let old = self.stores.remove(&at.0).expect("the store was found at this address");
            (lo, hi, shared) = (lo.min(at.0), hi.max(at.1), true);
            (owner, first) = (old.owner, old.home);
        }
        self.stores.insert(lo, Store { shared, ..Store::new(hi - lo, owner, first) });
    }

    /// New memory of the recording.
    pub fn allocate(&mut self, bytes: usize) -> usize {
        let addr = self.next;
        self.next += bytes.max(1).next_multiple_of(64) + 64;
        self.stores.insert(addr, Store::new(bytes, Owner::Recording, None));
        addr
    }

    /// Start of the store that an address is in.
    pub fn find(&self, addr: usize) -> Option<usize> {
        let (start, store) = self.stores.range(..=addr).next_back()?;
        (addr < start + store.len.max(1)).then_some(*start)
    }

    /// The value of a tensor.
    ///
    /// # Safety
    /// The tensor's memory is valid when it is in host memory.
    pub unsafe fn read(
        &mut self,
        b: &mut Builder,
        t: &RawTensor,
        host: &mut dyn Host,
    ) -> Result<Value, CallError> {
        let view = Layout::of(t).ok_or_else(|| unknown(t))?;
        // Zeros without memory are autograd's undefined gradients.
        if view.dims.contains(&0) || t.data.is_null() {
            return b.splat(view.dtype, &view.dims, Scalar::Int(0)).map_err(refused);
        }
        if !t.on_device() {
            // SAFETY: the caller's promise.
            return unsafe { self.read_host(b, t, &view) };
        }
        let start = match self.find(view.addr) {
            Some(start) => start,
            None => self.constant(t, host),
        };
        self.read_at(b, start, &view)
    }

    pub fn read_at(&mut self, b: &mut Builder, start: usize, view: &Layout) -> Result<Value, CallError> {
        let store = &self.stores[&start];
        match (store.value, store.owner) {
            (Some(v), _) => {
                let home = store.home.as_ref().expect("a value has a layout");
                layout::read(b, v, home, view).map_err(refused)
            }
            // Memory that nothing was written to.
            (None, Owner::Recording) => b.splat(view.dtype, &view.dims, Scalar::Int(0)).map_err(refused),
            (None, _) => {
                let p = self.param(b, start, view);
                Ok(b.params()[p])
            }
        }
    }

    /// The parameter that reads memory of an input or constant as it was before the program.
    fn param(&mut self, b: &mut Builder, start: usize, view: &Layout) -> usize {
        let store = self.stores.get_mut(&start).expect("the store was found");
        if let Some((_, p)) = store.params.iter().find(|(l, _)| l.same(view)) {
            return *p;
        }
        let origin = store.home.as_ref().map_or(start, |h| h.addr) as isize;
        let delta = view.addr as isize - origin;
        self.sources.push(match store.owner {
            Owner::Constant(k) => Source::Constant(k, delta),
            Owner::Input(i) => Source::Input(i, delta),
            Owner::Recording => unreachable!("the recording's own memory is no parameter"),
        });
        self.params.push(ParamSpec::Tensor { strides: view.strides.clone() });
        b.param(view.ty());
        store.params.push((view.clone(), self.params.len() - 1));
        self.params.len() - 1
    }

    /// Keeps a tensor that is no input.
    fn constant(&mut self, t: &RawTensor, host: &mut dyn Host) -> usize {
        let (start, len) = t.extent();
        let owner = Owner::Constant(self.constants.len() as u16);
        self.constants.push(Kept { addr: start, _tensor: host.retain(t) });
        self.stores.insert(start, Store::new(len, owner, Layout::of(t)));
        start
    }

    /// # Safety
    /// The tensor's memory is valid.
    unsafe fn read_host(
        &mut self,
        b: &mut Builder,
        t: &RawTensor,
        view: &Layout,
    ) -> Result<Value, CallError> {
        if let Some((i, _)) = self.host_inputs.iter().find(|(_, addr)| *addr == view.addr) {
            if !view.dims.is_empty() {
                return Err(CallError::Unsupported("an input in host memory".to_owned()));
            }
            self.sources.push(Source::Number(*i));
            self.params.push(ParamSpec::Scalar);
            return Ok(b.param(view.ty()));
        }
        if numel(&view.dims) as usize * view.dtype.size() > MAX_LITERAL {
            return Err(CallError::Unsupported("a large constant in host memory".to_owned()));
        }
        // SAFETY: the caller's promise.
        let literal = unsafe { layout::literal(t, view) };
        b.constant(literal).map_err(refused)
    }

    /// Writes a tensor.
    pub fn write(&mut self, b: &mut Builder, t: &RawTensor, new: Value) -> Result<(), CallError> {
        let view = Layout::of(t).ok_or_else(|| unknown(t))?;
        if view.dims.contains(&0) {
            return Ok(());
        }
        let Some(start) = self.find(view.addr).filter(|_| t.on_device()) else {
            return Err(CallError::Unsupported("a write to memory that is no input".to_owned()));
        };
        let store = &self.stores[&start];
        if store.value.is_none() {
            let home = match store.owner {
                Owner::Recording if view.addr == start && view.is_dense() && view.extent() == store.len => {
                    view.clone()
                }
                Owner::Recording => whole(&view, start, store.len)?,
                _ => store.home.clone().ok_or_else(|| unknown(t))?,
            };
            // A first write of everything needs no old value.
            let old =
                if home.same(&view) || view.covers(&home) { new } else { self.read_at(b, start, &home)? };
            let store = self.stores.get_mut(&start).expect("the store was found");
            (store.value, store.home) = (Some(old), Some(home));
        }
        let store = self.stores.get_mut(&start).expect("the store was found");
        let (Some(old), Some(home)) = (store.value, store.home.as_ref()) else {
            unreachable!("both were set above")
        };
        store.value = Some(layout::write(b, old, home, &view, new).map_err(refused)?);
        Ok(())
    }
}

/// A store's memory as one line of a view's elements.
fn whole(view: &Layout, start: usize, len: usize) -> Result<Layout, CallError> {
    let size = view.dtype.size();
    if !len.is_multiple_of(size) || !(view.addr - start).is_multiple_of(size) {
        return Err(CallError::Unsupported("a write between elements".to_owned()));
    }
    Ok(Layout::dense(view.dtype, &[(len / size) as i64], start))
}
