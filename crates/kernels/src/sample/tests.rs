//! Streams; the distributions themselves are compared with scipy's in the Python tests.

use super::Stream;

#[test]
fn streams_of_elements_and_offsets_differ_and_repeat() {
    let draw = |seed, offset, element| {
        let mut s = Stream::new(seed, offset, element);
        [s.uniform(), s.uniform(), s.normal()]
    };
    assert_eq!(draw(1, 2, 3), draw(1, 2, 3));
    let all = [draw(1, 2, 3), draw(1, 2, 4), draw(1, 3, 3), draw(2, 2, 3)];
    for (i, a) in all.iter().enumerate() {
        for b in &all[i + 1..] {
            assert!(a.iter().zip(b).all(|(x, y)| x != y));
        }
    }
}

#[test]
fn uniform_numbers_stay_inside() {
    let mut s = Stream::new(7, 0, 0);
    assert!((0..10_000).all(|_| (f64::MIN_POSITIVE..1.0).contains(&s.uniform())));
}
