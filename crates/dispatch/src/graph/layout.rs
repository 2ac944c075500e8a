//! Strided memory in terms of values: a view of a value's memory as slices, transposes and broadcasts of the value.
//!
//! Memory that is dense in some order of its dims is a line of elements. A strided window into the line whose strides
//! nest (each a multiple of the next, no window crossing into the next) is a slice of the line reshaped to one dim per
//! stride; any other window is a gather of computed positions.

use smallvec::{smallvec, SmallVec};
use tnrs_hlo::{
    BinaryKind, Builder, GatherDims, HloError, Literal, ScatterDims, TensorType, UnaryKind, Value,
};
use tnrs_types::{contiguous_strides, inverse, numel, span, DType, Dims, Scalar, ScatterKind};

use crate::raw::{gather, RawTensor};

/// Elements in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub dtype: DType,
    pub dims: Dims,
    pub strides: Dims,
    /// Address of element 0.
    pub addr: usize,
}

type Res = Result<Value, HloError>;

impl Layout {
    /// Of a tensor whose dtype is known on the device.
    pub fn of(t: &RawTensor) -> Option<Layout> {
        Some(Layout {
            dtype: t.dtype()?,
            dims: Dims::from_slice(t.sizes()),
            strides: Dims::from_slice(t.strides()),
            addr: t.data as usize,
        })
    }

    pub fn dense(dtype: DType, dims: &[i64], addr: usize) -> Layout {
        Layout { dtype, dims: Dims::from_slice(dims), strides: contiguous_strides(dims), addr }
    }

    pub fn ty(&self) -> TensorType {
        TensorType::new(self.dtype, &self.dims)
    }

    /// Whether both name the same elements in the same order: strides of dims of size 1 do not count.
    pub fn same(&self, other: &Layout) -> bool {
        self.dtype == other.dtype
            && self.addr == other.addr
            && self.dims == other.dims
            && self
                .dims
                .iter()
                .zip(self.strides.iter().zip(&other.strides))
                .all(|(&d, (a, b))| d == 1 || a == b)
    }

    /// Bytes from element 0 to the end of the last.
    pub fn extent(&self) -> usize {
        span(&self.dims, &self.strides) as usize * self.dtype.size()
    }

    /// Dims by falling stride when the elements fill their extent without gap or overlap.
    fn order(&self) -> Option<Dims> {
        let mut order: Dims = (0..self.dims.len() as i64).collect();
        order.sort_by_key(|&d| {
            let d = d as usize;
            (std::cmp::Reverse(if self.dims[d] == 1 { i64::MAX } else { self.strides[d] }), d)
        });
        let mut step = 1;
        for &d in order.iter().rev() {
            let d = d as usize;
            if self.dims[d] != 1 && self.strides[d] != step {
                return None;
            }
            step *= self.dims[d];
        }
        Some(order)
    }

    pub fn is_dense(&self) -> bool {
        self.order().is_some()
    }

    /// Whether these are all the elements of `other`'s memory, each once.
    pub fn covers(&self, other: &Layout) -> bool {
        self.addr == other.addr && self.is_dense() && self.extent() == other.extent()
    }
}

fn is_identity(perm: &[i64]) -> bool {
    perm.iter().enumerate().all(|(i, &p)| i as i64 == p)
}

fn transpose(b: &mut Builder, v: Value, perm: &[i64]) -> Res {
    if is_identity(perm) {
        Ok(v)
    } else {
        b.transpose(v, perm)
    }
}

/// The value with its dims in the order of memory.
fn in_memory_order(b: &mut Builder, v: Value, home: &Layout) -> Result<Option<Value>, HloError> {
    match home.order() {
        Some(order) => transpose(b, v, &order).map(Some),
        None => Ok(None),
    }
}

/// A window into a line of elements.
struct Window {
    /// The line as one dim per stride of the window, the last possibly of elements that are skipped.
    shape: Dims,
    /// Elements of the line that the shape has; more or fewer than the line.
    len: i64,
    start: Dims,
    size: Dims,
    /// Dims of the view that move along the window's dims, in order; the others repeat or have size 1.
    kept: SmallVec<[usize; 6]>,
}

