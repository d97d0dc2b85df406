//! Object identifiers.

/// The content of an identifier that is written with dots.
pub(crate) fn oid_to_der(dotted: &str) -> Option<Vec<u8>> {
    let mut arcs = dotted.split('.').map(|arc| arc.parse::<u64>().ok());
    let (first, second) = (arcs.next()??, arcs.next()??);
    if first > 2 || (first < 2 && second > 39) {
        return None;
    }
    let mut out = Vec::new();
    push(&mut out, (first * 40).checked_add(second)?);
    for arc in arcs {
        push(&mut out, arc?);
    }
    Some(out)
}

fn push(out: &mut Vec<u8>, arc: u64) {
    let groups = (64 - arc.leading_zeros()).div_ceil(7).max(1);
    for group in (0..groups).rev() {
        let seven = u8::try_from((arc >> (group * 7)) & 0x7f).unwrap_or_default();
        out.push(if group == 0 { seven } else { seven | 0x80 });
    }
}

/// The identifier with dots.
pub(crate) fn oid_from_der(content: &[u8]) -> Option<String> {
    let mut arcs: Vec<u64> = Vec::new();
    let mut arc: u64 = 0;
    let mut open = false;
    for byte in content {
        arc = arc.checked_mul(128)?.checked_add(u64::from(byte & 0x7f))?;
        open = byte & 0x80 != 0;
        if !open {
            arcs.push(std::mem::take(&mut arc));
        }
    }
    let (first, rest) = arcs.split_first()?;
    if open {
        return None;
    }
    let top = (*first / 40).min(2);
    let mut dotted = format!("{top}.{}", first - top * 40);
    for arc in rest {
        dotted += &format!(".{arc}");
    }
    Some(dotted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_go_both_ways() {
        for dotted in [
            "2.5.29.19",
            "1.2.840.113549.1.1.11",
            "1.3.6.1.4.1.311.20.2.2",
            "2.999",
        ] {
            let der = oid_to_der(dotted).unwrap();
            assert_eq!(oid_from_der(&der).unwrap(), dotted);
        }
        assert_eq!(oid_to_der("2.5.29.19").unwrap(), [0x55, 0x1d, 0x13]);
        for bad in ["", "1", "3.1", "1.50", "1.x", "1..2"] {
            assert_eq!(oid_to_der(bad), None, "{bad}");
        }
        assert_eq!(oid_from_der(&[]), None);
        assert_eq!(oid_from_der(&[0x2a, 0x86]), None);
    }
}
