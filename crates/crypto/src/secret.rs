//! Values that must not reach a log, an error text or a core dump's strings.

use zeroize::Zeroize;

/// A secret: it has neither `Debug` nor `Display`, is compared by nobody, and
/// is wiped when dropped. Getting at it takes a call that can be searched for.
#[derive(Clone, Default)]
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    /// Takes a secret into custody.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The secret itself.
    pub fn expose(&self) -> &T {
        &self.0
    }

    pub(crate) fn expose_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Zeroize> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// This stops compiling when a secret can be shown: then there are two
/// candidates for each.
const _: fn() = || {
    trait NotShown<A> {
        fn check() {}
    }
    impl<T: ?Sized> NotShown<()> for T {}
    struct ByDebug;
    impl<T: ?Sized + std::fmt::Debug> NotShown<ByDebug> for T {}
    struct ByDisplay;
    impl<T: ?Sized + std::fmt::Display> NotShown<ByDisplay> for T {}
    <Secret<String> as NotShown<_>>::check();
};
