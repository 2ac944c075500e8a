//! Tile programs from nodes: instructions and registers.
//!
//! Values of narrow types have two forms: `raw` (as in memory) and `wide` (their opmath). Arithmetic reads and gives the wide
//! form; a result that the type cannot hold exactly is rounded to raw before anybody reads it. A value that is one
//! element along the row is computed once a row, in a small register.

use smallvec::SmallVec;
use tnrs_kernels::tile::{self, Fused, Mode, TileFn};
use tnrs_types::{BinaryKind, DType, Dims, UnaryKind};

use super::node::{Kind, Node, NodeId};
use super::tile::{Access, Entry, Request};
use super::{BufKind, Planner, Res};
use crate::step::moves::move_tile;
use crate::step::program::{Inst, Nd, Slot, MAX_SLOTS};
use crate::CompileError;

/// A slot, and whether it holds one element for the whole row.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    slot: Slot,
    scalar: bool,
}

/// What exists of a node.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    raw: Option<Place>,
    wide: Option<Place>,
    /// Reads to come.
    left: u32,
}

#[derive(Clone, Copy, Debug)]
struct Reg {
    full: bool,
    size: usize,
    refs: u32,
}

/// References of a register that is never reused.
const PINNED: u32 = u32::MAX / 2;

pub(super) struct Generator<'a, 'f> {
    p: &'a Planner<'f>,
    r: &'a Request<'a>,
    entries: &'a [Entry],
    of: &'a [(NodeId, usize)],
    dims: &'a Dims,
    states: Vec<(NodeId, State)>,
    regs: Vec<Reg>,
    row: Vec<Inst>,
    body: Vec<Inst>,
    /// Outputs that a register holds until the end: (register, output).
    late: SmallVec<[(Place, usize); 2]>,
}

impl<'a, 'f> Generator<'a, 'f> {
    pub fn new(
        p: &'a Planner<'f>,
        r: &'a Request<'a>,
        entries: &'a [Entry],
        of: &'a [(NodeId, usize)],
        dims: &'a Dims,
    ) -> Self {
        Generator {
            p,
            r,
            entries,
            of,
            dims,
            states: Vec::with_capacity(r.order.len() + of.len()),
            regs: Vec::new(),
            row: Vec::new(),
            body: Vec::new(),
            late: SmallVec::new(),
        }
    }

    /// Generates the program; returns the sink's slot (0 without sink).
    pub fn run(&mut self) -> Res<Slot> {
        for &n in self.r.order {
            self.count(n);
        }
        for &n in self.r.order {
            for k in 0..self.node(n).args.len() {
                let a = self.node(n).args[k];
                self.count(a);
                self.state(a).left += 1;
            }
        }
        if let Some(n) = self.r.sink {
            self.count(n);
            self.state(n).left += 1;
        }
        for i in 0..self.r.order.len() {
            let n = self.r.order[i];
            self.compute(n, i + 1 == self.r.order.len())?;
            if self.regs.len() + self.entries.len() > MAX_SLOTS {
                return Err(self.p.too_large());
            }
        }
        let sink = match self.r.sink {
            Some(n) => {
                let wide = self.node(n).dtype.is_narrow();
                self.get(n, wide, false)?.slot
            }
            None => 0,
        };
        for (place, k) in std::mem::take(&mut self.late) {
            self.store(place, k)?;
        }
        Ok(sink)
    }

    /// Row instructions, body instructions, and for each register whether it holds a full tile.
    pub fn parts(self) -> (Box<[Inst]>, Box<[Inst]>, Vec<bool>) {
        (self.row.into(), self.body.into(), self.regs.iter().map(|r| r.full).collect())
    }

