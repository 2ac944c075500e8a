//! Tile programs from nodes: operands and loops.

use smallvec::SmallVec;
use tnrs_types::Dims;

use super::generate::Generator;
use super::node::{function_cost, Kind, NodeId, Random};
use super::{loc, Planner, Res};
use crate::step::program::{Operand, Program, Slot, MAX_OUTER, MAX_SLOTS, SCRATCH};
use crate::view::{collapse, View};

/// What to compile.
pub(super) struct Request<'a> {
    /// Pending nodes, operands first.
    pub order: &'a [NodeId],
    /// Which of them go to memory, and where.
    pub outputs: &'a [(NodeId, View)],
    /// Sizes of the region.
    pub dims: &'a Dims,
    /// Loop order, outermost first; by default that of the first output's memory.
    pub perm: Option<&'a [i64]>,
    /// Dims, in loop order, that must not merge with the one before.
    pub barrier: &'a [bool],
    /// A node whose tiles someone else reads.
    pub sink: Option<NodeId>,
    /// Memory whose position someone else follows, and the size of its elements.
    pub extra: &'a [(View, usize)],
    /// Most elements of a tile.
    pub max_tile: usize,
}

/// A compiled program.
pub(super) struct Compiled {
    pub program: Program,
    /// Slot of the sink's tile, in the type its arithmetic is done in.
    pub sink: Slot,
    /// Slot of the first of `extra`; the others follow.
    pub extra: Slot,
    pub cost: u64,
    /// For each loop dim, the first dim of `perm` that merged into it.
    pub first: Dims,
}

/// How an operand is reached from the inner loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Access {
    /// The tile is contiguous in memory.
    Direct,
    /// One element along the whole row.
    Scalar,
    /// A constant step, in elements.
    Strided(isize),
    /// Several rows to a tile.
    Nd,
}

/// An operand during compilation.
pub(super) struct Entry {
    pub view: View,
    /// Bytes of an element; 1 for a generator.
    pub size: usize,
    pub virt: bool,
    pub access: Access,
    /// Strides per loop dim, in elements.
    pub strides: Dims,
}

/// An inner loop shorter than this is worth packing several rows into a tile.
const SHORT_ROW: i64 = 48;
/// Registers and operands of a program should stay within half of a 48 KiB first-level cache.
const L1_BUDGET: usize = 24 << 10;

