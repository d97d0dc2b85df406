//! Gives the fuzz targets access to the private parsers of this crate; no
//! interface.

use crate::core::origin::Origin;
use crate::records::claims;

/// A file of claims, whole or damaged: a claim with a key is the same when it
/// was written again, and none becomes two.
///
/// # Panics
/// When it is another one.
pub fn claims(bytes: &[u8]) {
    for claim in claims::parse(bytes) {
        assert_ne!(claim.origin, Origin::Own, "the file holds masters' jobs");
        let Origin::Master {
            name,
            key: Some(key),
        } = &claim.origin
        else {
            continue;
        };
        let again = claims::parse(claims::line(&claim.jid, name, key).as_bytes());
        assert_eq!(again.as_slice(), std::slice::from_ref(&claim));
    }
}
