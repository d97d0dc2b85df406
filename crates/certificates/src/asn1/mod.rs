//! DER: the notation of certificates.

mod oid;
mod read;
mod write;

pub(crate) use oid::{oid_from_der, oid_to_der};
pub(crate) use read::{DerError, Item, Reader};
pub(crate) use write::*;

/// Tags of the types in use.
pub(crate) mod tag {
    pub(crate) const BOOLEAN: u8 = 0x01;
    pub(crate) const INTEGER: u8 = 0x02;
    pub(crate) const BITS: u8 = 0x03;
    pub(crate) const OCTETS: u8 = 0x04;
    pub(crate) const OID: u8 = 0x06;
    pub(crate) const ENUMERATED: u8 = 0x0a;
    pub(crate) const UTF8: u8 = 0x0c;
    pub(crate) const PRINTABLE: u8 = 0x13;
    pub(crate) const IA5: u8 = 0x16;
    pub(crate) const UTC_TIME: u8 = 0x17;
    pub(crate) const TIME: u8 = 0x18;
    pub(crate) const BMP: u8 = 0x1e;
    pub(crate) const SEQUENCE: u8 = 0x30;
    pub(crate) const SET: u8 = 0x31;

    /// `[number]` around a value of its own.
    pub(crate) const fn explicit(number: u8) -> u8 {
        0xa0 | number
    }

    /// `[number]` in place of the tag of a simple type.
    pub(crate) const fn implicit(number: u8) -> u8 {
        0x80 | number
    }
}
