//! Against StableHLO's definition, element by element.

use proptest::prelude::*;
use tnrs_types::{contiguous_strides, numel, DType, Dims, ScatterKind};

use super::{Gather, GatherDesc, Scatter, ScatterDesc};
use crate::pool::Pool;

/// Row-major coordinates of a flat index.
fn unravel(dims: &[i64], flat: i64) -> Vec<i64> {
    let mut rest = flat;
    let mut at = vec![0; dims.len()];
    for d in (0..dims.len()).rev() {
        at[d] = rest % dims[d];
        rest /= dims[d];
    }
    at
}

fn dot(at: &[i64], strides: &[i64]) -> usize {
    at.iter().zip(strides).map(|(a, s)| a * s).sum::<i64>() as usize
}

/// The full index that box element `at` addresses before any offset inside the box, per far dim.
fn start(
    indices: &[i64],
    dims: &[i64],
    batch: &[i64],
    vector_dim: i64,
    map: &[i64],
    rank: usize,
) -> Vec<i64> {
    let strides = contiguous_strides(dims);
    let mut start = vec![0; rank];
    for (c, &d) in map.iter().enumerate() {
        let mut at = batch.to_vec();
        if (vector_dim as usize) < dims.len() {
            at.insert(vector_dim as usize, c as i64);
        }
        start[d as usize] = indices[dot(&at, &strides)];
    }
    start
}

fn naive_gather(d: &GatherDesc, operand: &[i32], indices: &[i64]) -> Vec<i32> {
    let strides = contiguous_strides(&d.operand);
    let kept: Vec<usize> =
        (0..d.operand.len()).filter(|&i| !d.collapsed_slice_dims.contains(&(i as i64))).collect();
    (0..numel(&d.result))
        .map(|flat| {
            let at = unravel(&d.result, flat);
            let batch: Vec<i64> =
                (0..at.len()).filter(|&i| !d.offset_dims.contains(&(i as i64))).map(|i| at[i]).collect();
            let mut full =
                start(indices, &d.indices, &batch, d.index_vector_dim, &d.start_index_map, d.operand.len());
            for (i, f) in full.iter_mut().enumerate() {
                *f = (*f).clamp(0, d.operand[i] - d.slice_sizes[i]);
            }
            for (k, &o) in kept.iter().zip(&d.offset_dims) {
                full[*k] += at[o as usize];
            }
            operand[dot(&full, &strides)]
        })
        .collect()
}

fn naive_scatter(d: &ScatterDesc, result: &mut [i32], indices: &[i64], updates: &[i32]) {
    let strides = contiguous_strides(&d.result);
    let kept: Vec<usize> =
        (0..d.result.len()).filter(|&i| !d.inserted_window_dims.contains(&(i as i64))).collect();
    let batch = |at: &[i64]| -> Vec<i64> {
        let outside = (0..at.len()).filter(|&i| !d.update_window_dims.contains(&(i as i64)));
        outside.map(|i| at[i]).collect()
    };
    // Updates in the order of their index vectors.
    let mut order: Vec<i64> = (0..numel(&d.updates)).collect();
    order.sort_by_key(|&flat| batch(&unravel(&d.updates, flat)));
    for flat in order {
        let at = unravel(&d.updates, flat);
        let batch = batch(&at);
        let mut full = start(
            indices,
            &d.indices,
            &batch,
            d.index_vector_dim,
            &d.scatter_dims_to_operand_dims,
            d.result.len(),
        );
        for (k, &o) in kept.iter().zip(&d.update_window_dims) {
            full[*k] += at[o as usize];
        }
        if full.iter().zip(&d.result).any(|(&f, &n)| f < 0 || f >= n) {
            continue;
        }
        let r = &mut result[dot(&full, &strides)];
        let u = updates[flat as usize];
        *r = match d.kind {
            ScatterKind::Set => u,
            ScatterKind::Add => r.wrapping_add(u),
            ScatterKind::Multiply => r.wrapping_mul(u),
            ScatterKind::Maximum => (*r).max(u),
            ScatterKind::Minimum => (*r).min(u),
        };
    }
}

/// A random case: operand sizes, batch sizes, which dims are collapsed, box sizes, indexed dims, vector dim, and where
/// the box dims stand in the near side.
#[derive(Clone, Debug)]
struct Case {
    far: Dims,
    slice: Dims,
    collapsed: Dims,
    map: Dims,
    indices: Dims,
    vector_dim: i64,
    near: Dims,
    window_dims: Dims,
    values: Vec<i64>,
}

fn case() -> impl Strategy<Value = Case> {
    let far = prop::collection::vec(1i64..7, 1..4);
    let batch = prop::collection::vec(1i64..6, 0..3);
    (far, batch, any::<u64>()).prop_map(|(far, batch, seed)| {
        let mut state = seed | 1;
        let mut random = move |n: i64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 20) as i64 % n
        };
        let rank = far.len();
        let mut map: Dims = (0..rank as i64).filter(|_| random(2) == 1).collect();
        if random(2) == 1 {
            map.reverse();
        }
        let collapsed: Dims = (0..rank as i64).filter(|_| random(2) == 1).collect();
        let slice: Dims =
            (0..rank).map(|d| if collapsed.contains(&(d as i64)) { 1 } else { 1 + random(far[d]) }).collect();
        let mut indices = Dims::from_slice(&batch);
        let mut vector_dim = batch.len() as i64;
        if map.len() != 1 || random(2) == 1 {
            vector_dim = random(batch.len() as i64 + 1);
            indices.insert(vector_dim as usize, map.len() as i64);
        }
        let boxes: Vec<i64> =
            (0..rank).filter(|&d| !collapsed.contains(&(d as i64))).map(|d| slice[d]).collect();
        // Box dims keep their order but may stand anywhere among the batch dims.
        let total = batch.len() + boxes.len();
        let mut window_dims = Dims::new();
        for d in 0..total {
            let need = (boxes.len() - window_dims.len()) as i64;
            if need > 0 && (random(2) == 1 || need == (total - d) as i64) {
                window_dims.push(d as i64);
            }
        }
        let (mut b, mut w) = (batch.iter(), boxes.iter());
        let near: Dims = (0..total as i64)
            .filter_map(|d| if window_dims.contains(&d) { w.next() } else { b.next() }.copied())
            .collect();
        let values = (0..numel(&indices)).map(|_| random(10) - 2).collect();
        Case {
            far: Dims::from_vec(far),
            slice,
            collapsed,
            map,
            indices,
            vector_dim,
            near,
            window_dims,
            values,
        }
    })
}