    fn node(&self, n: NodeId) -> &'a Node {
        &self.p.nodes[n as usize]
    }

    fn count(&mut self, n: NodeId) {
        if !self.states.iter().any(|s| s.0 == n) {
            self.states.push((n, State::default()));
        }
    }

    fn state(&mut self, n: NodeId) -> &mut State {
        let s = self.states.iter_mut().find(|s| s.0 == n);
        &mut s.expect("every node of a region has a state").1
    }

    fn entry(&self, n: NodeId) -> usize {
        let e = self.of.iter().find(|o| o.0 == n);
        e.expect("every leaf and generator of a region is an operand").1
    }

    fn register(&mut self, full: bool, size: usize) -> Slot {
        if full {
            for (i, r) in self.regs.iter_mut().enumerate() {
                if r.full && r.refs == 0 {
                    r.refs = 1;
                    r.size = size;
                    return (self.entries.len() + i) as Slot;
                }
            }
        }
        self.new_register(full, size, if full { 1 } else { PINNED })
    }

    fn new_register(&mut self, full: bool, size: usize, refs: u32) -> Slot {
        self.regs.push(Reg { full, size, refs });
        // Slots beyond the table are refused after each node, before anything uses the number.
        (self.entries.len() + self.regs.len() - 1) as Slot
    }

    fn reg(&mut self, place: Place) -> Option<&mut Reg> {
        let i = (place.slot as usize).checked_sub(self.entries.len())?;
        self.regs.get_mut(i)
    }

    fn retain(&mut self, place: Place) {
        if let Some(r) = self.reg(place) {
            r.refs += 1;
        }
    }

    fn release(&mut self, place: Place) {
        if let Some(r) = self.reg(place) {
            r.refs -= 1;
        }
    }

    /// One read of a node is over.
    fn used(&mut self, n: NodeId) {
        let s = self.state(n);
        s.left -= 1;
        if s.left == 0 {
            let (raw, wide) = (s.raw.take(), s.wide.take());
            for place in raw.into_iter().chain(wide) {
                self.release(place);
            }
        }
    }

    fn call(&mut self, f: TileFn, dst: Place, src: &[Slot]) {
        let mut slots = [0; 3];
        slots[..src.len()].copy_from_slice(src);
        let src = slots;
        if dst.scalar {
            self.row.push(Inst::One { f, dst: dst.slot, src });
        } else {
            self.body.push(Inst::Call { f, dst: dst.slot, src });
        }
    }

    fn fresh(&mut self, scalar: bool, size: usize) -> Place {
        Place { slot: self.register(!scalar, size), scalar }
    }

    fn convert(&self, from: DType, to: DType) -> Res<TileFn> {
        tile::convert(from, to).ok_or_else(|| self.missing("convert", &[from, to]))
    }

    fn missing(&self, op: &str, types: &[DType]) -> CompileError {
        let names: Vec<&str> = types.iter().map(|t| t.hlo_name()).collect();
        CompileError::Unsupported {
            func: self.p.func.name.clone(),
            op: op.to_owned(),
            detail: names.join(", "),
        }
    }

    /// The place of a node in the form asked for; with `keep` it may be one element for the row.
    fn get(&mut self, n: NodeId, wide: bool, keep: bool) -> Res<Place> {
        let dtype = self.node(n).dtype;
        let state = *self.state(n);
        let have = if wide { state.wide } else { state.raw };
        let mut place = match have {
            Some(p) => p,
            None => {
                let other = if wide { state.raw } else { state.wide };
                let source = match other {
                    Some(p) => p,
                    None => {
                        let p = self.load(n)?;
                        self.state(n).raw = Some(p);
                        p
                    }
                };
                if other.is_none() && !wide {
                    source
                } else {
                    let math = dtype.opmath();
                    let (from, to) = if wide { (dtype, math) } else { (math, dtype) };
                    let f = self.convert(from, to)?;
                    let p = self.fresh(source.scalar, to.size());
                    self.call(f, p, &[source.slot]);
                    p
                }
            }
        };
        if place.scalar && !keep {
            let size = if wide { dtype.opmath().size() } else { dtype.size() };
            // Filled once a row, so no instruction of the body may have the register at any time.
            let slot = self.new_register(true, size, PINNED);
            self.row.push(Inst::Call { f: tile::splat(size), dst: slot, src: [place.slot, 0, 0] });
            place = Place { slot, scalar: false };
        }
        let state = self.state(n);
        *(if wide { &mut state.wide } else { &mut state.raw }) = Some(place);
        Ok(place)
    }

    /// Brings a leaf within reach.
    fn load(&mut self, n: NodeId) -> Res<Place> {
        let k = self.entry(n);
        let e = &self.entries[k];
        let src = k as Slot;
        let direct = Place { slot: src, scalar: e.access == Access::Scalar };
        match e.access {
            Access::Direct | Access::Scalar => Ok(direct),
            Access::Strided(steps) => {
                let stride = steps * e.size as isize;
                let dst = self.register(true, e.size);
                self.body.push(Inst::Load { f: tile::load_strided(e.size), dst, src, stride });
                Ok(Place { slot: dst, scalar: false })
            }
            Access::Nd => {
                let dst = self.register(true, e.size);
                let nd = self.nd(e, tile::load_strided(e.size));
                self.body.push(Inst::LoadNd { nd, dst, src });
                Ok(Place { slot: dst, scalar: false })
            }
        }
    }

    fn nd(&self, e: &Entry, copy: tile::StridedFn) -> Box<Nd> {
        Box::new(Nd {
            dims: SmallVec::from_slice(self.dims),
            strides: e.strides.iter().map(|s| s * e.size as i64).collect(),
            size: e.size,
            copy,
        })
    }

    /// The output that a node is, if any.
    fn output(&self, n: NodeId) -> Option<usize> {
        self.r.outputs.iter().position(|o| o.0 == n)
    }

    /// Whether writing output `k` could change what a later instruction reads.
    fn endangers(&self, k: usize) -> bool {
        let written = &self.r.outputs[k].1;
        match self.p.bufs[written.buf as usize] {
            BufKind::Result(i) => self.p.spec.results[i as usize].alias.is_some(),
            _ => false,
        }
    }

    fn compute(&mut self, n: NodeId, last: bool) -> Res<()> {
        let node = self.node(n);
        let output = self.output(n);
        // The register or memory that the node's tile is made in.
        let direct =
            output.filter(|&k| self.entries[k].access == Access::Direct && (last || !self.endangers(k)));
        let target = direct.map(|k| Place { slot: k as Slot, scalar: false });
        let reduced = node.dtype.is_narrow();
        match &node.kind {
            Kind::Bitcast => {
                let a = self.get(node.args[0], false, true)?;
                self.retain(a);
                self.state(n).raw = Some(a);
                self.used(node.args[0]);
            }
            Kind::Convert if self.same_form(node) => {
                // The opmath of a narrow type is its wide form; a narrow type from another goes through that.
                let wide = self.node(node.args[0]).dtype != node.dtype;
                let a = self.get(node.args[0], wide, true)?;
                self.retain(a);
                self.state(n).raw = Some(a);
                self.used(node.args[0]);
            }
            Kind::Convert => {
                let from = self.node(node.args[0]).dtype;
                let via = from.is_narrow();
                let a = self.get(node.args[0], via, true)?;
                let f = self.convert(from.opmath(), node.dtype)?;
                let dst = self.result(node.args.as_slice(), a.scalar, target, node.dtype.size());
                self.call(f, dst, &[a.slot]);
                self.state(n).raw = Some(dst);
            }
            Kind::Select if reduced => {
                let [c, a, b] = [node.args[0], node.args[1], node.args[2]];
                let wide = self.state(a).raw.is_none() && self.state(a).wide.is_some()
                    || self.state(b).raw.is_none() && self.state(b).wide.is_some();
                let size = if wide { node.dtype.opmath().size() } else { node.dtype.size() };
                let places = [self.get(c, false, true)?, self.get(a, wide, true)?, self.get(b, wide, true)?];
                let dst =
                    self.apply(node, places, tile::select(size), size, target.filter(|_| !wide), wide)?;
                let state = self.state(n);
                *(if wide { &mut state.wide } else { &mut state.raw }) = Some(dst);
            }
            Kind::Iota(_) | Kind::Philox(_) => {
                let p = self.source(n, node, target)?;
                let state = self.state(n);
                if reduced {
                    state.wide = Some(p);
                } else {
                    state.raw = Some(p);
                }
            }
            _ => {
                let to_wide = reduced;
                let dst = self.arithmetic(node, target.filter(|_| !to_wide))?;
                let state = self.state(n);
                if to_wide {
                    state.wide = Some(dst);
                } else {
                    state.raw = Some(dst);
                }
            }
        }
        // Round at once unless the type holds the result exactly; nobody may see more digits.
        let state = *self.state(n);
        if let (None, Some(wide)) = (state.raw, state.wide) {
            if output.is_some() || !exact(node) {
                let f = self.convert(node.dtype.opmath(), node.dtype)?;
                let dst = match target.filter(|_| !wide.scalar) {
                    Some(t) => t,
                    None => self.fresh(wide.scalar, node.dtype.size()),
                };
                self.call(f, dst, &[wide.slot]);
                let rounded = !exact(node);
                let state = self.state(n);
                state.raw = Some(dst);
                if rounded {
                    state.wide = None;
                    self.release(wide);
                }
            }
        }
        if let Some(k) = output {
            let raw = self.get(n, false, true)?;
            if raw.slot as usize != k {
                if last || !self.endangers(k) {
                    self.store(raw, k)?;
                } else {
                    self.retain(raw);
                    self.late.push((raw, k));
                }
            }
        }
        if self.state(n).left == 0 {
            let s = self.state(n);
            let (raw, wide) = (s.raw.take(), s.wide.take());
            for place in raw.into_iter().chain(wide) {
                self.release(place);
            }
        }
        Ok(())
    }

    /// A conversion that changes no bits of the form that arithmetic uses.
    fn same_form(&self, node: &Node) -> bool {
        let from = self.node(node.args[0]).dtype;
        from == node.dtype || (from.is_narrow() && node.dtype == from.opmath())
    }

    /// Where a result goes, after its operands have been read for the last time.
    fn result(&mut self, args: &[NodeId], scalar: bool, target: Option<Place>, size: usize) -> Place {
        // A register may be written while it is read only by elements of equal size.
        let mut held: SmallVec<[Place; 3]> = SmallVec::new();
        for &a in args {
            let s = *self.state(a);
            for place in s.raw.into_iter().chain(s.wide) {
                let other = self.reg(place).is_some_and(|r| r.size != size);
                if other {
                    self.retain(place);
                    held.push(place);
                }
            }
        }
        for &a in args {
            self.used(a);
        }
        let dst = match target {
            Some(t) if !scalar => t,
            _ => self.fresh(scalar, size),
        };
        for place in held {
            self.release(place);
        }
        dst
    }

    /// Applies a primitive of three operands; all scalar, or all tiles.
    fn apply(
        &mut self,
        node: &Node,
        mut places: [Place; 3],
        f: TileFn,
        size: usize,
        target: Option<Place>,
        wide: bool,
    ) -> Res<Place> {
        let count = node.args.len();
        let scalar = places[..count].iter().all(|p| p.scalar);
        if !scalar {
            for (i, place) in places[..count].iter_mut().enumerate() {
                if place.scalar {
                    let reduced = self.node(node.args[i]).dtype.is_narrow();
                    *place = self.get(node.args[i], wide && reduced, false)?;
                }
            }
        }
        let dst = self.result(&node.args, scalar, target, size);
        self.call(f, dst, &places.map(|p| p.slot));
        Ok(dst)
    }

    fn arithmetic(&mut self, node: &Node, target: Option<Place>) -> Res<Place> {
        let t = self.node(*node.args.last().expect("arithmetic has operands")).dtype;
        let math = t.opmath();
        let wide = t.is_narrow();
        let size = node.dtype.opmath().size();
        if let Kind::Binary(_) | Kind::Compare(_) = node.kind {
            let a = self.get(node.args[0], wide, true)?;
            let b = self.get(node.args[1], wide, true)?;
            let mode = match (a.scalar, b.scalar) {
                (false, true) => Mode::VS,
                (true, false) => Mode::SV,
                _ => Mode::VV,
            };
            let f = match node.kind {
                Kind::Binary(k) => tile::binary(k, math, mode),
                Kind::Compare(d) => tile::compare(d, math, mode),
                _ => None,
            };
            let f = f.ok_or_else(|| self.missing(&format!("{:?}", node.kind), &[t]))?;
            let dst = self.result(&node.args, a.scalar && b.scalar, target, size);
            self.call(f, dst, &[a.slot, b.slot]);
            return Ok(dst);
        }
        let f = match node.kind {
            Kind::Unary(k) => tile::unary(k, math),
            Kind::Clamp => tile::clamp(math),
            Kind::Fused(k) => tile::fused(k, math),
            Kind::Select => Some(tile::select(size)),
            _ => None,
        };
        let f = f.ok_or_else(|| self.missing(&format!("{:?}", node.kind), &[t]))?;
        let mut places = [Place { slot: 0, scalar: true }; 3];
        for (i, &a) in node.args.iter().enumerate() {
            let reduced = self.node(a).dtype.is_narrow();
            places[i] = self.get(a, wide && reduced, true)?;
        }
        if let (Kind::Fused(Fused::MulAdd), [a, b, c]) = (&node.kind, places) {
            if a.scalar != b.scalar && c.scalar {
                let f = tile::fused(Fused::Affine, math).ok_or_else(|| self.missing("affine", &[t]))?;
                let (a, b) = if a.scalar { (b, a) } else { (a, b) };
                let dst = self.result(&node.args, false, target, size);
                self.call(f, dst, &[a.slot, b.slot, c.slot]);
                return Ok(dst);
            }
        }
        self.apply(node, places, f, size, target, wide)
    }

    /// A tile that comes from no memory.
    fn source(&mut self, n: NodeId, node: &Node, target: Option<Place>) -> Res<Place> {
        let k = self.entry(n);
        let e = &self.entries[k];
        let src = k as Slot;
        let math = node.dtype.opmath();
        let reduced = node.dtype.is_narrow();
        let scalar = e.access == Access::Scalar;
        let dst = match target {
            Some(t) if !reduced && !scalar => t.slot,
            _ => self.register(!scalar, math.size()),
        };
        if let Kind::Philox(_) = node.kind {
            self.body.push(Inst::Philox { dst, src, seed: src + 1, offset: src + 2 });
        } else {
            let f = tile::iota(math).ok_or_else(|| self.missing("iota", &[node.dtype]))?;
            let one = e.access == Access::Scalar;
            let inst = Inst::Iota { f, dst, src, one };
            if one {
                self.row.push(inst);
            } else {
                self.body.push(inst);
            }
        }
        Ok(Place { slot: dst, scalar })
    }

    /// A finished tile (or row element) into output `k`.
    fn store(&mut self, place: Place, k: usize) -> Res<()> {
        let e = &self.entries[k];
        let dst = k as Slot;
        match e.access {
            Access::Direct if place.scalar => {
                self.body.push(Inst::Call { f: tile::splat(e.size), dst, src: [place.slot, 0, 0] })
            }
            Access::Direct => {
                self.body.push(Inst::Call { f: move_tile(e.size), dst, src: [place.slot, 0, 0] })
            }
            _ => {
                let src = if place.scalar {
                    let full = self.register(true, e.size);
                    self.body.push(Inst::Call { f: tile::splat(e.size), dst: full, src: [place.slot, 0, 0] });
                    full
                } else {
                    place.slot
                };
                match e.access {
                    Access::Nd => {
                        let nd = self.nd(e, tile::store_strided(e.size));
                        self.body.push(Inst::StoreNd { nd, dst, src });
                    }
                    Access::Strided(steps) => self.body.push(Inst::Store {
                        f: tile::store_strided(e.size),
                        dst,
                        src,
                        stride: steps * e.size as isize,
                    }),
                    // Every element of the row has the same address: the last one stays.
                    _ => self.body.push(Inst::One { f: move_tile(e.size), dst, src: [src, 0, 0] }),
                }
            }
        }
        Ok(())
    }
}

/// Whether a result of reduced floats is one without rounding.
fn exact(node: &Node) -> bool {
    match node.kind {
        Kind::Unary(u) => matches!(
            u,
            UnaryKind::Abs
                | UnaryKind::Ceil
                | UnaryKind::Floor
                | UnaryKind::Negate
                | UnaryKind::RoundNearestAfz
                | UnaryKind::RoundNearestEven
                | UnaryKind::Sign
                | UnaryKind::Trunc
                | UnaryKind::Real
                | UnaryKind::Conj
        ),
        Kind::Binary(b) => matches!(b, BinaryKind::Maximum | BinaryKind::Minimum),
        Kind::Select | Kind::Clamp => true,
        _ => false,
    }
}