impl Window {
    /// Of a view whose element 0 is element `offset` of a line of `line` elements; `None` when its strides do not nest.
    fn new(view: &Layout, offset: i64, line: i64) -> Option<Window> {
        let mut kept: SmallVec<[usize; 6]> =
            (0..view.dims.len()).filter(|&d| view.dims[d] != 1 && view.strides[d] != 0).collect();
        kept.sort_by_key(|&d| std::cmp::Reverse(view.strides[d]));
        let (mut shape, mut start, mut size) = (Dims::new(), Dims::new(), Dims::new());
        let mut rest = offset;
        let mut outer: Option<i64> = None;
        for &d in &kept {
            let step = view.strides[d];
            let at = rest / step;
            rest %= step;
            if let Some(outer) = outer {
                if outer % step != 0 || at + view.dims[d] > outer / step {
                    return None;
                }
                shape.push(outer / step);
            } else {
                shape.push((line / step).max(at + view.dims[d]));
            }
            start.push(at);
            size.push(view.dims[d]);
            outer = Some(step);
        }
        let inner = outer.unwrap_or(line);
        if inner != 1 {
            shape.push(inner);
            start.push(rest);
            size.push(1);
        }
        Some(Window { len: numel(&shape), shape, start, size, kept })
    }

    /// Sizes of the kept dims.
    fn kept_sizes(&self) -> &[i64] {
        &self.size[..self.kept.len()]
    }

    /// The line in the window's shape.
    fn unroll(&self, b: &mut Builder, v: Value) -> Res {
        let ty = b.ty(v).clone();
        let line = ty.numel();
        if self.len == line {
            return b.reshape(v, &self.shape);
        }
        let flat = b.reshape(v, &[line])?;
        let fitted = if self.len < line {
            b.slice(flat, &[0], &[self.len], &[1])?
        } else {
            let zero = b.splat(ty.dtype, &[], Scalar::Int(0))?;
            b.pad(flat, zero, &[0], &[self.len - line], &[0])?
        };
        b.reshape(fitted, &self.shape)
    }
}

/// Positions in the line of every element of a view.
fn positions(b: &mut Builder, view: &Layout, offset: i64) -> Res {
    let mut index = b.splat(DType::I64, &view.dims, Scalar::Int(offset))?;
    for (d, &step) in view.strides.iter().enumerate().filter(|(d, &s)| s != 0 && view.dims[*d] != 1) {
        let i = b.iota(DType::I64, &view.dims, d as i64)?;
        let step = b.splat(DType::I64, &view.dims, Scalar::Int(step))?;
        let along = b.binary(BinaryKind::Multiply, i, step)?;
        index = b.binary(BinaryKind::Add, index, along)?;
    }
    Ok(index)
}

fn refuse(why: &str) -> HloError {
    HloError::Unsupported { op: "a view", detail: why.to_owned() }
}

/// The elements of `view` in memory that holds `v` as `home` says.
pub(super) fn read(b: &mut Builder, v: Value, home: &Layout, view: &Layout) -> Res {
    if home.same(view) {
        return Ok(v);
    }
    if view.dims.contains(&0) {
        return b.splat(view.dtype, &view.dims, Scalar::Int(0));
    }
    if home.dtype != view.dtype {
        let (v, home) = as_dtype(b, v, home, view.dtype)?;
        return read(b, v, &home, view);
    }
    let offset = (view.addr as i64 - home.addr as i64) / home.dtype.size() as i64;
    let Some(line) = in_memory_order(b, v, home)? else {
        return Err(refuse("memory with gaps"));
    };
    let count = numel(&home.dims);
    let Some(w) = Window::new(view, offset, count) else {
        let index = positions(b, view, offset)?;
        let flat = b.reshape(line, &[count])?;
        let dims = GatherDims {
            offset_dims: Dims::new(),
            collapsed_slice_dims: smallvec![0],
            start_index_map: smallvec![0],
            index_vector_dim: view.dims.len() as i64,
            slice_sizes: smallvec![1],
        };
        return b.gather(flat, index, dims);
    };
    let mut x = w.unroll(b, line)?;
    if w.size != w.shape {
        let limit: Dims = w.start.iter().zip(&w.size).map(|(a, n)| a + n).collect();
        let ones: Dims = smallvec![1; w.size.len()];
        x = b.slice(x, &w.start, &limit, &ones)?;
    }
    x = b.reshape(x, w.kept_sizes())?;
    // From the order of strides to that of dims, then the dims that repeat.
    let mut by_dim: SmallVec<[usize; 6]> = (0..w.kept.len()).collect();
    by_dim.sort_by_key(|&k| w.kept[k]);
    let perm: Dims = by_dim.iter().map(|&k| k as i64).collect();
    x = transpose(b, x, &perm)?;
    if b.ty(x).dims == view.dims {
        return Ok(x);
    }
    let repeats = (0..view.dims.len()).any(|d| view.dims[d] != 1 && view.strides[d] == 0);
    if !repeats {
        return b.reshape(x, &view.dims);
    }
    let places: Dims = by_dim.iter().map(|&k| w.kept[k] as i64).collect();
    b.broadcast_in_dim(x, &places, &view.dims)
}

