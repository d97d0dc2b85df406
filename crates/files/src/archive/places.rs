//! Places below the directory of an extraction.

use std::io;
use std::path::Path;

use halite_call::paths::{self, HeldName};

pub(super) fn in_place_of_old(
    place: &HeldName,
    make: impl Fn() -> io::Result<()>,
) -> io::Result<()> {
    match make() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            place.remove_file()?;
            make()
        }
        made => made,
    }
}

pub(super) fn make_directory(place: &HeldName) -> io::Result<()> {
    match place.make_directory(0o777) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            match place.data()?.is_dir() {
                true => Ok(()),
                false => Err(error),
            }
        }
        made => made,
    }
}

/// The place of a path below `dest`, its directory made; nothing if a link on
/// the way leads out.
pub(super) fn place_inside(dest: &Path, path: &Path) -> io::Result<Option<HeldName>> {
    let parent = path.parent().unwrap_or(dest);
    // Before anything is made: an earlier entry may be a link that leads out.
    let made = parent.ancestors().find(|at| at.exists()).unwrap_or(dest);
    if !HeldName::of(&made.join("entry"))?.is_inside(dest)? {
        return Ok(None);
    }
    paths::create_dir_all(parent)?;
    let place = HeldName::of(path)?;
    Ok(place.is_inside(dest)?.then_some(place))
}
