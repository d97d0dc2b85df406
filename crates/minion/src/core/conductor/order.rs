//! At which place in the list of masters a minion begins.

/// The order of `distributed`: the list, starting where the id says, so that
/// minions spread evenly over the masters.
pub fn distributed_order(id: &str, masters: usize) -> Vec<usize> {
    if masters == 0 {
        return Vec::new();
    }
    let start = usize::try_from(crc32(id.as_bytes())).unwrap_or(0) % masters;
    (0..masters).map(|step| (start + step) % masters).collect()
}

/// The checksum of zlib, which Salt means to spread minions with.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minions_spread_over_distributed_masters() {
        let mut times = [0; 3];
        for n in 0..300 {
            let order = distributed_order(&format!("web{n}"), 3);
            times[order[0]] += 1;
            assert_eq!(order.len(), 3);
        }
        assert!(times.iter().all(|&times| times > 60), "{times:?}");
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