/// The value of memory that holds `v` as `home` says after `new` was written to `view`.
pub(super) fn write(b: &mut Builder, v: Value, home: &Layout, view: &Layout, new: Value) -> Res {
    if home.same(view) {
        return Ok(new);
    }
    if view.dims.contains(&0) {
        return Ok(v);
    }
    if view.covers(home) {
        return read(b, new, view, home);
    }
    if home.dtype != view.dtype {
        if home.dtype.size() != view.dtype.size() {
            return Err(refuse("a part written as another element type"));
        }
        let (line, alike) = as_dtype(b, v, home, view.dtype)?;
        let written = write(b, line, &alike, view, new)?;
        return as_dtype(b, written, &alike, home.dtype).map(|(v, _)| v);
    }
    let offset = (view.addr as i64 - home.addr as i64) / home.dtype.size() as i64;
    let (Some(order), count) = (home.order(), numel(&home.dims)) else {
        return Err(refuse("memory with gaps"));
    };
    let line = transpose(b, v, &order)?;
    let sizes = b.ty(line).dims.clone();
    let done = match Window::new(view, offset, count) {
        Some(w) if w.kept.len() == view.dims.iter().filter(|&&d| d != 1).count() => {
            let whole = w.unroll(b, line)?;
            let mut by_dim: SmallVec<[usize; 6]> = (0..w.kept.len()).collect();
            by_dim.sort_by_key(|&k| w.kept[k]);
            let present: Dims = by_dim.iter().map(|&k| w.size[k]).collect();
            let part = b.reshape(new, &present)?;
            let perm = inverse(&by_dim.iter().map(|&k| k as i64).collect::<Dims>());
            let part = transpose(b, part, &perm)?;
            let part = b.reshape(part, &w.size)?;
            let mut starts: SmallVec<[Value; 6]> = SmallVec::new();
            for &at in &w.start {
                starts.push(b.splat(DType::I64, &[], Scalar::Int(at))?);
            }
            let whole = b.dynamic_update_slice(whole, part, &starts)?;
            let flat = b.reshape(whole, &[w.len])?;
            match w.len.cmp(&count) {
                std::cmp::Ordering::Equal => flat,
                std::cmp::Ordering::Greater => b.slice(flat, &[0], &[count], &[1])?,
                std::cmp::Ordering::Less => {
                    let old = b.reshape(line, &[count])?;
                    let rest = b.slice(old, &[w.len], &[count], &[1])?;
                    b.concatenate(&[flat, rest], 0)?
                }
            }
        }
        _ => {
            let index = positions(b, view, offset)?;
            let flat = b.reshape(line, &[count])?;
            let dims = ScatterDims {
                update_window_dims: Dims::new(),
                inserted_window_dims: smallvec![0],
                scatter_dims_to_operand_dims: smallvec![0],
                index_vector_dim: view.dims.len() as i64,
            };
            b.scatter(ScatterKind::Set, flat, index, new, dims)?
        }
    };
    let line = b.reshape(done, &sizes)?;
    transpose(b, line, &inverse(&order))
}

