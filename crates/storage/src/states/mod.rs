//! State modules.

pub(crate) mod acl;
pub(crate) mod blockdev;
pub(crate) mod lvm;
pub(crate) mod mount;
pub(crate) mod quota;
pub(crate) mod raid;
