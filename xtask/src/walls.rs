//! The walls of ARCHITECTURE.md that the compiler does not know: which crate
//! may depend on which (`floors`), what does no I/O (`pure`), and that the
//! folders of a crate do not import each other in circles (`cycles`).

mod cycles;
mod floors;
mod pure;
mod source;

use anyhow::{Result, bail};

/// Checks all walls. Where `shrink` is set, cycles that are no more are removed
/// from the list of known ones.
pub(crate) fn check(shrink: bool) -> Result<()> {
    let floors = floors::Floors::read()?;
    let mut complaints = floors.check()?;
    complaints.extend(pure::check(&floors)?);
    complaints.extend(cycles::check(shrink)?);
    for complaint in &complaints {
        println!("{complaint}");
    }
    match complaints.len() {
        0 => Ok(()),
        1 => bail!("a wall of ARCHITECTURE.md is broken"),
        count => bail!("walls of ARCHITECTURE.md are broken in {count} places"),
    }
}
