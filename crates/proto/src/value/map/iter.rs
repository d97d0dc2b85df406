//! The iterators of a map, each over one of the two representations.

use crate::Value;

/// One of the two iterators behind each of a map's.
macro_rules! iterator {
    ($(#[$doc:meta])* $name:ident$(<$life:lifetime>)?, $item:ty, $small:ty, $large:ty, $split:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $name$(<$life>)? {
            #[doc(hidden)]
            Small($small),
            #[doc(hidden)]
            Large($large),
        }

        impl$(<$life>)? Iterator for $name$(<$life>)? {
            type Item = $item;

            fn next(&mut self) -> Option<$item> {
                match self {
                    Self::Small(entries) => entries.next().map($split),
                    Self::Large(entries) => entries.next(),
                }
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                match self {
                    Self::Small(entries) => entries.size_hint(),
                    Self::Large(entries) => entries.size_hint(),
                }
            }
        }

        impl$(<$life>)? DoubleEndedIterator for $name$(<$life>)? {
            fn next_back(&mut self) -> Option<$item> {
                match self {
                    Self::Small(entries) => entries.next_back().map($split),
                    Self::Large(entries) => entries.next_back(),
                }
            }
        }

        impl$(<$life>)? ExactSizeIterator for $name$(<$life>)? {}
    };
}

iterator! {
    /// The entries of a map, borrowed.
    Iter<'a>,
    (&'a Value, &'a Value),
    std::slice::Iter<'a, (Value, Value)>,
    indexmap::map::Iter<'a, Value, Value>,
    |(key, value)| (key, value)
}

iterator! {
    /// The entries of a map, values to change.
    IterMut<'a>,
    (&'a Value, &'a mut Value),
    std::slice::IterMut<'a, (Value, Value)>,
    indexmap::map::IterMut<'a, Value, Value>,
    |(key, value)| (&*key, value)
}

iterator! {
    /// The entries of a map.
    IntoIter,
    (Value, Value),
    std::vec::IntoIter<(Value, Value)>,
    indexmap::map::IntoIter<Value, Value>,
    |entry| entry
}