fn numbers(n: i64) -> Vec<i32> {
    (0..n as i32).map(|i| i * 37 % 101 - 50).collect()
}

/// Index bytes of a type; I64 unless small.
fn encode(values: &[i64], dtype: DType) -> Vec<u8> {
    match dtype {
        DType::I32 => values.iter().flat_map(|&v| (v as i32).to_ne_bytes()).collect(),
        DType::I8 => values.iter().flat_map(|&v| (v as i8).to_ne_bytes()).collect(),
        _ => values.iter().flat_map(|&v| v.to_ne_bytes()).collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..Default::default() })]
    #[test]
    fn gather_is_stablehlos(c in case(), index_dtype in prop::sample::select(vec![DType::I64, DType::I32, DType::I8])) {
        let desc = GatherDesc {
            elem: 4,
            operand_strides: contiguous_strides(&c.far),
            operand: c.far,
            index_dtype,
            index_strides: contiguous_strides(&c.indices),
            indices: c.indices,
            result_strides: contiguous_strides(&c.near),
            result: c.near,
            offset_dims: c.window_dims,
            collapsed_slice_dims: c.collapsed,
            start_index_map: c.map,
            index_vector_dim: c.vector_dim,
            slice_sizes: c.slice,
        };
        let operand = numbers(numel(&desc.operand));
        let want = naive_gather(&desc, &operand, &c.values);
        let mut got = vec![0i32; want.len()];
        let indices = encode(&c.values, index_dtype);
        // SAFETY: dense buffers of the sizes of the description.
        unsafe {
            Gather::new(desc.clone()).run(&Pool::new(2), operand.as_ptr().cast(), indices.as_ptr(), got.as_mut_ptr().cast());
        }
        prop_assert_eq!(got, want, "{:?}", desc);
    }

    #[test]
    fn scatter_is_stablehlos(c in case(), kind in prop::sample::select(vec![
        ScatterKind::Set, ScatterKind::Add, ScatterKind::Multiply, ScatterKind::Maximum, ScatterKind::Minimum,
    ])) {
        let desc = ScatterDesc {
            kind,
            dtype: DType::I32,
            result_strides: contiguous_strides(&c.far),
            result: c.far,
            index_dtype: DType::I64,
            index_strides: contiguous_strides(&c.indices),
            indices: c.indices,
            update_strides: contiguous_strides(&c.near),
            updates: c.near,
            update_window_dims: c.window_dims,
            inserted_window_dims: c.collapsed,
            scatter_dims_to_operand_dims: c.map,
            index_vector_dim: c.vector_dim,
        };
        let updates = numbers(numel(&desc.updates));
        let mut want = numbers(numel(&desc.result) + 3);
        let mut got = want.clone();
        naive_scatter(&desc, &mut want, &c.values, &updates);
        // SAFETY: dense buffers of the sizes of the description.
        unsafe {
            let scatter = Scatter::new(desc.clone()).unwrap();
            scatter.run(&Pool::new(2), got.as_mut_ptr().cast(), c.values.as_ptr().cast(), updates.as_ptr().cast());
        }
        prop_assert_eq!(got, want, "{:?}", desc);
    }
}

/// Long lines: maps of neighbours to neighbours, far apart, of lines shorter and longer than a vector.
#[test]
fn lines_of_a_box() {
    for size in [1i64, 5, 16, 17, 33, 100] {
        for count in [1i64, 7, 16, 50, 133] {
            let maps: [&dyn Fn(i64) -> i64; 4] =
                [&|i| i * size / count, &|i| size - 1 - i, &|i| i * 29 % (size + 2) - 1, &|i| i / 2 - 1];
            for map in maps {
                let values: Vec<i64> = (0..count).map(map).collect();
                let desc = GatherDesc {
                    elem: 4,
                    operand: Dims::from_slice(&[6, size]),
                    operand_strides: Dims::from_slice(&[size, 1]),
                    index_dtype: DType::I64,
                    indices: Dims::from_slice(&[count]),
                    index_strides: Dims::from_slice(&[1]),
                    result: Dims::from_slice(&[6, count]),
                    result_strides: Dims::from_slice(&[count, 1]),
                    offset_dims: Dims::from_slice(&[0]),
                    collapsed_slice_dims: Dims::from_slice(&[1]),
                    start_index_map: Dims::from_slice(&[1]),
                    index_vector_dim: 1,
                    slice_sizes: Dims::from_slice(&[6, 1]),
                };
                let operand = numbers(6 * size);
                let want = naive_gather(&desc, &operand, &values);
                let mut got = vec![0i32; want.len()];
                let gather = Gather::new(desc.clone());
                let (from, at, to) =
                    (operand.as_ptr().cast(), values.as_ptr().cast(), got.as_mut_ptr().cast());
                // SAFETY: dense buffers of the sizes of the description.
                unsafe { gather.run(&Pool::new(2), from, at, to) };
                assert_eq!(got, want, "{desc:?}");
            }
        }
    }
}