/// The same memory as elements of another type.
fn as_dtype(b: &mut Builder, v: Value, home: &Layout, dtype: DType) -> Result<(Value, Layout), HloError> {
    let (have, want) = (home.dtype, dtype);
    if have.size() == want.size() && !have.is_complex() && !want.is_complex() {
        let v = b.bitcast(v, want)?;
        return Ok((v, Layout { dtype, ..home.clone() }));
    }
    let Some(line) = in_memory_order(b, v, home)? else {
        return Err(refuse("memory with gaps"));
    };
    let count = numel(&home.dims);
    if have.is_complex() && have.real() == want {
        let (re, im) = (b.unary(UnaryKind::Real, line)?, b.unary(UnaryKind::Imag, line)?);
        let (re, im) = (b.reshape(re, &[count, 1])?, b.reshape(im, &[count, 1])?);
        let pairs = b.concatenate(&[re, im], 1)?;
        return Ok((pairs, Layout::dense(want, &[count, 2], home.addr)));
    }
    if want.is_complex() && want.real() == have && count % 2 == 0 {
        let pairs = b.reshape(line, &[count / 2, 2])?;
        let re = b.slice(pairs, &[0, 0], &[count / 2, 1], &[1, 1])?;
        let im = b.slice(pairs, &[0, 1], &[count / 2, 2], &[1, 1])?;
        let (re, im) = (b.reshape(re, &[count / 2])?, b.reshape(im, &[count / 2])?);
        let v = b.binary(BinaryKind::Complex, re, im)?;
        return Ok((v, Layout::dense(want, &[count / 2], home.addr)));
    }
    Err(refuse("memory seen as elements of another size"))
}

/// A constant of the elements of a tensor in host memory.
///
/// # Safety
/// The tensor's memory is valid.
pub(super) unsafe fn literal(t: &RawTensor, layout: &Layout) -> Literal {
    // SAFETY: the caller's promise.
    let bytes = unsafe { gather(t.data, layout.dtype.size(), &layout.dims, &layout.strides) };
    Literal::Dense(layout.ty(), bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tnrs_hlo::{interpret, CompareDir};

    /// Runs `read` on a line of numbers and compares with the addresses that the view names.
    fn check(home_dims: &[i64], home_strides: &[i64], dims: &[i64], strides: &[i64], offset: i64) {
        let home = Layout {
            dtype: DType::I64,
            dims: Dims::from_slice(home_dims),
            strides: Dims::from_slice(home_strides),
            addr: 800,
        };
        let view = Layout {
            dtype: DType::I64,
            dims: Dims::from_slice(dims),
            strides: Dims::from_slice(strides),
            addr: 800 + 8 * offset as usize,
        };
        let mut b = Builder::new("view");
        // The value whose element at memory position p is p.
        let held = positions(&mut b, &home, 0).unwrap();
        let got = read(&mut b, held, &home, &view).unwrap();
        let want = positions(&mut b, &view, offset).unwrap();
        let same = b.compare(CompareDir::Eq, got, want).unwrap();
        // Writing what is there changes nothing; writing other numbers is read back.
        let kept = write(&mut b, held, &home, &view, got).unwrap();
        let kept = b.compare(CompareDir::Eq, kept, held).unwrap();
        let f = b.finish(&[same, kept]);
        tnrs_hlo::verify(&f).unwrap();
        for r in interpret(&f, &[]) {
            let Literal::Dense(_, bytes) = r else { panic!("results are dense") };
            assert!(bytes.iter().all(|&x| x == 1), "{home_dims:?} {dims:?} {strides:?} {offset}");
        }
    }

    #[test]
    fn views_are_what_their_strides_say() {
        check(&[4, 6], &[6, 1], &[6, 4], &[1, 6], 0);
        check(&[4, 6], &[6, 1], &[2, 3], &[6, 1], 8);
        check(&[4, 6], &[6, 1], &[3], &[6], 5);
        check(&[4, 6], &[6, 1], &[2, 3], &[12, 2], 1);
        check(&[4, 6], &[6, 1], &[24], &[1], 0);
        check(&[4, 6], &[1, 4], &[4, 6], &[6, 1], 0);
        check(&[4, 6], &[6, 1], &[1, 4, 1, 6], &[24, 6, 6, 1], 0);
        check(&[2, 3, 4, 5], &[60, 1, 15, 3], &[2, 4, 5, 3], &[60, 15, 3, 1], 0);
        check(&[7], &[1], &[], &[], 3);
        check(&[10], &[1], &[3, 2], &[3, 1], 2);
        check(&[10], &[1], &[3, 4], &[3, 1], 0);
        check(&[10], &[1], &[2, 4], &[3, 2], 0);
    }
}
