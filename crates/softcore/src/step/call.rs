//! A step that is one kernel call.

use tnrs_hal::Fault;

use super::{Cx, Step};

/// A kernel with its description and places bound. The function may assume what [`Step::run`] promises.
pub(crate) struct Call<F> {
    run: F,
    cost: u64,
}

impl<F: Fn(&Cx) -> Result<(), Fault> + Send + Sync + 'static> Call<F> {
    pub fn boxed(cost: u64, run: F) -> Box<dyn Step> {
        Box::new(Call { run, cost })
    }
}

impl<F: Fn(&Cx) -> Result<(), Fault> + Send + Sync> Step for Call<F> {
    unsafe fn run(&self, cx: &Cx) -> Result<(), Fault> {
        (self.run)(cx)
    }
    fn cost_ns(&self) -> u64 {
        self.cost
    }
}
