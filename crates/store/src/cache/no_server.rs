//! The driver of a build without drivers: a type without values.

use std::convert::Infallible;

use halite_store_servers::{Address, Failure};

use super::Found;
use crate::error::StoreError;

#[derive(Clone, Debug)]
pub(super) struct NoServer(Infallible);

impl NoServer {
    pub(super) fn server(&self) -> &Address {
        match self.0 {}
    }

    pub(super) fn note_write(&self, _: Option<&Failure>) {
        match self.0 {}
    }

    pub(super) fn fetch(&self, _: &str, _: &str) -> Result<Option<Found>, StoreError> {
        match self.0 {}
    }

    pub(super) fn fetch_many(
        &self,
        _: &str,
        _: &[String],
    ) -> Result<Vec<Option<Found>>, StoreError> {
        match self.0 {}
    }

    pub(super) fn store(&self, _: &str, _: &str, _: Vec<u8>) -> Result<(), StoreError> {
        match self.0 {}
    }

    pub(super) fn replace(
        &self,
        _: &str,
        _: &str,
        _: Option<Vec<u8>>,
        _: Vec<u8>,
    ) -> Result<bool, StoreError> {
        match self.0 {}
    }

    pub(super) fn flush_key(&self, _: &str, _: &str) -> Result<bool, StoreError> {
        match self.0 {}
    }

    pub(super) fn flush_bank(&self, _: &str) -> Result<bool, StoreError> {
        match self.0 {}
    }

    pub(super) fn keys(&self, _: &str) -> Result<Vec<String>, StoreError> {
        match self.0 {}
    }

    pub(super) fn banks_below(&self, _: &str) -> Result<Vec<String>, StoreError> {
        match self.0 {}
    }

    pub(super) fn stamps(&self, _: &str) -> Result<Vec<(String, i64)>, StoreError> {
        match self.0 {}
    }
}
