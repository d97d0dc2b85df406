//! State modules.

pub(crate) mod kmod;
pub(crate) mod selinux;
pub(crate) mod sysctl;
pub(crate) mod sysfs;