pub(super) fn compile(p: &Planner, r: &Request) -> Res<Compiled> {
    let mut entries: Vec<Entry> = Vec::with_capacity(r.order.len() + 4);
    let mut ordered = false;
    let add = |entries: &mut Vec<Entry>, view: &View, size: usize, virt: bool| {
        entries.push(Entry { view: view.clone(), size, virt, access: Access::Direct, strides: Dims::new() });
        entries.len() - 1
    };
    // Leaves in order of first use; `of` maps nodes to entries.
    let mut of: Vec<(NodeId, usize)> = Vec::with_capacity(r.order.len() + 2);
    let leaf = |entries: &mut Vec<Entry>, of: &mut Vec<(NodeId, usize)>, n: NodeId| {
        if let Kind::Leaf(v) = &p.nodes[n as usize].kind {
            if !of.iter().any(|o| o.0 == n) {
                let k = add(entries, v, p.nodes[n as usize].dtype.size(), false);
                of.push((n, k));
            }
        }
    };
    for (n, v) in r.outputs {
        add(&mut entries, v, p.nodes[*n as usize].dtype.size(), false);
    }
    let extra = entries.len() as Slot;
    for (v, size) in r.extra {
        add(&mut entries, v, *size, false);
    }
    for &n in r.order {
        match &p.nodes[n as usize].kind {
            Kind::Iota(v) => {
                ordered |= v.strides.iter().any(|&s| s != 0 && s != 1);
                let k = add(&mut entries, v, 1, true);
                of.push((n, k));
            }
            Kind::Philox(random) => {
                let Random { seed, offset, index } = &**random;
                ordered = true;
                let k = add(&mut entries, index, 1, true);
                of.push((n, k));
                for s in [seed, offset] {
                    let view = View::splat(s.buf, s.off, r.dims);
                    add(&mut entries, &view, 8, false);
                }
            }
            _ => {
                for &a in &p.nodes[n as usize].args {
                    leaf(&mut entries, &mut of, a);
                }
            }
        }
    }
    if let Some(n) = r.sink {
        leaf(&mut entries, &mut of, n);
    }

    let mut dims = r.dims.clone();
    let mut strides: Vec<Dims> = entries.iter().map(|e| e.view.strides.clone()).collect();
    let perm: Option<Dims> = match r.perm {
        Some(perm) => Some(Dims::from_slice(perm)),
        None if !ordered && dims.len() > 1 => memory_order(&entries[0].view),
        None => None,
    };
    if let Some(perm) = &perm {
        dims = perm.iter().map(|&d| r.dims[d as usize]).collect();
        for s in strides.iter_mut() {
            *s = perm.iter().map(|&d| s[d as usize]).collect();
        }
    }
    let mut first = collapse(&mut dims, &mut strides, r.barrier);
    if dims.is_empty() {
        dims.push(1);
        first.push(0);
        for s in strides.iter_mut() {
            s.push(1);
        }
    }
    for (e, s) in entries.iter_mut().zip(strides) {
        e.strides = s;
    }
    classify(&mut entries, &dims, r);
    let packed = entries.iter().any(|e| e.access == Access::Nd);

    if entries.len() >= MAX_SLOTS {
        return Err(p.too_large());
    }
    let mut gen = Generator::new(p, r, &entries, &of, &dims);
    let sink = gen.run()?;
    let (row, body, regs) = gen.parts();

    let widest = r
        .order
        .iter()
        .chain(r.sink.iter())
        .flat_map(|&n| {
            let node = &p.nodes[n as usize];
            node.args.iter().map(|&a| p.nodes[a as usize].dtype).chain([node.dtype])
        })
        .map(|d| d.opmath().size())
        .max()
        .unwrap_or(4);
    let full = regs.iter().filter(|&&f| f).count();
    let small = (regs.len() - full) * 16;
    let memory = entries.iter().filter(|e| !e.virt && e.access == Access::Direct).count();
    let tile = if full == 0 && body.len() <= 1 {
        4096
    } else {
        let fits = (SCRATCH - small.next_multiple_of(64)) / (full.max(1) * widest);
        let good = L1_BUDGET / ((full + memory).max(1) * widest);
        (good.clamp(64, 1024)).min(fits) & !15
    };
    let tile = tile.min(r.max_tile);
    if tile == 0 || dims.len() > MAX_OUTER {
        return Err(p.too_large());
    }
    let mut at = small.next_multiple_of(64) as u32;
    let mut at_small = 0;
    let regs: Box<[u32]> = regs
        .iter()
        .map(|&is_full| {
            let slot = if is_full { &mut at } else { &mut at_small };
            let off = *slot;
            *slot += if is_full { (tile * widest) as u32 } else { 16 };
            off
        })
        .collect();

    let elements: i64 = dims.iter().product();
    let mut per_element: f64 =
        r.order.iter().map(|&n| function_cost(&p.nodes[n as usize].kind, p.nodes[n as usize].dtype)).sum();
    for e in entries.iter().filter(|e| !e.virt) {
        per_element += match e.access {
            Access::Direct => e.size as f64 * 0.033,
            Access::Scalar => 0.0,
            Access::Strided(_) | Access::Nd => 0.6 + e.size as f64 * 0.033,
        };
    }
    let (outer, inner) = if packed {
        (SmallVec::new(), elements)
    } else {
        (SmallVec::from_slice(&dims[..dims.len() - 1]), dims[dims.len() - 1])
    };
    let rows: i64 = outer.iter().product();
    let tiles = rows * ((inner + tile as i64 - 1) / tile as i64);
    let cost = elements as f64 * per_element + tiles as f64 * (3.0 + 2.0 * body.len() as f64);
    let operands = entries
        .iter()
        .map(|e| {
            let unit = e.size as i64;
            let last = e.strides.len() - 1;
            let flat = match e.access {
                Access::Direct => 1,
                _ => 0,
            };
            Operand {
                loc: loc(&e.view),
                virt: e.virt,
                outer: if packed {
                    SmallVec::new()
                } else {
                    e.strides[..last].iter().map(|s| s * unit).collect()
                },
                inner: unit * if packed { flat } else { e.strides[last] },
            }
        })
        .collect();
    Ok(Compiled {
        program: Program { outer, inner, tile, operands, regs, row, body },
        sink,
        extra,
        cost: cost as u64 + 10,
        first,
    })
}

/// Loop order that walks a view's memory forwards; `None` when that is the natural one.
fn memory_order(view: &View) -> Option<Dims> {
    let key = |d: i64| {
        let d = d as usize;
        if view.dims[d] == 1 {
            None
        } else {
            Some(view.strides[d].abs())
        }
    };
    let mut perm: Dims = (0..view.dims.len() as i64).collect();
    let sorted = perm.iter().filter_map(|&d| key(d)).collect::<SmallVec<[i64; 6]>>();
    if sorted.windows(2).all(|w| w[0] >= w[1]) {
        return None;
    }
    perm.sort_by_key(|&d| std::cmp::Reverse(key(d).unwrap_or(i64::MAX)));
    Some(perm)
}

/// Decides how each operand is reached, and whether rows are packed (then an operand is `Nd`).
fn classify(entries: &mut [Entry], dims: &Dims, r: &Request) {
    let last = dims.len() - 1;
    let simple = |s: i64| match s {
        1 => Access::Direct,
        0 => Access::Scalar,
        s => Access::Strided(s as isize),
    };
    let packable = last > 0 && dims[last] < SHORT_ROW && r.sink.is_none() && r.extra.is_empty();
    if packable {
        let flat = |e: &Entry| {
            if e.strides.iter().all(|&s| s == 0) {
                Access::Scalar
            } else if tnrs_types::is_contiguous(dims, &e.strides) {
                Access::Direct
            } else {
                Access::Nd
            }
        };
        let generators_are_flat = entries.iter().all(|e| !e.virt || flat(e) != Access::Nd);
        if generators_are_flat {
            for e in entries.iter_mut() {
                e.access = flat(e);
            }
            return;
        }
    }
    for e in entries.iter_mut() {
        e.access = simple(e.strides[last]);
    }
}
