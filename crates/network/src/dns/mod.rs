//! Names and addresses: the execution modules `dig` and `dnsutil`.

mod dig;
mod dnsutil;
mod hosts_file;

pub(crate) use dig::DIG;
pub(crate) use dnsutil::DNSUTIL;
