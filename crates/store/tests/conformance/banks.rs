//! Checks of `Banks`.

use crate::subject::Subject;

pub(crate) fn values_are_kept_listed_and_flushed(subject: &Subject) {
    let banks = subject.open().banks;
    assert_eq!(banks.fetch("a", "k").unwrap(), None);
    assert!(banks.list("a").unwrap().is_empty());
    banks.store("a", "k", &4.into()).unwrap();
    banks.store("a", "k", &5.into()).unwrap();
    banks.store("a", "j", &"text".into()).unwrap();
    let again = subject.open().banks;
    assert_eq!(again.fetch("a", "k").unwrap(), Some(5.into()));
    assert_eq!(again.fetch("b", "k").unwrap(), None);
    assert_eq!(again.list("a").unwrap(), ["j", "k"]);
    assert!(again.flush("a", Some("k")).unwrap());
    assert!(!again.flush("a", Some("k")).unwrap());
    assert_eq!(banks.list("a").unwrap(), ["j"]);
}

pub(crate) fn a_bank_goes_with_those_below_it(subject: &Subject) {
    let banks = subject.open().banks;
    for bank in ["a", "a/sub", "ab"] {
        banks.store(bank, "k", &1.into()).unwrap();
    }
    assert_eq!(banks.list("a").unwrap(), ["k", "sub"]);
    assert!(banks.flush("a", None).unwrap());
    assert!(!banks.flush("a", None).unwrap());
    assert_eq!(banks.fetch("a/sub", "k").unwrap(), None);
    assert_eq!(banks.list("ab").unwrap(), ["k"]);
}
