//! Faults of linear algebra: PyTorch's words for LAPACK's info codes.

use tnrs_hal::Fault;
use tnrs_hlo::custom::InfoSite;

/// A fault if a code of the batch is not 0.
pub(super) fn check(site: InfoSite, infos: &[i32], batched: bool) -> Result<(), Fault> {
    let Some(at) = infos.iter().position(|i| *i != 0) else {
        return Ok(());
    };
    let info = infos[at];
    let element = if batched { format!(": (Batch element {at})") } else { String::new() };
    let converge = |what: &str| {
        format!(
            "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated \
             {what} (error code: {info})."
        )
    };
    let (name, text) = match site {
        InfoSite::CholeskyEx => (
            "linalg.cholesky_ex",
            format!(
                "The factorization could not be completed because the input is not positive-definite (the leading \
                 minor of order {info} is not positive-definite)."
            ),
        ),
        InfoSite::InvEx | InfoSite::CholeskyInverse => (
            if site == InfoSite::InvEx { "linalg.inv_ex" } else { "cholesky_inverse" },
            format!(
                "The diagonal element {info} is zero, the inversion could not be completed because the input matrix \
                 is singular."
            ),
        ),
        InfoSite::SolveEx => (
            "torch.linalg.solve_ex",
            "The solver failed because the input matrix is singular.".to_owned(),
        ),
        InfoSite::LuFactorEx => (
            "torch.linalg.lu_factor_ex",
            format!(
                "U[{info},{info}] is zero and using it on lu_solve would result in a division by zero. If you still \
                 want to perform the factorization, consider calling linalg.lu(A, pivot) or \
                 linalg.lu_factor_ex(A, pivot)"
            ),
        ),
        InfoSite::LdlFactorEx => (
            "torch.linalg.ldl_factor_ex",
            format!(
                "D[{info},{info}] is zero and using it on ldl_solve would result in a division by zero (error code: \
                 {info})."
            ),
        ),
        InfoSite::Svd => ("linalg.svd", converge("singular values")),
        InfoSite::SvdNotFinite => (
            "linalg.svd",
            "The algorithm failed to converge because the input matrix contained non-finite values.".to_owned(),
        ),
        InfoSite::Eigh => ("linalg.eigh", converge("eigenvalues")),
        InfoSite::Eig => ("torch.linalg.eig", converge("eigenvalues")),
        InfoSite::Lstsq => (
            "torch.linalg.lstsq",
            format!(
                "The least squares solution could not be computed because the input matrix does not have full rank \
                 (error code: {info})."
            ),
        ),
    };
    let text = format!("{name}{element}: {text}");
    // The CPU's error for these two is no LinAlgError.
    Err(match site {
        InfoSite::LuFactorEx | InfoSite::LdlFactorEx => Fault::Device(text),
        _ => Fault::Matrix(text),
    })
}
