//! Round robin over the masters that are alive, for requests that any master can
//! answer.
//!
//! A request takes a [`Turn`]: the order in which the live masters are asked. Each
//! turn starts one master later than the one before, so over any window the first
//! choices differ by at most one; a failing master is skipped for the next one of
//! the same turn.

/// Whose turn it is. Masters are known by their place in the `master:` list.
#[derive(Clone, Debug, Default)]
pub struct Rotation {
    next: usize,
}

impl Rotation {
    /// A rotation that starts with the first master.
    pub fn new() -> Self {
        Self::default()
    }

    /// The order to try `masters` masters in, `alive` ones only, starting where
    /// the last turn left off.
    pub fn turn(&mut self, masters: usize, alive: impl Fn(usize) -> bool) -> Turn {
        if masters == 0 {
            return Turn {
                order: Vec::new().into_iter(),
            };
        }
        let start = self.next % masters;
        let order: Vec<usize> = (0..masters)
            .map(|step| (start + step) % masters)
            .filter(|&m| alive(m))
            .collect();
        if let Some(&first) = order.first() {
            self.next = first + 1;
        }
        Turn {
            order: order.into_iter(),
        }
    }
}

/// The masters of one request, best first.
#[derive(Clone, Debug)]
pub struct Turn {
    order: std::vec::IntoIter<usize>,
}

impl Iterator for Turn {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.order.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each master was asked first, in any number of requests in a
    /// row: the numbers differ by one at most.
    fn check_fair(firsts: &[usize], masters: &[usize]) {
        for length in 1..=masters.len() * 3 + 1 {
            for window in firsts.windows(length) {
                let times = |master: &usize| window.iter().filter(|&first| first == master).count();
                let counts: Vec<usize> = masters.iter().map(times).collect();
                let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
                assert!(most - least <= 1, "{counts:?} of {masters:?} in {length}");
            }
        }
    }

    #[test]
    fn first_choices_are_fair_within_one_over_any_window() {
        for masters in [1, 2, 3, 20] {
            let mut rotation = Rotation::new();
            let firsts: Vec<usize> = (0..200)
                .filter_map(|_| rotation.turn(masters, |_| true).next())
                .collect();
            let all: Vec<usize> = (0..masters).collect();
            check_fair(&firsts, &all);
        }
    }

    #[test]
    fn the_living_are_asked_fairly_whoever_is_dead() {
        for masters in [2, 3, 20] {
            for dead in 0..masters {
                let mut rotation = Rotation::new();
                // Somewhere in the middle of its round one of them dies.
                for _ in 0..masters + dead / 2 {
                    rotation.turn(masters, |_| true);
                }
                let firsts: Vec<usize> = (0..100)
                    .filter_map(|_| rotation.turn(masters, |master| master != dead).next())
                    .collect();
                let living: Vec<usize> = (0..masters).filter(|master| *master != dead).collect();
                check_fair(&firsts, &living);
            }
        }
    }

    #[test]
    fn the_dead_are_passed_over_and_the_living_share_evenly() {
        let mut rotation = Rotation::new();
        let mut times = [0; 3];
        for _ in 0..100 {
            let mut turn = rotation.turn(3, |master| master != 1);
            times[turn.next().unwrap()] += 1;
            assert!(turn.all(|master| master != 1));
        }
        assert_eq!(times, [50, 0, 50]);
    }

    #[test]
    fn every_live_master_is_in_every_turn_once() {
        let mut rotation = Rotation::new();
        rotation.turn(4, |_| true);
        let turn: Vec<usize> = rotation.turn(4, |_| true).collect();
        assert_eq!(turn, [1, 2, 3, 0]);
        assert_eq!(rotation.turn(0, |_| true).count(), 0);
        assert_eq!(rotation.turn(2, |_| false).count(), 0);
    }
}
