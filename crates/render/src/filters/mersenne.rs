//! The numbers that Python's `random` yields for a seed.

use halite_crypto::{HashType, Hasher};

const N: usize = 624;
const M: usize = 397;

/// The Mersenne Twister MT19937 as CPython seeds and reads it.
pub(crate) struct Mersenne {
    state: [u32; N],
    at: usize,
}

impl Mersenne {
    /// A generator for an integer seed (`random.Random(seed)`).
    pub(crate) fn seeded(seed: u128) -> Self {
        Self::of_bytes(&seed.to_be_bytes())
    }

    /// A generator for a text as seed: the integer of its bytes and their
    /// SHA-512.
    pub(crate) fn of_text(seed: &str) -> Self {
        let mut hasher = Hasher::new(HashType::Sha512);
        hasher.update(seed.as_bytes());
        let hex = hasher.finish_hex();
        let digest = (0..hex.len()).step_by(2).filter_map(|at| {
            let digits = hex.get(at..at + 2)?;
            u8::from_str_radix(digits, 16).ok()
        });
        Self::of_bytes(&seed.bytes().chain(digest).collect::<Vec<_>>())
    }

    /// A generator for an integer, its most significant byte first.
    fn of_bytes(bytes: &[u8]) -> Self {
        let mut key: Vec<u32> = bytes
            .rchunks(4)
            .map(|chunk| {
                chunk
                    .iter()
                    .fold(0, |word, byte| word << 8 | u32::from(*byte))
            })
            .collect();
        while key.len() > 1 && key.last() == Some(&0) {
            key.pop();
        }
        let mut state = initial(19_650_218);
        let mix = |state: &[u32; N], i: usize| state[i - 1] ^ (state[i - 1] >> 30);
        let (mut i, mut j) = (1, 0);
        for _ in 0..N.max(key.len()) {
            let add = key[j].wrapping_add(u32::try_from(j).unwrap_or_default());
            let mixed = mix(&state, i).wrapping_mul(1_664_525);
            state[i] = (state[i] ^ mixed).wrapping_add(add);
            i += 1;
            j += 1;
            if i >= N {
                state[0] = state[N - 1];
                i = 1;
            }
            if j >= key.len() {
                j = 0;
            }
        }
        for _ in 0..N - 1 {
            let mixed = mix(&state, i).wrapping_mul(1_566_083_941);
            state[i] = (state[i] ^ mixed).wrapping_sub(u32::try_from(i).unwrap_or_default());
            i += 1;
            if i >= N {
                state[0] = state[N - 1];
                i = 1;
            }
        }
        state[0] = 0x8000_0000;
        Self { state, at: N }
    }

    fn next(&mut self) -> u32 {
        if self.at >= N {
            self.refill();
        }
        let mut y = self.state[self.at];
        self.at += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    fn refill(&mut self) {
        for i in 0..N {
            let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % N] & 0x7fff_ffff);
            let odd = if y & 1 == 0 { 0 } else { 0x9908_b0df };
            self.state[i] = self.state[(i + M) % N] ^ (y >> 1) ^ odd;
        }
        self.at = 0;
    }

    /// A number below `end`, which is at least 1 and at most 2^32 - 1.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        let bits = 32 - end.leading_zeros();
        loop {
            let number = self.next() >> (32 - bits);
            if number < end {
                return number;
            }
        }
    }
}

fn initial(seed: u32) -> [u32; N] {
    let mut state = [seed; N];
    for i in 1..N {
        let last = state[i - 1];
        state[i] = 1_812_433_253_u32
            .wrapping_mul(last ^ (last >> 30))
            .wrapping_add(u32::try_from(i).unwrap_or_default());
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_cpython() {
        // [random.Random(7).getrandbits(32) for _ in range(3)]
        let mut seven = Mersenne::seeded(7);
        let numbers = [seven.next(), seven.next(), seven.next()];
        assert_eq!(numbers, [1_390_851_128, 4_071_050_724, 647_892_279]);
        let mut large = Mersenne::seeded((1 << 70) + 5);
        let numbers = [large.next(), large.next(), large.next()];
        assert_eq!(numbers, [2_004_888_747, 1_674_612_923, 2_039_552_273]);
    }
}
