//! The table itself.

use std::collections::BTreeSet;

#[test]
fn names_are_unique_and_complete() {
    let mut names = BTreeSet::new();
    for row in tnrs_lowering::table() {
        assert!(row.op.starts_with("aten::"), "{}", row.op);
        assert!(names.insert(row.op), "{} has two rows", row.op);
    }
}
