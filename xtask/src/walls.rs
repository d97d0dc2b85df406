//! The walls of ARCHITECTURE.md that the compiler does not know: which crate may
//! depend on which (`floors`), what does no I/O (`pure`), that the folders of a
//! crate do not import each other in circles (`cycles`), that functions change
//! files in one way (`by_path`), that merges are finished (`markers`), that the
//! proofs that `SECURITY.md` names exist (`proven`), and that functions and files
//! stay short (`lengths`).

mod by_path;
mod cycles;
mod floors;
mod lengths;
mod markers;
mod proven;
mod pure;
mod source;

use anyhow::{Result, bail};

/// Checks all walls. Where `shrink` is set, what is mended is removed from the
/// lists of known cycles, excused places and long functions.
pub(crate) fn check(shrink: bool) -> Result<()> {
    let floors = floors::Floors::read()?;
    let mut complaints = floors.check()?;
    complaints.extend(pure::check(&floors)?);
    complaints.extend(cycles::check(shrink)?);
    complaints.extend(by_path::check(shrink)?);
    complaints.extend(markers::check()?);
    complaints.extend(proven::check()?);
    complaints.extend(lengths::check(shrink)?);
    for complaint in &complaints {
        println!("{complaint}");
    }
    match complaints.len() {
        0 => Ok(()),
        1 => bail!("a wall of ARCHITECTURE.md is broken"),
        count => bail!("walls of ARCHITECTURE.md are broken in {count} places"),
    }
}
