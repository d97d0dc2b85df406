//! Whether something that is looked at again and again counts as usable: it changes sides
//! only after several looks in a row, so that one slow answer changes nothing.

/// The verdict, and how many looks in a row have contradicted it.
#[derive(Debug)]
pub(crate) struct Steady {
    is_usable: bool,
    contradicted: u32,
    looks_min: u32,
}

impl Steady {
    /// Usable until `looks_min` looks in a row say otherwise.
    pub(crate) fn usable(looks_min: u32) -> Self {
        Self {
            is_usable: true,
            contradicted: 0,
            looks_min,
        }
    }

    /// Records a look; returns the new verdict if this changes it.
    pub(crate) fn record(&mut self, is_usable: bool) -> Option<bool> {
        if is_usable == self.is_usable {
            self.contradicted = 0;
            return None;
        }
        self.contradicted += 1;
        if self.contradicted < self.looks_min {
            return None;
        }
        self.contradicted = 0;
        self.is_usable = is_usable;
        Some(is_usable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_looks_in_a_row_change_the_verdict() {
        let mut steady = Steady::usable(3);
        let mut record = |looks: &[bool]| -> Vec<Option<bool>> {
            looks.iter().map(|look| steady.record(*look)).collect()
        };
        assert_eq!(record(&[false, false, true, false, false]), [None; 5]);
        assert_eq!(record(&[false, false]), [Some(false), None]);
        assert_eq!(record(&[true, true, false, true, true]), [None; 5]);
        assert_eq!(record(&[true, true]), [Some(true), None]);
    }
}
